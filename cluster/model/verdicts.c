/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/verdicts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"
#include "scoring/node/pci_pair.h"
#include "scoring/node/projected_state.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"

/* ---- the score */

/* As distances_keep(), which cannot fail here: an inventory has at most MACHINE_MAX_NODES NUMA nodes. */
static struct distances *distances_of(struct distances_kept *kept, const struct inventory *inv)
{
	struct distances *d = NULL;

	(void)distances_keep(kept, inv->costs, inv->n_nodes, &d);
	return d;
}

/* Whether no set of equally many NUMA nodes has a smaller sum of distances. */
static bool is_closest(struct distances_kept *kept, const struct inventory *inv, uint64_t nodes)
{
	struct distances *d = node_mask_count(nodes) > 1 ? distances_of(kept, inv) : NULL;
	uint64_t positions = 0;

	if (!d)
		return true;
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (nodes & node_mask_of(inv->nodes[i].id))
			positions |= UINT64_C(1) << i;
	distances_find_sums(d);
	return distances_sum(d, positions) <= d->low[node_mask_count(positions)];
}

/* The scheduler plugin's score on the projected zones. The plugin scores only nodes of policy single-numa-node; this function
 * applies the same formula to all policies. */
static int score_zones(struct distances_kept *kept, const struct inventory *inv,
	const struct pod_class *class, enum strategy strategy)
{
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	CLEANUP(fit_space_release) struct fit_space space = {0};
	struct topology_manager_config topology = inv->topology;
	struct distances *d = distances_of(kept, inv);

	request_plan_init(&plan, &class->pod);
	topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	if (!d || fit_space_init(&space, inv, d) < 0)
		return 0;
	return strategy_score(&space, &plan, &topology, strategy, NULL);
}

/* The score of LeastNUMANodes for `n` NUMA nodes. `closest`: no other `n` nodes are closer to each other. */
static int score_numa_nodes(const struct inventory *inv, unsigned n, bool closest)
{
	unsigned max = inv->topology.max_numa_nodes;

	return strategy_normalize(n, closest, max > 0 ? max : TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES);
}

void verdict_score(struct distances_kept *distances, const struct node_admission *admission,
	const struct inventory *inv, const struct pod_class *class, const struct kubelet_verdict *managers,
	enum strategy strategy, struct verdict *v)
{
	const struct kubelet *k = &admission->kubelet;
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];
	uint64_t nodes = kubelet_assigned_nodes(k, &class->pod, managers);
	CLEANUP(freep) size_t *free_cpus = xcalloc(numa->n + 1, sizeof(*free_cpus));

	kubelet_free_cpus(k, admission->ws, free_cpus);
	for (size_t i = 0; i < numa->n; i++) {
		v->free_on_node += free_cpus[i];
		if (nodes & node_mask_of((unsigned)numa->ids[i]))
			v->free_on_numa_nodes += free_cpus[i];
	}
	v->numa_nodes = node_mask_count(nodes);
	if (strategy != STRATEGY_LEAST_NUMA_NODES)
		v->score = score_zones(distances, inv, class, strategy);
	else
		v->score = score_numa_nodes(inv, v->numa_nodes, is_closest(distances, inv, nodes));
	v->pci_pair = pci_pair_find(admission->state, &class->wanted) == PCI_PAIR_FREE;
}

bool verdict_is_better(
	const struct verdict *x, const char *x_node, const struct verdict *y, const char *y_node)
{
	if (x->score != y->score)
		return x->score > y->score;
	if (x->pci_pair != y->pci_pair)
		return x->pci_pair;
	if (x->free_on_numa_nodes != y->free_on_numa_nodes)
		return x->free_on_numa_nodes < y->free_on_numa_nodes;
	if (x->free_on_node != y->free_on_node)
		return x->free_on_node < y->free_on_node;
	return text_compare_numbered(x_node, y_node) < 0;
}

/* ---- the verdict */

/* The reason of a verdict that is not an admission: the managers' reason, else the insufficient resource. */
static char *explain_verdict(const struct kubelet_verdict *v, const struct pod_class *class)
{
	size_t at = v->container, n = class->pod.n_containers;
	const char *container = n > 1 && at < n ? class->pod.containers[at].name : "";
	CLEANUP(freep) char *amounts = NULL;
	const char *claims = class->pod.has_claims ? "; resourceClaims are not evaluated" : "";

	if (v->reason.text[0])
		return xasprintf("%s%s%s%s", container, *container ? ": " : "", v->reason.text, claims);
	amounts = node_admission_explain_amounts(v);
	return xasprintf("%s%s", amounts, claims);
}

static const struct node_rejection *find_rejection(
	const struct node_info *node, const struct pod_class *class)
{
	for (size_t i = 0; i < node->n_rejections; i++)
		if (node->rejections[i].class == class)
			return &node->rejections[i];
	return NULL;
}

const char *verdict_lacks(
	const struct cluster *cluster, const struct pod_class *class, const struct node_info *node)
{
	return node->has_node ? pod_class_lacks(class, &cluster->classes.known, &node->allocatable,
					&node->resources[OBJECT_NRT])
			      : NULL;
}

/*
 * The first device resource that the pod class requests and that no plugin has registered, although an earlier object reported its
 * devices. NULL = none.
 */
static const char *find_unregistered(
	const struct node_admission *a, const struct node_info *node, const struct pod_class *class)
{
	for (size_t i = 0; i < class->wanted.n_items; i++) {
		const struct resource_quantity *wanted = &class->wanted.items[i];

		if (wanted->quantity.nano > 0 && strv_contains(&node->devices, wanted->name) &&
			node_admission_devices(a, wanted->name) == DEVICES_ABSENT)
			return wanted->name;
	}
	return NULL;
}

/* Sets the answer for a node whose kubelet's managers and amounts admit the pod class. */
static void judge_devices(struct verdicts *verdicts, struct projected_node *o, const struct node_info *node,
	const struct pod_class *class, const struct kubelet_verdict *kubelet, enum strategy strategy,
	struct verdict *v)
{
	const char *unregistered = find_unregistered(&o->admission, node, class);
	const char *unknown = node_admission_unknown_device(&o->admission, &class->wanted);

	if (unregistered) {
		v->answer = KUBELET_REJECTS;
		v->reason = xasprintf("no device plugin has registered %s", unregistered);
	} else if (unknown) {
		v->answer = KUBELET_UNKNOWN;
		v->reason = xasprintf(DEVICES_NOT_KNOWN, unknown);
	} else {
		verdict_score(
			&verdicts->distances, &o->admission, &o->node.inventory, class, kubelet, strategy, v);
	}
}

/* Adds to the reason, if there is one, that the node's kubelet is newer than the newest compared release. */
static void add_release(const struct settings *settings, struct verdict *v)
{
	CLEANUP(freep) char *reason = v->reason;
	struct err caution;

	kubelet_release_caution(settings_kubelet(settings), &caution);
	v->reason = reason && caution.text[0] ? xasprintf("%s (%s)", reason, caution.text) : TAKE(reason);
}

/* The reason for the answer in *ret if the node's state does not matter; else NULL. */
static char *judge_without_state(
	const struct node_info *node, const struct pod_class *class, enum kubelet_answer *ret)
{
	const struct node_rejection *rejection = find_rejection(node, class);

	*ret = rejection ? KUBELET_REJECTS : KUBELET_UNKNOWN;
	if (rejection)
		return xasprintf("the kubelet has recently rejected a pod with the same requests: %s",
			rejection->reason);
	if (class->too_large)
		return xstrdup(POD_CLASS_TOO_LARGE);
	if (project_node_possible(node))
		return NULL;
	return xstrdup(
		node->has_object ? node->object.why.text : "the node has no NodeResourceTopology object");
}

/* False when the work limit is reached first. */
static bool judge_node(struct verdicts *verdicts, const struct node_info *node, const struct pod_class *class,
	enum strategy strategy, struct verdict *v)
{
	struct kubelet_verdict kubelet;
	struct projected_node *o;

	v->basis = node->has_object ? node->object.basis : CLUSTER_UNKNOWN;
	v->reason = judge_without_state(node, class, &v->answer);
	if (v->reason)
		return true;
	o = project_node(&verdicts->projections, node);
	if (!o)
		return false;
	if (o->reserved) {
		v->answer = KUBELET_REJECTS;
		v->reason = xstrdup(PROJECTED_RESERVED);
		return true;
	}
	node_admission_judge(&o->admission, &class->pod, &kubelet);
	v->answer = kubelet.answer;
	v->too_slow = kubelet.rejection == KUBELET_TOO_SLOW;
	v->by_amounts = kubelet.answer != kubelet.managers_answer;
	if (kubelet.answer == KUBELET_ADMITS)
		judge_devices(verdicts, o, node, class, &kubelet, strategy, v);
	else
		v->reason = explain_verdict(&kubelet, class);
	add_release(&o->node.state.settings, v);
	return true;
}

/* ---- cached verdicts */

void verdicts_init(struct verdicts *verdicts, struct cluster *cluster)
{
	*verdicts = (struct verdicts){.cluster = cluster, .projections = {.cluster = cluster}};
}

static void class_verdicts_release(struct class_verdicts *c)
{
	for (size_t i = 0; i < c->items_size; i++)
		free(c->items[i].reason);
	free(c->items);
	*c = (struct class_verdicts){0};
}

void verdicts_release(struct verdicts *verdicts)
{
	for (size_t i = 0; i < VERDICTS_CLASSES; i++)
		class_verdicts_release(&verdicts->classes[i]);
	for (size_t i = 0; i < verdicts->free_cpus_size; i++)
		free_cpus_release(&verdicts->free_cpus[i]);
	free(verdicts->free_cpus);
	projections_release(&verdicts->projections);
	distances_kept_release(&verdicts->distances);
	*verdicts = (struct verdicts){0};
}

static struct class_verdicts *find_class(struct verdicts *verdicts, const struct pod_class *class)
{
	if (verdicts->last && verdicts->last->class_number == class->number)
		return verdicts->last;
	for (size_t i = 0; i < VERDICTS_CLASSES; i++)
		if (verdicts->classes[i].class_number == class->number)
			return &verdicts->classes[i];
	return NULL;
}

/* An entry without a class, else the entry of the least recently looked-up class, which loses its verdicts. */
static struct class_verdicts *add_class(struct verdicts *verdicts, const struct pod_class *class)
{
	struct class_verdicts *found = &verdicts->classes[0];

	for (size_t i = 1; i < VERDICTS_CLASSES; i++)
		if (verdicts->classes[i].last_lookup < found->last_lookup)
			found = &verdicts->classes[i];
	class_verdicts_release(found);
	found->class_number = class->number;
	return found;
}

/* Finds or adds the verdicts on the class, with an item for every node slot. */
static struct class_verdicts *verdicts_on_class(struct verdicts *verdicts, const struct pod_class *class)
{
	const struct cluster *cluster = verdicts->cluster;
	struct class_verdicts *c = find_class(verdicts, class);

	if (!c)
		c = add_class(verdicts, class);
	c->last_lookup = ++verdicts->n_lookups;
	vec_grow(&c->items, &c->items_size, cluster->n_nodes, sizeof(*c->items));
	verdicts->last = c;
	return c;
}

bool verdict_has_amounts(const struct node_info *node, const struct pod_class *class)
{
	if (!node->has_node)
		return true;
	for (size_t i = 0; i < class->wanted.n_items; i++) {
		const struct resource_quantity *wanted = &class->wanted.items[i];
		const struct resource_quantity *allocatable =
			resource_list_find(&node->allocatable, wanted->name);

		if (allocatable && wanted->quantity.nano > 0 &&
			wanted->quantity.nano > allocatable->quantity.nano -
							resource_list_amount(&node->requested, wanted->name))
			return false;
	}
	return true;
}

/*
 * Whether a cached verdict is still valid. A new version of the node invalidates it. New node-level amounts invalidate an
 * admission that they no longer satisfy, a rejection that rested on the amounts, and an unknown answer.
 */
static bool is_valid(const struct verdict *v, const struct node_info *node, const struct pod_class *class)
{
	if (v->version != node->version || v->is_bound)
		return false;
	/* Without a usable object no amounts have been compared. */
	if (v->amounts_version == node->amounts_version || v->basis == CLUSTER_UNKNOWN)
		return true;
	if (v->answer == KUBELET_ADMITS)
		return verdict_has_amounts(node, class);
	return v->answer == KUBELET_REJECTS && !v->by_amounts;
}

/* Why there is no verdict: the request, its namespace or the node has used up its CPU time. */
static const struct verdict *unreached(const struct work_limit *work)
{
	static char by_request[] = "not judged yet: the CPU time limit of the request was reached";
	static char by_namespace[] =
		"not judged yet: the CPU time limit of the namespace or of all namespaces was reached";
	static char by_node[] =
		"not judged yet: the node's unreported pods and reservations need too much CPU time";
	static const struct verdict request_limit = {
		.answer = KUBELET_UNKNOWN, .unreached = true, .reason = by_request};
	static const struct verdict namespace_limit = {
		.answer = KUBELET_UNKNOWN, .unreached = true, .reason = by_namespace};
	static const struct verdict node_limit = {
		.answer = KUBELET_UNKNOWN, .unreached = true, .reason = by_node};

	if (!work->reached)
		return &node_limit;
	return work->cached_only ? &namespace_limit : &request_limit;
}

const struct verdict *verdict_of(struct verdicts *verdicts, const struct pod_class *class,
	struct node_info *node, enum strategy strategy)
{
	struct verdict *slot = &verdicts_on_class(verdicts, class)->items[node->slot];
	struct verdict fresh = {.version = node->version};
	struct work_limit *work = &verdicts->projections.work;

	if (!is_valid(slot, node, class)) {
		if (!work_limit_goes_on(work) || !judge_node(verdicts, node, class, strategy, &fresh))
			return unreached(work);
		free(slot->reason);
		*slot = fresh;
		work->advanced = true;
	}
	/* A cached verdict is valid with the new amounts, too. */
	slot->amounts_version = node->amounts_version;
	return slot;
}

/* Lower than every score: the node is judged only if no other node admits the pod. */
#define SCORE_REJECTED (-1)

/* An upper bound of the verdict by LeastNUMANodes. False if there is none. */
static bool bound_verdict(struct verdicts *verdicts, const struct node_info *node,
	const struct pod_class *class, struct verdict *ret)
{
	struct verdict_bound bound;

	vec_grow(&verdicts->free_cpus, &verdicts->free_cpus_size, verdicts->cluster->n_nodes,
		sizeof(*verdicts->free_cpus));
	if (!verdict_bound_find(node, class, &verdicts->free_cpus[node->slot], &bound))
		return false;
	*ret = (struct verdict){.version = node->version,
		.is_bound = true,
		.answer = KUBELET_UNKNOWN,
		.score = bound.numa_nodes > 0
				 ? score_numa_nodes(&node->object.state.inventory, bound.numa_nodes, true)
				 : SCORE_REJECTED,
		.pci_pair = pci_pair_find(&node->object.state, &class->wanted) == PCI_PAIR_FREE,
		.free_on_numa_nodes = bound.free_on_numa_nodes,
		.free_on_node = bound.free_on_node};
	return true;
}

const struct verdict *verdict_at_hand(struct verdicts *verdicts, const struct pod_class *class,
	struct node_info *node, enum strategy strategy, bool or_bound)
{
	struct verdict *slot = &verdicts_on_class(verdicts, class)->items[node->slot];
	struct verdict bound;

	if (is_valid(slot, node, class)) /* verdict_of() only updates amounts_version then */
		return verdict_of(verdicts, class, node, strategy);
	if (!or_bound || strategy != STRATEGY_LEAST_NUMA_NODES)
		return NULL;
	if (slot->version == node->version && slot->is_bound)
		return slot;
	if (!bound_verdict(verdicts, node, class, &bound))
		return NULL;
	free(slot->reason);
	*slot = bound;
	return slot;
}

/* CPU time for one node: many orders of costly in-flight pods must not use up the time for all nodes. */
#define CONFIRM_NS UINT64_C(10000000)

const struct verdict *verdict_confirm(
	struct verdicts *verdicts, const struct pod_class *class, const struct node_info *node)
{
	struct verdict *v = &verdicts_on_class(verdicts, class)->items[node->slot];
	struct work_limit *work = &verdicts->projections.work, part;
	struct projected_node *o;
	bool in_every_order = true;
	int r;

	/* Orders matter only for a pod that gets NUMA nodes. */
	if (v->confirmed || v->answer != KUBELET_ADMITS || v->numa_nodes == 0)
		return v;
	o = project_node(&verdicts->projections, node);
	if (!o)
		return unreached(work);
	part = work_limit_part(work, CONFIRM_NS);
	r = in_flight_admit(&o->in_flight, class, &part, &in_every_order);
	work_limit_end_part(work, &part);
	if (r < 0)
		return unreached(work);
	if (!in_every_order) {
		v->reason = xstrdup(o->is_outdated ? PROJECTED_OUTDATED : PROJECTED_ORDER);
		v->answer = KUBELET_REJECTS;
	}
	v->confirmed = true;
	return v;
}

int verdict_without(struct verdicts *verdicts, const struct pod_class *class, const struct node_info *node,
	const bool *excluded, enum kubelet_answer *ret)
{
	CLEANUP(projected_node_release) struct projected_node o = {0};
	struct work_limit *work = &verdicts->projections.work;
	struct kubelet_verdict kubelet;
	int r;

	if (class->too_large || !project_node_possible(node)) {
		*ret = KUBELET_UNKNOWN;
		return 0;
	}
	r = work_limit_goes_on(work) ? project_node_without(&verdicts->projections, node, excluded, &o)
				     : -ETIME;
	work->advanced = true; /* at least one answer per request, although the answer is not cached */
	if (r < 0)
		return r;
	node_admission_judge(&o.admission, &class->pod, &kubelet);
	*ret = kubelet.answer == KUBELET_ADMITS && node_admission_unknown_device(&o.admission, &class->wanted)
		       ? KUBELET_UNKNOWN
		       : kubelet.answer;
	return 0;
}

/* ---- unresolvable nodes */

static void project_without_pods(const struct node_state *state, struct projected_state *ret)
{
	CLEANUP(freep) bool *excluded = xmalloc(state->allocations.n_items + 1);

	memset(excluded, true, state->allocations.n_items + 1);
	projected_state_init(ret, state, excluded);
	projected_state_finish(ret);
}

bool verdict_rejects_always(const struct node_info *node, const struct pod_class *class)
{
	CLEANUP(projected_state_release) struct projected_state projected = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct kubelet_verdict kubelet;

	if (!node->has_object || node->object.basis != CLUSTER_EXACT)
		return false;
	project_without_pods(&node->object.state, &projected);
	node_admission_init(&admission, &projected.state);
	if (node->has_node)
		node_admission_limit(&admission, &node->allocatable);
	node_admission_judge(&admission, &class->pod, &kubelet);
	/* Evictions can help if the managers reject a later container: the NUMA nodes of earlier containers may change with what
	 * is free. They cannot help if the first container, or the sum of the pod's requests, does not fit an empty node. */
	return kubelet.answer == KUBELET_REJECTS && (kubelet.short_of || kubelet.container == 0);
}

bool verdict_is_unresolvable(struct verdicts *verdicts, const struct node_info *node,
	const struct pod_class *class, unsigned *n_tested)
{
	const struct class_verdicts *c = find_class(verdicts, class);
	struct verdict *v = c && node->slot < c->items_size ? &c->items[node->slot] : NULL;
	struct work_limit *work = &verdicts->projections.work;

	if (!v || v->version != node->version || v->answer != KUBELET_REJECTS)
		return false;
	if (v->unresolvable_known)
		return v->unresolvable;
	++*n_tested;
	if (*n_tested > UNRESOLVABLE_MAX || !work_limit_goes_on(work))
		return false;
	v->unresolvable = verdict_rejects_always(node, class);
	v->unresolvable_known = work->advanced = true;
	return v->unresolvable;
}
