/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/choose_victims.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/victims.h"

void node_victims_release(struct node_victims *v)
{
	free(v->pods);
	free(v->evicted);
	free(v->scratch);
	*v = (struct node_victims){.node = NULL};
}

/* ---- what is known of the node's pods */

static bool is_scheduler_victim(const struct extender_victims *asked, const char *uid)
{
	for (size_t i = 0; i < asked->n_uids; i++)
		if (!strcmp(asked->uids[i], uid))
			return true;
	return false;
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

/* Notes what is known of each pod of the node. The first victims are the scheduler's. */
static void init_victims(
	const struct extender_preemption *args, const struct extender_victims *asked, struct node_victims *v)
{
	struct disruption_budgets *budgets = &v->verdicts->cluster->budgets;
	const struct node_info *node = v->node;

	v->budgets_known = disruption_budgets_current(budgets);
	v->pods = xcalloc(node->n_pods + 1, sizeof(*v->pods));
	v->evicted = xcalloc(node->n_pods + 1, sizeof(*v->evicted));
	v->scratch = xcalloc(node->n_pods + 1, sizeof(*v->scratch));
	if (v->budgets_known)
		find_violations(budgets, node, args->pod.priority, v);
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];
		struct node_victim *c = &v->pods[i];

		c->asked = v->evicted[i] = is_scheduler_victim(asked, pod->uid);
		c->may_go = pod->bound && pod->class->aligned && !pod->mirror &&
			    pod->priority < args->pod.priority;
		/* Without a Node object it is not known whether the amounts suffice without this victim. */
		c->fixed = c->asked && (!args->by_amounts || pod->repels || !c->may_go || !node->has_node);
		c->violates = c->violates || !v->budgets_known; /* unknown budgets forbid every eviction */
		c->considered = c->asked;
	}
}

/* struct victims_judge.judge */
static int judge_victims(void *data, const bool *evicted, enum kubelet_answer *ret)
{
	const struct node_victims *v = data;
	int r = verdict_without(v->verdicts, v->class, v->node, evicted, ret);

	return r < 0 ? r : 1;
}

/* ---- sufficient victims */

static bool is_left(const struct node_victims *v, size_t i)
{
	return v->pods[i].may_go && !v->pods[i].considered;
}

/* Marks for eviction the remaining pods that cost the least; the CPUs that they hold do not count. Returns their number. */
static size_t consider_next(struct node_victims *v)
{
	CLEANUP(freep) victims_cost *costs = xcalloc(v->node->n_pods + 1, sizeof(*costs));
	victims_cost lowest = 0;
	size_t n = 0;

	for (size_t i = 0; i < v->node->n_pods; i++) {
		costs[i] = victim_cost(v->pods[i].violates, v->node->pods[i]->priority, 0);
		if (is_left(v, i) && (lowest == 0 || costs[i] < lowest))
			lowest = costs[i];
	}
	if (lowest == 0)
		return 0;
	for (size_t i = 0; i < v->node->n_pods; i++) {
		v->pods[i].last = is_left(v, i) && costs[i] == lowest;
		if (v->pods[i].last)
			v->pods[i].considered = v->evicted[i] = true;
		n += v->pods[i].last;
	}
	return n;
}

/* Adds victims to v->evicted until the kubelet does not reject the pod, or no pod is left. Returns as choose_victims(). */
static int evict_until_admitted(struct node_victims *v, enum kubelet_answer *ret)
{
	do {
		int r = judge_victims(v, v->evicted, ret);

		if (r < 0)
			return r;
	} while (*ret == KUBELET_REJECTS && consider_next(v) > 0);
	return 0;
}

/* The order in which pods are reprieved: violations first. Then few CPUs first, so that few victims remain. */
static int by_reprieve(const void *va, const void *vb, void *data)
{
	const struct node_victims *v = data;
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;
	const struct pod_info *x = v->node->pods[a], *y = v->node->pods[b];

	if (v->pods[a].violates != v->pods[b].violates)
		return v->pods[a].violates ? -1 : 1;
	if (x->class->cpus != y->class->cpus)
		return x->class->cpus < y->class->cpus ? -1 : 1;
	return (x->priority < y->priority) - (x->priority > y->priority);
}

/* Reprieves victims that the scheduler does not have. */
static int reprieve_own(struct node_victims *v)
{
	CLEANUP(freep) size_t *order = xcalloc(v->node->n_pods + 1, sizeof(*order));
	struct victims_judge judge = {.judge = judge_victims, .data = v};
	size_t n = 0;

	for (size_t i = 0; i < v->node->n_pods; i++)
		if (v->evicted[i] && !v->pods[i].asked)
			order[n++] = i;
	vec_sort(order, n, sizeof(*order), by_reprieve, v);
	return victims_reprieve(&judge, NULL, order, n, v->evicted);
}

/* Victims that nrtd has added to those of the scheduler. */
static void count_own_victims(struct node_victims *v)
{
	v->n_own = 0;
	for (size_t i = 0; i < v->node->n_pods; i++)
		v->n_own += v->evicted[i] && !v->pods[i].asked;
}

int choose_victims(struct verdicts *verdicts, const struct extender_preemption *args,
	const struct extender_victims *asked, const struct pod_class *class, struct node_victims *ret,
	enum kubelet_answer *ret_answer)
{
	int r;

	*ret = (struct node_victims){.node = cluster_find_node(verdicts->cluster, asked->node),
		.class = class,
		.verdicts = verdicts};
	init_victims(args, asked, ret);
	r = evict_until_admitted(ret, ret_answer);
	if (r == 0 && *ret_answer == KUBELET_ADMITS)
		r = reprieve_own(ret);
	count_own_victims(ret);
	return r;
}

/* ---- better victims */

/* The set with the victims that stay victims in every set. Valid until the next call. */
static const bool *add_fixed(const struct node_victims *v, const bool *evicted)
{
	for (size_t i = 0; i < v->node->n_pods; i++)
		v->scratch[i] = evicted[i] || v->pods[i].fixed;
	return v->scratch;
}

static bool allows_one_more_pod(const struct node_victims *v, const bool *evicted)
{
	const struct resource_quantity *pods = resource_list_find(&v->node->allocatable, "pods");
	qty_t n = 1;

	for (size_t i = 0; i < v->node->n_pods; i++)
		n += !evicted[i] && !v->node->pods[i]->is_reservation;
	return !pods || n * QTY_UNIT <= pods->quantity.nano;
}

/*
 * struct victims_judge.judge: as judge_victims(), for sets without the fixed victims. A set is not enough without the pods that were
 * considered last, and not if the scheduler would find too many pods on the node.
 */
static int judge_considered(void *data, const bool *evicted, enum kubelet_answer *ret)
{
	const struct node_victims *v = data;
	const bool *all = add_fixed(v, evicted);
	bool has_last = false;

	for (size_t i = 0; i < v->node->n_pods; i++)
		has_last = has_last || (evicted[i] && v->pods[i].last);
	if (has_last && allows_one_more_pod(v, all))
		return judge_victims(data, all, ret);
	*ret = KUBELET_REJECTS;
	return 0;
}

/* The considered pods that free something of what is requested. No candidates if the work limit is reached first. */
static void find_candidates(const struct node_victims *v, struct victim_candidates *ret)
{
	const struct projected_node *o = project_node(&v->verdicts->projections, v->node);
	const struct node_state *state = o ? &o->node.state : NULL;
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(victim_pods_release) struct victim_pods pods = {0};

	if (!state)
		return;
	vec_grow(&pods.items, &pods.items_size, v->node->n_pods, sizeof(*pods.items));
	vec_grow(&pods.owners, &pods.owners_size, state->allocations.n_items, sizeof(*pods.owners));
	pods.n_items = v->node->n_pods;
	for (size_t i = 0; i < pods.n_items; i++) {
		const struct pod_info *pod = v->node->pods[i];
		const struct node_victim *c = &v->pods[i];

		pods.items[i] = (struct victim_pod){.namespace = pod->namespace,
			.name = pod->name,
			.uid = pod->uid,
			.requests = &pod->class->wanted,
			.may_leave = c->considered && !c->fixed,
			.violates = c->violates,
			.priority = pod->priority,
			.cpus = pod->class->cpus};
	}
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		const struct allocation *item = &state->allocations.items[i];
		size_t owner = 0; /* n_items = no pod of the node */

		while (owner < pods.n_items && !pod_names_match(&v->node->pods[owner]->names, item))
			owner++;
		pods.owners[i] = owner;
	}
	if (v->node->has_node) {
		node_info_requestable(v->node, NULL, &requestable);
		pods.requestable = &requestable;
		pods.by_requests = true;
	}
	node_admission_init(&admission, state);
	victim_candidates_find(&admission, &v->class->pod, &pods, ret);
}

void improve_victims(struct node_victims *v)
{
	CLEANUP(victim_candidates_release) struct victim_candidates candidates = {0};
	struct victims_judge judge = {.judge = judge_considered,
		.data = v,
		.max_verdicts = IMPROVE_VERDICTS,
		.max_steps = IMPROVE_STEPS};
	victims_cost cost = 0;

	if (!v->node || v->n_own == 0 || !work_limit_goes_on(&v->verdicts->projections.work))
		return;
	find_candidates(v, &candidates);
	for (size_t i = 0; i < v->node->n_pods; i++) {
		const struct pod_info *pod = v->node->pods[i];

		if (v->evicted[i] && !v->pods[i].fixed)
			cost += victim_cost(v->pods[i].violates, pod->priority, pod->class->cpus);
	}
	(void)victims_improve(
		&judge, &candidates, cost, v->evicted, v->node->n_pods); /* the best until a limit */
	memcpy(v->evicted, add_fixed(v, v->evicted), v->node->n_pods * sizeof(*v->evicted));
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
		const struct node_victim *c = &v->pods[i];

		if (v->evicted[i])
			order[n++] = i;
		if (!c->violates || v->evicted[i] == c->asked)
			continue;
		/* The scheduler's number has the violations of its own victims: corrects the number for added and reprieved victims. */
		if (v->evicted[i] && victims->pdb_violations < INT64_MAX)
			victims->pdb_violations++;
		else if (c->asked && v->budgets_known && victims->pdb_violations > 0)
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
