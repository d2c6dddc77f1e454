/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/resource.h"
#include "common/xalloc.h"

#define MAX_NODES COMBINATION_MAX_NODES

/* Amounts are limited to this, so that no sum over all positions overflows qty_t. */
#define AMOUNT_MAX (QTY_MAX / (2 * MAX_NODES))

/* One resource of the request with a quantity above 0. */
struct need {
	size_t resource;
	qty_t requested;
	qty_t *amount; /* per candidate */
	qty_t *top;    /* see top_sums() */
};

/* The state of the search at one depth: `depth` candidates chosen. */
struct level {
	uint64_t sum; /* distance within the chosen ones */
	uint64_t
		linear[MAX_NODES]; /* per candidate: its own distance plus the distances to the chosen ones */
};

struct fit_scratch {
	unsigned n_candidates;
	unsigned position[MAX_NODES]; /* of each candidate, ascending */
	uint64_t betters[MAX_NODES];  /* per candidate: earlier candidates that can always replace it */
	size_t n_needs;
	struct need *needs; /* room for the inventory's resources plus one */
	size_t stride;      /* of need.top[]: one more than there are positions */
	qty_t *chosen;      /* n_needs at each depth: summed amounts of the chosen candidates */
	struct level levels[MAX_NODES + 1];
	unsigned size;       /* of the combinations being searched */
	uint64_t chosen_set; /* candidates */
	uint64_t best_set;   /* candidates, 0 = none yet */
	uint64_t best_sum;   /* only smaller sums are searched for */
	uint64_t enough;     /* the least sum of any combination of the size */
	uint64_t work, work_limit;
};

/* The sums of the 0, 1, 2, ... largest amounts among candidates i and later. */
static qty_t *top_sums(const struct fit_scratch *f, const struct need *need, size_t i)
{
	return need->top + i * f->stride;
}

/* Fills by_id[], the positions sorted by id, and same_id[], the first position with the same id as a bit. */
static void fill_ids(struct fit_space *s)
{
	const struct inventory_node *nodes = s->inventory->nodes;

	for (unsigned i = 0; i < s->n_nodes; i++) {
		unsigned first = 0, at = i;

		while (nodes[first].id != nodes[i].id)
			first++;
		s->same_id[i] = UINT64_C(1) << first;
		for (; at > 0 && nodes[i].id < nodes[s->by_id[at - 1]].id; at--)
			s->by_id[at] = s->by_id[at - 1];
		s->by_id[at] = i;
	}
}

/*
 * Allocate the scratch and all arrays as one block, with the widest alignment first. The block is written
 * before it is read: clearing it would cost more than a request.
 */
static void allocate_block(struct fit_space *s)
{
	size_t n = s->n_nodes, n_needs = s->n_resources + 1, stride = n + 1;
	size_t amounts = s->n_resources * (n + 1) + stride * n_needs + n_needs * (n + stride * stride);
	size_t words = s->n_resources + n;
	qty_t *at = xmalloc(amounts * sizeof(*at) + n_needs * sizeof(struct need) + sizeof(*s->scratch) +
			    words * sizeof(uint64_t) + n * sizeof(*s->by_id));
	struct need *needs = (struct need *)(at + amounts);
	struct fit_scratch *f = (struct fit_scratch *)(needs + n_needs);

	s->scratch = f;
	s->present = (uint64_t *)(f + 1);
	s->same_id = s->present + s->n_resources;
	s->by_id = (unsigned *)(s->same_id + n);
	s->available = at;
	f->stride = stride;
	f->needs = needs;
	s->most = at + s->n_resources * n;
	f->chosen = s->most + s->n_resources;
	at = f->chosen + stride * n_needs;
	for (size_t q = 0; q < n_needs; q++, at += n + stride * stride) {
		needs[q].amount = at;
		needs[q].top = at + n;
	}
}

int fit_space_init(struct fit_space *ret, const struct inventory *inv, struct distances *d)
{
	struct fit_space s = {.inventory = inv, .distances = d, .work_limit = FIT_WORK_LIMIT};

	if (inv->n_nodes > MAX_NODES)
		return -E2BIG;
	if (d->n != inv->n_nodes)
		return -EINVAL;
	s.n_nodes = d->n;
	s.n_resources = inv->n_resources;
	allocate_block(&s);
	fill_ids(&s);
	for (size_t r = 0; r < s.n_resources; r++) {
		s.present[r] = 0;
		for (unsigned i = 0; i < s.n_nodes; i++)
			if (inventory_amount(inv, i, r)->present)
				s.present[r] |= UINT64_C(1) << i;
	}
	fit_space_reset(&s);
	*ret = s;
	return 0;
}

void fit_space_release(struct fit_space *s)
{
	free(s->available);
	memset(s, 0, sizeof(*s));
}

void fit_space_reset(struct fit_space *s)
{
	for (size_t r = 0; r < s->n_resources; r++) {
		s->most[r] = -AMOUNT_MAX;
		for (unsigned i = 0; i < s->n_nodes; i++) {
			qty_t amount = inventory_amount(s->inventory, i, r)->available;

			if (amount > AMOUNT_MAX)
				amount = AMOUNT_MAX;
			*fit_available(s, r, i) = amount < -AMOUNT_MAX ? -AMOUNT_MAX : amount;
			if (amount > s->most[r])
				s->most[r] = amount;
		}
	}
}

bool fit_is_not_numa(const struct fit_space *s, const struct resource_list *request)
{
	for (size_t i = 0; i < request->n_items; i++) {
		int r = inventory_resource(s->inventory, request->items[i].name);

		if (r >= 0 && s->present[r])
			return false;
	}
	return true;
}

void fit_subtract(struct fit_space *s, const struct resource_list *request, uint64_t nodes)
{
	for (size_t i = 0; i < request->n_items; i++) {
		int r = inventory_resource(s->inventory, request->items[i].name);
		qty_t rest = request->items[i].quantity.nano;

		for (unsigned at = 0; at < s->n_nodes && r >= 0 && rest > 0; at++) {
			unsigned position = s->by_id[at];
			qty_t *left = fit_available(s, (size_t)r, position);
			qty_t taken = *left < rest ? *left : rest;

			if (!(nodes & s->present[r] & UINT64_C(1) << position) || taken <= 0)
				continue;
			*left -= taken;
			rest -= taken;
		}
	}
}

bool fit_needs_numa_nodes(enum qos_class qos, const char *resource)
{
	return qos == QOS_GUARANTEED || !resource_name_is_numa_affine(resource);
}

/* The positions that have every resource of the request; its positive amounts become needs. */
static uint64_t set_needs(struct fit_space *s, enum qos_class qos, const struct resource_list *request)
{
	struct fit_scratch *f = s->scratch;
	uint64_t candidates = combination_first(s->n_nodes);

	f->n_needs = 0;
	for (size_t i = 0; i < request->n_items; i++) {
		int r = inventory_resource(s->inventory, request->items[i].name);
		qty_t requested = request->items[i].quantity.nano;

		if (r < 0)
			return 0;
		candidates &= s->present[r];
		if (requested <= 0 || !fit_needs_numa_nodes(qos, request->items[i].name))
			continue;
		f->needs[f->n_needs].resource = (size_t)r;
		f->needs[f->n_needs].requested = requested;
		f->n_needs++;
	}
	return candidates;
}

static void insert_descending(qty_t *sorted, unsigned n, qty_t value)
{
	for (; n > 0 && sorted[n - 1] < value; n--)
		sorted[n] = sorted[n - 1];
	sorted[n] = value;
}

/* List the candidates and their amounts, and in top_sums() of candidate 0 the sums of the largest amounts of all candidates. */
static void fill_candidates(struct fit_space *s, uint64_t candidates)
{
	struct fit_scratch *f = s->scratch;

	f->n_candidates = 0;
	for (uint64_t rest = candidates; rest; rest &= rest - 1)
		f->position[f->n_candidates++] = (unsigned)__builtin_ctzll(rest);
	for (size_t q = 0; q < f->n_needs; q++) {
		struct need *need = &f->needs[q];
		qty_t sorted[MAX_NODES];

		for (unsigned i = 0; i < f->n_candidates; i++) {
			need->amount[i] = *fit_available(s, need->resource, f->position[i]);
			insert_descending(sorted, i, need->amount[i]);
		}
		need->top[0] = 0;
		for (unsigned i = 0; i < f->n_candidates; i++)
			need->top[i + 1] = need->top[i] + sorted[i];
	}
}

/*
 * Adds one more need, the sum of all needs, which ends branches where each need alone could be met, but not all by the same nodes. To add
 * up, amounts become shares of what is requested, at most one whole each: a combination that meets n needs has at least n wholes. Shares
 * are rounded up, so no combination is lost. Negative amounts have no share: then there is no joint need.
 */
static void add_joint_need(struct fit_scratch *f)
{
	const qty_t whole = (qty_t)1 << 40;
	struct need *joint = &f->needs[f->n_needs];

	if (f->n_needs < 2)
		return;
	joint->requested = whole * (qty_t)f->n_needs;
	for (unsigned i = 0; i < f->n_candidates; i++) {
		joint->amount[i] = 0;
		for (size_t q = 0; q < f->n_needs; q++) {
			qty_t amount = f->needs[q].amount[i], requested = f->needs[q].requested;

			if (amount < 0 || requested >= QTY_MAX >> 40)
				return;
			joint->amount[i] +=
				amount >= requested ? whole : (amount * whole + requested - 1) / requested;
		}
	}
	f->n_needs++;
}

/* Fill the tables that only a search over combinations needs. */
static void fill_search_tables(struct fit_space *s)
{
	struct fit_scratch *f = s->scratch;

	add_joint_need(f);
	for (size_t q = 0; q < f->n_needs; q++) {
		struct need *need = &f->needs[q];
		qty_t sorted[MAX_NODES];

		for (unsigned i = f->n_candidates, n = 0; i-- > 0; n++) {
			qty_t *sums = top_sums(f, need, i);

			insert_descending(sorted, n, need->amount[i]);
			sums[0] = 0;
			for (unsigned r = 0; r <= n; r++)
				sums[r + 1] = sums[r] + sorted[r];
		}
		top_sums(f, need, f->n_candidates)[0] = 0;
	}
	/* An earlier candidate with the same distances can replace a candidate if none of its amounts is smaller. */
	for (unsigned i = 0; i < f->n_candidates; i++) {
		uint64_t twins = s->distances->twins[f->position[i]];

		f->betters[i] = 0;
		for (unsigned j = 0; j < i; j++) {
			bool better = twins & UINT64_C(1) << f->position[j];

			for (size_t q = 0; q < f->n_needs && better; q++)
				better = f->needs[q].amount[j] >= f->needs[q].amount[i];
			if (better)
				f->betters[i] |= UINT64_C(1) << j;
		}
	}
}

enum capacity { CAPACITY_FITS, CAPACITY_SKIP, CAPACITY_STOP };

/*
 * Whether candidate i can be chosen next: with the best `rest` - 1 later candidates the needs are met
 * (FITS); only other candidates than i can meet them (SKIP); no candidate from i on can (STOP).
 */
static enum capacity check_capacity(const struct fit_scratch *f, unsigned depth, unsigned i)
{
	const qty_t *chosen = f->chosen + depth * f->n_needs;
	unsigned rest = f->size - depth;
	enum capacity verdict = CAPACITY_FITS;

	for (size_t q = 0; q < f->n_needs; q++) {
		const struct need *need = &f->needs[q];

		if (chosen[q] + top_sums(f, need, i)[rest] < need->requested)
			return CAPACITY_STOP;
		if (chosen[q] + need->amount[i] + top_sums(f, need, i + 1)[rest - 1] < need->requested)
			verdict = CAPACITY_SKIP;
	}
	return verdict;
}

static void search_candidates(struct fit_space *s, unsigned depth, unsigned from);

/* Choose candidate i at `depth`, search on, and unchoose it. */
static void search_with(struct fit_space *s, unsigned depth, unsigned i)
{
	struct fit_scratch *f = s->scratch;
	const struct level *level = &f->levels[depth];
	struct level *next = &f->levels[depth + 1];
	const uint64_t *pair = s->distances->pair + (size_t)f->position[i] * s->n_nodes;

	next->sum = level->sum + level->linear[i];
	if (next->sum >= f->best_sum)
		return;
	f->chosen_set |= UINT64_C(1) << i;
	if (depth + 1 == f->size) {
		f->best_set = f->chosen_set;
		f->best_sum = next->sum;
	} else {
		for (unsigned x = i + 1; x < f->n_candidates; x++)
			next->linear[x] = level->linear[x] + pair[f->position[x]];
		for (size_t q = 0; q < f->n_needs; q++)
			f->chosen[(depth + 1) * f->n_needs + q] =
				f->chosen[depth * f->n_needs + q] + f->needs[q].amount[i];
		search_candidates(s, depth + 1, i + 1);
	}
	f->chosen_set &= ~(UINT64_C(1) << i);
}

/*
 * Depth first in lexicographic order, so that the first of the combinations with the least distance is
 * found first and only strictly smaller sums replace it. A branch ends where the amounts cannot suffice,
 * where the distance cannot fall below the best, and where an earlier candidate can replace the next one.
 */
static void search_candidates(struct fit_space *s, unsigned depth, unsigned from)
{
	struct fit_scratch *f = s->scratch;
	const struct level *level = &f->levels[depth];
	unsigned rest = f->size - depth;
	uint64_t least = UINT64_MAX;

	f->work++;
	if (f->work > f->work_limit)
		return;
	for (unsigned x = from; x < f->n_candidates; x++) {
		uint64_t twice = 2 * level->linear[x] +
				 s->distances->nearest[(size_t)f->position[x] * s->n_nodes + rest - 1];

		least = twice < least ? twice : least;
	}
	for (unsigned i = from; i + rest <= f->n_candidates; i++) {
		enum capacity capacity;

		if (2 * level->sum + rest * least >= 2 * f->best_sum)
			return;
		if (f->best_set && f->best_sum <= f->enough)
			return;
		if (f->betters[i] & ~f->chosen_set)
			continue;
		capacity = check_capacity(f, depth, i);
		if (capacity == CAPACITY_STOP)
			return;
		if (capacity == CAPACITY_FITS)
			search_with(s, depth, i);
	}
}

/* A position's distance to itself. */
static uint64_t own_distance(const struct fit_space *s, unsigned position)
{
	return s->distances->pair[(size_t)position * s->n_nodes + position];
}

/* Search all combinations of f->size for the least sum below `below`. */
static void search_below(struct fit_space *s, uint64_t below)
{
	struct fit_scratch *f = s->scratch;
	struct level *level = &f->levels[0];

	f->best_set = f->chosen_set = 0;
	f->best_sum = below;
	level->sum = 0;
	for (unsigned x = 0; x < f->n_candidates; x++)
		level->linear[x] = own_distance(s, f->position[x]);
	for (size_t q = 0; q < f->n_needs; q++)
		f->chosen[q] = 0;
	search_candidates(s, 0, 0);
}

/* Select all candidates, the only combination of that size. */
static void select_all_candidates(struct fit_space *s, uint64_t candidates)
{
	struct fit_scratch *f = s->scratch;
	uint64_t sum =
		f->size == s->n_nodes ? s->distances->low[f->size] : distances_sum(s->distances, candidates);

	if (sum < (uint64_t)DISTANCE_LIMIT * f->size * f->size) { /* the average is below the limit */
		f->best_set = combination_first(f->size);
		f->best_sum = sum;
	}
}

/* low == high: the least sum is known. A sum that equals the lower bound is the least sum, too. */
static enum fit_min_distance is_min_distance(const struct distances *d, unsigned size, uint64_t sum)
{
	uint64_t low = distances_capped(d->low[size], size), high = distances_capped(d->high[size], size);

	if (low == high || sum <= low)
		return sum == low ? FIT_MIN_DISTANCE_YES : FIT_MIN_DISTANCE_NO;
	return sum > high ? FIT_MIN_DISTANCE_NO : FIT_MIN_DISTANCE_UNKNOWN;
}

struct fit fit_of(const struct fit_space *s, uint64_t nodes, uint64_t sum)
{
	struct fit fit = {.verdict = FIT_FOUND, .nodes = nodes};
	uint64_t distinct = 0;

	for (uint64_t rest = nodes; rest; rest &= rest - 1)
		distinct |= s->same_id[__builtin_ctzll(rest)];
	fit.n_nodes = (unsigned)__builtin_popcountll(distinct);
	fit.min_distance = is_min_distance(s->distances, (unsigned)__builtin_popcountll(nodes), sum);
	return fit;
}

static struct fit make_fit(const struct fit_space *s)
{
	const struct fit_scratch *f = s->scratch;
	uint64_t nodes = 0;

	for (uint64_t rest = f->best_set; rest; rest &= rest - 1)
		nodes |= UINT64_C(1) << f->position[__builtin_ctzll(rest)];
	return fit_of(s, nodes, f->best_sum);
}

/* Whether each need alone can be met by some combination of this size. */
static bool size_may_fit(const struct fit_scratch *f, unsigned size)
{
	for (size_t q = 0; q < f->n_needs; q++)
		if (f->needs[q].top[size] < f->needs[q].requested)
			return false;
	return true;
}

static bool satisfies(const struct fit_space *s, unsigned position)
{
	const struct fit_scratch *f = s->scratch;

	for (size_t q = 0; q < f->n_needs; q++)
		if (*fit_available(s, f->needs[q].resource, position) < f->needs[q].requested)
			return false;
	return true;
}

/*
 * The combination of one candidate that satisfies the request: the one with the least own distance, then
 * the first; 0 = none.
 */
static uint64_t find_single_position(const struct fit_space *s, uint64_t candidates, uint64_t *ret_sum)
{
	const struct fit_scratch *f = s->scratch;
	uint64_t best = 0;

	*ret_sum = DISTANCE_LIMIT;
	for (size_t q = 0; q < f->n_needs; q++)
		if (s->most[f->needs[q].resource] < f->needs[q].requested)
			return 0;
	for (; candidates; candidates &= candidates - 1) {
		unsigned position = (unsigned)__builtin_ctzll(candidates);
		uint64_t own = own_distance(s, position);

		if (own < *ret_sum && satisfies(s, position)) {
			best = UINT64_C(1) << position;
			*ret_sum = own;
		}
	}
	return best;
}

/*
 * Finds the best combination of f->size candidates. Often the request fits at the least distance of all combinations of the size, of
 * which high[] is an upper bound. So the first search is only for sums up to high[], which ends most branches early; what it finds is the
 * best, and only if it finds nothing the larger sums are searched.
 */
static void search_size(struct fit_space *s)
{
	struct fit_scratch *f = s->scratch;
	uint64_t limit = (uint64_t)DISTANCE_LIMIT * f->size * f->size, near = s->distances->high[f->size] + 1;

	search_below(s, near < limit ? near : limit);
	if (!f->best_set && near < limit)
		search_below(s, limit);
}

/* The best combination of two or more candidates. */
static struct fit find_combination(struct fit_space *s, uint64_t candidates)
{
	struct fit_scratch *f = s->scratch;
	bool have_tables = false;

	distances_find_sums(s->distances);
	fill_candidates(s, candidates);
	f->work = 0;
	f->work_limit = s->work_limit;
	for (unsigned size = 2; size <= f->n_candidates; size++) {
		if (!size_may_fit(f, size))
			continue;
		f->size = size;
		f->enough = s->distances->low[size];
		f->best_set = 0;
		if (size == f->n_candidates) {
			select_all_candidates(s, candidates);
		} else {
			if (!have_tables)
				fill_search_tables(s);
			have_tables = true;
			search_size(s);
		}
		if (f->work > f->work_limit)
			return (struct fit){.verdict = FIT_UNKNOWN};
		if (f->best_set)
			return make_fit(s);
	}
	return (struct fit){.verdict = FIT_NONE};
}

struct fit fit_required(struct fit_space *s, enum qos_class qos, const struct resource_list *request)
{
	uint64_t candidates = set_needs(s, qos, request), sum,
		 single = find_single_position(s, candidates, &sum);

	if (single)
		return fit_of(s, single, sum);
	if (!(candidates & (candidates - 1))) /* at most one candidate */
		return (struct fit){.verdict = FIT_NONE};
	return find_combination(s, candidates);
}
