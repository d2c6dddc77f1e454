/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "scoring/node_mask.h"
#include "tests/lib/peers.h"

static void masks_print_as_lists(void **state)
{
	static const struct {
		uint64_t mask;
		const char *list, *binary;
	} cases[] = {
		{0, "", "00"},
		{1, "0", "01"},
		{2, "1", "10"},
		{3, "0-1", "11"},
		{4, "2", "0100"},
		{0xb, "0-1,3", "1011"},
		{UINT64_C(1) << 63, "63", "1000000000000000000000000000000000000000000000000000000000000000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char list[NODE_MASK_TEXT_MAX], binary[NODE_MASK_BINARY_MAX];

		node_mask_print(cases[i].mask, list);
		node_mask_print_binary(cases[i].mask, binary);
		test_assert_text("list", list, cases[i].list);
		test_assert_text("binary", binary, cases[i].binary);
	}
}

/* The longest list of all: every other node. */
static void the_longest_list_fits(void **state)
{
	char list[NODE_MASK_TEXT_MAX];

	(void)state;
	node_mask_print(UINT64_C(0x5555555555555555), list);
	assert_true(strlen(list) < NODE_MASK_TEXT_MAX);
	test_assert_text("list", list + strlen(list) - 3, ",62");
	node_mask_print(UINT64_C(0xdb6db6db6db6db6d), list);
	assert_true(strlen(list) < NODE_MASK_TEXT_MAX);
}

static void bitmaps_beyond_63_are_refused(void **state)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = hwloc_bitmap_alloc();
	uint64_t mask = 7;

	(void)state;
	assert_non_null(set);
	assert_int_equal(hwloc_bitmap_set(set, 64), 0);
	assert_false(node_mask_from_bitmap(set, &mask));
	assert_int_equal(mask, 7);
	hwloc_bitmap_fill(set);
	assert_false(node_mask_from_bitmap(set, &mask));
	hwloc_bitmap_zero(set);
	assert_int_equal(hwloc_bitmap_set(set, 63), 0);
	assert_true(node_mask_from_bitmap(set, &mask));
	assert_int_equal(mask, UINT64_C(1) << 63);
	assert_true(node_mask_from_bitmap(NULL, &mask));
	assert_int_equal(mask, 0);
}

/* Every subset once, by size; within a size the sorted members ascend lexicographically. */
static void walks_are_complete_and_ordered(void **state)
{
	uint64_t random = test_seed(20261122);

	(void)state;
	for (int turn = 0; turn < 200; turn++) {
		uint64_t nodes = 0, mask, sum = 0, last = 0;
		struct node_mask_walk walk;
		size_t n = 0;

		for (unsigned i = 0; i < 10; i++)
			nodes |= node_mask_of((unsigned)(test_random(&random) % 64));
		node_mask_walk_start(&walk, nodes);
		while (node_mask_walk_next(&walk, &mask)) {
			uint64_t differ = last ^ mask;

			assert_int_equal(mask & ~nodes, 0);
			assert_int_equal(walk.size, node_mask_count(mask));
			if (node_mask_count(last) == walk.size)
				/* The first member in which they differ is in the earlier one. */
				assert_true(last & (differ & (~differ + 1)));
			else
				assert_int_equal(walk.size, node_mask_count(last) + 1);
			for (unsigned i = 0; i < walk.size; i++)
				assert_true(mask & node_mask_of(walk.ids[walk.at[i]]));
			sum += mask;
			last = mask;
			n++;
		}
		assert_int_equal(n, (1u << node_mask_count(nodes)) - 1);
		/* Each node is in half of the subsets, the empty one included. */
		assert_int_equal(sum, nodes * ((n + 1) / 2));
	}
}

static void count_bits(const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free)
{
	*ret_capacity = node_mask_count(nodes) * 16;
	*ret_free = node_mask_count(nodes & *(const uint64_t *)ctx) * 10;
}

static void fits_name_the_fewest_nodes(void **state)
{
	const uint64_t with_free = 0xe;
	struct node_mask_fit fit = node_mask_find_fit(0xf, 11, count_bits, &with_free);

	(void)state;
	assert_int_equal(fit.min_nodes, 1);
	assert_int_equal(fit.capacity, 16);
	assert_int_equal(fit.free, 10);
	assert_int_equal(fit.available, 30);
	fit = node_mask_find_fit(0xf, 33, count_bits, &with_free);
	assert_int_equal(fit.min_nodes, 3);
	assert_int_equal(fit.capacity, 48);
	assert_int_equal(fit.free, 30);
	fit = node_mask_find_fit(0xf, 65, count_bits, &with_free);
	assert_int_equal(fit.min_nodes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_print_as_lists),
		cmocka_unit_test(the_longest_list_fits),
		cmocka_unit_test(bitmaps_beyond_63_are_refused),
		cmocka_unit_test(walks_are_complete_and_ordered),
		cmocka_unit_test(fits_name_the_fewest_nodes),
	};

	return cmocka_run_group_tests_name("node_mask", tests, NULL, NULL);
}
