/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/combinations.h"
#include "scoring/node_mask.h"
#include "tests/lib/peers.h"

struct collected {
	uint64_t sets[64];
	size_t n;
};

static struct collected collect(unsigned n, unsigned size)
{
	struct collected c = {0};
	uint64_t set = combination_first(size);

	do {
		assert_true(c.n < ARRAY_SIZE(c.sets));
		c.sets[c.n++] = set;
	} while (combination_next_lexicographic(&set, n));
	assert_true(set == c.sets[c.n - 1]);
	return c;
}

static void pairs_in_order(void **state)
{
	static const uint64_t want[] = {3, 5, 9, 6, 10, 12};
	struct collected c = collect(4, 2);

	(void)state;
	assert_int_equal(c.n, 6);
	assert_memory_equal(c.sets, want, sizeof(want));
}

/* a comes before b in the order of their sorted members. */
static bool precedes(uint64_t a, uint64_t b)
{
	uint64_t differ = a ^ b;

	return (a & (differ & -differ)) != 0;
}

/* Every size of every n up to 12: all sets once, in strictly rising order. */
static void the_order_is_complete(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 12; n++) {
		for (unsigned size = 1; size <= n; size++) {
			uint64_t a = combination_first(size), last_a;
			size_t count = 1, want = 0;

			for (uint64_t set = 0; set < UINT64_C(1) << n; set++)
				want += (unsigned)__builtin_popcountll(set) == size;
			for (last_a = a; combination_next_lexicographic(&a, n); last_a = a) {
				assert_int_equal(__builtin_popcountll(a), size);
				assert_true(precedes(last_a, a) && !precedes(a, last_a));
				count++;
			}
			assert_int_equal(count, want);
		}
	}
}

static void sixty_four_positions(void **state)
{
	uint64_t set = combination_first(64);

	(void)state;
	assert_true(set == UINT64_MAX);
	assert_false(combination_next_lexicographic(&set, 64));
	set = UINT64_C(3) << 62;
	assert_false(combination_next_lexicographic(&set, 64));
	set = combination_first(63);
	assert_true(combination_next_lexicographic(&set, 64));
	assert_true(set == (combination_first(62) | UINT64_C(1) << 63));
	set = 0;
	assert_false(combination_next_lexicographic(&set, 64));
}

static void kubelets_tie_break(void **state)
{
	(void)state;
	assert_true(node_mask_narrower(6, 9)); /* {1,2} before {0,3} */
	assert_true(node_mask_narrower(8, 3));
	assert_false(node_mask_narrower(3, 3));
}

static void prepare(struct distances *d, const unsigned *costs, size_t n)
{
	assert_int_equal(distances_init(d, costs, n, DISTANCES_WORK_LIMIT), 0);
	distances_find_sums(d);
}

static void sums_are_of_ordered_pairs(void **state)
{
	static const unsigned costs[] = {10, 12, 20, 0, 12, 10, 20, 20, 20, 20, 10, 12, 20, 20, 12, 10};
	struct distances d;

	(void)state;
	prepare(&d, costs, 4);
	assert_int_equal(distances_sum(&d, 0), 0);
	assert_int_equal(distances_sum(&d, 1), 10);
	assert_int_equal(distances_sum(&d, 3), 44);
	assert_int_equal(distances_sum(&d, 9), 10 + 10 + 20 + DISTANCE_UNKNOWN);
	assert_int_equal(distances_sum(&d, 7), 134); /* upstream's 14.888889 = 134 / 9 */
	assert_int_equal(d.high[2], 44);
	distances_release(&d);
}

/* Least sums of every size by enumeration. */
static void brute_force(const struct distances *d, uint64_t least[])
{
	for (unsigned size = 0; size <= d->n; size++)
		least[size] = UINT64_MAX;
	for (uint64_t set = 0; set < UINT64_C(1) << d->n; set++) {
		unsigned size = (unsigned)__builtin_popcountll(set);
		uint64_t sum = distances_sum(d, set);

		least[size] = sum < least[size] ? sum : least[size];
	}
}

/* A random matrix: wholly random, of few values, or sockets with random distances between them. */
static void random_costs(uint64_t *random, unsigned *costs, size_t n)
{
	uint64_t kind = test_random(random) % 4, per_socket = 1 + test_random(random) % 4;

	for (size_t a = 0; a < n; a++) {
		for (size_t b = 0; b < n; b++) {
			unsigned far = kind == 0 ? 10 + (unsigned)(test_random(random) % 245)
						 : 20 + (unsigned)(test_random(random) % 2);
			bool same_socket = a / per_socket == b / per_socket;

			costs[a * n + b] = a == b ? 10 : far;
			if (kind == 2)
				costs[a * n + b] = a == b ? 10 : same_socket ? 12 : 32;
			if (kind == 3 && a / per_socket < b / per_socket)
				costs[a * n + b] = 21 + (unsigned)((a / per_socket ^ b / per_socket) % 3) * 5;
			if (kind == 3 && a / per_socket > b / per_socket)
				costs[a * n + b] = costs[b * n + a];
			if (test_random(random) % 400 == 0)
				costs[a * n + b] = 0;
		}
	}
}

static void least_sums_equal_enumeration(void **state)
{
	uint64_t random = test_seed(20261123);

	(void)state;
	for (int i = 0; i < 400; i++) {
		size_t n = 1 + test_random(&random) % 11;
		uint64_t least[12];
		unsigned costs[121];
		struct distances d;

		random_costs(&random, costs, n);
		prepare(&d, costs, n);
		brute_force(&d, least);
		for (unsigned size = 0; size <= n; size++) {
			if (d.low[size] != least[size] || d.high[size] != least[size])
				fail_msg("n=%zu size=%u: %llu..%llu, want %llu", n, size,
					(unsigned long long)d.low[size], (unsigned long long)d.high[size],
					(unsigned long long)least[size]);
		}
		distances_release(&d);
	}
}

/* Bounds that the work limit left open still hold the true least sum between them. */
static void limited_search_gives_bounds(void **state)
{
	uint64_t random = test_seed(20261124);
	unsigned open = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t least[12];
		unsigned costs[121];
		struct distances d;

		random_costs(&random, costs, 11);
		assert_int_equal(distances_init(&d, costs, 11, 20), 0);
		distances_find_sums(&d);
		brute_force(&d, least);
		for (unsigned size = 0; size <= 11; size++) {
			assert_true(d.low[size] <= least[size] && least[size] <= d.high[size]);
			open += d.low[size] < d.high[size];
		}
		distances_release(&d);
	}
	assert_true(open > 0);
}

/* 8 sockets of 8 nodes: whole sockets first, so the least sum is known by hand. */
static uint64_t blocks_by_hand(unsigned size)
{
	uint64_t sum = 0, full = size / 8, rest = size % 8;

	sum = full * (8 * 10 + 8 * 7 * 12) + rest * 10 + rest * (rest - (rest > 0)) * 12;
	sum += (full * (full - (full > 0)) * 64 + 2 * full * 8 * rest) * 32;
	return sum;
}

static void sixty_four_nodes_in_blocks(void **state)
{
	static unsigned costs[64 * 64];
	struct distances d;

	(void)state;
	for (size_t a = 0; a < 64; a++)
		for (size_t b = 0; b < 64; b++)
			costs[a * 64 + b] = a == b ? 10 : a / 8 == b / 8 ? 12 : 32;
	assert_int_equal(distances_init(&d, costs, 64, 0), 0);
	distances_find_sums(&d);
	for (unsigned size = 1; size <= 64; size++) {
		assert_int_equal(d.low[size], blocks_by_hand(size));
		assert_int_equal(d.high[size], blocks_by_hand(size));
	}
	assert_true(d.twins[0] == 0 && d.twins[7] == 0x7f && d.twins[8] == 0 && d.twins[10] == 0x300);
	distances_release(&d);
}

/* 8 sockets with links to 3 neighbours each and two hops to the others: nothing merges beyond the sockets. */
static void sixty_four_nodes_in_a_cube(void **state)
{
	static unsigned costs[64 * 64];
	struct distances d;

	(void)state;
	for (size_t a = 0; a < 64; a++) {
		for (size_t b = 0; b < 64; b++) {
			int hops = __builtin_popcountll((a / 8) ^ (b / 8));

			costs[a * 64 + b] = a == b ? 10 : hops == 0 ? 12 : hops == 1 ? 21 : 31;
		}
	}
	prepare(&d, costs, 64);
	for (unsigned size = 1; size <= 64; size++) {
		assert_int_equal(d.low[size], d.high[size]);
		assert_true(d.high[size] <= distances_sum(&d, combination_first(size)));
	}
	assert_int_equal(d.high[16], 2 * (80 + 56 * 12) + 2 * 64 * 21);
	distances_release(&d);
}

static void distances_stay_while_the_matrix_does(void **state)
{
	static const unsigned big[65 * 65];
	unsigned costs[9] = {10, 20, 30, 20, 10, 20, 30, 20, 10};
	struct distances_kept kept = {0};
	struct distances *d = NULL;

	(void)state;
	assert_int_equal(distances_keep(&kept, costs, 3, &d), 0);
	distances_find_sums(d);
	assert_int_equal(d->low[2], 60);
	assert_int_equal(distances_keep(&kept, costs, 3, &d), 0);
	assert_true(d->sums_found);
	costs[1] = costs[3] = 15;
	assert_int_equal(distances_keep(&kept, costs, 3, &d), 0);
	assert_false(d->sums_found);
	distances_find_sums(d);
	assert_int_equal(d->low[2], 50);
	assert_int_equal(distances_keep(&kept, costs, 2, &d), 0); /* the same numbers, as a smaller matrix */
	assert_int_equal(d->n, 2);
	assert_int_equal(distances_keep(&kept, big, 65, &d), -E2BIG);
	assert_null(kept.costs);
	assert_int_equal(distances_keep(&kept, NULL, 0, &d), 0);
	assert_int_equal(distances_keep(&kept, NULL, 0, &d), 0);
	assert_int_equal(distances_keep(&kept, costs, 3, &d), 0);
	assert_int_equal(d->n, 3);
	distances_kept_release(&kept);
}

static void too_many_positions(void **state)
{
	static const unsigned costs[65 * 65];
	struct distances d = {.n = 7};

	(void)state;
	assert_int_equal(distances_init(&d, costs, 65, 1), -E2BIG);
	assert_int_equal(d.n, 7);
	assert_int_equal(distances_init(&d, costs, 0, 1), 0);
	distances_find_sums(&d);
	distances_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_in_order),
		cmocka_unit_test(the_order_is_complete),
		cmocka_unit_test(sixty_four_positions),
		cmocka_unit_test(kubelets_tie_break),
		cmocka_unit_test(sums_are_of_ordered_pairs),
		cmocka_unit_test(least_sums_equal_enumeration),
		cmocka_unit_test(limited_search_gives_bounds),
		cmocka_unit_test(sixty_four_nodes_in_blocks),
		cmocka_unit_test(sixty_four_nodes_in_a_cube),
		cmocka_unit_test(distances_stay_while_the_matrix_does),
		cmocka_unit_test(too_many_positions),
	};

	return cmocka_run_group_tests_name("combinations", tests, NULL, NULL);
}
