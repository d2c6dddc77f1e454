/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/daemon/schedule.h"

#include "common/cleanup.h"
#include "tests/lib/test.h"

static const struct schedule fresh = {
	.coalesce_ms = 50, .interval_ms = 500, .poll_ms = 10000, .again_at = SCHEDULE_NEVER};

static void run(struct schedule *s, uint64_t at, uint64_t again_at)
{
	uint64_t since;

	schedule_start(s, at, &since);
	assert_true(schedule_due(s) == SCHEDULE_NEVER);
	schedule_end(s, true, again_at);
}

static void the_first_run_is_at_once(void **state)
{
	struct schedule s = fresh;

	(void)state;
	assert_int_equal(schedule_due(&s), 0);
	run(&s, 1000, SCHEDULE_NEVER);
	assert_int_equal(schedule_due(&s), 11000);
}

static void marks_are_coalesced(void **state)
{
	struct schedule s = fresh;
	uint64_t since = 0;

	(void)state;
	run(&s, 1000, SCHEDULE_NEVER);
	schedule_mark(&s, 5000);
	schedule_mark(&s, 5020);
	assert_int_equal(schedule_due(&s), 5050);
	schedule_start(&s, 5050, &since);
	assert_int_equal(since, 5000);
	schedule_mark(&s, 5060); /* during the run: another change */
	assert_true(schedule_due(&s) == SCHEDULE_NEVER);
	schedule_end(&s, true, SCHEDULE_NEVER);
	assert_int_equal(schedule_due(&s), 5550);
}

/* A run that found nothing new holds the next one up for no longer than coalescing does. */
static void only_publications_hold_back(void **state)
{
	struct schedule s = fresh;
	uint64_t since;

	(void)state;
	run(&s, 1000, SCHEDULE_NEVER);
	schedule_mark(&s, 5000);
	schedule_start(&s, 5050, &since);
	schedule_end(&s, false, SCHEDULE_NEVER);
	schedule_mark(&s, 5060);
	assert_int_equal(schedule_due(&s), 5110);
}

static void a_run_may_ask_for_another(void **state)
{
	struct schedule s = fresh;

	(void)state;
	run(&s, 1000, 4000);
	assert_int_equal(schedule_due(&s), 4000);
	schedule_mark(&s, 2000);
	assert_int_equal(schedule_due(&s), 2050);
	s.poll_ms = 0;
	run(&s, 2050, SCHEDULE_NEVER);
	assert_true(schedule_due(&s) == SCHEDULE_NEVER);
}

/* Whatever the marks, runs for changes are the interval apart, each mark is answered within coalescing time
 * and interval, and the last mark is answered. */
static void a_storm_is_bounded(void **state)
{
	struct schedule s = fresh;
	uint64_t now = 0, last_run = 0, since, oldest = 0, runs = 0;
	uint64_t random = test_seed(20261121);

	(void)state;
	s.poll_ms = 0;
	schedule_mark(&s, 0);
	run(&s, 0, SCHEDULE_NEVER);
	for (now = 1; now < 20000; now++) {
		if (now < 10000 && test_random(&random) % 10 == 0) {
			schedule_mark(&s, now);
			oldest = oldest ? oldest : now;
		}
		if (schedule_due(&s) > now)
			continue;
		assert_true(now - last_run >= s.interval_ms);
		schedule_start(&s, now, &since);
		assert_int_equal(since, oldest);
		assert_true(now - oldest <= s.coalesce_ms + s.interval_ms);
		schedule_end(&s, true, SCHEDULE_NEVER);
		last_run = now;
		oldest = 0;
		runs++;
	}
	assert_int_equal(oldest, 0);
	assert_in_range(runs, 15, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_run_is_at_once),
		cmocka_unit_test(marks_are_coalesced),
		cmocka_unit_test(only_publications_hold_back),
		cmocka_unit_test(a_run_may_ask_for_another),
		cmocka_unit_test(a_storm_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
