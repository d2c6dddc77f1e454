/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/run/worker.h"
#include "common/cleanup.h"

static const struct schedule fresh = {.coalesce_ms = 50,
	.changes = {.interval_ms = 500, .burst = 2},
	.poll_ms = 10000,
	.requested_at = SCHEDULE_NEVER};

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

/* The files of one admission: the first is published, the others together, and then there is a pause. */
static void the_first_mark_is_answered_at_once(void **state)
{
	struct schedule s = fresh;
	uint64_t since = 0;

	(void)state;
	run(&s, 1000, SCHEDULE_NEVER);
	schedule_mark(&s, 5000);
	assert_int_equal(schedule_due(&s), 5000);
	schedule_start(&s, 5001, &since);
	assert_int_equal(since, 5000);
	schedule_mark(&s, 5003); /* during the run: another change */
	assert_true(schedule_due(&s) == SCHEDULE_NEVER);
	schedule_end(&s, true, SCHEDULE_NEVER);
	schedule_mark(&s, 5020);
	assert_int_equal(schedule_due(&s), 5051);
	schedule_start(&s, 5051, &since);
	assert_int_equal(since, 5003);
	schedule_end(&s, true, SCHEDULE_NEVER);
	schedule_mark(&s, 5060);
	assert_int_equal(schedule_due(&s), 5501);
}

/* A run that found nothing new holds the next one up for no longer than coalescing does. */
static void only_publications_hold_back(void **state)
{
	struct schedule s = fresh;
	uint64_t since;

	(void)state;
	run(&s, 1000, SCHEDULE_NEVER);
	for (uint64_t at = 5000; at < 5300; at += 50) {
		schedule_mark(&s, at);
		assert_int_equal(schedule_due(&s), at);
		schedule_start(&s, at, &since);
		schedule_end(&s, false, SCHEDULE_NEVER);
	}
}

/* The first sign of an admission may come before the change; a second one in vain is gathered as any other. */
static void after_a_run_in_vain_the_next_comes_soon(void **state)
{
	struct schedule s = fresh;
	uint64_t since;

	(void)state;
	run(&s, 1000, SCHEDULE_NEVER);
	for (uint64_t at = 5000; at < 7000; at += 1000) {
		schedule_mark(&s, at);
		schedule_start(&s, at, &since);
		schedule_mark(&s, at + 1);
		schedule_end(&s, false, SCHEDULE_NEVER);
		assert_int_equal(schedule_due(&s), at + 5);
		schedule_start(&s, at + 5, &since);
		schedule_mark(&s, at + 6);
		schedule_end(&s, false, SCHEDULE_NEVER);
		assert_int_equal(schedule_due(&s), at + 55);
		schedule_start(&s, at + 58, &since);
		schedule_mark(&s, at + 59);
		schedule_end(&s, false, SCHEDULE_NEVER); /* a timer that is late makes it no first one */
		assert_int_equal(schedule_due(&s), at + 108);
	}
}

static void a_run_may_ask_for_another(void **state)
{
	struct schedule s = fresh;

	(void)state;
	run(&s, 1000, 4000);
	assert_int_equal(schedule_due(&s), 4000);
	schedule_mark(&s, 2000);
	assert_int_equal(schedule_due(&s), 2000);
	s.poll_ms = 0;
	run(&s, 2050, SCHEDULE_NEVER);
	assert_true(schedule_due(&s) == SCHEDULE_NEVER);
}

/* Also during a run, which does not take it into account. */
static void a_request_is_not_forgotten(void **state)
{
	struct schedule s = fresh;
	uint64_t since;

	(void)state;
	run(&s, 1000, 4000);
	schedule_request(&s, 2000);
	schedule_request(&s, 3000);
	assert_int_equal(schedule_due(&s), 2000);
	schedule_start(&s, 2000, &since);
	schedule_request(&s, 2010);
	assert_true(schedule_due(&s) == SCHEDULE_NEVER);
	schedule_end(&s, true, SCHEDULE_NEVER);
	assert_int_equal(schedule_due(&s), 2010);
	run(&s, 2010, SCHEDULE_NEVER);
	assert_int_equal(schedule_due(&s), 12010);
}

/* Whatever the marks, no more runs publish than the budget has, each mark is answered within coalescing time and
 * interval, and the last mark is answered. */
static void a_storm_is_bounded(void **state)
{
	struct schedule s = fresh;
	uint64_t now = 0, since, oldest = 0, runs = 0;
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
		schedule_start(&s, now, &since);
		assert_int_equal(since, oldest);
		assert_true(now - oldest <= s.coalesce_ms + s.changes.interval_ms);
		schedule_end(&s, true, SCHEDULE_NEVER);
		oldest = 0;
		runs++;
		assert_true(runs <= 1 + now / s.changes.interval_ms);
	}
	assert_int_equal(oldest, 0);
	assert_in_range(runs, 15, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_run_is_at_once),
		cmocka_unit_test(the_first_mark_is_answered_at_once),
		cmocka_unit_test(only_publications_hold_back),
		cmocka_unit_test(after_a_run_in_vain_the_next_comes_soon),
		cmocka_unit_test(a_run_may_ask_for_another),
		cmocka_unit_test(a_request_is_not_forgotten),
		cmocka_unit_test(a_storm_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
