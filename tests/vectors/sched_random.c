/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.json: [{id, maxNUMANodes, weights, nodeAllocatable, zones, pod, expect}], policy
 * single-numa-node, every value for both scopes.
 */
#include "tests/vectors/sched_build.h"

static const enum topology_manager_scope scopes[] = {TOPOLOGY_SCOPE_CONTAINER, TOPOLOGY_SCOPE_POD};

static void check_effective(struct vectors_run *run, const struct request_plan *plan, const vj *want)
{
	struct resource_list list = list_from_map(want);

	if (list.n_items != plan->effective.n_items)
		vectors_differ(run, "effective request: %zu resources, recorded %zu", plan->effective.n_items,
			list.n_items);
	for (size_t i = 0; i < list.n_items; i++) {
		const struct resource_quantity *got =
			resource_list_find(&plan->effective, list.items[i].name);
		char text[QUANTITY_TEXT_MAX], recorded[QUANTITY_TEXT_MAX];

		if (got && quantity_cmp(got->quantity, list.items[i].quantity) == 0)
			continue;
		quantity_print(got ? got->quantity : (struct quantity){0}, text);
		quantity_print(list.items[i].quantity, recorded);
		vectors_differ(run, "effective %s: %s, recorded %s", list.items[i].name,
			got ? text : "absent", recorded);
	}
	resource_list_release(&list);
}

static void check_required(
	struct vectors_run *run, struct node *node, const struct request_plan *plan, const vj *want)
{
	bool near = vj_bool(vj_need(want, "minDistance"));
	const vj *ids = vj_get(want, "numaNodes");
	struct fit fit;
	uint64_t got = 0, recorded = 0;

	fit_space_reset(&node->space);
	fit = fit_required(&node->space, plan->qos, &plan->effective);
	for (uint64_t rest = fit.nodes; rest; rest &= rest - 1)
		got |= UINT64_C(1) << node->inv.nodes[__builtin_ctzll(rest)].id;
	VJ_FOREACH (id, ids)
		recorded |= UINT64_C(1) << vj_unsigned(id);
	if (fit.verdict != (ids ? FIT_FOUND : FIT_NONE) || got != recorded ||
		(fit.min_distance == FIT_MIN_DISTANCE_YES) != near)
		vectors_differ(run, "required: verdict %u nodes %llx near %u, recorded %llx near %d",
			fit.verdict, (unsigned long long)got, fit.min_distance, (unsigned long long)recorded,
			near);
}

static void check_both_scopes(struct vectors_run *run, struct score_case *c,
	const struct resource_list *allocatable, const vj *expect)
{
	for (size_t i = 0; i < 2; i++) {
		const char *filter_key = i == 0 ? "filterContainer" : "filterPod";
		const char *reason = vj_string(vj_need(expect, filter_key));
		struct filter_result result;

		c->topology.scope = scopes[i];
		result = filter_pod(&c->node->space, c->plan, &c->topology, allocatable);
		check_filter(run, &result, *reason ? "Unschedulable" : "Success", reason, false);
		VJ_FOREACH (scores, vj_need(expect, "scores")) {
			const vj *want = vj_need(scores, topology_manager_scope_names[scopes[i]]);
			int strategy = strategy_by_name(vj_key(scores));

			if (strategy < 0)
				vj_die(scores, "no strategy '%s'", vj_key(scores));
			c->strategy = (enum strategy)strategy;
			check_score(run, c, vj_key(scores), want);
		}
	}
}

static void run_case(struct vectors_run *run, const vj *json)
{
	const vj *expect = vj_need(json, "expect");
	struct resource_list allocatable = list_from_map(vj_need(json, "nodeAllocatable"));
	struct pod_request pod;
	struct request_plan plan;
	struct zones zones;
	struct node node;
	struct score_case c = {.node = &node, .zones = &zones, .plan = &plan};

	zones_from_map(&zones, vj_need(json, "zones"));
	node_init(&node, &zones);
	pod_from_json(&pod, vj_need(json, "pod"));
	request_plan_init(&plan, &pod);
	c.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	c.topology.max_numa_nodes = vj_unsigned(vj_need(json, "maxNUMANodes"));
	c.weights = weights_from_map(vj_get(json, "weights"));

	vectors_begin(run, vj_string(vj_need(json, "id")));
	check_effective(run, &plan, vj_need(expect, "effectiveRequest"));
	check_required(run, &node, &plan, vj_need(expect, "required"));
	check_both_scopes(run, &c, &allocatable, expect);
	vectors_end(run);

	free((void *)(uintptr_t)c.weights.items);
	request_plan_release(&plan);
	pod_request_release(&pod);
	node_release(&node);
	zones_release(&zones);
	resource_list_release(&allocatable);
}

static bool recognise(const struct vj_file *file)
{
	const vj *c = vj_first_case(file);

	return vj_is_map(c) && vj_get(c, "zones") && vj_get(c, "expect") && vj_get(c, "nodeAllocatable");
}

static void run_file(struct vectors_run *run, const struct vj_file *file)
{
	VJ_FOREACH_CASE (c, file)
		run_case(run, c);
}

const struct vectors_format vectors_scheduler = {"scheduler", recognise, run_file};
