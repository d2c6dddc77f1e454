/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Combinations of NUMA nodes: sets of at most 64 positions of an inventory's node list as bit masks, and
 * the distance within a set. Depends on libc only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMBINATION_MAX_NODES 64u

/* The distance that the scheduler plugin assumes for a pair without costs. */
#define DISTANCE_UNKNOWN 255u

/* The scheduler plugin never accepts a combination whose average distance reaches this. */
#define DISTANCE_LIMIT 256u

/* The set {0, ..., size-1}, size <= COMBINATION_MAX_NODES. */
uint64_t combination_first(unsigned size);

/*
 * Distances between n positions, and for each size the least sum over a combination of that size. The
 * average distance of a set of size k is sum / k^2, so within one size sums compare exactly as averages do.
 * Finding the least sums of sizes above 1 takes longer than judging a request, so distances_init() leaves them out, and
 * distances_find_sums() finds them when a request needs them.
 */
struct distances {
	unsigned n;
	uint64_t *pair; /* n x n: both directions of a pair together; the diagonal holds a position's own */
	uint64_t low[COMBINATION_MAX_NODES + 1]; /* per size: a lower bound of the least sum */
	uint64_t high[COMBINATION_MAX_NODES +
		      1]; /* an upper bound; equal to low[] unless the work limit was exceeded */
	/* The members below, and low[] and high[] of sizes above 1, are valid after distances_find_sums(). */
	uint64_t *nearest; /* n x n: entry j of row x is the sum of the j least pair distances of x, j < n */
	uint64_t *twins;   /* per position: the earlier positions with the same distances to all others */
	bool sums_found;
	uint64_t work_limit;
	struct distances_scratch *scratch;
};

/* Steps of the search for the least sums, per size; with 20 positions of any costs it stays below this. */
#define DISTANCES_WORK_LIMIT 2000000u

/*
 * Make the distances of a cost matrix: costs[from * n + to], 0 = unknown. `work_limit` bounds the steps of
 * distances_find_sums() for one size, and twice the limit those for all sizes; beyond it low < high, and the
 * least sum is unknown. Returns 0; -E2BIG (n > COMBINATION_MAX_NODES). *ret is untouched on failure, else
 * the caller releases it.
 */
int distances_init(struct distances *ret, const unsigned *costs, size_t n, uint64_t work_limit);
void distances_release(struct distances *d);

/*
 * Finds the least sums of the sizes above 1, and fills the other members that combinations of several positions need. Does
 * nothing at the second call. Allocates nothing.
 */
void distances_find_sums(struct distances *d);

/* The distances of the last cost matrix, kept for as long as the matrix does not change. Start at {0}. */
struct distances_kept {
	struct distances distances;
	unsigned *costs; /* the matrix, NULL = none yet */
};

/*
 * The distances of this matrix, made with DISTANCES_WORK_LIMIT if the kept ones are of another matrix. *ret
 * is valid until the next call. Errors as distances_init(); then nothing is kept.
 */
int distances_keep(struct distances_kept *kept, const unsigned *costs, size_t n, struct distances **ret);
void distances_kept_release(struct distances_kept *kept);

/* The sum over all ordered pairs of a set's members, including each member with itself. */
uint64_t distances_sum(const struct distances *d, uint64_t set);

/* A sum limited to 255 for each pair, as the scheduler plugin limits its minimum. */
static inline uint64_t distances_capped(uint64_t sum, unsigned size)
{
	uint64_t cap = (uint64_t)DISTANCE_UNKNOWN * size * size;

	return sum < cap ? sum : cap;
}
