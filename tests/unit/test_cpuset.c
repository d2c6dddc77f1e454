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

/* As the kubelet's strconv.Atoi(). */
static void zeros_in_front_change_nothing(void **state)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	assert_int_equal(cpuset_parse("010,08-9,0020-00021", &set, NULL), 0);
	text = cpuset_print(set);
	test_assert_text("list", text, "8-10,20-21");
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

/* Go's strconv.Atoi, with which the kubelet reads a list, takes a plus sign. */
static void ids_may_have_a_plus_sign(void **state)
{
	static const char *const bad[] = {"++1", "+", "1-+", "+-1", "+1,+", "-1", "1+"};
	hwloc_bitmap_t set = NULL;
	char *text;

	(void)state;
	assert_int_equal(cpuset_parse("+1,3-+5,+08", &set, NULL), 0);
	text = cpuset_print(set);
	assert_string_equal(text, "1,3-5,8");
	free(text);
	cpuset_freep(&set);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(cpuset_parse(bad[i], &set, NULL), -EINVAL);
}

static void far_ids_are_refused(void **state)
{
	hwloc_bitmap_t set = NULL;

	(void)state;
	assert_int_equal(cpuset_parse("0-65536", &set, NULL), -ERANGE);
	assert_int_equal(cpuset_parse("99999999999999999999999999", &set, NULL), -ERANGE);
	assert_null(set);
}

/* Print the set as the kernel prints a mask and read it back. */
static void assert_mask(hwloc_const_bitmap_t set)
{
	CLEANUP(strbuf_release) struct strbuf mask = STRBUF_INIT(4096);
	CLEANUP(cpuset_freep) hwloc_bitmap_t again = NULL;

	for (unsigned word = 8224 / 32; word-- > 0;) {
		unsigned bits = 0;

		for (unsigned bit = 32; bit-- > 0;)
			bits = bits << 1 | (unsigned)hwloc_bitmap_isset(set, word * 32 + bit);
		strbuf_addf(&mask, "%08x%s", bits, word > 0 ? "," : "");
	}
	assert_int_equal(cpuset_parse_mask(mask.text, &again, NULL), 0);
	assert_true(hwloc_bitmap_isequal(set, again));
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
		assert_mask(set);
	}
}

static void masks_are_words_of_32_bits(void **state)
{
	static const struct {
		const char *mask, *list;
	} cases[] = {
		{"", ""},
		{"0", ""},
		{"03", "0-1"},
		{"fffff", "0-19"},
		{"FF", "0-7"},
		{"00000000,0000ffff", "0-15"},
		{"1,00000000", "32"},
		{"0000,00000000,00000000,00ff00ff", "0-7,16-23"},
		{"80000000,00000001", "0,63"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
		CLEANUP(freep) char *text = NULL;

		assert_int_equal(cpuset_parse_mask(cases[i].mask, &set, NULL), 0);
		text = cpuset_print(set);
		test_assert_text(cases[i].mask, text, cases[i].list);
	}
}

static void other_masks_are_refused(void **state)
{
	static const char *const masks[] = {",", "0x1", "g", "-1", " 1", "1 ", "1,", ",00000001", "1,1",
		"1,,00000001", "123456789", "1,000000001", "0-3", "ff\n"};
	char far[65536 / 32 * 9 + 2] = "1";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		hwloc_bitmap_t set = NULL;
		int r = cpuset_parse_mask(masks[i], &set, NULL);

		if (r != -EINVAL)
			fail_msg("'%s' gave %d", masks[i], r);
		assert_null(set);
	}
	for (size_t i = 0; i < 65536 / 32; i++)
		memcpy(far + 1 + i * 9, ",00000000", 10);
	{
		hwloc_bitmap_t set = NULL;

		assert_int_equal(cpuset_parse_mask(far, &set, NULL), -ERANGE);
		far[0] = '0';
		assert_int_equal(cpuset_parse_mask(far, &set, NULL), 0);
		assert_int_equal(cpuset_size(set), 0);
		cpuset_freep(&set);
	}
}

static void equal_distances_are_a_stride(void **state)
{
	static const char *const cases[][2] = {
		{"0,4,8,12", "0-12:4"},
		{"1,3,5,7,9", "1-9:2"},
		{"0,2,4", "0,2,4"},
		{"0,2,4,7", "0,2,4,7"},
		{"0,2-4", "0,2-4"},
		{"0-3", "0-3"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
		CLEANUP(freep) char *text = NULL;

		assert_int_equal(cpuset_parse(cases[i][0], &set, NULL), 0);
		text = cpuset_print_short(set);
		test_assert_text(cases[i][0], text, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_round_trip),
		cmocka_unit_test(unordered_lists_are_sets),
		cmocka_unit_test(zeros_in_front_change_nothing),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(ids_may_have_a_plus_sign),
		cmocka_unit_test(far_ids_are_refused),
		cmocka_unit_test(masks_are_words_of_32_bits),
		cmocka_unit_test(other_masks_are_refused),
		cmocka_unit_test(random_sets_round_trip),
		cmocka_unit_test(equal_distances_are_a_stride),
	};

	return cmocka_run_group_tests_name("cpuset", tests, NULL, NULL);
}
