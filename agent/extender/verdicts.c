/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/verdicts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/model/node_outlook.h"
#include "common/cleanup.h"
#include "common/resource_name.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"

#define ESTIMATE_LAG_MS 3000u /* an exporter has read the kubelet by then */

/* ---- the node as its kubelet will have it */

struct outlook {
	struct node_outlook node;
	struct node_asker asker;
};

static void outlook_release(struct outlook *o)
{
	node_asker_release(&o->asker);
	node_outlook_release(&o->node);
}

/* So much of a state's item is the pod's: its CPUs and devices. */
static void count_item(const struct allocation *item, size_t *cpus, size_t *devices)
{
	*cpus += cpuset_size(item->cpus);
	for (size_t i = 0; i < item->n_devices; i++)
		*devices += item->devices[i].ids.n_items;
}

static size_t devices_wanted(const struct shape *shape)
{
	size_t n = 0;

	for (size_t i = 0; i < shape->wanted.n_items; i++)
		if (!resource_name_is_native(shape->wanted.items[i].name))
			n += (size_t)(shape->wanted.items[i].quantity.nano / QTY_UNIT);
	return n;
}

/* What the object shows of a pod. */
enum shown { SHOWN_NOTHING, SHOWN_PART, SHOWN_ALL };

/*
 * The kubelet writes its files one after the other while it admits a pod, so an object from in between has some of what
 * the pod gets. It is all of it when there are as many CPUs and devices as the pod asks for, and memory where the
 * kubelet reserves it. An object of another exporter names nobody: it is taken to show who was bound some time before it
 * came.
 */
static enum shown find_shown(const struct book_node *node, const struct book_pod *pod)
{
	const struct node_state *state = &node->object.state;
	size_t cpus = 0, devices = 0;
	bool found = false, memory = false;

	if (node->object.basis == CLUSTER_ESTIMATED)
		return pod->bound && (pod->bound_ms == 0 ||
					     node->object_ms >= pod->bound_ms + ESTIMATE_LAG_MS)
			       ? SHOWN_ALL
			       : SHOWN_NOTHING;
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		const struct allocation *item = &state->allocations.items[i];

		if (!pod_names_match(&pod->names, item))
			continue;
		found = true;
		memory = memory || item->n_memory > 0;
		count_item(item, &cpus, &devices);
	}
	if (!found)
		return SHOWN_NOTHING;
	if (state->settings.cpu_manager == CPU_MANAGER_STATIC && cpus < pod->shape->cpus)
		return SHOWN_PART;
	if (state->settings.memory_manager == MEMORY_MANAGER_STATIC && pod->shape->qos == QOS_GUARANTEED &&
		!pod->shape->pod.has_pod_resources && !memory)
		return SHOWN_PART;
	return devices < devices_wanted(pod->shape) ? SHOWN_PART : SHOWN_ALL;
}

static void mark(const struct allocations *a, const struct pod_names *names, bool *gone)
{
	for (size_t i = 0; i < a->n_items; i++)
		gone[i] = gone[i] || pod_names_match(names, &a->items[i]);
}

/* The kubelet's managers have nothing to give it: no object will ever show it. */
static bool holds_nothing(const struct book_pod *pod)
{
	return pod->held && hwloc_bitmap_iszero(pod->held->cpus) && pod->held->n_memory == 0 &&
	       pod->held->n_devices == 0;
}

/* Which items of the object do not count, and which pods are added; without[i] belongs to node->pods[i]. */
static void sort_out(const struct book_node *node, const bool *without, bool *gone, bool *added)
{
	const struct allocations *a = &node->object.state.allocations;

	for (size_t i = 0; i < node->n_ended; i++)
		mark(a, &node->ended[i], gone);
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct book_pod *pod = node->pods[i];
		enum shown shown = pod->shape->aligned ? find_shown(node, pod) : SHOWN_ALL;
		bool leaves = without && without[i];

		added[i] = !leaves && shown != SHOWN_ALL && !holds_nothing(pod);
		if (leaves || shown == SHOWN_PART)
			mark(a, &pod->names, gone);
	}
}

/* Whether the kubelet admits the shape on the node as it is behind those before, and what it gets: to be released when it
 * is admitted. */
static int try_shape(const struct node_outlook *before, const struct shape *shape, struct allocation *ret,
	bool *ret_admits)
{
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	struct node_state state = before->state;
	struct admission a;
	int r;

	state.allocations = before->view;
	r = node_asker_init(&asker, &state);
	if (r == 0)
		r = node_asker_judge(&asker, &shape->pod, &a);
	if (r < 0)
		return r;
	*ret_admits = a.managers.answer == KUBELET_ADMITS;
	return *ret_admits ? node_outlook_item(&asker, &shape->pod, &a.managers, ret) : 0;
}

/* What the pod gets behind those before. A pod that is refused there gets nothing. */
static int work_out(const struct node_outlook *before, struct book_pod *pod)
{
	CLEANUP(freep) struct allocation *held = calloc(1, sizeof(*held));
	bool admits = false;
	int r = held ? try_shape(before, pod->shape, held, &admits) : -ENOMEM;

	if (r < 0 || !admits)
		return r;
	book_forget_held(pod);
	pod->held = TAKE(held);
	if (text_set(&pod->held->pod_uid, pod->names.uid) < 0 ||
		text_set(&pod->held->pod, pod->names.pod) < 0) {
		book_forget_held(pod);
		return -ENOMEM;
	}
	return 0;
}

/* The kubelet has pods in the order of their coming. What one gets is worked out once, and again only where another has
 * it by now. */
static int add_pod(struct node_outlook *o, struct book_pod *pod)
{
	int r = 0;

	if (pod->held && !node_outlook_has(o, pod->held))
		book_forget_held(pod);
	if (!pod->held)
		r = work_out(o, pod);
	return r < 0 || !pod->held ? r : node_outlook_add(o, pod->held);
}

/* What can still be requested of the whole node, where there is a Node. */
static int limit(struct outlook *o, const struct book_node *node, const bool *without)
{
	CLEANUP(resource_list_release) struct resource_list most = {0};
	int r = resource_list_add(&most, &node->allocatable, 1);

	if (!node->has_node)
		return 0;
	for (size_t i = 0; i < most.n_items; i++) {
		struct resource_quantity *q = &most.items[i];
		const struct resource_quantity *taken = resource_list_find(&node->requested, q->name);
		qty_t held = taken ? taken->quantity.nano : 0;

		for (size_t k = 0; without && k < node->n_pods; k++) {
			const struct resource_quantity *back =
				without[k] ? resource_list_find(&node->pods[k]->shape->wanted, q->name)
					   : NULL;

			held -= back ? back->quantity.nano : 0;
		}
		q->quantity.nano = q->quantity.nano > held ? q->quantity.nano - held : 0;
	}
	return r < 0 ? r : node_asker_limit(&o->asker, &most);
}

/* Of a node whose object has a state. 0 or -ENOMEM; to be released in either case. */
static int outlook_init(struct outlook *o, const struct book_node *node, const bool *without)
{
	CLEANUP(freep) bool *gone = calloc(node->object.state.allocations.n_items + 1, sizeof(*gone));
	CLEANUP(freep) bool *added = calloc(node->n_pods + 1, sizeof(*added));
	int r;

	*o = (struct outlook){0};
	if (!gone || !added)
		return -ENOMEM;
	sort_out(node, without, gone, added);
	r = node_outlook_init(&o->node, &node->object.state, gone);
	for (size_t i = 0; i < node->n_pods && r == 0; i++)
		if (added[i])
			r = add_pod(&o->node, node->pods[i]);
	if (r == 0)
		r = node_outlook_finish(&o->node);
	if (r == 0)
		r = node_asker_init(&o->asker, &o->node.state);
	return r < 0 ? r : limit(o, node, without);
}

/* ---- pods that are on their way, in another order */

#define ORDERS_MAX 24u /* of 4 different shapes */

struct arrivals {
	const struct shape **order;
	size_t n;
	struct allocation *items; /* what each gets */
	size_t n_items;
};

static void arrivals_release(struct arrivals *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		allocation_release(&a->items[i]);
	free(a->items);
	free(a->order);
}

/* Whether each is admitted when they come in this order. */
static int try_order(const struct book_node *node, const bool *gone, struct arrivals *a, bool *ret)
{
	CLEANUP(node_outlook_release) struct node_outlook o = {0};
	int r = node_outlook_init(&o, &node->object.state, gone);

	*ret = true;
	while (a->n_items > 0)
		allocation_release(&a->items[--a->n_items]);
	for (size_t i = 0; i < a->n && r == 0; i++) {
		r = try_shape(&o, a->order[i], &a->items[i], ret);
		if (r < 0 || !*ret)
			return r;
		a->n_items = i + 1;
		r = node_outlook_add(&o, &a->items[i]);
	}
	return r;
}

static void swap(const struct shape **a, const struct shape **b)
{
	const struct shape *was = *a;

	*a = *b;
	*b = was;
}

/* The next order of the shapes, by their addresses; false when that was the last. Equal shapes count as one. */
static bool next_order(const struct shape **order, size_t n)
{
	size_t i = n, k = n;

	while (i > 1 && order[i - 2] >= order[i - 1])
		i--;
	if (i < 2)
		return false;
	while (order[k - 1] <= order[i - 2])
		k--;
	swap(&order[i - 2], &order[k - 1]);
	for (k = n; i < k; i++, k--)
		swap(&order[i - 1], &order[k - 1]);
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct shape *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Pods are bound side by side, so a kubelet may get them in another order than they were promised; and one that ended
 * meanwhile may have made room that an earlier one takes. The shape goes to the node only if all are admitted in every
 * order of those on their way, behind those who have arrived. False where there are too many orders.
 */
static int in_any_order(const struct book_node *node, const struct shape *shape, bool *ret)
{
	CLEANUP(freep) bool *gone = calloc(node->object.state.allocations.n_items + 1, sizeof(*gone));
	CLEANUP(freep) bool *added = calloc(node->n_pods + 1, sizeof(*added));
	CLEANUP(arrivals_release)
	struct arrivals a = {.order = calloc(node->n_pods + 1, sizeof(*a.order)),
		.items = calloc(node->n_pods + 1, sizeof(*a.items))};
	size_t arrived = 0;
	int r = 0;

	*ret = true;
	if (!gone || !added || !a.order || !a.items)
		return -ENOMEM;
	sort_out(node, NULL, gone, added);
	for (unsigned turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < node->n_pods; i++)
			if (added[i] && node->pods[i]->arrived == (turn == 0)) {
				a.order[a.n++] = node->pods[i]->shape;
				arrived += turn == 0;
			}
	if (a.n == 0)
		return 0;
	a.order[a.n++] = shape;
	qsort(a.order + arrived, a.n - arrived, sizeof(*a.order), by_address);
	for (unsigned n = 0; n < ORDERS_MAX && r == 0 && *ret; n++) {
		r = try_order(node, gone, &a, ret);
		if (r == 0 && *ret && !next_order(a.order + arrived, a.n - arrived))
			return 0;
	}
	*ret = false;
	return r;
}

/* ---- how good the place is */

/* The NUMA nodes that the kubelet would use, by id. Of devices alone its hint says so; a pod that asks for nothing of the
 * managers has a hint as well, which means nothing. */
static uint64_t nodes_of(const struct kubelet *k, const struct shape *shape, const struct kubelet_verdict *v)
{
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];
	uint64_t nodes = 0, hinted = 0;

	for (size_t i = 0; i < v->n_placements; i++) {
		const struct kubelet_placement *p = &v->placements[i];

		for (size_t c = 0; p->cpus && c < k->topology.n_cpus; c++)
			if (p->cpus[c])
				nodes |= node_mask_of((unsigned)numa->ids[numa->of[c]]);
		nodes |= p->memory_nodes;
		hinted |= p->hint.any_node ? 0 : p->hint.nodes;
	}
	return nodes || !request_has_non_native(&shape->pod) ? nodes : hinted;
}

/* No set of as many NUMA nodes is closer together. */
static int is_closest(const struct inventory *inv, uint64_t nodes, bool *ret)
{
	CLEANUP(distances_release) struct distances d = {0};
	unsigned size = node_mask_count(nodes);
	uint64_t positions = 0;
	int r;

	*ret = true;
	if (size <= 1)
		return 0;
	r = distances_init(&d, inv->costs, inv->n_nodes, DISTANCES_WORK_LIMIT);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (nodes & node_mask_of(inv->nodes[i].id))
			positions |= UINT64_C(1) << i;
	size = node_mask_count(positions);
	*ret = distances_sum(&d, positions) <= d.low[size];
	return 0;
}

/* The plugin's score on the zones as they will be. It has one for nodes of policy single-numa-node only: here the others get
 * theirs by the same formula. */
static int score_zones(
	const struct inventory *inv, const struct shape *shape, enum strategy strategy, int *ret)
{
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	CLEANUP(distances_release) struct distances d = {0};
	CLEANUP(fit_space_release) struct fit_space space = {0};
	struct topology_manager_config topology = inv->topology;
	int r = request_plan_init(&plan, &shape->pod);

	topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	if (r == 0)
		r = distances_init(&d, inv->costs, inv->n_nodes, DISTANCES_WORK_LIMIT);
	if (r == 0)
		r = fit_space_init(&space, inv, &d);
	if (r == 0)
		*ret = strategy_score(&space, &plan, &topology, strategy, NULL);
	return r == -E2BIG ? 0 : r;
}

static int rank(struct outlook *o, const struct shape *shape, const struct kubelet_verdict *managers,
	enum strategy strategy, struct verdict *v)
{
	const struct kubelet *k = &o->asker.kubelet;
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];
	uint64_t nodes = nodes_of(k, shape, managers);
	CLEANUP(freep) size_t *free_cpus = calloc(numa->n + 1, sizeof(*free_cpus));
	const struct inventory *inv = &o->node.inventory;
	unsigned most = inv->topology.max_numa_nodes;
	bool closest;
	int r = free_cpus ? is_closest(inv, nodes, &closest) : -ENOMEM;

	if (r < 0)
		return r;
	kubelet_free_cpus(k, o->asker.ws, free_cpus);
	for (size_t i = 0; i < numa->n; i++) {
		v->free += free_cpus[i];
		if (nodes & node_mask_of((unsigned)numa->ids[i]))
			v->left += free_cpus[i];
	}
	v->numa_nodes = node_mask_count(nodes);
	if (strategy != STRATEGY_LEAST_NUMA_NODES)
		return score_zones(inv, shape, strategy, &v->score);
	v->score = strategy_normalize(
		v->numa_nodes, closest, most > 0 ? most : TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES);
	return 0;
}

/* ---- the verdict */

/* In the kubelet's words where the managers refuse, else the amount that is short. */
static int explain(const struct admission *a, const struct shape *shape, char **ret)
{
	const char *container = a->managers.container < shape->pod.n_containers && shape->pod.n_containers > 1
					? shape->pod.containers[a->managers.container].name
					: "";
	const char *resource = a->short_of ? a->short_of : a->unsure_of;
	int n;

	if (a->managers.reason.text[0])
		n = asprintf(ret, "%s%s%s", container, *container ? ": " : "", a->managers.reason.text);
	else if (resource)
		n = asprintf(ret, "%s %s", a->short_of ? "insufficient" : "perhaps insufficient", resource);
	else
		n = asprintf(ret, "%s", "not known");
	if (n < 0)
		*ret = NULL;
	return n < 0 ? -ENOMEM : 0;
}

static const struct book_refusal *find_refusal(const struct book_node *node, const struct shape *shape)
{
	for (size_t i = 0; i < node->n_refusals; i++)
		if (node->refusals[i].shape == shape)
			return &node->refusals[i];
	return NULL;
}

static int judge(const struct book_node *node, struct shape *shape, enum strategy strategy, struct verdict *v)
{
	CLEANUP(outlook_release) struct outlook o = {0};
	const struct book_refusal *refusal = find_refusal(node, shape);
	struct admission a;
	bool sure = true;
	int r;

	v->basis = node->has_object ? node->object.basis : CLUSTER_UNKNOWN;
	if (refusal) {
		v->answer = KUBELET_REJECTS;
		r = asprintf(&v->reason, "its kubelet has just refused such a pod: %s", refusal->reason);
		if (r < 0)
			v->reason = NULL;
		return r < 0 ? -ENOMEM : 0;
	}
	if (v->basis == CLUSTER_UNKNOWN) {
		v->answer = KUBELET_UNKNOWN;
		v->reason = strdup(node->has_object ? node->object.why.text
						    : "there is no NodeResourceTopology object of it");
		return v->reason ? 0 : -ENOMEM;
	}
	r = outlook_init(&o, node, NULL);
	if (r == 0)
		r = node_asker_judge(&o.asker, &shape->pod, &a);
	if (r < 0)
		return r;
	v->answer = a.answer;
	if (a.answer != KUBELET_ADMITS)
		return explain(&a, shape, &v->reason);
	r = rank(&o, shape, &a.managers, strategy, v);
	if (r == 0 && v->numa_nodes > 0)
		r = in_any_order(node, shape, &sure);
	if (r < 0 || sure)
		return r;
	v->answer = KUBELET_REJECTS;
	v->reason = strdup("it depends on which of the pods on their way there comes first");
	return v->reason ? 0 : -ENOMEM;
}

int verdict_of(struct book *b, struct shape *shape, struct book_node *node, enum strategy strategy,
	const struct verdict **ret)
{
	struct verdict *slot, fresh = {.version = node->version};
	int r;

	if (vec_grow(&shape->verdicts, &shape->verdicts_size, b->n_nodes, sizeof(*slot)) < 0)
		return -ENOMEM;
	slot = &shape->verdicts[node->slot];
	if (slot->version != node->version) {
		r = judge(node, shape, strategy, &fresh);
		if (r < 0) {
			free(fresh.reason);
			return r;
		}
		free(slot->reason);
		*slot = fresh;
	}
	*ret = slot;
	return 0;
}

int verdict_without(
	const struct shape *shape, const struct book_node *node, const bool *gone, enum kubelet_answer *ret)
{
	CLEANUP(outlook_release) struct outlook o = {0};
	struct admission a;
	int r;

	if (!node->has_object || node->object.basis == CLUSTER_UNKNOWN) {
		*ret = KUBELET_UNKNOWN;
		return 0;
	}
	r = outlook_init(&o, node, gone);
	if (r == 0)
		r = node_asker_judge(&o.asker, &shape->pod, &a);
	if (r == 0)
		*ret = a.answer;
	return r;
}

int verdicts_settle(struct book_node *node)
{
	CLEANUP(outlook_release) struct outlook o = {0};

	return node->has_object && node->object.basis != CLUSTER_UNKNOWN ? outlook_init(&o, node, NULL) : 0;
}
