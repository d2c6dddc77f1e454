/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/fit_hints.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define MAX_NODES COMBINATION_MAX_NODES

/*
 * A sketch is a row of amounts in one word: 7 bits for each of the first resources, rounded down, below a
 * bit that is clear. If a row covers another row, its sketch covers the other sketch, which one subtraction
 * checks.
 */
#define SKETCHED     8u
#define SKETCH_BITS  8u
#define SKETCH_GUARD UINT64_C(0x8080808080808080)

/* A collected combination. */
struct combination {
	uint64_t set,
		order; /* sorts by the sum, then as collected (lexicographic): sum << ORDER_BITS | number */
};

#define ORDER_BITS 20u
static_assert(FRONTIER_MAX_COMBINATIONS <= (size_t)1 << ORDER_BITS, "a number in the order's lowest bits");

struct frontier_builder {
	const struct fit_space *space;
	const struct frontier_limits *limits;
	struct frontier *frontier;
	uint64_t betters[MAX_NODES]; /* per position: earlier positions that can always replace it */
	unsigned shift[SKETCHED];    /* per resource: the shift that fits its largest amount into a sketch */
	uint64_t *sketches;          /* of the entries */
	size_t sketches_size;
	struct combination *candidates;
	size_t n_candidates;
	size_t candidates_size;
	unsigned size; /* of the combinations being collected */
	uint64_t work;
	bool limit_reached;
};

/* Whether position j can replace i in any combination without lowering an amount. */
static bool can_replace(const struct fit_space *s, unsigned j, unsigned i)
{
	for (size_t r = 0; r < s->n_resources; r++) {
		if (!(s->present[r] & UINT64_C(1) << i))
			continue;
		if (!(s->present[r] & UINT64_C(1) << j) || *fit_available(s, r, j) < *fit_available(s, r, i))
			return false;
	}
	return true;
}

/*
 * Find the positions that an earlier position can always replace. Replacing i by an earlier j with the same
 * distances gives an earlier combination of the same size and sum; it covers the first combination if j can
 * replace i. So a combination that has i without j is always covered and need not be visited.
 */
static void fill_betters(struct frontier_builder *m)
{
	const struct fit_space *s = m->space;

	distances_find_sums(s->distances);
	for (unsigned i = 0; i < s->n_nodes; i++) {
		m->betters[i] = 0;
		for (uint64_t twins = s->distances->twins[i]; twins; twins &= twins - 1) {
			unsigned j = (unsigned)__builtin_ctzll(twins);

			if (can_replace(s, j, i))
				m->betters[i] |= UINT64_C(1) << j;
		}
	}
}

static void add_candidate(struct frontier_builder *m, uint64_t set, uint64_t sum)
{
	/* The scheduler plugin accepts no average distance from DISTANCE_LIMIT on. */
	if (sum >= (uint64_t)DISTANCE_LIMIT * m->size * m->size)
		return;
	if (m->n_candidates == FRONTIER_MAX_COMBINATIONS) {
		m->limit_reached = true;
		return;
	}
	vec_grow(&m->candidates, &m->candidates_size, m->n_candidates + 1, sizeof(*m->candidates));
	m->candidates[m->n_candidates] = (struct combination){set, sum << ORDER_BITS | m->n_candidates};
	m->n_candidates++;
}

/*
 * Collect, in lexicographic order, every combination of the size that begins with `chosen` and continues at
 * position `from`.
 */
static void collect_candidates(
	struct frontier_builder *m, uint64_t chosen, unsigned n_chosen, uint64_t sum, unsigned from)
{
	const struct fit_space *s = m->space;
	unsigned rest = m->size - n_chosen;

	for (unsigned i = from; i + rest <= s->n_nodes && !m->limit_reached; i++) {
		const uint64_t *pair = s->distances->pair + (size_t)i * s->n_nodes;
		uint64_t next = sum + pair[i];

		if (m->betters[i] & ~chosen) /* covered: see fill_betters() */
			continue;
		m->work++;
		if (m->work > m->limits->work)
			m->limit_reached = true;
		for (uint64_t others = chosen; others; others &= others - 1)
			next += pair[__builtin_ctzll(others)];
		if (rest == 1)
			add_candidate(m, chosen | UINT64_C(1) << i, next);
		else
			collect_candidates(m, chosen | UINT64_C(1) << i, n_chosen + 1, next, i + 1);
	}
}

static int compare_candidates(const void *va, const void *vb)
{
	const struct combination *a = va, *b = vb;

	return (a->order > b->order) - (a->order < b->order);
}

static void fill_frontier_row(const struct fit_space *s, uint64_t set, qty_t *row)
{
	for (size_t r = 0; r < s->n_resources; r++) {
		row[r] = 0;
		for (uint64_t rest = set; rest; rest &= rest - 1)
			row[r] += *fit_available(s, r, (unsigned)__builtin_ctzll(rest));
		row[r] = row[r] < 0 ? 0 : row[r];
		if (set & ~s->present[r])
			row[r] = FRONTIER_ABSENT;
	}
}

static bool covers_row(const qty_t *row, const qty_t *other, size_t n)
{
	for (size_t r = 0; r < n; r++)
		if (row[r] < other[r])
			return false;
	return true;
}

/* Choose the shifts: the sum of all nodes' amounts, shifted, must be below 2^7 - 1. */
static void fill_shifts(struct frontier_builder *m)
{
	const struct fit_space *s = m->space;

	for (size_t r = 0; r < s->n_resources && r < SKETCHED; r++) {
		qty_t total = 0;

		for (unsigned i = 0; i < s->n_nodes; i++)
			if (*fit_available(s, r, i) > 0)
				total += *fit_available(s, r, i);
		m->shift[r] = 0;
		while (total >> m->shift[r] > 126)
			m->shift[r]++;
	}
}

/* An absent resource is 0, and an amount at least 1: no absent resource covers a present one. */
static uint64_t sketch_of(const struct frontier_builder *m, const qty_t *row)
{
	uint64_t sketch = 0;

	for (size_t r = 0; r < m->space->n_resources && r < SKETCHED; r++)
		if (row[r] != FRONTIER_ABSENT)
			sketch |= (uint64_t)((row[r] >> m->shift[r]) + 1) << r * SKETCH_BITS;
	return sketch;
}

/*
 * Whether an entry covers the row, tried from the latest entry, the most likely one. Counts the work; at the work limit stops, and sets
 * limit_reached.
 */
static bool is_covered(struct frontier_builder *m, const qty_t *row, uint64_t sketch)
{
	const struct frontier *f = m->frontier;
	const uint64_t *sketches = m->sketches;
	size_t n = m->space->n_resources, end = 0, i = f->n_entries;
	/* m->work is at most the limit: above it add_combinations() has returned. */
	uint64_t left = m->limits->work - m->work;
	bool covered = false;

	if (f->n_entries > left)
		end = f->n_entries - (size_t)left;
	while (i > end && !covered) {
		i--;
		/* If every guard bit stays set, no part of sketches[i] is below that part of `sketch`. */
		covered = (((sketches[i] | SKETCH_GUARD) - sketch) & SKETCH_GUARD) == SKETCH_GUARD &&
			  covers_row(f->amounts + i * n, row, n);
	}
	m->work += f->n_entries - i;
	if (!covered && end > 0)
		m->limit_reached = true;
	return covered;
}

/* Append the candidate unless an earlier entry covers it. */
static void append_unless_covered(struct frontier_builder *m, const struct combination *c)
{
	struct frontier *f = m->frontier;
	size_t n = m->space->n_resources, n_entries = f->n_entries;
	uint64_t sketch;
	qty_t *row;

	vec_grow(&f->amounts, &f->amounts_size, (n_entries + 1) * n + 1, sizeof(*f->amounts));
	vec_grow(&f->entries, &f->entries_size, n_entries + 1, sizeof(*f->entries));
	vec_grow(&m->sketches, &m->sketches_size, n_entries + 1, sizeof(*m->sketches));
	row = f->amounts + n_entries * n;
	fill_frontier_row(m->space, c->set, row);
	sketch = sketch_of(m, row);
	if (is_covered(m, row, sketch) || m->limit_reached)
		return;
	if (n_entries == m->limits->entries) {
		m->limit_reached = true;
		return;
	}
	m->sketches[n_entries] = sketch;
	f->entries[n_entries] = fit_of(m->space, c->set, c->order >> ORDER_BITS);
	f->n_entries++;
}

/* Adds the combinations of this size, in the order in which a scheduler prefers them: by the sum, then lexicographically. */
static void add_combinations(struct frontier_builder *m, unsigned size)
{
	m->size = size;
	m->n_candidates = 0;
	collect_candidates(m, 0, 0, 0, 0);
	if (m->limit_reached)
		return;
	if (m->n_candidates > 1)
		qsort(m->candidates, m->n_candidates, sizeof(*m->candidates), compare_candidates);
	for (size_t i = 0; i < m->n_candidates && !m->limit_reached; i++)
		append_unless_covered(m, &m->candidates[i]);
}

/*
 * A scheduler prefers fewer NUMA nodes, so each combination comes after all combinations that a scheduler prefers. A combination that an earlier
 * one covers is omitted, because no request would get it (fit_hints.h has the proof).
 */
static void build_frontier(struct frontier_builder *m)
{
	fill_betters(m);
	fill_shifts(m);
	for (unsigned size = 1; size <= m->space->n_nodes && !m->limit_reached; size++)
		add_combinations(m, size);
}

void frontier_init(struct frontier *ret, const struct fit_space *s, const struct frontier_limits *limits)
{
	struct frontier_builder m = {.space = s, .limits = limits, .frontier = ret};

	*ret = (struct frontier){.inventory = s->inventory};
	build_frontier(&m);
	free(m.candidates);
	free(m.sketches);
	ret->truncated = m.limit_reached;
}

void frontier_release(struct frontier *f)
{
	free(f->entries);
	free(f->amounts);
	*f = (struct frontier){0};
}

/*
 * Fill *ret with the request's vector; false when the request names a resource that the inventory does
 * not have.
 */
static bool make_request_row(
	const struct frontier *f, enum qos_class qos, const struct resource_list *request, qty_t *ret)
{
	for (size_t r = 0; r < f->inventory->n_resources; r++)
		ret[r] = FRONTIER_ABSENT;
	for (size_t i = 0; i < request->n_items; i++) {
		const struct resource_quantity *q = &request->items[i];
		int r = inventory_resource(f->inventory, q->name);

		if (r < 0)
			return false;
		ret[r] = q->quantity.nano > 0 && fit_needs_numa_nodes(qos, q->name) ? q->quantity.nano : 0;
	}
	return true;
}

struct fit frontier_find(const struct frontier *f, enum qos_class qos, const struct resource_list *request)
{
	size_t n = f->inventory->n_resources;
	CLEANUP(freep) qty_t *wanted = xcalloc(n + 1, sizeof(*wanted));

	if (!make_request_row(f, qos, request, wanted))
		return (struct fit){.verdict = FIT_NONE};
	for (size_t i = 0; i < f->n_entries; i++)
		if (covers_row(f->amounts + i * n, wanted, n))
			return f->entries[i];
	return (struct fit){.verdict = f->truncated ? FIT_UNKNOWN : FIT_NONE};
}

static void score_shape(struct fit_space *s, const struct request_shape *shape, enum strategy strategy,
	struct shape_hint *ret)
{
	const struct topology_manager_config *topology = &s->inventory->topology;
	CLEANUP(request_plan_release) struct request_plan plan = {0};

	request_plan_init(&plan, shape->pod);
	ret->name = shape->name;
	ret->fit = strategy_pod_fit(s, &plan, topology->scope);
	ret->score = strategy == STRATEGY_LEAST_NUMA_NODES
			     ? strategy_fit_score(&ret->fit, topology)
			     : strategy_score(s, &plan, topology, strategy, NULL);
}

static void fill_hints(struct fit_hints *h, const struct fit_hints_input *input, struct fit_space *s)
{
	frontier_init(&h->frontier, s, &input->limits);
	h->has_exclusive = input->kubelet;
	if (h->has_exclusive)
		exclusive_cpus_find(input->kubelet, &h->exclusive);
	s->work_limit = FIT_HINTS_WORK_LIMIT;
	h->n_shapes = input->n_shapes;
	for (size_t i = 0; i < h->n_shapes; i++)
		score_shape(s, &input->shapes[i], input->strategy, &h->shapes[i]);
}

int fit_hints_init(struct fit_hints *ret, const struct fit_hints_input *input)
{
	CLEANUP(distances_kept_release) struct distances_kept own = {0};
	struct distances_kept *kept = input->kept ? input->kept : &own;
	struct distances *distances;
	CLEANUP(fit_space_release) struct fit_space space = {0};
	CLEANUP(fit_hints_release) struct fit_hints h = {.inventory = input->inventory};
	int r;

	h.shapes = xcalloc(input->n_shapes + 1, sizeof(*h.shapes));
	r = distances_keep(kept, input->inventory->costs, input->inventory->n_nodes, &distances);
	if (r == 0)
		r = fit_space_init(&space, input->inventory, distances);
	if (r < 0)
		return r;
	fill_hints(&h, input, &space);
	*ret = h;
	h = (struct fit_hints){0};
	return 0;
}

void fit_hints_release(struct fit_hints *h)
{
	frontier_release(&h->frontier);
	exclusive_cpus_admitted_release(&h->exclusive);
	free(h->shapes);
	*h = (struct fit_hints){0};
}
