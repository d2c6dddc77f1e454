/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_scenarios.jsonl and edge_cases.json: {id, nrt, node_allocatable, pod, weights, expected: {filter,
 * scores}}, the whole plugin on a NodeResourceTopology object.
 */
#include "tests/vectors/sched_build.h"

static void check_filter_of(
	struct vectors_run *run, struct score_case *c, const vj *allocatable, const vj *want)
{
	struct resource_list list = list_from_map(allocatable);
	struct filter_result result = filter_pod(&c->node->space, c->plan, &c->topology, &list);

	if (!vj_get(want, "panic"))
		check_filter(run, &result, vj_string(vj_need(want, "code")),
			vj_string(vj_need(want, "reason")), false);
	else if (c->zones->has_id_64 && result.verdict != FILTER_ERROR)
		vectors_explain(run, "D1 zone id 64");
	else
		vectors_differ(run, "filter: verdict %u, recorded a panic", result.verdict);
	resource_list_release(&list);
}

static void run_case(struct vectors_run *run, const vj *json)
{
	const vj *nrt = vj_need(json, "nrt"), *expected = vj_need(json, "expected");
	struct pod_request pod;
	struct request_plan plan;
	struct zones zones;
	struct node node;
	struct score_case c = {.node = &node, .zones = &zones, .plan = &plan};

	zones_from_nrt(&zones, vj_get(nrt, "zones"));
	node_init(&node, &zones);
	pod_from_json(&pod, vj_need(json, "pod"));
	request_plan_init(&plan, &pod);
	c.topology = config_from_nrt(nrt);
	c.weights = weights_from_map(vj_get(json, "weights"));

	vectors_begin(run, vj_string(vj_need(json, "id")));
	check_filter_of(run, &c, vj_need(json, "node_allocatable"), vj_need(expected, "filter"));
	VJ_FOREACH (want, vj_need(expected, "scores")) {
		int strategy = strategy_by_name(vj_key(want));

		if (strategy < 0)
			vj_die(want, "no strategy '%s'", vj_key(want));
		c.strategy = (enum strategy)strategy;
		check_score(run, &c, vj_key(want), want);
	}
	vectors_end(run);

	free((void *)(uintptr_t)c.weights.items);
	request_plan_release(&plan);
	pod_request_release(&pod);
	node_release(&node);
	zones_release(&zones);
}

static bool recognise(const struct vj_file *file)
{
	const vj *c = vj_first_case(file), *expected;

	if (!vj_is_map(c) || !vj_get(c, "nrt") || !vj_get(c, "node_allocatable"))
		return false;
	expected = vj_get(c, "expected");
	return vj_is_map(expected) && vj_get(expected, "filter") && vj_get(expected, "scores");
}

static void run_file(struct vectors_run *run, const struct vj_file *file)
{
	VJ_FOREACH_CASE (c, file)
		run_case(run, c);
}

const struct vectors_format vectors_scheduler_scenarios = {"scheduler scenarios", recognise, run_file};
