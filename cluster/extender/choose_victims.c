/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/choose_victims.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node_mask.h"

void node_victims_release(struct node_victims *v)
{
	free(v->pods);
	free(v->scratch);
	*v = (struct node_victims){.node = NULL};
}

/* ---- what is known of the node's pods */

static bool is_asked(const struct extender_victims *asked, const char *uid)
{
	for (size_t i = 0; i < asked->n_uids; i++)
		if (!strcmp(asked->uids[i], uid))
			return true;
	return false;
}

static uint64_t numa_nodes_of_item(const struct machine *m, const struct allocation *item)
{
	uint64_t nodes = 0;

	for (int id = hwloc_bitmap_first(item->cpus); id >= 0; id = hwloc_bitmap_next(item->cpus, id)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)id);

		nodes |= cpu && cpu->numa >= 0 ? node_mask_of((unsigned)cpu->numa) : 0;
	}
	for (size_t i = 0; i < item->n_devices; i++)
		for (int id = hwloc_bitmap_first(item->devices[i].nodes); id >= 0;
			id = hwloc_bitmap_next(item->devices[i].nodes, id))
			nodes |= node_mask_of((unsigned)id);
	return nodes;
}

static uint64_t numa_nodes_of(const struct node_info *node, const struct pod_info *pod)
{
	const struct node_state *state = &node->object.state;
	struct reported_items own = reported_find(&node->reported, &pod->names);
	uint64_t nodes = pod->held ? numa_nodes_of_item(&state->machine, pod->held) : 0;

	for (size_t i = 0; i < own.n_by_uid; i++)
		nodes |= numa_nodes_of_item(&state->machine, &state->allocations.items[own.by_uid[i].item]);
	for (size_t i = 0; i < own.n_by_name; i++)
		nodes |= numa_nodes_of_item(&state->machine, &state->allocations.items[own.by_name[i].item]);
	return nodes;
}

/* The scheduler's order: higher priority, then the earlier start. A pod that has not started is the least important. */
static int by_importance(const void *va, const void *vb, void *data)
{
	const struct node_info *node = *(const struct node_info *const *)data;
	const struct pod_info *a = node->pods[*(const size_t *)va], *b = node->pods[*(const size_t *)vb];

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->started_s == b->started_s)
		return 0;
	return b->started_s == 0 || (a->started_s > 0 && a->started_s < b->started_s) ? -1 : 1;
}

/* Whether the eviction of each pod of lower priority violates a PodDisruptionBudget, if the scheduler evicts all of them. */
static void find_violations(struct disruption_budgets *budgets, const struct node_info *node,
	int32_t priority, struct node_victims *v)
{
	CLEANUP(freep) size_t *order = xcalloc(node->n_pods + 1, sizeof(*order));
	size_t n = 0;

	for (size_t i = 0; i < node->n_pods; i++)
		if (node->pods[i]->bound && node->pods[i]->priority < priority)
			order[n++] = i;
	vec_sort(order, n, sizeof(*order), by_importance, &node);
	disruption_budgets_begin(budgets);
	for (size_t i = 0; i < n; i++) {
		struct pod_info *pod = node->pods[order[i]];

		v->pods[order[i]].violates =
			disruption_budgets_violates(budgets, pod->namespace, pod->name, &pod->budgeted);
	}
}

static void init_victims(struct verdicts *verdicts, const struct extender_preemption *args,
	const struct extender_victims *asked, const struct node_info *node, struct node_victims *v)
{
	struct disruption_budgets *budgets = &verdicts->cluster->budgets;

	v->budgets_known = disruption_budgets_current(budgets);
	v->pods = xcalloc(node->n_pods + 1, sizeof(*v->pods));
	v->scratch = xcalloc(node->n_pods + 1, sizeof(*v->scratch));
	if (v->budgets_known)
		find_violations(budgets, node, args->pod.priority, v);
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];
		struct victim_candidate *c = &v->pods[i];

		c->asked = c->evicted = is_asked(asked, pod->uid);
		c->may_go = pod->bound && pod->class->aligned && !pod->mirror &&
			    pod->priority < args->pod.priority;
		c->fixed = c->asked && (!args->by_amounts || pod->repels || !c->may_go || !node->has_node);
		c->violates = c->violates || !v->budgets_known;
		c->considered = c->asked;
		c->cpus = pod->class->cpus;
		c->numa_nodes = c->may_go ? numa_nodes_of(node, pod) : 0;
	}
}

/* ---- verdicts */

static bool allows_one_more_pod(const struct node_victims *v)
{
	const struct resource_quantity *pods = resource_list_find(&v->node->allocatable, "pods");
	qty_t n = 1;

	for (size_t i = 0; i < v->node->n_pods; i++)
		n += !v->pods[i].evicted && !v->node->pods[i]->is_reservation;
	return !pods || n * QTY_UNIT <= pods->quantity.nano;
}

static int judge_victims(struct verdicts *verdicts, const struct node_victims *v, enum kubelet_answer *ret)
{
	for (size_t i = 0; i < v->node->n_pods; i++)
		v->scratch[i] = v->pods[i].evicted;
	return verdict_without(verdicts, v->class, v->node, v->scratch, ret);
}

/* ---- sufficient victims */

/* Positive if pod `a` is less important than pod `b`, and 0 if both are equally important. */
static int compare_cost(const struct node_victims *v, size_t a, size_t b)
{
	const struct victim_candidate *x = &v->pods[a], *y = &v->pods[b];
	int32_t p = v->node->pods[a]->priority, q = v->node->pods[b]->priority;

	if (x->violates != y->violates)
		return x->violates ? -1 : 1;
	return (p < q) - (p > q);
}

/* Considers the remaining pods of the least importance. Returns their number. */
static size_t consider_next(struct node_victims *v)
{
	size_t first = v->node->n_pods, n = 0;

	for (size_t i = 0; i < v->node->n_pods; i++)
		if (v->pods[i].may_go && !v->pods[i].considered &&
			(first == v->node->n_pods || compare_cost(v, i, first) > 0))
			first = i;
	for (size_t i = first; i < v->node->n_pods; i++)
		if (v->pods[i].may_go && !v->pods[i].considered && compare_cost(v, i, first) == 0) {
			v->pods[i].considered = v->pods[i].evicted = true;
			n++;
		}
	return n;
}

static int evict_until_admitted(struct verdicts *verdicts, struct node_victims *v, enum kubelet_answer *ret)
{
	size_t n = 0;

	do {
		int r = judge_victims(verdicts, v, ret);

		v->n_own += n;
		if (r < 0 || *ret != KUBELET_REJECTS)
			return r;
		n = consider_next(v);
	} while (n > 0);
	return 0;
}

/* ---- necessary victims */

/* The order in which pods are dropped: violations first. Then few CPUs first, so that few victims remain. */
static int by_drop_order(const void *va, const void *vb, void *data)
{
	const struct node_victims *v = data;
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;
	const struct victim_candidate *x = &v->pods[a], *y = &v->pods[b];
	int32_t p = v->node->pods[a]->priority, q = v->node->pods[b]->priority;

	if (x->violates != y->violates)
		return x->violates ? -1 : 1;
	if (x->cpus != y->cpus)
		return x->cpus < y->cpus ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	return x->asked - y->asked;
}

/* Drops each victim whose eviction is not necessary; with `added_only` only victims that the scheduler does not have. */
static int drop_unnecessary(struct verdicts *verdicts, struct node_victims *v, bool added_only)
{
	CLEANUP(freep) size_t *order = xcalloc(v->node->n_pods + 1, sizeof(*order));
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < v->node->n_pods; i++)
		if (v->pods[i].evicted && !v->pods[i].fixed && !(added_only && v->pods[i].asked))
			order[n++] = i;
	vec_sort(order, n, sizeof(*order), by_drop_order, v);
	for (size_t i = 0; i < n && r == 0; i++) {
		bool *evicted = &v->pods[order[i]].evicted;
		enum kubelet_answer answer = KUBELET_REJECTS;

		*evicted = false;
		if (!v->pods[order[i]].asked || allows_one_more_pod(v))
			r = judge_victims(verdicts, v, &answer);
		*evicted = r < 0 || answer != KUBELET_ADMITS;
	}
	return r;
}

/* Victims that nrtd has added to those of the scheduler. */
static void count_own_victims(struct node_victims *v)
{
	v->n_own = 0;
	for (size_t i = 0; i < v->node->n_pods; i++)
		v->n_own += v->pods[i].evicted && !v->pods[i].asked;
}

int choose_victims(struct verdicts *verdicts, const struct extender_preemption *args,
	const struct extender_victims *asked, const struct pod_class *class, struct node_victims *ret,
	enum kubelet_answer *ret_answer)
{
	const struct node_info *node = cluster_find_node(verdicts->cluster, asked->node);
	int r;

	*ret = (struct node_victims){.node = node, .class = class};
	init_victims(verdicts, args, asked, node, ret);
	r = evict_until_admitted(verdicts, ret, ret_answer);
	if (r == 0 && *ret_answer == KUBELET_ADMITS)
		r = drop_unnecessary(verdicts, ret, true);
	count_own_victims(ret);
	return r;
}

/* ---- better victims */

/* What a choice of victims costs. kube-scheduler adds 2^31 to each priority, so that the number of victims usually decides before
 * their priorities. */
struct cost {
	size_t violations, victims;
	int64_t priorities;
	size_t cpus;
};

static struct cost cost_of(const struct node_victims *v, const bool *evicted)
{
	struct cost cost = {0};

	for (size_t i = 0; i < v->node->n_pods; i++) {
		if (!evicted[i])
			continue;
		cost.violations += v->pods[i].violates;
		cost.victims++;
		cost.priorities += v->node->pods[i]->priority;
		cost.cpus += v->pods[i].cpus;
	}
	return cost;
}

static bool is_cheaper(const struct cost *a, const struct cost *b)
{
	if (a->violations != b->violations)
		return a->violations < b->violations;
	if (a->victims != b->victims)
		return a->victims < b->victims;
	return a->priorities != b->priorities ? a->priorities < b->priorities : a->cpus < b->cpus;
}

static void copy_evicted(const struct node_victims *v, bool *ret)
{
	for (size_t i = 0; i < v->node->n_pods; i++)
		ret[i] = v->pods[i].evicted;
}

static void set_evicted(struct node_victims *v, const bool *evicted)
{
	for (size_t i = 0; i < v->node->n_pods; i++)
		v->pods[i].evicted = evicted[i];
}

/* Keeps v's choice in `best` if it is cheaper, and if the scheduler gets at least one victim. */
static void keep_cheaper(const struct node_victims *v, bool *best)
{
	CLEANUP(freep) bool *evicted = xcalloc(v->node->n_pods + 1, sizeof(*evicted));
	struct cost new, old = cost_of(v, best);

	copy_evicted(v, evicted);
	new = cost_of(v, evicted);
	if (new.victims > 0 && is_cheaper(&new, &old))
		memcpy(best, evicted, v->node->n_pods * sizeof(*best));
}

/* Evicts the considered pods that hold something of these NUMA nodes, and drops those that are not necessary. */
static int try_numa_nodes(struct verdicts *verdicts, struct node_victims *v, uint64_t nodes, bool *best)
{
	enum kubelet_answer answer = KUBELET_REJECTS;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < v->node->n_pods; i++) {
		struct victim_candidate *c = &v->pods[i];

		c->evicted = c->fixed || (c->considered && (c->numa_nodes & nodes));
		n += c->evicted && !c->fixed;
	}
	if (n > 0 && allows_one_more_pod(v))
		r = judge_victims(verdicts, v, &answer);
	if (r < 0 || answer != KUBELET_ADMITS)
		return r;
	r = drop_unnecessary(verdicts, v, false);
	if (r == 0)
		keep_cheaper(v, best);
	return r;
}

#define SWAPS_PER_VICTIM 8u

/* Replaces a victim by a cheaper pod that is not evicted, if the kubelet then admits the pod as well. */
static int swap_victim(struct verdicts *verdicts, struct node_victims *v, size_t victim, bool *best)
{
	unsigned n_tried = 0;

	for (size_t i = 0; i < v->node->n_pods && n_tried < SWAPS_PER_VICTIM; i++) {
		CLEANUP(freep) bool *swapped = NULL;
		enum kubelet_answer answer;
		struct cost new, old = cost_of(v, best);
		int r;

		if (best[i] || !v->pods[i].considered ||
			!(v->pods[i].numa_nodes & v->pods[victim].numa_nodes))
			continue;
		swapped = xcalloc(v->node->n_pods + 1, sizeof(*swapped));
		memcpy(swapped, best, v->node->n_pods * sizeof(*swapped));
		swapped[victim] = false;
		swapped[i] = true;
		new = cost_of(v, swapped);
		if (!is_cheaper(&new, &old))
			continue;
		n_tried++;
		set_evicted(v, swapped);
		r = judge_victims(verdicts, v, &answer);
		if (r < 0)
			return r;
		if (answer != KUBELET_ADMITS)
			continue;
		memcpy(best, swapped, v->node->n_pods * sizeof(*best));
		victim = i;
	}
	return 0;
}

static int find_better(struct verdicts *verdicts, struct node_victims *v, bool *best)
{
	uint64_t nodes = 0;
	int r = 0;

	for (size_t i = 0; i < v->node->n_pods; i++)
		nodes |= v->pods[i].considered ? v->pods[i].numa_nodes : 0;
	for (uint64_t left = nodes; left && r == 0; left &= left - 1)
		r = try_numa_nodes(verdicts, v, left & -left, best);
	if (r == 0)
		r = try_numa_nodes(verdicts, v, nodes, best);
	for (size_t i = 0; i < v->node->n_pods && r == 0; i++)
		if (best[i] && !v->pods[i].fixed)
			r = swap_victim(verdicts, v, i, best);
	return r;
}

void improve_victims(struct verdicts *verdicts, struct node_victims *v)
{
	CLEANUP(freep) bool *best = NULL;

	if (!v->node || v->n_own == 0)
		return;
	best = xcalloc(v->node->n_pods + 1, sizeof(*best));
	copy_evicted(v, best);
	(void)find_better(verdicts, v, best); /* the best choice until the work limit */
	set_evicted(v, best);
	count_own_victims(v);
}

/* ---- the answer */

/* The scheduler's victims that the cluster does not have come first, because their priorities are not known. */
static void list_unknown(const struct node_victims *v, struct extender_victims *asked, struct strv *ret)
{
	for (size_t i = 0; i < asked->n_uids; i++) {
		bool found = false;

		for (size_t k = 0; k < v->node->n_pods && !found; k++)
			found = !strcmp(asked->uids[i], v->node->pods[k]->uid);
		if (!found)
			strv_push(ret, asked->uids[i]);
	}
}

void node_victims_write(const struct node_victims *v, struct extender_victims *victims)
{
	const struct node_info *node = v->node;
	CLEANUP(freep) size_t *order = xcalloc(node->n_pods + 1, sizeof(*order));
	struct strv uids = {0};
	size_t n = 0;

	list_unknown(v, victims, &uids);
	for (size_t i = 0; i < v->node->n_pods; i++) {
		const struct victim_candidate *c = &v->pods[i];

		if (c->evicted)
			order[n++] = i;
		if (c->violates && c->evicted && !c->asked && victims->pdb_violations < INT64_MAX)
			victims->pdb_violations++;
		if (c->violates && !c->evicted && c->asked && v->budgets_known && victims->pdb_violations > 0)
			victims->pdb_violations--;
	}
	vec_sort(order, n, sizeof(*order), by_importance, &node);
	for (size_t i = 0; i < n; i++)
		strv_push(&uids, v->node->pods[order[i]]->uid);
	for (size_t i = 0; i < victims->n_uids; i++)
		free(victims->uids[i]);
	free(victims->uids);
	victims->uids = uids.items;
	victims->n_uids = uids.n_items;
}
