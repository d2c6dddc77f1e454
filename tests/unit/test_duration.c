/* SPDX-License-Identifier: Apache-2.0 */
#include "common/duration.h"

#include <errno.h>

#include "common/cleanup.h"
#include "tests/lib/test.h"

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} cases[] = {{"0", 0}, {"50ms", 50}, {"10s", 10000}, {"1m30s", 90000}, {"2h", 7200000}, {"0s", 0},
		{"1h1m1s1ms", 3661001}, {"8784h", UINT64_C(8784) * 3600000}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ms = 1;

		assert_int_equal(duration_parse(cases[i].text, &ms, NULL), 0);
		assert_int_equal(ms, cases[i].ms);
	}
}

static void what_is_none(void **state)
{
	static const char *const texts[] = {"", "50", "ms", "5 s", "-1s", "1.5s", "1s ", "1d", "8784h1ms",
		"99999999999999999999s", "18446744073709551616ms", "1s2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = {""};
		uint64_t ms = 7;

		assert_int_equal(duration_parse(texts[i], &ms, &err), -EINVAL);
		assert_int_equal(ms, 7);
		assert_true(err.text[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(durations), cmocka_unit_test(what_is_none)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
