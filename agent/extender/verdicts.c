/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/verdicts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/extender/forecast.h"
#include "common/cleanup.h"
#include "common/resource_name.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"

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
static int is_closest(struct distances_kept *kept, const struct inventory *inv, uint64_t nodes, bool *ret)
{
	struct distances *d;
	unsigned size = node_mask_count(nodes);
	uint64_t positions = 0;
	int r;

	*ret = true;
	if (size <= 1)
		return 0;
	r = distances_keep(kept, inv->costs, inv->n_nodes, &d);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (nodes & node_mask_of(inv->nodes[i].id))
			positions |= UINT64_C(1) << i;
	size = node_mask_count(positions);
	distances_search(d);
	*ret = distances_sum(d, positions) <= d->low[size];
	return 0;
}

/* The plugin's score on the zones as they will be. It has one for nodes of policy single-numa-node only: here the others get
 * theirs by the same formula. */
static int score_zones(struct distances_kept *kept, const struct inventory *inv, const struct shape *shape,
	enum strategy strategy, int *ret)
{
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	struct distances *d;
	CLEANUP(fit_space_release) struct fit_space space = {0};
	struct topology_manager_config topology = inv->topology;
	int r = request_plan_init(&plan, &shape->pod);

	topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	if (r == 0)
		r = distances_keep(kept, inv->costs, inv->n_nodes, &d);
	if (r == 0)
		r = fit_space_init(&space, inv, d);
	if (r == 0)
		*ret = strategy_score(&space, &plan, &topology, strategy, NULL);
	return r == -E2BIG ? 0 : r;
}

static int rank(struct book *b, struct outlook *o, const struct shape *shape,
	const struct kubelet_verdict *managers, enum strategy strategy, struct verdict *v)
{
	const struct kubelet *k = &o->asker.kubelet;
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];
	uint64_t nodes = nodes_of(k, shape, managers);
	CLEANUP(freep) size_t *free_cpus = calloc(numa->n + 1, sizeof(*free_cpus));
	const struct inventory *inv = &o->node.inventory;
	unsigned most = inv->topology.max_numa_nodes;
	bool closest;
	int r = free_cpus ? is_closest(&b->distances, inv, nodes, &closest) : -ENOMEM;

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
		return score_zones(&b->distances, inv, shape, strategy, &v->score);
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
	const char *claims = shape->pod.has_claims ? "; its resourceClaims were not looked at" : "";
	int n;

	if (a->managers.reason.text[0])
		n = asprintf(
			ret, "%s%s%s%s", container, *container ? ": " : "", a->managers.reason.text, claims);
	else if (resource)
		n = asprintf(ret, "%s %s%s", a->short_of ? "insufficient" : "perhaps insufficient", resource,
			claims);
	else
		n = asprintf(ret, "not known%s", claims);
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

const char *verdict_lacks(const struct shape *shape, const struct book_node *node)
{
	for (size_t i = 0; node->has_node && i < shape->wanted.n_items; i++) {
		const struct resource_quantity *wanted = &shape->wanted.items[i];

		if (shape->known[i] && wanted->quantity.nano > 0 && !resource_name_is_native(wanted->name) &&
			!resource_list_find(&node->allocatable, wanted->name) &&
			!strv_contains(&node->resources[BOOK_NRT], wanted->name))
			return wanted->name;
	}
	return NULL;
}

/* Of a node whose object has a state. */
static int judge_state(struct book *b, const struct book_node *node, const struct shape *shape,
	enum strategy strategy, struct verdict *v)
{
	struct outlook *o;
	struct admission a;
	int r = forecast(b, node, &o);

	if (r == 0)
		r = node_asker_judge(&o->asker, &shape->pod, &a);
	if (r < 0)
		return r;
	v->answer = a.answer;
	v->by_amounts = a.answer != a.managers.answer;
	if (a.answer != KUBELET_ADMITS)
		return explain(&a, shape, &v->reason);
	return rank(b, o, shape, &a.managers, strategy, v);
}

static int judge(struct book *b, const struct book_node *node, struct shape *shape, enum strategy strategy,
	struct verdict *v)
{
	const struct book_refusal *refusal = find_refusal(node, shape);
	const char *lacks = verdict_lacks(shape, node);
	int r;

	v->basis = node->has_object ? node->object.basis : CLUSTER_UNKNOWN;
	if (refusal) {
		v->answer = KUBELET_REJECTS;
		r = asprintf(&v->reason, "its kubelet has just refused such a pod: %s", refusal->reason);
		if (r < 0)
			v->reason = NULL;
		return r < 0 ? -ENOMEM : 0;
	}
	if (lacks) {
		v->answer = KUBELET_REJECTS;
		r = asprintf(&v->reason, "insufficient %s", lacks);
		if (r < 0)
			v->reason = NULL;
		return r < 0 ? -ENOMEM : 0;
	}
	if (shape->too_large) {
		v->answer = KUBELET_UNKNOWN;
		v->reason = strdup("the pod has more containers and resources than are judged");
		return v->reason ? 0 : -ENOMEM;
	}
	if (forecast_possible(node))
		return judge_state(b, node, shape, strategy, v);
	v->answer = KUBELET_UNKNOWN;
	v->reason = strdup(
		node->has_object ? node->object.why.text : "there is no NodeResourceTopology object of it");
	return v->reason ? 0 : -ENOMEM;
}

/* ---- whether it is still right */

/* The node as a whole has what the shape asks for. */
static bool has_room(const struct book_node *node, const struct shape *shape)
{
	for (size_t i = 0; node->has_node && i < shape->wanted.n_items; i++) {
		const struct resource_quantity *wanted = &shape->wanted.items[i];
		const struct resource_quantity *most = resource_list_find(&node->allocatable, wanted->name);

		if (most && wanted->quantity.nano > 0 &&
			wanted->quantity.nano >
				most->quantity.nano - resource_list_amount(&node->requested, wanted->name))
			return false;
	}
	return true;
}

/* The managers say the same as long as the version is the same; the amounts may decide otherwise by now. */
static bool is_right(const struct verdict *v, const struct book_node *node, const struct shape *shape)
{
	if (v->version != node->version)
		return false;
	if (v->amounts == node->amounts || v->basis == CLUSTER_UNKNOWN)
		return true;
	return v->answer == KUBELET_ADMITS ? has_room(node, shape)
					   : v->answer == KUBELET_REJECTS && !v->by_amounts;
}

#define UNREACHED "not known yet: what kubelets say to such a pod takes too long to work out"

static const struct verdict *unreached(void)
{
	static char reason[] = UNREACHED;
	static const struct verdict v = {.answer = KUBELET_UNKNOWN, .unreached = true, .reason = reason};

	return &v;
}

int verdict_of(struct book *b, struct shape *shape, struct book_node *node, enum strategy strategy,
	const struct verdict **ret)
{
	struct verdict *slot, fresh = {.version = node->version};
	int r;

	if (shapes_make_room(&b->shapes, shape, b->n_nodes) < 0)
		return -ENOMEM;
	slot = &shape->verdicts[node->slot];
	if (!is_right(slot, node, shape)) {
		r = work_limit_goes_on(&b->work) ? judge(b, node, shape, strategy, &fresh) : -ETIME;
		if (r < 0) {
			free(fresh.reason);
			*ret = unreached();
			return r == -ETIME ? 0 : r;
		}
		free(slot->reason);
		*slot = fresh;
		b->work.advanced = true;
	}
	slot->amounts = node->amounts;
	*ret = slot;
	return 0;
}

int verdict_confirm(
	struct book *b, struct shape *shape, const struct book_node *node, const struct verdict **ret)
{
	struct verdict *v = &shape->verdicts[node->slot];
	struct outlook *o;
	bool sure = true;
	int r;

	*ret = v;
	if (v->confirmed || v->answer != KUBELET_ADMITS || v->numa_nodes == 0)
		return 0;
	r = forecast(b, node, &o);
	if (r == 0)
		r = arrivals_admit(&o->arrivals, shape, &b->work, &sure);
	if (r == -ETIME)
		*ret = unreached();
	if (r < 0)
		return r == -ETIME ? 0 : r;
	if (!sure) {
		v->reason = strdup("it depends on which of the pods on their way there comes first");
		if (!v->reason)
			return -ENOMEM;
		v->answer = KUBELET_REJECTS;
	}
	v->confirmed = true;
	return 0;
}

int verdict_without(struct book *b, const struct shape *shape, const struct book_node *node, const bool *gone,
	enum kubelet_answer *ret)
{
	CLEANUP(outlook_release) struct outlook o = {0};
	struct admission a;
	int r;

	if (shape->too_large || !forecast_possible(node)) {
		*ret = KUBELET_UNKNOWN;
		return 0;
	}
	r = work_limit_goes_on(&b->work) ? forecast_without(b, node, gone, &o) : -ETIME;
	b->work.advanced = true; /* nothing is kept, but one answer is given */
	if (r == 0)
		r = node_asker_judge(&o.asker, &shape->pod, &a);
	if (r == 0)
		*ret = a.answer;
	return r;
}
