/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/nrt_match.h"
#include "tests/lib/nodes.h"

#define MAX_PARTS 5

static int score_of(struct test_node *node, const char *const *containers, bool pod_scope,
	unsigned max_numa_nodes, enum strategy strategy, const struct resource_weights *weights)
{
	const struct topology_manager_config topology = {
		.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = pod_scope ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.max_numa_nodes = max_numa_nodes,
	};
	struct pod_request pod;
	struct request_plan plan;
	int score;

	pod_request_init(&pod);
	pod.qos = QOS_GUARANTEED;
	for (size_t i = 0; i < MAX_PARTS && containers[i]; i++)
		test_pod_add(&pod, CONTAINER_APP, containers[i]);
	request_plan_init(&plan, &pod);
	score = strategy_score(&node->space, &plan, &topology, strategy, weights);
	request_plan_release(&plan);
	pod_request_release(&pod);
	return score;
}

/* The enhancement proposal's two nodes and pod of 3 + 3 CPUs, at several sizes of the scale. */
static void proposals_examples(void **state)
{
	static const char *const pod[] = {"cpu=3", "cpu=3", NULL};
	static const char *const zones[2][3] = {{"cpu=2", "cpu=4", NULL}, {"cpu=8", "cpu=8", NULL}};
	static const struct {
		unsigned max;
		int want[2];
	} cases[] = {{8, {82, 94}}, {2, {25, 75}}, {4, {62, 87}}, {9, {83, 94}}, {16, {91, 97}}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t n = 0; n < 2; n++) {
			struct test_node node;
			int got;

			test_node_init(&node, zones[n]);
			got = score_of(&node, pod, false, cases[i].max, STRATEGY_LEAST_NUMA_NODES, NULL);
			if (got != cases[i].want[n])
				fail_msg("node %zu of at most %u: %d, want %d", n + 1, cases[i].max, got,
					cases[i].want[n]);
			test_node_release(&node);
		}
	}
}

static void shares_of_the_scale(void **state)
{
	static const struct {
		unsigned n, max;
		int far, near;
	} cases[] = {{2, 8, 76, 82}, {1, 8, 88, 94}, {8, 8, 4, 10}, {1, 2, 50, 75}, {2, 2, 0, 25},
		{1, 16, 94, 97}, {4, 3, 0, 0}, {4, 51, 96, 96}, {4, 100, 96, 96}, {4, 101, 100, 100},
		{64, 8, 0, 0}, {1, UINT32_MAX, 100, 100}, {1, (unsigned)INT32_MAX + 1, 100, 100},
		{2, 0, 0, 0}, {0, 8, 100, 100}, {UINT32_MAX, 1, 0, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(strategy_normalize(cases[i].n, false, cases[i].max), cases[i].far);
		assert_int_equal(strategy_normalize(cases[i].n, true, cases[i].max), cases[i].near);
	}
}

struct score_case {
	const char *name;
	const char *zones[MAX_PARTS], *containers[MAX_PARTS];
	bool pod_scope;
	int want[STRATEGY_COUNT]; /* most, least, balanced, least NUMA nodes */
};

static const struct score_case score_cases[] = {
	{"half of each", {"cpu=4,memory=4Gi"}, {"cpu=2,memory=2Gi"}, false, {50, 50, 100, 94}},
	{"rounded up to whole CPUs", {"cpu=3500m,memory=4Gi"}, {"cpu=1500m,memory=1Gi"}, false,
		{37, 62, 96, 94}},
	{"least of the nodes above 0", {"cpu=4,memory=8Gi", "cpu=8,memory=8Gi"}, {"cpu=4,memory=4Gi"}, false,
		{50, 25, 87, 94}},
	{"a half-fitting node counts", {"cpu=2,memory=2Gi", "cpu=8,memory=2Gi"}, {"cpu=4,memory=1Gi"}, false,
		{25, 25, 100, 94}},
	{"fits nowhere", {"cpu=2,memory=2Gi"}, {"cpu=4,memory=4Gi"}, false, {0, 0, 0, 0}},
	{"mean of containers", {"cpu=4,memory=4Gi"}, {"cpu=1,memory=1Gi", "cpu=2,memory=2Gi"}, false,
		{37, 62, 100, 94}},
	{"pod scope adds up", {"cpu=4,memory=4Gi"}, {"cpu=1,memory=1Gi", "cpu=2,memory=2Gi"}, true,
		{75, 25, 100, 94}},
	{"containers are subtracted", {"cpu=4,memory=9Gi", "cpu=4,memory=9Gi"},
		{"cpu=3,memory=1Gi", "cpu=3,memory=1Gi", "cpu=2,memory=1Gi"}, false, {38, 60, 83, 82}},
	{"missing key counts as full", {"cpu=8"}, {"cpu=2,memory=1Gi"}, false, {12, 37, 71, 0}},
	{"no resource", {"cpu=8"}, {""}, false, {SCORE_UNKNOWN, SCORE_UNKNOWN, SCORE_UNKNOWN, 100}},
	{"one resource", {"cpu=8"}, {"cpu=2"}, false, {25, 75, SCORE_UNKNOWN, 94}},
	{"one resource too large", {"cpu=8"}, {"cpu=9"}, false, {0, 0, 0, 0}},
	{"no zones", {NULL}, {"cpu=8,memory=1"}, false, {0, 0, 0, 100}},
	{"nothing of NUMA", {"cpu=8,memory=8Gi"}, {"v.io/d=1,v.io/e=1"}, false, {0, 0, 100, 100}},
};

static void scores_of_all_strategies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(score_cases); i++) {
		const struct score_case *c = &score_cases[i];
		struct test_node node;

		test_node_init(&node, c->zones);
		for (enum strategy s = STRATEGY_MOST_ALLOCATED; s < STRATEGY_COUNT; s++) {
			int got = score_of(&node, c->containers, c->pod_scope, 8, s, NULL);

			if (got != c->want[s])
				fail_msg("%s, %s: %d, want %d", c->name, strategy_names[s], got, c->want[s]);
		}
		test_node_release(&node);
	}
}

static void weights_count(void **state)
{
	static const struct resource_weight items[] = {{"cpu", 3}, {"memory", 0}};
	static const struct resource_weights weights = {items, 2};
	static const char *const zones[] = {"cpu=4,memory=4Gi", NULL}, *const pod[] = {
									       "cpu=2,memory=1Gi", NULL};
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	assert_int_equal(score_of(&node, pod, false, 8, STRATEGY_MOST_ALLOCATED, &weights), 43);
	assert_int_equal(score_of(&node, pod, false, 8, STRATEGY_LEAST_ALLOCATED, &weights), 56);
	assert_int_equal(score_of(&node, pod, false, 8, STRATEGY_BALANCED_ALLOCATION, &weights), 96);
	test_node_release(&node);
}

/* Some exporters write amounts below 0. The plugin's own score is then anything (scoring/DEFECTS.md, D10). */
static void amounts_below_0(void **state)
{
	static const char *const zones[] = {"cpu=4,memory=4Gi", "cpu=4,memory=4Gi", NULL};
	static const char *const pod[] = {"cpu=2,memory=2Gi", NULL};
	static const char *const amounts[] = {"-1n", "-1m", "-1", "-3Gi", "-9E"};
	struct test_node node;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		test_node_init(&node, zones);
		for (size_t zone = 0; zone < 2; zone++)
			test_node_set(&node, zone, "cpu", amounts[i]);
		for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
			for (int scope = 0; scope < 2; scope++) {
				int score = score_of(&node, pod, scope, 8, s, NULL);

				if (score < 0 || score > 100)
					fail_msg("%s, %s: %d", amounts[i], strategy_names[s], score);
			}
		test_node_release(&node);
	}
}

/* 5000 containers are scored on few NUMA nodes; on 64 it would take as long as 100 ordinary pods on 500 nodes. */
static void pods_of_too_many_containers_have_no_score(void **state)
{
	struct topology_manager_config topology = {.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = TOPOLOGY_SCOPE_CONTAINER,
		.max_numa_nodes = 8};
	static const char *const names[] = {"cpu", "memory"};
	struct request_plan plan;
	struct pod_request pod;

	(void)state;
	pod_request_init(&pod);
	for (size_t i = 0; i < 5000; i++)
		test_pod_add(&pod, CONTAINER_APP, "cpu=2,memory=2Gi");
	request_plan_init(&plan, &pod);
	for (size_t n = 4; n <= 64; n *= 16) {
		struct test_node node;

		test_node_shape(&node, n, names, 2);
		for (size_t i = 0; i < n; i++) {
			test_node_set(&node, i, "cpu", "4");
			test_node_set(&node, i, "memory", "4Gi");
		}
		test_node_ready(&node);
		for (enum strategy s = 0; s < STRATEGY_LEAST_NUMA_NODES; s++)
			assert_int_equal(strategy_score(&node.space, &plan, &topology, s, NULL),
				n > 4                               ? SCORE_UNKNOWN
				: s == STRATEGY_BALANCED_ALLOCATION ? 100
								    : 50);
		test_node_release(&node);
	}
	request_plan_release(&plan);
	pod_request_release(&pod);
}

static void policy_and_qos_decide_first(void **state)
{
	static const char *const zones[] = {"cpu=4,memory=4Gi", NULL};
	struct topology_manager_config topology = {.max_numa_nodes = 8};
	struct pod_request pod;
	struct request_plan plan;
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	pod_request_init(&pod);
	test_pod_add(&pod, CONTAINER_APP, "cpu=2,memory=2Gi");
	request_plan_init(&plan, &pod);
	assert_int_equal(plan.qos, QOS_GUARANTEED);
	for (enum strategy s = STRATEGY_MOST_ALLOCATED; s < STRATEGY_LEAST_NUMA_NODES; s++)
		assert_int_equal(strategy_score(&node.space, &plan, &topology, s, NULL), 0);
	assert_int_equal(strategy_score(&node.space, &plan, &topology, STRATEGY_LEAST_NUMA_NODES, NULL), 94);
	plan.qos = QOS_BURSTABLE;
	for (enum strategy s = STRATEGY_MOST_ALLOCATED; s < STRATEGY_COUNT; s++)
		assert_int_equal(strategy_score(&node.space, &plan, &topology, s, NULL), 100);
	request_plan_release(&plan);
	pod_request_release(&pod);
	test_node_release(&node);
}

/* What the fit cannot tell, the score does not either. */
static void unknown_fits_give_unknown_scores(void **state)
{
	static const char *const zones[] = {
		"cpu=4,memory=1", "cpu=1,memory=4", "cpu=4,memory=1", "cpu=1,memory=4", NULL};
	static const char *const pod[] = {"cpu=5,memory=5", NULL};
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	assert_int_equal(score_of(&node, pod, true, 8, STRATEGY_LEAST_NUMA_NODES, NULL), 82);
	node.space.work_limit = 0;
	assert_int_equal(score_of(&node, pod, true, 8, STRATEGY_LEAST_NUMA_NODES, NULL), SCORE_UNKNOWN);
	node.space.work_limit = FIT_WORK_LIMIT;
	node.distances.low[2] = 50;
	assert_int_equal(score_of(&node, pod, true, 8, STRATEGY_LEAST_NUMA_NODES, NULL), SCORE_UNKNOWN);
	test_node_release(&node);
}

static void names_of_strategies(void **state)
{
	(void)state;
	for (int s = 0; s < STRATEGY_COUNT; s++)
		assert_int_equal(strategy_by_name(strategy_names[s]), s);
	assert_int_equal(strategy_by_name("mostAllocated"), -1);
}

/* One container on one node, one on two; the least sums of either size are made known or not. */
static void one_request_off_the_least_distance_settles_it(void **state)
{
	static const char *const zones[] = {"cpu=4,memory=4", "cpu=4,memory=4", "vendor.com/nic=1", NULL};
	static const struct {
		uint64_t low[2], high[2];
		enum fit_min_distance want;
	} cases[] = {
		{{10, 60}, {10, 60}, FIT_MIN_DISTANCE_YES},
		{{9, 60}, {10, 60}, FIT_MIN_DISTANCE_UNKNOWN},
		{{10, 59}, {10, 60}, FIT_MIN_DISTANCE_UNKNOWN},
		{{9, 59}, {10, 60}, FIT_MIN_DISTANCE_UNKNOWN},
		{{9, 58}, {10, 59}, FIT_MIN_DISTANCE_NO},
		{{8, 60}, {9, 60}, FIT_MIN_DISTANCE_NO},
		{{8, 59}, {9, 60}, FIT_MIN_DISTANCE_NO},
	};
	const struct topology_manager_config config = {.max_numa_nodes = 8};
	struct request_plan plan;
	struct pod_request pod;
	struct test_node node;

	(void)state;
	pod_request_init(&pod);
	test_pod_add(&pod, CONTAINER_APP, "cpu=1,memory=1");
	test_pod_add(&pod, CONTAINER_APP, "cpu=5,memory=1");
	test_node_init(&node, zones);
	request_plan_init(&plan, &pod);
	distances_search(&node.distances);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pod_fit fit;
		int score;

		for (size_t size = 0; size < 2; size++) {
			node.distances.low[size + 1] = cases[i].low[size];
			node.distances.high[size + 1] = cases[i].high[size];
		}
		fit = strategy_pod_fit(&node.space, &plan, TOPOLOGY_SCOPE_CONTAINER);
		assert_int_equal(fit.verdict, FIT_FOUND);
		assert_int_equal(fit.n_nodes, 2);
		assert_int_equal(fit.min_distance, cases[i].want);
		score = strategy_score(&node.space, &plan, &config, STRATEGY_LEAST_NUMA_NODES, NULL);
		assert_int_equal(score, cases[i].want == FIT_MIN_DISTANCE_UNKNOWN ? SCORE_UNKNOWN
					: cases[i].want == FIT_MIN_DISTANCE_YES   ? 82
										  : 76);
	}
	request_plan_release(&plan);
	pod_request_release(&pod);
	test_node_release(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_request_off_the_least_distance_settles_it),
		cmocka_unit_test(proposals_examples),
		cmocka_unit_test(shares_of_the_scale),
		cmocka_unit_test(scores_of_all_strategies),
		cmocka_unit_test(weights_count),
		cmocka_unit_test(amounts_below_0),
		cmocka_unit_test(pods_of_too_many_containers_have_no_score),
		cmocka_unit_test(policy_and_qos_decide_first),
		cmocka_unit_test(unknown_fits_give_unknown_scores),
		cmocka_unit_test(names_of_strategies),
	};

	return cmocka_run_group_tests_name("strategies", tests, NULL, NULL);
}
