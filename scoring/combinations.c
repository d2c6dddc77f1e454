/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/combinations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define MAX_NODES COMBINATION_MAX_NODES

uint64_t combination_first(unsigned size)
{
	return size == MAX_NODES ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
}

uint64_t distances_sum(const struct distances *d, uint64_t set)
{
	uint64_t sum = 0;

	/* Each pair once: pair[] has both directions together. */
	for (uint64_t rest = set; rest; rest &= rest - 1) {
		const uint64_t *row = d->pair + (size_t)__builtin_ctzll(rest) * d->n;

		for (uint64_t other = rest; other; other &= other - 1)
			sum += row[__builtin_ctzll(other)];
	}
	return sum;
}

/*
 * The search for the least sums. Positions with the same distances to all others are merged into blocks: a
 * block knows the least inner sum of c of its members for every c, so that only the number of members taken
 * from each block is searched. Blocks are merged in turn; sockets with uniform distances between them end
 * as one block, whose table is the answer. The blocks that remain are searched with a lower bound.
 */
struct block {
	unsigned size;
	uint64_t least[MAX_NODES + 1]; /* the least sum of c members of the block */
	uint64_t single;               /* the least own distance of a member */
	uint64_t nearest
		[MAX_NODES]; /* entry j: the least sum of distances from a member to j others anywhere */
	uint64_t not_both;   /* blocks that need not be taken in part together with this block */
};

struct distances_scratch {
	unsigned n, n_blocks;
	uint64_t *between; /* n_blocks x n_blocks (stride n): pair distance of members of two blocks */
	uint64_t work, work_limit;
	uint64_t best;
	struct block blocks[]; /* n */
};

/* The numbers of members taken from the blocks before `from`. */
struct choice {
	unsigned from, rest;        /* members still to be taken, from block `from` on */
	unsigned left;              /* members of block `from` and later blocks */
	uint64_t sum;               /* of the taken members */
	uint64_t partial;           /* blocks of which some members are taken and some not */
	uint64_t linear[MAX_NODES]; /* per later block: distances of one member to all taken ones */
};

static uint64_t *distance_between(struct distances_scratch *s, size_t a, size_t b)
{
	return &s->between[a * s->n + b];
}

/* Whether both blocks have the same distance to every other block, so that they can become one. */
static bool are_alike(struct distances_scratch *s, unsigned a, unsigned b)
{
	for (unsigned x = 0; x < s->n_blocks; x++)
		if (x != a && x != b && *distance_between(s, a, x) != *distance_between(s, b, x))
			return false;
	return true;
}

/* Merge block b into block a, and move the last block to b's place. */
static void merge_blocks(struct distances_scratch *s, unsigned a, unsigned b)
{
	struct block *into = &s->blocks[a], *from = &s->blocks[b];
	unsigned size = into->size + from->size, last = s->n_blocks - 1;
	uint64_t least[MAX_NODES + 1];

	for (unsigned c = 0; c <= size; c++) {
		least[c] = UINT64_MAX;
		/* c members: i of `into`, and c - i of `from` */
		for (unsigned i = c > from->size ? c - from->size : 0; i <= into->size && i <= c; i++) {
			uint64_t sum = into->least[i] + from->least[c - i] +
				       (uint64_t)i * (c - i) * *distance_between(s, a, b);

			least[c] = sum < least[c] ? sum : least[c];
		}
	}
	memcpy(into->least, least, (size + 1) * sizeof(*least));
	into->size = size;
	into->single = from->single < into->single ? from->single : into->single;
	for (size_t j = 0; j < s->n; j++)
		if (from->nearest[j] < into->nearest[j])
			into->nearest[j] = from->nearest[j];
	s->blocks[b] = s->blocks[last];
	for (unsigned x = 0; x < last; x++) {
		*distance_between(s, b, x) = *distance_between(s, last, x);
		*distance_between(s, x, b) = *distance_between(s, x, last);
	}
	s->n_blocks--;
}

/* Begins again after each merge, which changes the blocks' positions. */
static void merge_all_blocks(struct distances_scratch *s)
{
	bool merged;

	do {
		merged = false;
		for (unsigned a = 0; a < s->n_blocks && !merged; a++) {
			for (unsigned b = a + 1; b < s->n_blocks && !merged; b++) {
				if (!are_alike(s, a, b))
					continue;
				merge_blocks(s, a, b);
				merged = true;
			}
		}
	} while (merged);
}

/*
 * Moving members from one block to another changes the sum by a concave function of their number if the
 * inner sums bend less than the distance between the blocks. Its least value is then at an end, where one
 * of the two blocks is empty or full: some best choice has no such two blocks in part.
 */
static void fill_not_both(struct distances_scratch *s)
{
	int64_t bend[MAX_NODES];

	for (unsigned b = 0; b < s->n_blocks; b++) {
		const uint64_t *least = s->blocks[b].least;

		bend[b] = INT64_MIN / 2;
		for (unsigned c = 1; c < s->blocks[b].size; c++) {
			int64_t second_difference = (int64_t)(least[c + 1] + least[c - 1] - 2 * least[c]);

			bend[b] = second_difference > bend[b] ? second_difference : bend[b];
		}
	}
	for (unsigned a = 0; a < s->n_blocks; a++)
		for (unsigned b = 0; b < a; b++)
			if (bend[a] + bend[b] <= 2 * (int64_t)*distance_between(s, a, b))
				s->blocks[a].not_both |= UINT64_C(1) << b;
}

/*
 * A lower bound of the sum that completing the choice adds: each member adds its distances to the taken
 * members, its own distance, and half of the distances to the rest - 1 others.
 */
static uint64_t least_addition(const struct distances_scratch *s, const struct choice *c)
{
	uint64_t least = UINT64_MAX;

	for (unsigned b = c->from; b < s->n_blocks; b++) {
		uint64_t twice = 2 * (c->linear[b] + s->blocks[b].single) + s->blocks[b].nearest[c->rest - 1];

		least = twice < least ? twice : least;
	}
	return (least * c->rest + 1) / 2;
}

/* Searches how many members each block from c->from on gives: within a block, which members they are does not matter. */
static void search_counts(struct distances_scratch *s, const struct choice *c)
{
	const struct block *block = &s->blocks[c->from];
	unsigned max_taken;

	if (c->rest == 0) {
		s->best = c->sum < s->best ? c->sum : s->best;
		return;
	}
	if (c->left < c->rest)
		return;
	s->work++;
	if (s->work > s->work_limit)
		return;
	if (c->sum + least_addition(s, c) >= s->best)
		return;
	max_taken = c->rest < block->size ? c->rest : block->size;
	for (unsigned taken = max_taken + 1; taken-- > 0;) {
		struct choice next; /* linear[] is filled only from next.from on */

		next.from = c->from + 1;
		next.rest = c->rest - taken;
		next.left = c->left - block->size;
		next.partial = c->partial;
		if (taken > 0 && taken < block->size) {
			if (block->not_both & c->partial) /* see fill_not_both() */
				continue;
			next.partial |= UINT64_C(1) << c->from;
		}
		next.sum = c->sum + block->least[taken] + taken * c->linear[c->from];
		for (unsigned b = next.from; b < s->n_blocks; b++)
			next.linear[b] = c->linear[b] + taken * *distance_between(s, c->from, b);
		search_counts(s, &next);
	}
}

/* The sum of any combination is an upper bound of its size's least sum: here that of the first combination. */
static void fill_least_sums(struct distances *d)
{
	struct distances_scratch *s = d->scratch;
	uint64_t work_limit = d->work_limit, total_limit = 2 * work_limit;

	merge_all_blocks(s);
	fill_not_both(s);
	for (unsigned size = 2; size <= d->n; size++) {
		const struct choice none = {.rest = size, .left = d->n};
		uint64_t first = distances_sum(d, combination_first(size));

		if (s->n_blocks == 1 || size == d->n) {
			d->low[size] = d->high[size] = size == d->n ? first : s->blocks[0].least[size];
			continue;
		}
		s->work = 0;
		s->work_limit = work_limit < total_limit ? work_limit : total_limit;
		s->best = first + 1;
		search_counts(s, &none);
		d->high[size] = s->best <= first ? s->best : first;
		d->low[size] = s->work > s->work_limit ? least_addition(s, &none) : d->high[size];
		total_limit -= s->work < total_limit ? s->work : total_limit;
	}
}

static void fill_pairs(struct distances *d, const unsigned *costs)
{
	size_t n = d->n;

	for (size_t a = 0; a < n; a++) {
		for (size_t b = 0; b < a; b++) {
			unsigned there = costs[a * n + b] ? costs[a * n + b] : DISTANCE_UNKNOWN;
			unsigned back = costs[b * n + a] ? costs[b * n + a] : DISTANCE_UNKNOWN;

			d->pair[a * n + b] = d->pair[b * n + a] = (uint64_t)there + back;
		}
		d->pair[a * n + a] = costs[a * n + a] ? costs[a * n + a] : DISTANCE_UNKNOWN;
	}
}

static void fill_nearest(struct distances *d)
{
	uint64_t row[MAX_NODES];
	size_t n = d->n;

	for (size_t a = 0; a < n; a++) {
		size_t count = 0;

		for (size_t b = 0; b < n; b++) {
			size_t at = count;

			if (b == a)
				continue;
			/* row[] is ascending: insert the distance. */
			for (; at > 0 && d->pair[a * n + b] < row[at - 1]; at--)
				row[at] = row[at - 1];
			row[at] = d->pair[a * n + b];
			count++;
		}
		d->nearest[a * n] = 0;
		for (size_t j = 0; j < count; j++)
			d->nearest[a * n + j + 1] = d->nearest[a * n + j] + row[j];
	}
}

/* Whether both positions have the same own distance, and the same distances to all others. */
static bool are_twins(const struct distances *d, size_t a, size_t b)
{
	const uint64_t *row_a = d->pair + a * d->n, *row_b = d->pair + b * d->n;

	if (row_a[a] != row_b[b])
		return false;
	for (size_t x = 0; x < d->n; x++)
		if (x != a && x != b && row_a[x] != row_b[x])
			return false;
	return true;
}

static void fill_twins(struct distances *d)
{
	for (size_t a = 0; a < d->n; a++) {
		d->twins[a] = 0;
		for (size_t b = 0; b < a; b++)
			if (are_twins(d, a, b))
				d->twins[a] |= UINT64_C(1) << b;
	}
}

static void fill_blocks(struct distances_scratch *s, const struct distances *d)
{
	s->n = s->n_blocks = d->n;
	for (size_t a = 0; a < d->n; a++) {
		struct block *b = &s->blocks[a];

		b->size = 1;
		b->single = d->pair[a * d->n + a];
		b->least[0] = 0;
		b->least[1] = b->single;
		b->not_both = 0;
		memcpy(b->nearest, d->nearest + a * d->n, d->n * sizeof(*b->nearest));
	}
	memcpy(s->between, d->pair, (size_t)d->n * d->n * sizeof(*s->between));
}

void distances_find_sums(struct distances *d)
{
	if (d->sums_found)
		return;
	fill_nearest(d);
	fill_twins(d);
	fill_blocks(d->scratch, d);
	fill_least_sums(d);
	d->sums_found = true;
}

int distances_init(struct distances *ret, const unsigned *costs, size_t n, uint64_t work_limit)
{
	struct distances_scratch *s;
	uint64_t *memory;

	if (n > MAX_NODES)
		return -E2BIG;
	/* All arrays in one allocation, which is written before it is read: clearing it would cost more than a request. */
	s = xmalloc(sizeof(*s) + n * sizeof(*s->blocks) + (3 * n * n + n) * sizeof(*memory));
	memory = (uint64_t *)&s->blocks[n];
	*ret = (struct distances){.n = (unsigned)n, .work_limit = work_limit, .scratch = s};
	ret->pair = memory;
	ret->nearest = ret->pair + n * n;
	ret->twins = ret->nearest + n * n;
	s->between = ret->twins + n;
	fill_pairs(ret, costs);
	/* The least sums of the sizes 0 and 1. */
	ret->low[0] = ret->high[0] = 0;
	for (size_t a = 0; a < n; a++)
		if (a == 0 || ret->pair[a * n + a] < ret->low[1])
			ret->low[1] = ret->high[1] = ret->pair[a * n + a];
	return 0;
}

void distances_release(struct distances *d)
{
	free(d->scratch);
	memset(d, 0, sizeof(*d));
}

int distances_keep(struct distances_kept *kept, const unsigned *costs, size_t n, struct distances **ret)
{
	size_t bytes = n * n * sizeof(*costs);
	unsigned *copy;
	int r;

	*ret = &kept->distances;
	if (kept->costs && kept->distances.n == n && (n == 0 || memcmp(kept->costs, costs, bytes) == 0))
		return 0;
	distances_kept_release(kept);
	r = distances_init(&kept->distances, costs, n, DISTANCES_WORK_LIMIT);
	if (r < 0)
		return r;
	copy = xmalloc(bytes + 1);
	if (n > 0) /* costs may be NULL without nodes */
		memcpy(copy, costs, bytes);
	kept->costs = copy;
	return 0;
}

void distances_kept_release(struct distances_kept *kept)
{
	distances_release(&kept->distances);
	free(kept->costs);
	kept->costs = NULL;
}
