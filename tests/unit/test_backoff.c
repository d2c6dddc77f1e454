/* SPDX-License-Identifier: Apache-2.0 */
/* How long failures wait, and when many nodes that wait come back. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/kube/backoff.h"

static void backoff_grows_to_its_limit(void **state)
{
	uint64_t seed = test_seed(7);
	static const uint64_t most[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(most); i++) {
		assert_true(backoff_ms(i + 1, 0) == 1);
		assert_true(backoff_ms(i + 1, most[i] - 1) == most[i]);
		assert_true(backoff_ms(i + 1, most[i]) == 1);
		for (int n = 0; n < 1000; n++)
			assert_true(backoff_ms(i + 1, test_random(&seed)) <= most[i]);
	}
	assert_true(backoff_ms(4000000000u, 29999) == 30000);
	assert_true(backoff_spread_ms(600000, 10, 0) == 540000);
	assert_true(backoff_spread_ms(600000, 10, 120000) == 660000);
}

/* What a server asks for is a beginning: half as long may come on top, or the backoff where that is more. */
static void who_is_sent_away_does_not_come_back_with_the_others(void **state)
{
	static const struct {
		unsigned failures;
		int asked_s;
		uint64_t first, last;
	} cases[] = {{1, -1, 1, 500}, {1, 0, 1, 500}, {3, 0, 1, 2000}, {1, 1, 1001, 1500},
		{1, 60, 60001, 90000}, {9, 10, 10001, 40000}, {9, 3600, 3600001, 5400000}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t many = cases[i].last - cases[i].first + 1;

		assert_true(backoff_after_ms(cases[i].failures, cases[i].asked_s, 0) == cases[i].first);
		assert_true(backoff_after_ms(cases[i].failures, cases[i].asked_s, many - 1) == cases[i].last);
		assert_true(backoff_after_ms(cases[i].failures, cases[i].asked_s, many) == cases[i].first);
	}
}

/*
 * 1000 nodes have something to write while the API server is away, all from the same moment on. Counted is when each comes
 * back, second by second: never more than `most`, and all within as long as the server was away, 30 s at most.
 */
static void nodes_come_back_one_by_one(void **state)
{
	static const struct {
		uint64_t away_ms;
		unsigned most;
	} cases[] = {{10000, 250}, {60000, 100}, {600000, 100}};
	uint64_t seed = test_seed(11);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned in_second[BACKOFF_MAX_MS / 1000] = {0};

		for (int node = 0; node < 1000; node++) {
			uint64_t now = 0;

			for (unsigned failures = 1; now < cases[i].away_ms; failures++)
				now += backoff_ms(failures, test_random(&seed));
			assert_true(now - cases[i].away_ms < BACKOFF_MAX_MS);
			in_second[(now - cases[i].away_ms) / 1000]++;
		}
		for (size_t s = 0; s < ARRAY_SIZE(in_second); s++)
			if (in_second[s] > cases[i].most)
				fail_msg("%llu s away: %u nodes in second %zu after it",
					(unsigned long long)cases[i].away_ms / 1000, in_second[s], s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backoff_grows_to_its_limit),
		cmocka_unit_test(who_is_sent_away_does_not_come_back_with_the_others),
		cmocka_unit_test(nodes_come_back_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
