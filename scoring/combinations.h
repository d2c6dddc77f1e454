/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Combinations of NUMA nodes: a set of at most 64 positions of an inventory's node list as a bit mask,
 * and the distance within one. Depends on libc only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMBINATION_MAX_NODES 64u

/* Distance of a pair that the costs do not have, as the scheduler plugin assumes it. */
#define DISTANCE_UNKNOWN 255u

/* A combination whose average distance reaches this is never accepted by the scheduler plugin. */
#define DISTANCE_LIMIT 256u

/* The set {0, ..., size-1}, size <= COMBINATION_MAX_NODES. */
uint64_t combination_first(unsigned size);

/*
 * Distances between n positions, and for each size the least sum over a combination of that size. The average
 * distance of a set of size k is sum / k^2, so within one size sums compare exactly as averages do. What is said of
 * sizes above 1 takes longer to find than a single question to answer: it waits for distances_search().
 */
struct distances {
	unsigned n;
	uint64_t *pair; /* n x n: both directions of a pair together; the diagonal holds a position's own */
	uint64_t low[COMBINATION_MAX_NODES + 1];  /* per size: the least sum lies in low..high; */
	uint64_t high[COMBINATION_MAX_NODES + 1]; /* equal unless the search met its work limit */
	/* Below, and of low[] and high[] the sizes above 1: after distances_search(). */
	uint64_t *nearest; /* n x n: entry j of row x is the sum of the j least pair distances of x, j < n */
	uint64_t *twins;   /* per position: the earlier ones that have the same distances to everything */
	bool searched;
	uint64_t work_limit;
	struct distances_scratch *scratch;
};

/* Steps the search for the least sums may take for each size; 20 positions of any costs stay below it. */
#define DISTANCES_WORK_LIMIT 2000000u

/*
 * Take a cost matrix: costs[from * n + to], 0 = unknown. `work_limit` bounds the steps of distances_search() for
 * one size, and twice it those for all sizes; beyond it low < high says that the least sum is not known. 0; -E2BIG
 * (n > COMBINATION_MAX_NODES). *ret is untouched on failure, else the caller releases it.
 */
int distances_init(struct distances *ret, const unsigned *costs, size_t n, uint64_t work_limit);
void distances_release(struct distances *d);

/* Find what a question about more than one position needs, unless it was found before. Allocates nothing. */
void distances_search(struct distances *d);

/* Distances that stay for as long as the matrix is the same. Zeroed: none yet. */
struct distances_kept {
	struct distances distances;
	unsigned *costs; /* they are of this matrix, NULL = of none */
};

/* Those of this matrix, as distances_init() makes them with DISTANCES_WORK_LIMIT: made now where the kept ones are of
 * another. *ret is valid until the next call. Errors as distances_init(); then none are kept. */
int distances_keep(struct distances_kept *kept, const unsigned *costs, size_t n, struct distances **ret);
void distances_kept_release(struct distances_kept *kept);

/* The sum over all ordered pairs of a set's members, each with itself included. */
uint64_t distances_sum(const struct distances *d, uint64_t set);

/* low[] and high[] held at 255 for each pair, as the scheduler plugin holds its minimum. */
static inline uint64_t distances_capped(uint64_t sum, unsigned size)
{
	uint64_t cap = (uint64_t)DISTANCE_UNKNOWN * size * size;

	return sum < cap ? sum : cap;
}
