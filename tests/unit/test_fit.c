/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/fit.h"
#include "tests/lib/nodes.h"
#include "tests/lib/peers.h"

static const char *const names[] = {"cpu", "memory", "vendor.com/gpu", "vendor.com/nic"};

#define N_RESOURCES ARRAY_SIZE(names)

/* The enhancement proposal's node 1: 2 and 4 CPUs free, distance 20; two containers of 3. */
static void proposals_first_node(void **state)
{
	struct resource_list request = {0};
	struct test_node node;
	struct fit fit;

	(void)state;
	test_node_shape(&node, 2, names, N_RESOURCES);
	node.inv.costs[0] = node.inv.costs[3] = 10;
	node.inv.costs[1] = node.inv.costs[2] = 20;
	test_node_set(&node, 0, "cpu", "2");
	test_node_set(&node, 1, "cpu", "4");
	test_node_ready(&node);
	resources_set(&request, "cpu", "3");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_int_equal(fit.verdict, FIT_FOUND);
	assert_int_equal(fit.nodes, 2);
	assert_int_equal(fit.n_nodes, 1);
	assert_int_equal(fit.min_distance, FIT_MIN_DISTANCE_YES);
	fit_subtract(&node.space, &request, fit.nodes);
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_int_equal(fit.nodes, 3);
	assert_int_equal(fit.n_nodes, 2);
	assert_int_equal(fit.min_distance, FIT_MIN_DISTANCE_YES);
	fit_subtract(&node.space, &request, fit.nodes);
	assert_true(*fit_available(&node.space, 0, 0) == 0 && *fit_available(&node.space, 0, 1) == 0);
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_NONE);
	fit_space_reset(&node.space);
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).nodes, 2);
	resource_list_release(&request);
	test_node_release(&node);
}

static void missing_resources_exclude_nodes(void **state)
{
	struct resource_list request = {0};
	struct test_node node;

	(void)state;
	test_node_shape(&node, 2, names, N_RESOURCES);
	test_node_set(&node, 0, "cpu", "8");
	test_node_set(&node, 1, "cpu", "2");
	test_node_set(&node, 1, "vendor.com/nic", "1");
	test_node_ready(&node);
	resources_set(&request, "cpu", "8");
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).nodes, 1);
	resources_set(&request, "vendor.com/nic", "0"); /* by name, whatever the quantity */
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_NONE);
	/* Shared CPUs are not counted, so the node with the device suffices. */
	assert_int_equal(fit_required(&node.space, QOS_BURSTABLE, &request).nodes, 2);
	resources_set(&request, "ephemeral-storage", "0");
	assert_int_equal(fit_required(&node.space, QOS_BURSTABLE, &request).verdict, FIT_NONE);
	resource_list_release(&request);

	assert_true(fit_is_not_numa(&node.space, &request));
	resources_set(&request, "ephemeral-storage", "1");
	resources_set(&request, "memory", "1"); /* a name of the inventory that no node has */
	assert_true(fit_is_not_numa(&node.space, &request));
	resources_set(&request, "cpu", "0");
	assert_false(fit_is_not_numa(&node.space, &request));
	resource_list_release(&request);
	test_node_release(&node);
}

/* A memory-only node nearer to its CPUs than any other CPUs are: no pair of CPU nodes is at the least
 * distance. */
static void least_distance_is_over_all_nodes(void **state)
{
	static const unsigned costs[] = {10, 21, 14, 24, 21, 10, 24, 14, 14, 24, 10, 26, 24, 14, 26, 10};
	struct resource_list request = {0};
	struct test_node node;
	struct fit fit;

	(void)state;
	test_node_shape(&node, 4, names, N_RESOURCES);
	memcpy(node.inv.costs, costs, sizeof(costs));
	for (size_t i = 0; i < 4; i++)
		test_node_set(&node, i, "memory", "8Gi");
	test_node_set(&node, 0, "cpu", "4");
	test_node_set(&node, 1, "cpu", "4");
	test_node_ready(&node);
	resources_set(&request, "cpu", "6");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_int_equal(fit.nodes, 3);
	assert_int_equal(fit.min_distance, FIT_MIN_DISTANCE_NO);
	resource_list_release(&request);
	test_node_release(&node);
}

/* ids 5, 3, 3: drained in the order of ids, and two positions of one id are one NUMA node. */
static void ids_are_not_positions(void **state)
{
	struct resource_list request = {0};
	struct test_node node;
	struct fit fit;

	(void)state;
	test_node_shape(&node, 3, names, N_RESOURCES);
	node.inv.nodes[0].id = 5;
	node.inv.nodes[1].id = node.inv.nodes[2].id = 3;
	for (size_t i = 0; i < 3; i++)
		test_node_set(&node, i, "cpu", "4");
	test_node_ready(&node);
	resources_set(&request, "cpu", "9");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_int_equal(fit.nodes, 7);
	assert_int_equal(fit.n_nodes, 2);
	fit_subtract(&node.space, &request, fit.nodes);
	assert_true(*fit_available(&node.space, 0, 0) == 3 * QTY_UNIT);
	assert_true(*fit_available(&node.space, 0, 1) == 0 && *fit_available(&node.space, 0, 2) == 0);
	resource_list_release(&request);
	test_node_release(&node);
}

/* Every member has every resource, and together they have enough of each. */
static bool covers(const struct test_node *node, const struct resource_list *request, uint64_t set)
{
	for (size_t i = 0; i < request->n_items; i++) {
		int r = inventory_resource(&node->inv, request->items[i].name);
		qty_t sum = 0;

		for (uint64_t rest = set; rest; rest &= rest - 1) {
			size_t position = (size_t)__builtin_ctzll(rest);

			if (!inventory_amount(&node->inv, position, (size_t)r)->present)
				return false;
			sum += inventory_amount(&node->inv, position, (size_t)r)->available;
		}
		if (sum < request->items[i].quantity.nano)
			return false;
	}
	return true;
}

/* What scheduler-plugins does, spelt out: every subset in order, averages in single precision. */
static struct fit plain_search(const struct test_node *node, const struct resource_list *request)
{
	unsigned n = (unsigned)node->inv.n_nodes;

	for (unsigned size = 1; size <= n; size++) {
		float least = 255, best = 256, squares = (float)(size * size);
		uint64_t set = combination_first(size), best_set = 0;

		do {
			float average = (float)distances_sum(&node->distances, set) / squares;

			least = average < least ? average : least;
			if (average < best && covers(node, request, set)) {
				best = average;
				best_set = set;
			}
		} while (combination_next_lexicographic(&set, n));
		if (best_set)
			return (struct fit){.verdict = FIT_FOUND,
				.nodes = best_set,
				.n_nodes = size,
				.min_distance = best == least ? FIT_MIN_DISTANCE_YES : FIT_MIN_DISTANCE_NO};
	}
	return (struct fit){.verdict = FIT_NONE};
}

static void random_node(uint64_t *random, struct test_node *node, size_t n)
{
	uint64_t cost_kind = test_random(random) % 4, per_socket = 1 + test_random(random) % 4;
	uint64_t spread = 1 + test_random(random) % 12;

	test_node_shape(node, n, names, N_RESOURCES);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			bool same = i / per_socket == j / per_socket;
			unsigned any = (unsigned)(test_random(random) % 300);

			node->inv.costs[i * n + j] = cost_kind == 0   ? 0
						     : i == j         ? 10
						     : cost_kind == 1 ? 11 + any
						     : cost_kind == 2 ? (same ? 12 : 32)
								      : 20 + any % 2;
		}
		for (size_t r = 0; r < N_RESOURCES; r++) {
			struct inventory_amount *a = inventory_amount(&node->inv, i, r);

			a->present = r < 2 || test_random(random) % 8 > 0;
			if (a->present)
				a->available = (qty_t)(test_random(random) % spread) * QTY_UNIT;
		}
	}
	test_node_ready(node);
}

static void random_request(uint64_t *random, struct resource_list *request, size_t n)
{
	size_t count = 1 + test_random(random) % N_RESOURCES;
	uint64_t most = 1 + test_random(random) % (4 * n);

	for (size_t r = 0; r < count; r++)
		resource_list_set(
			request, names[r], quantity_from_units((int64_t)(test_random(random) % most)));
}

static void search_equals_the_plain_one(void **state)
{
	uint64_t random = test_seed(20261125);
	unsigned verdicts[FIT_VERDICT_COUNT] = {0}, wide = 0, far = 0;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		size_t n = 1 + test_random(&random) % 10;
		struct resource_list request = {0};
		struct fit got, want;
		struct test_node node;

		random_node(&random, &node, n);
		random_request(&random, &request, n);
		got = fit_required(&node.space, QOS_GUARANTEED, &request);
		want = plain_search(&node, &request);
		if (got.verdict != want.verdict || got.nodes != want.nodes ||
			got.min_distance != want.min_distance)
			fail_msg("case %d, %zu nodes: verdict %u nodes %llx near %u, want %u %llx %u", i, n,
				got.verdict, (unsigned long long)got.nodes, got.min_distance, want.verdict,
				(unsigned long long)want.nodes, want.min_distance);
		verdicts[got.verdict]++;
		wide += got.n_nodes > 2;
		far += got.verdict == FIT_FOUND && got.min_distance == FIT_MIN_DISTANCE_NO;
		resource_list_release(&request);
		test_node_release(&node);
	}
	assert_true(verdicts[FIT_NONE] > 500 && verdicts[FIT_FOUND] > 2000 && wide > 500 && far > 200);
}

/* Met the work limit: said so, and the answer is exact again under a larger one. */
static void work_limit_gives_unknown(void **state)
{
	struct resource_list request = {0};
	uint64_t random = 5;
	struct test_node node;

	(void)state;
	random_node(&random, &node, 12);
	resources_set(&request, "cpu", "20");
	resources_set(&request, "memory", "20");
	for (size_t i = 0; i < 12; i++) {
		test_node_set(&node, i, "cpu", i % 2 ? "7" : "1");
		test_node_set(&node, i, "memory", i % 2 ? "1" : "7");
	}
	fit_space_reset(&node.space);
	node.space.work_limit = 3;
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_UNKNOWN);
	node.space.work_limit = FIT_WORK_LIMIT;
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_FOUND);
	resource_list_release(&request);
	test_node_release(&node);
}

/* A least distance that was not found is unknown, unless the bounds settle it. */
static void unknown_least_distance(void **state)
{
	struct resource_list request = {0};
	uint64_t random = 5;
	struct test_node node;

	(void)state;
	random_node(&random, &node, 4);
	for (size_t i = 0; i < 16; i++)
		node.inv.costs[i] = i % 5 ? 20 : 10;
	for (size_t i = 0; i < 4; i++)
		test_node_set(&node, i, "cpu", "2");
	fit_space_release(&node.space);
	distances_release(&node.distances);
	test_node_ready(&node);
	resources_set(&request, "cpu", "4");
	distances_find_sums(&node.distances);
	assert_int_equal(node.distances.low[2], 60);
	assert_int_equal(node.distances.high[2], 60);
	node.distances.high[2] = 70;
	assert_int_equal(
		fit_required(&node.space, QOS_GUARANTEED, &request).min_distance, FIT_MIN_DISTANCE_YES);
	node.distances.high[2] = 60;
	node.distances.low[2] = 50;
	assert_int_equal(
		fit_required(&node.space, QOS_GUARANTEED, &request).min_distance, FIT_MIN_DISTANCE_UNKNOWN);
	node.distances.high[2] = 55;
	assert_int_equal(
		fit_required(&node.space, QOS_GUARANTEED, &request).min_distance, FIT_MIN_DISTANCE_NO);
	resource_list_release(&request);
	test_node_release(&node);
}

/* One node that holds the request is chosen by its own distance, and the distances to others are not looked at. */
static void single_nodes(void **state)
{
	static const char *const zones[] = {"cpu=2", "cpu=4", "cpu=4", "cpu=4", NULL};
	struct resource_list request = {0};
	struct test_node node;
	struct fit fit;

	(void)state;
	test_node_init(&node, zones);
	for (unsigned i = 0; i < 4; i++)
		node.inv.costs[i * 5] = i == 0 ? 9 : i == 1 ? 11 : 10;
	fit_space_release(&node.space);
	distances_release(&node.distances);
	test_node_ready(&node);
	resources_set(&request, "cpu", "1");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_true(fit.nodes == 1 && fit.n_nodes == 1 && fit.min_distance == FIT_MIN_DISTANCE_YES);
	resources_set(&request, "cpu", "3");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_true(fit.nodes == 4 && fit.n_nodes == 1 && fit.min_distance == FIT_MIN_DISTANCE_NO);
	assert_false(node.distances.sums_found);
	resources_set(&request, "cpu", "5");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	assert_true(fit.nodes == 5 && fit.n_nodes == 2 && fit.min_distance == FIT_MIN_DISTANCE_YES);
	assert_true(node.distances.sums_found);
	resource_list_release(&request);
	test_node_release(&node);
}

/* A node so far from itself is never chosen: neither alone nor in the only pair. */
static void single_nodes_too_far(void **state)
{
	static const char *const zones[] = {"cpu=4", "cpu=4", NULL};
	struct resource_list request = {0};
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	for (unsigned i = 0; i < 4; i++)
		node.inv.costs[i] = DISTANCE_LIMIT;
	fit_space_release(&node.space);
	distances_release(&node.distances);
	test_node_ready(&node);
	resources_set(&request, "cpu", "1");
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_NONE);
	resource_list_release(&request);
	test_node_release(&node);
}

static void sixty_four_nodes(void **state)
{
	struct resource_list request = {0};
	struct test_node node;
	struct fit fit;

	(void)state;
	test_node_shape(&node, 64, names, N_RESOURCES);
	for (size_t i = 0; i < 64; i++) {
		for (size_t j = 0; j < 64; j++)
			node.inv.costs[i * 64 + j] = i == j ? 10 : i / 8 == j / 8 ? 12 : 32;
		test_node_set(&node, i, "cpu", i < 8 ? "1" : "4");
	}
	test_node_ready(&node);
	resources_set(&request, "cpu", "60");
	fit = fit_required(&node.space, QOS_GUARANTEED, &request);
	/* 15 nodes of 4: a whole socket and 7 of the next, the first that have 4. */
	assert_true(fit.nodes == (combination_first(15) << 8));
	assert_int_equal(fit.min_distance, FIT_MIN_DISTANCE_YES);
	resources_set(&request, "cpu", "232");
	assert_true(fit_required(&node.space, QOS_GUARANTEED, &request).nodes == UINT64_MAX);
	resources_set(&request, "cpu", "233");
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_NONE);
	resource_list_release(&request);
	test_node_release(&node);
}

static void spaces_that_cannot_be(void **state)
{
	struct fit_space space = {.n_nodes = 9};
	struct distances d;
	struct test_node node;

	(void)state;
	test_node_shape(&node, 65, names, N_RESOURCES);
	assert_int_equal(distances_init(&d, node.inv.costs, 3, 1), 0);
	assert_int_equal(fit_space_init(&space, &node.inv, &d), -E2BIG);
	inventory_release(&node.inv);
	test_node_shape(&node, 4, names, N_RESOURCES);
	assert_int_equal(fit_space_init(&space, &node.inv, &d), -EINVAL);
	assert_int_equal(space.n_nodes, 9);
	distances_release(&d);
	inventory_release(&node.inv);
}

static void no_nodes_at_all(void **state)
{
	struct resource_list request = {0};
	struct test_node node;

	(void)state;
	test_node_shape(&node, 0, names, N_RESOURCES);
	test_node_ready(&node);
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &request).verdict, FIT_NONE);
	assert_true(fit_is_not_numa(&node.space, &request));
	test_node_release(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proposals_first_node),
		cmocka_unit_test(missing_resources_exclude_nodes),
		cmocka_unit_test(least_distance_is_over_all_nodes),
		cmocka_unit_test(ids_are_not_positions),
		cmocka_unit_test(search_equals_the_plain_one),
		cmocka_unit_test(work_limit_gives_unknown),
		cmocka_unit_test(unknown_least_distance),
		cmocka_unit_test(single_nodes),
		cmocka_unit_test(single_nodes_too_far),
		cmocka_unit_test(sixty_four_nodes),
		cmocka_unit_test(spaces_that_cannot_be),
		cmocka_unit_test(no_nodes_at_all),
	};

	return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
