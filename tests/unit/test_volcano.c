/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/combinations.h"
#include "scoring/node_mask.h"
#include "scoring/volcano.h"

/* A pod of app containers with these CPU requests, "" ends the list. */
static void pod_with(struct pod_request *pod, const char *const cpus[])
{
	pod_request_init(pod);
	for (size_t i = 0; cpus[i]; i++) {
		struct container_request *c = pod_request_add(pod, CONTAINER_APP, "app");
		struct quantity q;

		assert_non_null(c);
		assert_int_equal(quantity_parse(cpus[i], &q, NULL), 0);
		resource_list_set(&c->requests, "cpu", q);
	}
}

static struct volcano_result ask(
	const struct volcano_node *node, const char *cpus, enum topology_manager_policy policy)
{
	const char *const list[] = {cpus, NULL};
	struct volcano_result result;
	struct pod_request pod;

	pod_with(&pod, list);
	assert_int_equal(volcano_predicate(node, &pod, QOS_GUARANTEED, policy, &result), 0);
	pod_request_release(&pod);
	assert_int_equal(result.admitted, result.reason[0] == '\0');
	return result;
}

/* The documentation's four nodes of two NUMA nodes with 16 CPUs each. */
static void documented_table(void **state)
{
	struct volcano_numa seven[] = {{16, 7}, {16, 7}}, ten[] = {{16, 7}, {16, 10}};
	const struct volcano_node nodes[] = {
		{true, true, TOPOLOGY_MANAGER_BEST_EFFORT, seven, 2},
		{true, true, TOPOLOGY_MANAGER_RESTRICTED, seven, 2},
		{true, true, TOPOLOGY_MANAGER_RESTRICTED, ten, 2},
		{true, true, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, ten, 2},
	};
	static const struct {
		const char *cpus;
		enum topology_manager_policy policy;
		unsigned admitted; /* nodes, as bits */
	} cases[] = {
		{"9", TOPOLOGY_MANAGER_BEST_EFFORT, 1},
		{"11", TOPOLOGY_MANAGER_RESTRICTED, 0},
		{"17", TOPOLOGY_MANAGER_RESTRICTED, 4},
		{"17", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, 0},
		{"10", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, 8},
		{"7", TOPOLOGY_MANAGER_RESTRICTED, 6},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned admitted = 0;

		for (size_t n = 0; n < ARRAY_SIZE(nodes); n++)
			if (ask(&nodes[n], cases[i].cpus, cases[i].policy).admitted)
				admitted |= 1U << n;
		if (admitted != cases[i].admitted)
			fail_msg("%s CPUs %s: nodes %x, want %x", cases[i].cpus,
				topology_manager_policy_names[cases[i].policy], admitted, cases[i].admitted);
	}
	assert_int_equal(ask(&nodes[0], "9", TOPOLOGY_MANAGER_BEST_EFFORT).numa, 3);
	assert_int_equal(ask(&nodes[3], "10", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE).numa, 2);
}

/* The scores by the documented formula, without cutting off. */
static void by_document(const unsigned *n_used, size_t n, double weight, double *ret_scores)
{
	unsigned largest = 0;

	for (size_t i = 0; i < n; i++)
		largest = n_used[i] > largest ? n_used[i] : largest;
	for (size_t i = 0; i < n; i++)
		ret_scores[i] = weight * (100 - (largest ? (double)100 * n_used[i] / largest : 0));
}

static void documented_scores(void **state)
{
	static const unsigned used[] = {1, 2, 4}, thirds[] = {1, 3}, none[] = {0, 0}, same[] = {2, 2},
			      down[] = {4, 1};
	int64_t coded[3];
	double documented[3];

	(void)state;
	volcano_scores(used, 3, 10, coded);
	by_document(used, 3, 10, documented);
	assert_true(coded[0] == 750 && coded[1] == 500 && coded[2] == 0);
	assert_true(documented[0] >= 750 && documented[0] <= 750);
	assert_true(documented[1] >= 500 && documented[1] <= 500 && documented[2] <= 0);
	volcano_scores(thirds, 2, 1, coded);
	by_document(thirds, 2, 1, documented);
	assert_int_equal(coded[0], 67);
	assert_true(documented[0] > 66.66 && documented[0] < 66.67);
	volcano_scores(none, 2, 3, coded);
	assert_true(coded[0] == 300 && coded[1] == 300);
	volcano_scores(same, 2, 1, coded);
	assert_true(coded[0] == 0 && coded[1] == 0);
	volcano_scores(down, 2, 1, coded);
	assert_true(coded[0] == 0 && coded[1] == 75);
	assert_true(volcano_scores_pod(QOS_GUARANTEED, TOPOLOGY_MANAGER_BEST_EFFORT));
	assert_false(volcano_scores_pod(QOS_BURSTABLE, TOPOLOGY_MANAGER_BEST_EFFORT));
	assert_false(volcano_scores_pod(QOS_GUARANTEED, TOPOLOGY_MANAGER_NONE));
	assert_false(volcano_scores_pod(QOS_GUARANTEED, TOPOLOGY_MANAGER_UNKNOWN));
}

static void who_is_looked_at(void **state)
{
	struct volcano_numa numa[] = {{8, 2}, {8, 2}}, full[] = {{8, 0}, {8, 0}};
	struct volcano_node node = {true, true, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, numa, 2};
	const char *const four[] = {"4", NULL};
	struct volcano_result result;
	struct pod_request pod;

	(void)state;
	/* No policy on the pod: the node's own is applied; nodes without one let it pass. */
	assert_false(ask(&node, "4", TOPOLOGY_MANAGER_UNKNOWN).admitted);
	assert_true(ask(&node, "4500m", TOPOLOGY_MANAGER_UNKNOWN).admitted);
	node.cpu_static = false;
	assert_true(ask(&node, "4", TOPOLOGY_MANAGER_NONE).admitted);
	assert_false(ask(&node, "1", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE).admitted);
	node.cpu_static = true;
	node.policy = TOPOLOGY_MANAGER_NONE;
	assert_true(ask(&node, "4", TOPOLOGY_MANAGER_UNKNOWN).admitted);
	node.known = false;
	assert_false(ask(&node, "1", TOPOLOGY_MANAGER_BEST_EFFORT).admitted);
	node = (struct volcano_node){true, true, TOPOLOGY_MANAGER_BEST_EFFORT, full, 2};
	assert_false(ask(&node, "1", TOPOLOGY_MANAGER_BEST_EFFORT).admitted);
	assert_true(ask(&node, "1", TOPOLOGY_MANAGER_UNKNOWN).admitted);
	assert_int_equal(ask(&node, "1", TOPOLOGY_MANAGER_UNKNOWN).numa, 0);

	pod_with(&pod, four);
	node.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	assert_int_equal(volcano_predicate(&node, &pod, QOS_BURSTABLE, node.policy, &result), 0);
	assert_true(result.admitted);
	pod.containers[0].kind = CONTAINER_INIT;
	node.numa = numa;
	assert_int_equal(volcano_predicate(&node, &pod, QOS_GUARANTEED, node.policy, &result), 0);
	assert_true(result.admitted && result.numa == 0);
	node.n_numa = 65;
	assert_int_equal(volcano_predicate(&node, &pod, QOS_GUARANTEED, node.policy, &result), -E2BIG);
	pod_request_release(&pod);
}

static void containers_share_what_is_free(void **state)
{
	struct volcano_numa numa[] = {{8, 4}, {8, 4}, {8, 6}};
	struct volcano_node node = {true, true, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, numa, 3};
	const char *const fits[] = {"4", "500m", "5", NULL}, *const too_many[] = {"4", "4", "4", "4", NULL};
	struct volcano_result result;
	struct pod_request pod;

	(void)state;
	pod_with(&pod, fits);
	assert_int_equal(volcano_predicate(&node, &pod, QOS_GUARANTEED, node.policy, &result), 0);
	assert_true(result.admitted && result.numa == 5);
	pod_request_release(&pod);
	pod_with(&pod, too_many);
	assert_int_equal(volcano_predicate(&node, &pod, QOS_GUARANTEED, node.policy, &result), 0);
	assert_false(result.admitted);
	test_assert_text("reason", result.reason, "container app cannot be assigned by numa");
	pod_request_release(&pod);
}

/* Against all subsets by size and number, hints and preference as they are defined. */
static void hints_equal_enumeration(void **state)
{
	uint64_t random = test_seed(20261126);

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t n = 1 + test_random(&random) % 6;
		uint64_t wanted = 1 + test_random(&random) % 20, best = 0;
		struct volcano_numa numa[6];
		struct volcano_node node = {true, true, TOPOLOGY_MANAGER_RESTRICTED, numa, n};
		unsigned narrowest = (unsigned)n;
		struct volcano_result got;
		char cpus[32];

		for (size_t k = 0; k < n; k++) {
			numa[k].total = 1 + (unsigned)(test_random(&random) % 8);
			numa[k].free = (unsigned)(test_random(&random) % (numa[k].total + 1));
		}
		for (uint64_t set = 1; set < UINT64_C(1) << n; set++) {
			unsigned total = 0, unused = 0, size = (unsigned)__builtin_popcountll(set);

			for (size_t k = 0; k < n; k++) {
				total += set & UINT64_C(1) << k ? numa[k].total : 0;
				unused += set & UINT64_C(1) << k ? numa[k].free : 0;
			}
			narrowest = total >= wanted && size < narrowest ? size : narrowest;
			if (unused >= wanted && (best == 0 || node_mask_narrower(set, best)))
				best = set;
		}
		snprintf(cpus, sizeof(cpus), "%llu", (unsigned long long)wanted);
		got = ask(&node, cpus, TOPOLOGY_MANAGER_UNKNOWN);
		assert_int_equal(got.admitted, best && (unsigned)__builtin_popcountll(best) == narrowest);
		node.policy = TOPOLOGY_MANAGER_BEST_EFFORT;
		got = ask(&node, cpus, TOPOLOGY_MANAGER_UNKNOWN);
		assert_true(got.admitted);
		assert_int_equal(got.numa, best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documented_table),
		cmocka_unit_test(documented_scores),
		cmocka_unit_test(who_is_looked_at),
		cmocka_unit_test(containers_share_what_is_free),
		cmocka_unit_test(hints_equal_enumeration),
	};

	return cmocka_run_group_tests_name("volcano", tests, NULL, NULL);
}
