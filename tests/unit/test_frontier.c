/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/fit_hints.h"
#include "tests/lib/nodes.h"

static const struct frontier_limits no_limits = {.entries = SIZE_MAX, .work = UINT64_MAX};
/* More than are in the sketch of a row. */
static const char *const names[] = {"cpu", "hugepages-1Gi", "memory", "vendor.com/gpu", "vendor.com/nic",
	"vendor.com/p", "vendor.com/q", "vendor.com/r", "vendor.com/s", "vendor.com/t"};

#define N_RESOURCES ARRAY_SIZE(names)

static void make(struct frontier *f, const struct test_node *node)
{
	frontier_init(f, &node->space, &no_limits);
}

static void assert_entry(
	const struct frontier *f, size_t i, uint64_t nodes, enum fit_min_distance min_distance)
{
	assert_true(i < f->n_entries);
	assert_int_equal(f->entries[i].verdict, FIT_FOUND);
	assert_true(f->entries[i].nodes == nodes);
	assert_int_equal(f->entries[i].n_nodes, __builtin_popcountll(nodes));
	assert_int_equal(f->entries[i].min_distance, min_distance);
}

static void assert_amount(const struct frontier *f, size_t entry, const char *name, int64_t units)
{
	int r = inventory_resource(f->inventory, name);

	assert_true(r >= 0);
	assert_true(frontier_amount(f, entry, (size_t)r) == (qty_t)units * QTY_UNIT);
}

static void two_nodes(void **state)
{
	static const char *const zones[] = {"cpu=4 vendor.com/nic=1", "cpu=8", NULL};
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_init(&node, zones);
	make(&f, &node);
	assert_int_equal(f.n_entries, 3);
	assert_false(f.truncated);
	assert_entry(&f, 0, 1, FIT_MIN_DISTANCE_YES);
	assert_entry(&f, 1, 2, FIT_MIN_DISTANCE_YES);
	assert_entry(&f, 2, 3, FIT_MIN_DISTANCE_YES);
	assert_amount(&f, 0, "cpu", 4);
	assert_amount(&f, 0, "vendor.com/nic", 1);
	assert_true(frontier_amount(&f, 1, 1) == FRONTIER_ABSENT);
	assert_amount(&f, 2, "cpu", 12);
	assert_true(frontier_amount(&f, 2, 1) == FRONTIER_ABSENT);
	frontier_release(&f);
	test_node_release(&node);
}

/* Nodes 1 and 2 are nearest, and 0 and 1 come before 0 and 3 at the same distance. */
static void order_within_a_size(void **state)
{
	static const char *const zones[] = {"cpu=4", "cpu=3", "cpu=2", "cpu=1", NULL};
	static const unsigned far[4][4] = {
		{10, 20, 30, 20}, {20, 10, 12, 30}, {30, 12, 10, 20}, {20, 30, 20, 10}};
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_init(&node, zones);
	fit_space_release(&node.space);
	distances_release(&node.distances);
	for (size_t i = 0; i < 16; i++)
		node.inv.costs[i] = far[i / 4][i % 4];
	test_node_ready(&node);
	make(&f, &node);
	assert_entry(&f, 0, 1 << 0, FIT_MIN_DISTANCE_YES); /* the other nodes have less each */
	assert_entry(&f, 1, 1 << 1 | 1 << 2, FIT_MIN_DISTANCE_YES);
	assert_entry(&f, 2, 1 << 0 | 1 << 1, FIT_MIN_DISTANCE_NO);
	assert_amount(&f, 2, "cpu", 7);
	assert_entry(&f, 3, 1 << 0 | 1 << 1 | 1 << 2, FIT_MIN_DISTANCE_YES);
	assert_entry(&f, 4, 15, FIT_MIN_DISTANCE_YES);
	assert_int_equal(f.n_entries, 5);
	frontier_release(&f);
	test_node_release(&node);
}

/* Absent, 0 and below 0 are three things; the last two are the same to a request. */
static void absent_is_less_than_nothing(void **state)
{
	static const char *const zones[] = {
		"cpu=4 vendor.com/nic=-2", "cpu=4 vendor.com/nic=1", "cpu=4", NULL};
	CLEANUP(resource_list_release) struct resource_list zero = resources_from_text("vendor.com/nic=0");
	CLEANUP(resource_list_release) struct resource_list below = resources_from_text("vendor.com/nic=-1");
	CLEANUP(resource_list_release)
	struct resource_list other = resources_from_text("cpu=1 vendor.com/gpu=0");
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_init(&node, zones);
	make(&f, &node);
	assert_entry(&f, 0, 1 << 0, FIT_MIN_DISTANCE_YES);
	assert_amount(&f, 0, "vendor.com/nic", 0);
	assert_entry(&f, 1, 1 << 1, FIT_MIN_DISTANCE_YES);
	assert_entry(&f, 2, 1 << 0 | 1 << 1, FIT_MIN_DISTANCE_YES);
	assert_amount(&f, 2, "vendor.com/nic", 0);
	assert_int_equal(frontier_find(&f, QOS_GUARANTEED, &zero).nodes, 1);
	assert_int_equal(frontier_find(&f, QOS_GUARANTEED, &below).nodes, 1);
	assert_int_equal(frontier_find(&f, QOS_GUARANTEED, &other).verdict, FIT_NONE);
	frontier_release(&f);
	test_node_release(&node);
}

/* 64 nodes in sockets of 8, all free: one entry for each size, though there are 2^64 combinations. */
static void equal_nodes_stand_in_for_each_other(void **state)
{
	CLEANUP(resource_list_release) struct resource_list request = resources_from_text("cpu=160");
	struct frontier_limits limits = {.entries = 3, .work = FRONTIER_WORK_LIMIT};
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_shape(&node, 64, names, N_RESOURCES);
	for (size_t i = 0; i < 64; i++) {
		test_node_set(&node, i, "cpu", "8");
		for (size_t j = 0; j < 64; j++)
			node.inv.costs[i * 64 + j] = i == j ? 10 : 20;
	}
	test_node_ready(&node);
	make(&f, &node);
	assert_int_equal(f.n_entries, 64);
	assert_int_equal(frontier_find(&f, QOS_GUARANTEED, &request).n_nodes, 20);
	frontier_release(&f);
	frontier_init(&f, &node.space, &limits);
	assert_int_equal(f.n_entries, 3);
	assert_true(f.truncated);
	assert_int_equal(frontier_find(&f, QOS_GUARANTEED, &request).verdict, FIT_UNKNOWN);
	frontier_release(&f);
	test_node_release(&node);
}

/* As many as there may be is not one too many. */
static void limits_are_exact(void **state)
{
	static const char *const zones[] = {"cpu=4 vendor.com/nic=1", "cpu=8", NULL};
	struct frontier_limits limits = {.entries = 3, .work = UINT64_MAX};
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_init(&node, zones);
	for (uint64_t work = 0; work <= 8; work++) {
		limits.work = work;
		frontier_init(&f, &node.space, &limits);
		assert_true(f.truncated == (work < 7)); /* 2 + 2 positions; 0 + 1 + 2 comparisons */
		assert_true(f.n_entries <= 3);
		frontier_release(&f);
	}
	for (size_t entries = 0; entries <= 4; entries++) {
		limits = (struct frontier_limits){.entries = entries, .work = UINT64_MAX};
		frontier_init(&f, &node.space, &limits);
		assert_true(f.truncated == (entries < 3));
		assert_int_equal(f.n_entries, entries < 3 ? entries : 3);
		frontier_release(&f);
	}
	test_node_release(&node);
}

static void too_many_of_one_size(void **state)
{
	uint64_t seed = 7;
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_shape(&node, 64, names, 1);
	for (size_t i = 0; i < 64; i++) {
		*inventory_amount(&node.inv, i, 0) =
			(struct inventory_amount){.present = true, .available = 1};
		for (size_t j = 0; j < 64; j++)
			node.inv.costs[i * 64 + j] = i == j ? 10 : 11 + (unsigned)(test_random(&seed) % 100);
	}
	assert_int_equal(distances_init(&node.distances, node.inv.costs, 64, 1000), 0);
	assert_int_equal(fit_space_init(&node.space, &node.inv, &node.distances), 0);
	make(&f, &node);
	assert_true(f.truncated);
	assert_int_equal(__builtin_popcountll(f.entries[f.n_entries - 1].nodes), 3);
	frontier_release(&f);
	test_node_release(&node);
}

static void no_nodes_at_all(void **state)
{
	CLEANUP(resource_list_release) struct resource_list request = {0};
	struct test_node node;
	struct frontier f;

	(void)state;
	test_node_shape(&node, 0, names, N_RESOURCES);
	test_node_ready(&node);
	make(&f, &node);
	assert_int_equal(f.n_entries, 0);
	assert_int_equal(frontier_find(&f, QOS_GUARANTEED, &request).verdict, FIT_NONE);
	frontier_release(&f);
	test_node_release(&node);
}

/* ---- the table against the search */

static uint64_t below(uint64_t *random, uint64_t n)
{
	return test_random(random) % n;
}

/* Costs of several characters: flat, two sockets, any, not told, beyond the limit. */
static unsigned random_cost(uint64_t *random, unsigned kind, size_t i, size_t j, size_t n)
{
	switch (kind) {
	case 0:
		return i == j ? 10 : 20;
	case 1:
		return i == j ? 10 : i / ((n + 1) / 2) == j / ((n + 1) / 2) ? 12 : 32;
	case 2:
		return 10 + (unsigned)below(random, 4);
	case 3:
		return below(random, 3) ? 10 + (unsigned)below(random, 200) : INVENTORY_COST_UNKNOWN;
	case 4:
		return below(random, 2) ? 10 : 200 + (unsigned)below(random, 800);
	default:
		return INVENTORY_COST_UNKNOWN;
	}
}

static void random_node(uint64_t *random, struct test_node *node)
{
	size_t n = 1 + below(random, 7), n_names = 1 + below(random, N_RESOURCES);
	unsigned kind = (unsigned)below(random, 6), missing = (unsigned)below(random, 4);
	bool same_ids = below(random, 8) == 0, alike = below(random, 4) == 0;

	test_node_shape(node, n, names, n_names);
	for (size_t i = 0; i < n; i++) {
		if (same_ids)
			node->inv.nodes[i].id = (unsigned)below(random, 3);
		for (size_t r = 0; r < n_names; r++) {
			struct inventory_amount *a = inventory_amount(&node->inv, i, r);

			a->present = below(random, 4) >= missing;
			a->available = alike ? 4 * QTY_UNIT : (qty_t)below(random, 9) * QTY_UNIT / 2;
			if (below(random, 50) == 0)
				a->available = -a->available;
			if (below(random, 200) == 0)
				a->available = QTY_MAX;
		}
		for (size_t j = 0; j < n; j++)
			node->inv.costs[i * n + j] = random_cost(random, kind, i, j, n);
	}
	test_node_ready(node);
}

/* Also names that the inventory may lack, and quantities of 0 and below. */
static struct resource_list random_request(uint64_t *random)
{
	struct resource_list list = {0};
	unsigned most = 4 << below(random, 4);

	for (size_t r = 0; r < N_RESOURCES; r++) {
		struct quantity q = {.nano = (qty_t)below(random, most) * QTY_UNIT / 2};

		if (below(random, 12) == 0)
			q.nano = -q.nano;
		if (below(random, 3))
			resource_list_set(&list, names[r], q);
	}
	return list;
}

static void assert_same(const struct fit *got, const struct fit *want, uint64_t seed, unsigned round)
{
	if (got->verdict == want->verdict && got->nodes == want->nodes && got->n_nodes == want->n_nodes &&
		got->min_distance == want->min_distance)
		return;
	fail_msg("seed %llu round %u: table verdict %d nodes %llx min %d, search %d %llx %d",
		(unsigned long long)seed, round, (int)got->verdict, (unsigned long long)got->nodes,
		(int)got->min_distance, (int)want->verdict, (unsigned long long)want->nodes,
		(int)want->min_distance);
}

/* The request that is an entry's own vector gets that entry, so that none is there in vain. */
static void assert_each_is_needed(struct frontier *f)
{
	for (size_t i = 0; i < f->n_entries; i++) {
		CLEANUP(resource_list_release) struct resource_list own = {0};
		struct fit fit;

		for (size_t r = 0; r < f->inventory->n_resources; r++) {
			struct quantity q = {.nano = frontier_amount(f, i, r)};

			if (q.nano != FRONTIER_ABSENT)
				resource_list_set(&own, f->inventory->resources[r], q);
		}
		fit = frontier_find(f, QOS_GUARANTEED, &own);
		assert_int_equal(fit.verdict, FIT_FOUND);
		assert_true(fit.nodes == f->entries[i].nodes);
	}
}

static void table_equals_the_search(void **state)
{
	uint64_t seed = test_seed(20), random = seed, n_found = 0, n_none = 0, n_short = 0;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct frontier_limits cut;
		struct frontier f, g;
		struct test_node node;

		random_node(&random, &node);
		make(&f, &node);
		cut = (struct frontier_limits){
			.entries = below(&random, f.n_entries + 1), .work = UINT64_MAX};
		frontier_init(&g, &node.space, &cut);
		assert_each_is_needed(&f);
		for (unsigned i = 0; i < 12; i++) {
			CLEANUP(resource_list_release) struct resource_list request = random_request(&random);
			enum qos_class qos = below(&random, 4) ? QOS_GUARANTEED : QOS_BURSTABLE;
			struct fit want = fit_required(&node.space, qos, &request);
			struct fit got = frontier_find(&f, qos, &request);

			assert_same(&got, &want, seed, round);
			n_found += got.verdict == FIT_FOUND;
			n_none += got.verdict == FIT_NONE;
			got = frontier_find(&g, qos, &request);
			if (got.verdict == FIT_UNKNOWN)
				n_short++;
			else
				assert_same(&got, &want, seed, round);
		}
		frontier_release(&f);
		frontier_release(&g);
		test_node_release(&node);
	}
	assert_true(n_found > 1000 && n_none > 1000 && n_short > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_nodes),
		cmocka_unit_test(order_within_a_size),
		cmocka_unit_test(absent_is_less_than_nothing),
		cmocka_unit_test(equal_nodes_stand_in_for_each_other),
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(too_many_of_one_size),
		cmocka_unit_test(no_nodes_at_all),
		cmocka_unit_test(table_equals_the_search),
	};

	return cmocka_run_group_tests_name("frontier", tests, NULL, NULL);
}
