/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/plan/simulated_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/projected_state.h"
#include "scoring/node_mask.h"

#define CACHE_ENTRIES ((size_t)1 << 16)

const char *const simulated_obstacle_names[SIMULATED_OBSTACLE_COUNT] = {"",
	"the node has no NodeResourceTopology object",
	"the object has no node state: verdicts would be estimates",
	"the object has not been written for longer than --max-age: nrtd may not run on the node",
	"the node has no Node object", "the object does not report all of the node's pods yet",
	"the object reports pods, but no Pods are given",
	"the node is reserved: room is being made for another pod",
	"its pods request more than the node has: the kubelet may reject one of them",
	"the node is not selected", "its topology manager policy is none: the kubelet aligns no pods"};

/* A change that can be reverted. */
struct simulated_undo {
	size_t pod, node, position; /* position: of the pod in the node's list */
	bool started;
	struct allocations before; /* the node's, as allocations_view_without() */
	uint64_t version;          /* the node's, before */
};

struct simulated_cache_entry {
	uint64_t version, class_number;
	size_t node;
	struct verdict verdict;
};

/* ---- memory */

static void simulated_pod_release(struct simulated_pod *p)
{
	free(p->namespace);
	free(p->name);
	free(p->uid);
	free(p->owner);
	free(p->controller);
	free(p->scheduler);
	free(p->key);
	free(p->bound);
}

static void forget_admission(struct simulated_node *n)
{
	if (n->admission)
		node_admission_release(n->admission);
	free(n->admission);
	n->admission = NULL;
}

static void node_release(struct simulated_node *n)
{
	forget_admission(n);
	allocations_view_release(&n->state.allocations);
	doc_release(&n->node);
	resource_list_release(&n->requested);
	free(n->pods);
}

void simulated_forget_undo(struct simulated_cluster *c)
{
	while (c->n_undo > 0)
		allocations_view_release(&c->undo[--c->n_undo].before);
}

void simulated_cluster_init(struct simulated_cluster *c)
{
	static const struct cluster_config config = {.assume_ms = 0};

	*c = (struct simulated_cluster){.cache = xcalloc(CACHE_ENTRIES, sizeof(*c->cache))};
	cluster_init(&c->model, &config);
	cluster_list_begin(&c->model, OBJECT_POD);
}

void simulated_cluster_release(struct simulated_cluster *c)
{
	simulated_forget_undo(c);
	for (size_t i = 0; i < c->n_constraints; i++) {
		simulated_constraints_release(c->constraints[i]);
		free(c->constraints[i]);
	}
	name_table_release(&c->constraints_by_key);
	for (size_t i = 0; i < c->n_pods; i++) {
		pod_classes_drop(&c->model.classes, c->pods[i].class);
		simulated_pod_release(&c->pods[i]);
	}
	for (size_t i = 0; i < c->n_nodes; i++)
		node_release(&c->nodes[i]);
	for (size_t i = 0; i < c->n_items; i++) {
		allocation_release(c->items[i]);
		free(c->items[i]);
	}
	name_table_release(&c->nodes_by_name);
	name_table_release(&c->pods_by_key);
	cluster_release(&c->model);
	free(c->undo);
	free(c->constraints);
	free(c->pods);
	free(c->nodes);
	free(c->reservations);
	free(c->items);
	free(c->admissions);
	free(c->cache);
	distances_kept_release(&c->distances);
	*c = (struct simulated_cluster){0};
}

/* ---- verdicts */

/* Discards one of the admissions. Any one: searches judge all nodes in turn, and in a larger cluster the oldest admission would always be the
 * next one that is needed. */
static void discard_admission(struct simulated_cluster *c)
{
	size_t *slot;
	struct simulated_node *n;

	c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	slot = &c->admissions[(c->random >> 33) % c->n_admissions];
	n = &c->nodes[*slot];
	forget_admission(n);
	n->admission_kept = false;
	c->admission_cpus -= n->state.machine.n_cpus;
	*slot = c->admissions[--c->n_admissions];
}

/* Counts the node's admission, and discards other admissions until there is room for it. */
static void keep_admission(struct simulated_cluster *c, size_t node)
{
	struct simulated_node *n = &c->nodes[node];

	if (n->admission_kept)
		return;
	while (c->n_admissions > 0 && c->admission_cpus + n->state.machine.n_cpus > SIMULATED_ADMISSION_CPUS)
		discard_admission(c);
	*(size_t *)vec_push(&c->admissions, &c->n_admissions, &c->admissions_size, sizeof(*c->admissions)) =
		node;
	c->admission_cpus += n->state.machine.n_cpus;
	n->admission_kept = true;
}

void simulated_require_alignment(struct simulated_cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		struct simulated_node *n = &c->nodes[i];

		if (n->obstacle != SIMULATED_NO_OBSTACLE)
			continue;
		if (n->state.settings.topology.policy == TOPOLOGY_MANAGER_NONE)
			n->obstacle = SIMULATED_NOT_ALIGNED;
		if (n->state.settings.topology.policy != TOPOLOGY_MANAGER_BEST_EFFORT)
			continue;
		n->state.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
		n->state.inventory.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
		forget_admission(n);
		n->version = ++c->last_version;
	}
}

/* The admission of the node's state, with its amounts; made if it is not kept. */
static struct node_admission *admission_of(struct simulated_cluster *c, size_t node)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	struct simulated_node *n = &c->nodes[node];

	if (n->admission)
		return n->admission;
	keep_admission(c, node);
	n->admission = xcalloc(1, sizeof(*n->admission));
	node_admission_init(n->admission, &n->state);
	requestable_amounts(&n->info->allocatable, &n->requested, NULL, &requestable);
	node_admission_limit(n->admission, &requestable);
	return n->admission;
}

/* Whether the node has fewer pods than allocatable "pods" permits, counting `leaving` pods as gone. */
static bool has_pod_slot(const struct simulated_node *n, size_t leaving)
{
	const struct resource_quantity *pods = resource_list_find(&n->info->allocatable, "pods");

	return !pods || (qty_t)(n->n_pods - leaving + 1) * QTY_UNIT <= pods->quantity.nano;
}

/* A device resource that the node does not have: no scheduler sends the pod there. */
static const char *find_absent(
	const struct node_admission *a, const struct simulated_node *n, const struct pod_class *class)
{
	for (size_t i = 0; i < class->wanted.n_items; i++) {
		const struct resource_quantity *q = &class->wanted.items[i];

		if (q->quantity.nano > 0 && !node_info_has_in_status_only(n->info, q->name) &&
			node_admission_devices(a, q->name) == DEVICES_ABSENT)
			return q->name;
	}
	return NULL;
}

/* The answer to a pod that the managers and the amounts of the node admit. */
static enum kubelet_answer check_devices(
	const struct node_admission *a, const struct simulated_node *n, const struct pod_class *class)
{
	if (find_absent(a, n, class))
		return KUBELET_REJECTS;
	return node_admission_unknown_device(a, &class->wanted) ? KUBELET_UNKNOWN : KUBELET_ADMITS;
}

static bool is_judged(const struct simulated_node *n, const struct pod_class *class)
{
	return n->obstacle == SIMULATED_NO_OBSTACLE && !class->too_large && !class->pod.has_claims;
}

/* simulated_judge() without the cache. */
static struct verdict judge(struct simulated_cluster *c, size_t node, const struct pod_class *class)
{
	struct simulated_node *n = &c->nodes[node];
	struct verdict v = {.answer = KUBELET_UNKNOWN};
	struct node_admission *a;
	struct kubelet_verdict kubelet;

	if (!is_judged(n, class))
		return v;
	if (!has_pod_slot(n, 0) || verdict_lacks(&c->model, class, n->info))
		return (struct verdict){.answer = KUBELET_REJECTS};
	c->n_verdicts++;
	a = admission_of(c, node);
	node_admission_judge(a, &class->pod, &kubelet);
	v.answer = kubelet.answer;
	if (v.answer == KUBELET_ADMITS)
		v.answer = check_devices(a, n, class);
	if (v.answer == KUBELET_ADMITS)
		verdict_score(&c->distances, a, &n->state.inventory, class, &kubelet,
			STRATEGY_LEAST_NUMA_NODES, &v);
	return v;
}

/* c->cache has one place for each hash: a verdict replaces an earlier one with the same hash. */
struct verdict simulated_judge(struct simulated_cluster *c, size_t node, size_t pod)
{
	const struct pod_class *class = c->pods[pod].class;
	uint64_t version = c->nodes[node].version;
	size_t slot = (size_t)(version * 31 + class->number * 0x9e3779b97f4a7c15u) >> 3 & (CACHE_ENTRIES - 1);
	struct simulated_cache_entry *e = &c->cache[slot];

	if (e->version == version && e->class_number == class->number && e->node == node)
		return e->verdict;
	e->verdict = judge(c, node, class);
	e->version = version;
	e->class_number = class->number;
	e->node = node;
	return e->verdict;
}

/* Items of the node that the pod holds. */
static void mark_items(const struct simulated_node *n, const struct simulated_pod *p, bool *ret)
{
	const struct allocations *a = &n->state.allocations;

	for (size_t i = 0; i < a->n_items; i++)
		ret[i] = ret[i] || pod_names_match(&p->names, &a->items[i]);
}

enum kubelet_answer simulated_judge_without(
	struct simulated_cluster *c, size_t node, const bool *without, size_t pod)
{
	const struct simulated_node *n = &c->nodes[node];
	const struct pod_class *class = c->pods[pod].class;
	CLEANUP(freep) bool *excluded = xcalloc(n->state.allocations.n_items + 1, sizeof(*excluded));
	CLEANUP(resource_list_release) struct resource_list returned = {0}, requestable = {0};
	CLEANUP(node_admission_release) struct node_admission a = {0};
	CLEANUP(projected_state_release) struct projected_state o = {0};
	struct kubelet_verdict kubelet;
	size_t leaving = 0;

	for (size_t i = 0; i < n->n_pods; i++)
		if (without[i]) {
			mark_items(n, &c->pods[n->pods[i]], excluded);
			resource_list_add(&returned, &c->pods[n->pods[i]].class->wanted, 1);
			leaving++;
		}
	if (!is_judged(n, class))
		return KUBELET_UNKNOWN;
	if (!has_pod_slot(n, leaving) || verdict_lacks(&c->model, class, n->info))
		return KUBELET_REJECTS;
	projected_state_init(&o, &n->state, excluded);
	requestable_amounts(&n->info->allocatable, &n->requested, &returned, &requestable);
	node_admission_init(&a, &o.state);
	node_admission_limit(&a, &requestable);
	node_admission_judge(&a, &class->pod, &kubelet);
	c->n_verdicts++;
	return kubelet.answer == KUBELET_ADMITS ? check_devices(&a, n, class) : kubelet.answer;
}

size_t simulated_find_place(struct simulated_cluster *c, size_t pod, const bool *excluded)
{
	struct verdict best_verdict = {.answer = KUBELET_UNKNOWN};
	size_t best = SIMULATED_NOWHERE;

	for (size_t i = 0; i < c->n_nodes; i++) {
		struct verdict v;

		if (!simulated_is_usable(c, i, pod, excluded))
			continue;
		v = simulated_judge(c, i, pod);
		if (v.answer != KUBELET_ADMITS)
			continue;
		if (best == SIMULATED_NOWHERE ||
			verdict_is_better(&v, c->nodes[i].name, &best_verdict, c->nodes[best].name)) {
			best = i;
			best_verdict = v;
		}
	}
	return best;
}

bool simulated_is_usable(struct simulated_cluster *c, size_t node, size_t pod, const bool *excluded)
{
	return !excluded[node] && c->nodes[node].obstacle == SIMULATED_NO_OBSTACLE &&
	       !*simulated_constraint(c, node, pod);
}

char *simulated_explain(struct simulated_cluster *c, size_t node, size_t pod)
{
	struct simulated_node *n = &c->nodes[node];
	const struct pod_class *class = c->pods[pod].class;
	const char *lacked = verdict_lacks(&c->model, class, n->info), *absent, *unknown;
	struct kubelet_verdict v;

	if (n->obstacle != SIMULATED_NO_OBSTACLE)
		return xstrdup(simulated_obstacle_names[n->obstacle]);
	if (class->too_large)
		return xstrdup(POD_CLASS_TOO_LARGE);
	if (class->pod.has_claims)
		return xstrdup("resourceClaims are not evaluated");
	if (!has_pod_slot(n, 0))
		return xstrdup("OutOfpods: the node has reached its maximum number of pods");
	if (lacked)
		return xasprintf("insufficient %s", lacked);
	absent = find_absent(admission_of(c, node), n, class);
	if (absent)
		return xasprintf("this node has no %s", absent);
	node_admission_judge(admission_of(c, node), &class->pod, &v);
	unknown = node_admission_unknown_device(admission_of(c, node), &class->wanted);
	if (v.answer == KUBELET_ADMITS)
		return unknown ? xasprintf(DEVICES_NOT_KNOWN, unknown) : xstrdup("admitted");
	if (v.managers_answer == KUBELET_REJECTS)
		return xasprintf("%s: %s", kubelet_rejection_names[v.rejection], v.reason.text);
	if (!v.short_of && !v.unsure_of && v.reason.text[0]) /* the managers' answer is unknown */
		return xstrdup(v.reason.text);
	return node_admission_explain_amounts(&v);
}

void simulated_held(const struct simulated_cluster *c, size_t pod, struct pod_held *ret)
{
	*ret = (struct pod_held){0};
	if (c->pods[pod].node != SIMULATED_NOWHERE && c->nodes[c->pods[pod].node].info->has_object)
		pod_held_find(&c->nodes[c->pods[pod].node].state, &c->pods[pod].names, ret);
}

/* ---- changes */

void simulated_add_to_node(struct simulated_cluster *c, size_t node, size_t pod, size_t position)
{
	struct simulated_node *n = &c->nodes[node];
	struct simulated_pod *p = &c->pods[pod];

	vec_push(&n->pods, &n->n_pods, &n->pods_size, sizeof(*n->pods));
	memmove(&n->pods[position + 1], &n->pods[position], (n->n_pods - 1 - position) * sizeof(*n->pods));
	n->pods[position] = pod;
	resource_list_add(&n->requested, &p->class->wanted, 1);
	p->node = node;
	c->placement_version++;
	forget_admission(n);
}

/* Returns the pod's position in the node's list. */
size_t simulated_remove_from_node(struct simulated_cluster *c, size_t pod)
{
	struct simulated_pod *p = &c->pods[pod];
	struct simulated_node *n = &c->nodes[p->node];
	size_t at = 0;

	while (n->pods[at] != pod)
		at++;
	memmove(&n->pods[at], &n->pods[at + 1], (n->n_pods - at - 1) * sizeof(*n->pods));
	n->n_pods--;
	resource_list_add(&n->requested, &p->class->wanted, -1);
	p->node = SIMULATED_NOWHERE;
	c->placement_version++;
	forget_admission(n);
	return at;
}

/* Replaces the node's allocations by `after`; the previous ones move to the log. */
static void log_change(struct simulated_cluster *c, size_t node, size_t pod, bool started, size_t position,
	struct allocations *after)
{
	struct simulated_undo *u = vec_push(&c->undo, &c->n_undo, &c->undo_size, sizeof(*u));
	struct simulated_node *n = &c->nodes[node];

	*u = (struct simulated_undo){.pod = pod,
		.node = node,
		.position = position,
		.started = started,
		.before = n->state.allocations,
		.version = n->version};
	n->state.allocations = *after;
	n->version = ++c->last_version;
}

/* What the pod of the last verdict holds; owned by the cluster. */
static struct allocation *make_item(struct simulated_cluster *c, const struct node_admission *a,
	const struct simulated_pod *p, const struct kubelet_verdict *v)
{
	struct allocation **slot = vec_push(&c->items, &c->n_items, &c->items_size, sizeof(*slot));

	*slot = xcalloc(1, sizeof(**slot));
	admission_placed_item(a, &p->class->pod, v, *slot);
	text_set(&(*slot)->pod_uid, p->names.uid);
	text_set(&(*slot)->pod, p->names.pod);
	return *slot;
}

void simulated_assign(struct simulated_cluster *c, size_t node, size_t pod, const struct node_admission *a,
	const struct kubelet_verdict *v)
{
	struct simulated_node *n = &c->nodes[node];
	struct simulated_pod *p = &c->pods[pod];
	struct projected_state o;

	projected_state_init(&o, &n->state, NULL);
	if (p->class->aligned) {
		struct allocation *item = make_item(c, a, p, v);

		if (!allocation_is_empty(item))
			projected_state_add(&o, item);
	}
	allocations_sort(&o.state.allocations);
	log_change(c, node, pod, true, n->n_pods, &o.state.allocations); /* of `o`, which has nothing else */
	simulated_add_to_node(c, node, pod, n->n_pods);
}

bool simulated_start(struct simulated_cluster *c, size_t node, size_t pod)
{
	struct node_admission *a;
	struct kubelet_verdict kubelet;

	if (simulated_judge(c, node, pod).answer != KUBELET_ADMITS)
		return false;
	/* Again: the cached verdict does not have what the kubelet assigns. */
	a = admission_of(c, node);
	node_admission_judge(a, &c->pods[pod].class->pod, &kubelet);
	simulated_assign(c, node, pod, a, &kubelet);
	return true;
}

void simulated_evict(struct simulated_cluster *c, size_t pod)
{
	size_t node = c->pods[pod].node;
	struct simulated_node *n = &c->nodes[node];
	CLEANUP(freep) bool *excluded = xcalloc(n->state.allocations.n_items + 1, sizeof(*excluded));
	struct allocations after;
	size_t position;

	mark_items(n, &c->pods[pod], excluded);
	allocations_view_without(&n->state.allocations, excluded, &after);
	position = simulated_remove_from_node(c, pod);
	log_change(c, node, pod, false, position, &after);
}

void simulated_begin_state(struct simulated_cluster *c, struct simulated_node *n)
{
	n->state = n->info->object.state;
	allocations_view_without(&n->info->object.state.allocations, NULL, &n->state.allocations);
	n->version = ++c->last_version;
	forget_admission(n);
}

size_t simulated_mark(const struct simulated_cluster *c)
{
	return c->n_undo;
}

void simulated_undo(struct simulated_cluster *c, size_t mark)
{
	while (c->n_undo > mark) {
		struct simulated_undo *u = &c->undo[--c->n_undo];
		struct simulated_node *n = &c->nodes[u->node];

		if (u->started)
			simulated_remove_from_node(c, u->pod);
		else
			simulated_add_to_node(c, u->node, u->pod, u->position);
		allocations_view_release(&n->state.allocations);
		n->state.allocations = u->before;
		n->version = u->version;
	}
}

/* ---- nodes that do not exist */

void simulated_cluster_add_empty_node(struct simulated_cluster *c, struct node_state *state, struct doc *node,
	struct resource_list *allocatable)
{
	struct cluster_node object = {
		.state = *state, .basis = CLUSTER_EXACT, .has_release = true, .exporter = xstrdup("")};
	struct simulated_node *n;

	node_state_init(state);
	for (size_t i = 0; i < c->n_nodes; i++)
		forget_admission(&c->nodes[i]); /* admissions borrow states, which move */
	n = vec_push(&c->nodes, &c->n_nodes, &c->nodes_size, sizeof(*n));
	n->info = cluster_set_object(&c->model, &object, 0);
	cluster_set_allocatable(&c->model, n->info, allocatable);
	n->name = n->info->name;
	n->node = *node;
	*node = (struct doc)DOC_INIT;
	name_table_add_index(&c->nodes_by_name, n->name, c->n_nodes - 1);
	simulated_begin_state(c, n);
}
