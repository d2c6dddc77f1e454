/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/time.h"

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

static void one_an_interval(void **state)
{
	struct budget b = {.interval_ms = 500, .burst = 1};

	(void)state;
	assert_int_equal(budget_at(&b), 0);
	budget_take(&b, 1000);
	assert_int_equal(budget_at(&b), 1500);
	budget_take(&b, 1700); /* later than it could have been: nothing is saved up */
	assert_int_equal(budget_at(&b), 2200);
}

static void some_at_once(void **state)
{
	struct budget b = {.interval_ms = 500, .burst = 3};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_true(budget_at(&b) <= 1000);
		budget_take(&b, 1000);
	}
	assert_int_equal(budget_at(&b), 1500);
	/* One is there again after an interval, all after three. */
	budget_take(&b, 1500);
	assert_int_equal(budget_at(&b), 2000);
	budget_take(&b, 3000);
	budget_take(&b, 3000);
	assert_true(budget_at(&b) <= 3000);
	budget_take(&b, 3000);
	assert_int_equal(budget_at(&b), 3500);
}

/* What may not be done and is all the same counts too. */
static void too_much_is_made_up_for(void **state)
{
	struct budget b = {.interval_ms = 500, .burst = 1};

	(void)state;
	budget_take(&b, 1000);
	budget_take(&b, 1000);
	assert_int_equal(budget_at(&b), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(one_an_interval),
		cmocka_unit_test(some_at_once),
		cmocka_unit_test(too_much_is_made_up_for),
	};

	return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
