/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"

static void lists_round_trip(void **state)
{
	static const char *const lists[] = {
		"", "0", "0-3", "0,2", "0-3,8", "1,3,5-7,64-127", "8191", "0-65535"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
		CLEANUP(freep) char *text = NULL;

		assert_int_equal(cpuset_parse(lists[i], &set, NULL), 0);
		text = cpuset_print(set);
		test_assert_text("list", text, lists[i]);
	}
}

static void unordered_lists_are_sets(void **state)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	assert_int_equal(cpuset_parse("8,0-3,2", &set, NULL), 0);
	text = cpuset_print(set);
	test_assert_text("list", text, "0-3,8");
	assert_int_equal(cpuset_size(set), 5);
	assert_int_equal(cpuset_size(NULL), 0);
}

static void other_text_is_refused(void **state)
{
	static const char *const lists[] = {" ", "0 ", " 0", "a", "0-", "-3", "3-1", "0,", ",0", "0,,1",
		"0-3:2", "0x3", "0-3-5", "all", "\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		hwloc_bitmap_t set = NULL;
		struct err err = {""};
		int r = cpuset_parse(lists[i], &set, &err);

		if (r != -EINVAL)
			fail_msg("'%s' gave %d", lists[i], r);
		assert_null(set);
		assert_non_null(strstr(err.text, "not a CPU list"));
	}
}

static void far_ids_are_refused(void **state)
{
	hwloc_bitmap_t set = NULL;

	(void)state;
	assert_int_equal(cpuset_parse("0-65536", &set, NULL), -ERANGE);
	assert_int_equal(cpuset_parse("99999999999999999999999999", &set, NULL), -ERANGE);
	assert_null(set);
}

static void random_sets_round_trip(void **state)
{
	uint64_t random = test_seed(20261121);

	(void)state;
	for (int n = 0; n < 2000; n++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t set = hwloc_bitmap_alloc();
		CLEANUP(cpuset_freep) hwloc_bitmap_t again = NULL;
		CLEANUP(freep) char *text = NULL;

		assert_non_null(set);
		for (uint64_t i = test_random(&random) % 40; i > 0; i--) {
			unsigned first = (unsigned)(test_random(&random) % 8192);

			hwloc_bitmap_set_range(set, first, (int)(first + test_random(&random) % 9));
		}
		text = cpuset_print(set);
		assert_non_null(text);
		assert_int_equal(cpuset_parse(text, &again, NULL), 0);
		assert_true(hwloc_bitmap_isequal(set, again));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_round_trip),
		cmocka_unit_test(unordered_lists_are_sets),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(far_ids_are_refused),
		cmocka_unit_test(random_sets_round_trip),
	};

	return cmocka_run_group_tests_name("cpuset", tests, NULL, NULL);
}
