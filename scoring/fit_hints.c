/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/fit_hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define MAX_NODES COMBINATION_MAX_NODES

/*
 * A row of amounts in one word: of the first resources 7 bits each, rounded down, below a bit that is clear. Where a
 * row covers another its sketch does, and that is one subtraction.
 */
#define SKETCHED     8u
#define SKETCH_BITS  8u
#define SKETCH_GUARD UINT64_C(0x8080808080808080)

/* A combination waiting for its turn: by its sum, and among equals as it was collected, in lexicographic order. */
struct candidate {
	uint64_t set, turn; /* the sum above ORDER_BITS bits of its number */
};

#define ORDER_BITS 20u

struct making {
	const struct fit_space *space;
	const struct frontier_limits *limits;
	struct frontier *frontier;
	uint64_t betters[MAX_NODES]; /* per position: earlier ones that can always replace it */
	unsigned shift[SKETCHED];    /* per resource: what brings its largest amount into a sketch */
	uint64_t *sketches;          /* of the entries */
	size_t sketches_size;
	struct candidate *candidates;
	size_t n_candidates;
	size_t candidates_size;
	unsigned size; /* of the combinations being collected */
	uint64_t work;
	int error; /* 0; -E2BIG when a limit is met */
};

/* Position i can be replaced by j in any combination without losing an amount. */
static bool stands_in(const struct fit_space *s, unsigned j, unsigned i)
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
 * Replacing i by an earlier j that has the same distances gives a combination of the same size and sum that
 * precedes, and that covers the first when j replaces i. Combinations that have i without j are
 * therefore covered by one that has j, and need not be looked at.
 */
static void fill_betters(struct making *m)
{
	const struct fit_space *s = m->space;

	distances_search(s->distances);
	for (unsigned i = 0; i < s->n_nodes; i++) {
		m->betters[i] = 0;
		for (uint64_t twins = s->distances->twins[i]; twins; twins &= twins - 1) {
			unsigned j = (unsigned)__builtin_ctzll(twins);

			if (stands_in(s, j, i))
				m->betters[i] |= UINT64_C(1) << j;
		}
	}
}

static void spend(struct making *m)
{
	if (++m->work > m->limits->work)
		m->error = -E2BIG;
}

static void add_candidate(struct making *m, uint64_t set, uint64_t sum)
{
	if (sum >= (uint64_t)DISTANCE_LIMIT * m->size * m->size)
		return;
	if (m->n_candidates == FRONTIER_MAX_COMBINATIONS) {
		m->error = -E2BIG;
		return;
	}
	vec_grow(&m->candidates, &m->candidates_size, m->n_candidates + 1, sizeof(*m->candidates));
	m->candidates[m->n_candidates] = (struct candidate){set, sum << ORDER_BITS | m->n_candidates};
	m->n_candidates++;
}

/* In lexicographic order, every combination of the size that begins with `chosen` and goes on at position `from`. */
static void collect(struct making *m, uint64_t chosen, unsigned n_chosen, uint64_t sum, unsigned from)
{
	const struct fit_space *s = m->space;
	unsigned rest = m->size - n_chosen;

	for (unsigned i = from; i + rest <= s->n_nodes && m->error == 0; i++) {
		const uint64_t *pair = s->distances->pair + (size_t)i * s->n_nodes;
		uint64_t next = sum + pair[i];

		if (m->betters[i] & ~chosen)
			continue;
		spend(m);
		for (uint64_t others = chosen; others; others &= others - 1)
			next += pair[__builtin_ctzll(others)];
		if (rest == 1)
			add_candidate(m, chosen | UINT64_C(1) << i, next);
		else
			collect(m, chosen | UINT64_C(1) << i, n_chosen + 1, next, i + 1);
	}
}

static int compare_candidates(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	return (a->turn > b->turn) - (a->turn < b->turn);
}

static void fill_amounts(const struct fit_space *s, uint64_t set, qty_t *row)
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

static bool covers(const qty_t *row, const qty_t *other, size_t n)
{
	for (size_t r = 0; r < n; r++)
		if (row[r] < other[r])
			return false;
	return true;
}

/* An amount of all nodes together is below 2^7 - 1 after its shift. */
static void fill_shifts(struct making *m)
{
	const struct fit_space *s = m->space;

	for (size_t r = 0; r < s->n_resources && r < SKETCHED; r++) {
		qty_t most = 0;

		for (unsigned i = 0; i < s->n_nodes; i++)
			if (*fit_available(s, r, i) > 0)
				most += *fit_available(s, r, i);
		m->shift[r] = 0;
		while (most >> m->shift[r] > 126)
			m->shift[r]++;
	}
}

static uint64_t sketch_of(const struct making *m, const qty_t *row)
{
	uint64_t sketch = 0;

	for (size_t r = 0; r < m->space->n_resources && r < SKETCHED; r++)
		if (row[r] != FRONTIER_ABSENT)
			sketch |= (uint64_t)((row[r] >> m->shift[r]) + 1) << r * SKETCH_BITS;
	return sketch;
}

/* Does an entry cover the row? The latest entries are the likeliest to. Also stops at the work limit. */
static bool is_covered(struct making *m, const qty_t *row, uint64_t sketch)
{
	const struct frontier *f = m->frontier;
	size_t n = m->space->n_resources, last = 0;
	uint64_t left = m->limits->work - m->work;

	if (f->n_entries > left)
		last = f->n_entries - (size_t)left;
	for (size_t i = f->n_entries; i-- > last;) {
		m->work++;
		if ((((m->sketches[i] | SKETCH_GUARD) - sketch) & SKETCH_GUARD) == SKETCH_GUARD &&
			covers(f->amounts + i * n, row, n))
			return true;
	}
	if (last > 0)
		m->error = -E2BIG;
	return false;
}

/* Append the candidate unless an earlier entry covers it. */
static void offer(struct making *m, const struct candidate *c)
{
	struct frontier *f = m->frontier;
	size_t n = m->space->n_resources, n_entries = f->n_entries;
	uint64_t sketch;
	qty_t *row;

	vec_grow(&f->amounts, &f->amounts_size, (n_entries + 1) * n + 1, sizeof(*f->amounts));
	vec_grow(&f->entries, &f->entries_size, n_entries + 1, sizeof(*f->entries));
	vec_grow(&m->sketches, &m->sketches_size, n_entries + 1, sizeof(*m->sketches));
	row = f->amounts + n_entries * n;
	fill_amounts(m->space, c->set, row);
	sketch = sketch_of(m, row);
	if (is_covered(m, row, sketch) || m->error < 0)
		return;
	if (n_entries == m->limits->entries) {
		m->error = -E2BIG;
		return;
	}
	m->sketches[n_entries] = sketch;
	f->entries[n_entries] = fit_of(m->space, c->set, c->turn >> ORDER_BITS);
	f->n_entries++;
}

static int make(struct making *m)
{
	fill_betters(m);
	fill_shifts(m);
	for (m->size = 1; m->size <= m->space->n_nodes && m->error == 0; m->size++) {
		m->n_candidates = 0;
		collect(m, 0, 0, 0, 0);
		if (m->error < 0)
			break;
		if (m->n_candidates > 1)
			qsort(m->candidates, m->n_candidates, sizeof(*m->candidates), compare_candidates);
		for (size_t i = 0; i < m->n_candidates && m->error == 0; i++)
			offer(m, &m->candidates[i]);
	}
	return m->error;
}

void frontier_init(struct frontier *ret, const struct fit_space *s, const struct frontier_limits *limits)
{
	CLEANUP(frontier_release) struct frontier f = {.inventory = s->inventory};
	struct making m = {.space = s, .limits = limits, .frontier = &f};
	int r;

	f.wanted = xcalloc(s->n_resources + 1, sizeof(*f.wanted));
	r = make(&m);
	free(m.candidates);
	free(m.sketches);
	f.truncated = r < 0;
	*ret = f;
	f = (struct frontier){0};
}

void frontier_release(struct frontier *f)
{
	free(f->entries);
	free(f->amounts);
	free(f->wanted);
	*f = (struct frontier){0};
}

/* The request as a vector; false when it names what the inventory does not have. */
static bool read_request(struct frontier *f, enum qos_class qos, const struct resource_list *request)
{
	for (size_t r = 0; r < f->inventory->n_resources; r++)
		f->wanted[r] = FRONTIER_ABSENT;
	for (size_t i = 0; i < request->n_items; i++) {
		const struct resource_quantity *q = &request->items[i];
		int r = inventory_resource(f->inventory, q->name);

		if (r < 0)
			return false;
		f->wanted[r] = q->quantity.nano > 0 && fit_counts(qos, q->name) ? q->quantity.nano : 0;
	}
	return true;
}

struct fit frontier_find(struct frontier *f, enum qos_class qos, const struct resource_list *request)
{
	size_t n = f->inventory->n_resources;

	if (!read_request(f, qos, request))
		return (struct fit){.verdict = FIT_NONE};
	for (size_t i = 0; i < f->n_entries; i++)
		if (covers(f->amounts + i * n, f->wanted, n))
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

static void fill(struct fit_hints *h, const struct fit_hints_input *input, struct fit_space *s)
{
	frontier_init(&h->frontier, s, &input->limits);
	h->has_exclusive = input->kubelet;
	if (h->has_exclusive)
		exclusive_cpus_find(input->kubelet, &h->exclusive);
	s->work_limit = FIT_HINTS_WORK_LIMIT;
	for (size_t i = 0; i < input->n_shapes; i++) {
		score_shape(s, &input->shapes[i], input->strategy, &h->shapes[i]);
		h->n_shapes = i + 1;
	}
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
	if (r == 0)
		fill(&h, input, &space);
	if (r < 0)
		return r;
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
