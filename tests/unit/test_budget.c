/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/budget.h"

#include "tests/lib/test.h"

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
		cmocka_unit_test(one_an_interval),
		cmocka_unit_test(some_at_once),
		cmocka_unit_test(too_much_is_made_up_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
