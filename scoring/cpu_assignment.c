/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/cpu_assignment.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

/* Steps for each ... */
#define STEPS_START UINT64_C(8)  /* CPU, when the accumulator is started */
#define STEPS_SORT  UINT64_C(16) /* element that is sorted */
#define STEPS_TAKE  UINT64_C(8)  /* CPU that is taken */

void cpu_accumulator_start(
	struct cpu_workspace *ws, struct cpu_accumulator *acc, const bool *available, long n, bool *taken)
{
	const struct cpu_topology *t = ws->topology;

	work_add(ws->work, STEPS_START * t->n_cpus);
	memcpy(acc->free, available, t->n_cpus * sizeof(*available));
	memset(taken, 0, t->n_cpus * sizeof(*taken));
	acc->taken = taken;
	acc->need = n;
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		const struct cpu_elements *e = &t->levels[level];

		for (size_t x = 0; x < e->n; x++) {
			uint32_t n_free = 0;

			for (uint32_t k = e->first[x]; k < e->first[x + 1]; k++)
				n_free += available[e->cpus[k]];
			acc->n_free[level][x] = n_free;
		}
	}
}

void cpu_accumulator_take(struct cpu_workspace *ws, struct cpu_accumulator *acc, uint32_t cpu)
{
	work_add(ws->work, STEPS_TAKE);
	acc->taken[cpu] = true;
	if (!acc->free[cpu]) /* of an element that only counts as entirely free: see is_whole() */
		return;
	acc->free[cpu] = false;
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++)
		acc->n_free[level][ws->topology->levels[level].of[cpu]]--;
}

/* Sort ascending; Shell's sort, because qsort() may allocate. */
static void sort_keys(uint32_t *keys, size_t n)
{
	static const size_t gaps[] = {8858, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1};

	for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++)
		for (size_t i = gaps[g]; i < n; i++) {
			uint32_t key = keys[i];
			size_t at = i;

			for (; at >= gaps[g] && keys[at - gaps[g]] > key; at -= gaps[g])
				keys[at] = keys[at - gaps[g]];
			keys[at] = key;
		}
}

static_assert(MACHINE_MAX_CPUS <= UINT16_MAX, "ids and numbers of CPUs have 16 bits");

/* Sort elements by their numbers of free CPUs, then by id: as one key, with the number in the upper 16 bits and the id below. */
static void sort_by_free(const uint32_t *n_free, uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		list[i] |= n_free[list[i]] << 16;
	sort_keys(list, n);
	for (size_t i = 0; i < n; i++)
		list[i] &= UINT16_MAX;
}

/* List all elements of a level that have a free CPU, as sort_by_free() sorts. Returns their number. */
static size_t list_free_elements(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level level, uint32_t *list)
{
	size_t n = 0;

	for (size_t i = 0; i < ws->topology->levels[level].n; i++)
		if (acc->n_free[level][i] > 0)
			list[n++] = (uint32_t)i;
	work_add(ws->work, ws->topology->levels[level].n + STEPS_SORT * n);
	sort_by_free(acc->n_free[level], list, n);
	return n;
}

/* List the elements of `child` that have a free CPU within one element of `parent`. */
static size_t list_children_of(struct cpu_workspace *ws, const struct cpu_accumulator *acc,
	enum cpu_level child, enum cpu_level parent, uint32_t element, uint32_t *list)
{
	const struct cpu_elements *p = &ws->topology->levels[parent];
	const uint32_t *of = ws->topology->levels[child].of;
	size_t n = 0;

	ws->pass++;
	for (uint32_t k = p->first[element]; k < p->first[element + 1]; k++) {
		uint32_t cpu = p->cpus[k], x = of[cpu];

		if (!acc->free[cpu] || ws->seen[child][x] == ws->pass)
			continue;
		ws->seen[child][x] = ws->pass;
		list[n++] = x;
	}
	work_add(ws->work, p->first[element + 1] - p->first[element] + STEPS_SORT * n);
	sort_by_free(acc->n_free[child], list, n);
	return n;
}

/* List the children of each parent in the order of the parents. */
static size_t list_children(struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level child,
	enum cpu_level parent, size_t n_parents)
{
	size_t n = 0;

	for (size_t i = 0; i < n_parents; i++)
		n += list_children_of(ws, acc, child, parent, ws->lists[parent][i], ws->lists[child] + n);
	return n;
}

size_t cpu_accumulator_order_numas(struct cpu_workspace *ws, const struct cpu_accumulator *acc)
{
	size_t n_sockets;

	if (ws->numa_first)
		return list_free_elements(ws, acc, CPU_LEVEL_NUMA, ws->lists[CPU_LEVEL_NUMA]);
	n_sockets = list_free_elements(ws, acc, CPU_LEVEL_SOCKET, ws->lists[CPU_LEVEL_SOCKET]);
	return list_children(ws, acc, CPU_LEVEL_NUMA, CPU_LEVEL_SOCKET, n_sockets);
}

/* Lists the sockets in the order in which the kubelet takes them, in ws->lists. Returns their number. */
static size_t list_sockets(struct cpu_workspace *ws, const struct cpu_accumulator *acc)
{
	size_t n_numas;

	if (!ws->numa_first)
		return list_free_elements(ws, acc, CPU_LEVEL_SOCKET, ws->lists[CPU_LEVEL_SOCKET]);
	n_numas = list_free_elements(ws, acc, CPU_LEVEL_NUMA, ws->lists[CPU_LEVEL_NUMA]);
	return list_children(ws, acc, CPU_LEVEL_SOCKET, CPU_LEVEL_NUMA, n_numas);
}

/* The order of one level, into ws->lists[level]. */
size_t cpu_accumulator_order(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level level)
{
	switch (level) {
	case CPU_LEVEL_SOCKET:
		return list_sockets(ws, acc);
	case CPU_LEVEL_NUMA:
		return cpu_accumulator_order_numas(ws, acc);
	case CPU_LEVEL_UNCORE:
		return list_children(
			ws, acc, CPU_LEVEL_UNCORE, CPU_LEVEL_NUMA, cpu_accumulator_order_numas(ws, acc));
	case CPU_LEVEL_CORE:
		/* within the lower one of the two levels above */
		if (ws->numa_first)
			return list_children(
				ws, acc, CPU_LEVEL_CORE, CPU_LEVEL_SOCKET, list_sockets(ws, acc));
		return list_children(
			ws, acc, CPU_LEVEL_CORE, CPU_LEVEL_NUMA, cpu_accumulator_order_numas(ws, acc));
	case CPU_LEVEL_COUNT: /* GCOVR_EXCL_LINE: no level has this name */
		break;        /* GCOVR_EXCL_LINE */
	}
	return 0; /* GCOVR_EXCL_LINE */
}

/*
 * List the free CPUs of the elements in ws->lists[level], element by element, in ws->cpu_list. Where levels
 * are not nested, elements and their CPUs are listed several times; at most n_cpus are needed.
 */
static size_t list_cpus(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, enum cpu_level level, size_t n_elements)
{
	const struct cpu_elements *e = &ws->topology->levels[level];
	size_t n = 0;

	for (size_t i = 0; i < n_elements; i++) {
		uint32_t x = ws->lists[level][i];

		for (uint32_t k = e->first[x]; k < e->first[x + 1]; k++)
			if (acc->free[e->cpus[k]] && n < ws->topology->n_cpus)
				ws->cpu_list[n++] = e->cpus[k];
	}
	work_add(ws->work, n + n_elements);
	return n;
}

/*
 * Appends the free CPU at position `turn` (from 0) of each core in ws->lists to ws->cpu_list, which has `n` CPUs so far. A core with fewer
 * free CPUs adds none. Cores are listed several times where levels are not nested: at most n_cpus are needed, as in list_cpus(). Returns
 * the number of appended CPUs.
 */
static size_t append_turn(
	struct cpu_workspace *ws, const struct cpu_accumulator *acc, size_t n_cores, uint32_t turn, size_t n)
{
	const struct cpu_elements *cores = &ws->topology->levels[CPU_LEVEL_CORE];
	size_t n_found = 0;

	for (size_t i = 0; i < n_cores; i++) {
		uint32_t core = ws->lists[CPU_LEVEL_CORE][i], position = 0;

		for (uint32_t k = cores->first[core]; k < cores->first[core + 1]; k++) {
			if (!acc->free[cores->cpus[k]])
				continue;
			if (position == turn && n + n_found < ws->topology->n_cpus)
				ws->cpu_list[n + n_found++] = cores->cpus[k];
			position++;
		}
	}
	work_add(ws->work, n_cores);
	return n_found;
}

/*
 * sortAvailableCPUsSpread(): list the free CPUs socket by socket, and in a socket the first CPU of each core, then
 * the second one, and so on. The cores with the fewest free CPUs come first.
 */
static size_t list_cpus_spread(struct cpu_workspace *ws, const struct cpu_accumulator *acc)
{
	size_t n_sockets = list_sockets(ws, acc), n = 0;

	for (size_t s = 0; s < n_sockets; s++) {
		size_t n_cores = list_children_of(ws, acc, CPU_LEVEL_CORE, CPU_LEVEL_SOCKET,
			ws->lists[CPU_LEVEL_SOCKET][s], ws->lists[CPU_LEVEL_CORE]);
		size_t n_found = 1;

		for (uint32_t turn = 0; n_found > 0; turn++) {
			n_found = append_turn(ws, acc, n_cores, turn, n);
			n += n_found;
		}
	}
	return n;
}

size_t cpu_accumulator_order_cpus(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, const struct cpu_accumulator *acc)
{
	enum cpu_level level = rules->spread ? CPU_LEVEL_SOCKET : CPU_LEVEL_CORE;

	if (rules->spread && rules->version.spread_over_cores)
		return list_cpus_spread(ws, acc);
	return list_cpus(ws, acc, level, cpu_accumulator_order(ws, acc, level));
}

/*
 * Whether the kubelet considers the element entirely free. Up to 1.37 the kubelet compares the free CPUs of a core
 * or socket with the machine's average size, which is wrong both ways on machines with cores or sockets of
 * different sizes (DEFECTS.md, K21).
 */
static bool is_whole(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const struct cpu_accumulator *acc, enum cpu_level level, uint32_t element)
{
	bool by_own_size =
		level == CPU_LEVEL_NUMA || level == CPU_LEVEL_UNCORE || !rules->version.whole_by_average;

	return acc->n_free[level][element] == (by_own_size ? cpu_element_size(ws->topology, level, element)
							   : cpu_topology_average(ws->topology, level));
}

/* Take an entirely free element, if the element is not larger than the need. */
static void take_element(
	struct cpu_workspace *ws, struct cpu_accumulator *acc, enum cpu_level level, uint32_t element)
{
	const struct cpu_elements *e = &ws->topology->levels[level];
	long size = cpu_element_size(ws->topology, level, element);

	if (acc->need < size)
		return;
	for (uint32_t k = e->first[element]; k < e->first[element + 1]; k++)
		cpu_accumulator_take(ws, acc, e->cpus[k]);
	acc->need -= size;
}

/* The entirely free elements of a level in their order, in ws->lists[level]. */
size_t cpu_accumulator_order_whole(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const struct cpu_accumulator *acc, enum cpu_level level)
{
	size_t n = cpu_accumulator_order(ws, acc, level), n_whole = 0;

	for (size_t i = 0; i < n; i++)
		if (is_whole(ws, rules, acc, level, ws->lists[level][i]))
			ws->lists[level][n_whole++] = ws->lists[level][i];
	return n_whole;
}

/*
 * Take every entirely free element that is not larger than the need. The list is made before the first is
 * taken, so an element that is listed under two parents counts twice, as in the kubelet (K22).
 */
static bool take_whole(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	struct cpu_accumulator *acc, enum cpu_level level)
{
	size_t n = cpu_accumulator_order_whole(ws, rules, acc, level);

	for (size_t i = 0; i < n; i++)
		take_element(ws, acc, level, ws->lists[level][i]);
	return acc->need < 1;
}

/* takePartialUncore(): take as many cores as the need requires, if their free CPUs are exactly the need. For an odd need the kubelet leaves out
 * one CPU of these cores. */
static void take_partial_uncore(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	struct cpu_accumulator *acc, uint32_t uncore)
{
	long per_core = cpu_topology_average(ws->topology, CPU_LEVEL_CORE);
	long n_wanted = (acc->need + (rules->version.uncore_rounds_down ? 0 : per_core - 1)) / per_core;
	size_t n_cores = list_children_of(
		ws, acc, CPU_LEVEL_CORE, CPU_LEVEL_UNCORE, uncore, ws->lists[CPU_LEVEL_CORE]);
	size_t n;
	bool rounded_up = acc->need % 2 != 0 && per_core > 1 && !rules->version.uncore_rounds_down;

	sort_keys(ws->lists[CPU_LEVEL_CORE], n_cores); /* here the lowest ids come first */
	n = list_cpus(ws, acc, CPU_LEVEL_CORE, n_cores < (size_t)n_wanted ? n_cores : (size_t)n_wanted);
	if (rounded_up && (long)n > acc->need) { /* without the highest CPU id */
		sort_keys(ws->cpu_list, n);
		n--;
	}
	if ((long)n != acc->need)
		return;
	for (size_t i = 0; i < n; i++)
		cpu_accumulator_take(ws, acc, ws->cpu_list[i]);
	acc->need = 0;
}

/* Up to 1.37: whole caches are tried again before each part of a cache, if the need is an average cache. */
static bool take_uncores_by_average(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, struct cpu_accumulator *acc, size_t n)
{
	long per_uncore = cpu_topology_average(ws->topology, CPU_LEVEL_UNCORE);

	for (size_t i = 0; i < n && !work_exceeded(ws->work); i++) {
		if (acc->need >= per_uncore && take_whole(ws, rules, acc, CPU_LEVEL_UNCORE))
			return true;
		take_partial_uncore(ws, rules, acc, ws->uncore_walk[i]);
		if (acc->need < 1)
			return true;
	}
	return false;
}

/* The entries of ws->uncore_walk, each cache once: a cache that spans NUMA nodes is listed under each of them. */
static size_t drop_repeated_uncores(struct cpu_workspace *ws, size_t n)
{
	size_t n_kept = 0;

	ws->pass++;
	for (size_t i = 0; i < n; i++) {
		uint32_t uncore = ws->uncore_walk[i];

		if (ws->seen[CPU_LEVEL_UNCORE][uncore] == ws->pass)
			continue;
		ws->seen[CPU_LEVEL_UNCORE][uncore] = ws->pass;
		ws->uncore_walk[n_kept++] = uncore;
	}
	return n_kept;
}

/* takeUncoreCache(). Returns whether the need is satisfied. */
static bool take_uncores(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, struct cpu_accumulator *acc)
{
	size_t n = cpu_accumulator_order(ws, acc, CPU_LEVEL_UNCORE);

	memcpy(ws->uncore_walk, ws->lists[CPU_LEVEL_UNCORE], n * sizeof(*ws->uncore_walk));
	if (!rules->version.full_uncores_first)
		return take_uncores_by_average(ws, rules, acc, n);
	n = drop_repeated_uncores(ws, n);
	for (size_t i = 0; i < n && acc->need > 0; i++)
		if (is_whole(ws, rules, acc, CPU_LEVEL_UNCORE, ws->uncore_walk[i]))
			take_element(ws, acc, CPU_LEVEL_UNCORE, ws->uncore_walk[i]);
	for (size_t i = 0; i < n && acc->need > 0 && !work_exceeded(ws->work); i++)
		take_partial_uncore(ws, rules, acc, ws->uncore_walk[i]);
	return acc->need < 1;
}

/*
 * takeByTopologyNUMAPacked(): take n CPUs from ws->packed, which has `available` free CPUs and was just started with n, unless n
 * exceeds `available`. Takes whole elements, from the largest to cores, and then single CPUs.
 */
static struct cpu_take take_packed(
	struct cpu_workspace *ws, const struct cpu_take_rules *rules, size_t available, size_t n)
{
	struct cpu_accumulator *acc = &ws->packed;
	struct cpu_take take = {.status = CPU_TAKE_OK, .requested = n, .available = available};
	size_t n_cpus;

	if (n == 0)
		return take;
	if (n > available) {
		take.status = CPU_TAKE_NOT_ENOUGH;
		return take;
	}
	if (take_whole(ws, rules, acc, ws->numa_first ? CPU_LEVEL_NUMA : CPU_LEVEL_SOCKET) ||
		take_whole(ws, rules, acc, ws->numa_first ? CPU_LEVEL_SOCKET : CPU_LEVEL_NUMA))
		return take;
	if (rules->uncore && take_uncores(ws, rules, acc))
		return take;
	if (work_exceeded(ws->work)) {
		take.status = CPU_TAKE_UNKNOWN;
		return take;
	}
	if (!rules->spread && take_whole(ws, rules, acc, CPU_LEVEL_CORE))
		return take;
	n_cpus = cpu_accumulator_order_cpus(ws, rules, acc);
	for (size_t i = 0; i < n_cpus && acc->need > 0; i++) {
		cpu_accumulator_take(ws, acc, ws->cpu_list[i]);
		acc->need--;
	}
	take.remaining = acc->need;
	take.status = acc->need > 0 ? CPU_TAKE_MISCOUNTED : CPU_TAKE_OK;
	return take;
}

struct cpu_take cpu_take_packed(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, size_t n, bool *taken)
{
	size_t n_available = cpu_set_size(ws->topology, available);

	if (n > 0 && n <= n_available)
		cpu_accumulator_start(ws, &ws->packed, available, (long)n, taken);
	else
		memset(taken, 0, ws->topology->n_cpus * sizeof(*taken));
	return take_packed(ws, rules, n_available, n);
}

struct cpu_take cpu_take_packed_within(struct cpu_workspace *ws, const struct cpu_take_rules *rules,
	const bool *available, uint32_t numa, size_t n, bool *taken)
{
	const struct cpu_topology *t = ws->topology;
	const struct cpu_elements *numas = &t->levels[CPU_LEVEL_NUMA];
	struct cpu_accumulator *acc = &ws->packed;

	work_add(ws->work, t->n_cpus);
	memset(acc->free, 0, t->n_cpus * sizeof(*acc->free));
	memset(taken, 0, t->n_cpus * sizeof(*taken));
	acc->taken = taken;
	acc->need = (long)n;
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++)
		memset(acc->n_free[level], 0, t->levels[level].n * sizeof(*acc->n_free[level]));
	for (uint32_t k = numas->first[numa]; k < numas->first[numa + 1]; k++) {
		uint32_t cpu = numas->cpus[k];

		acc->free[cpu] = available[cpu];
		for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++)
			acc->n_free[level][t->levels[level].of[cpu]] += available[cpu];
	}
	return take_packed(ws, rules, acc->n_free[CPU_LEVEL_NUMA][numa], n);
}

/* The next array's position in the workspace's block. */
struct layout {
	unsigned char *block; /* NULL while only the size is computed */
	size_t bytes;
};

/* The next array of the block, aligned to 8 bytes; NULL while only the size is computed. */
static void *place_array(struct layout *layout, size_t n, size_t item)
{
	size_t at = (layout->bytes + 7) & ~(size_t)7;

	layout->bytes = at + (n + 1) * item;
	return layout->block ? layout->block + at : NULL;
}

/* The elements of one level, listed once for each element of another level that they overlap. */
struct listing {
	size_t n;    /* listed elements */
	size_t cpus; /* the sum of their CPUs */
};

/*
 * List the elements of `child` within those of `parent`. `seen` has one number for each element of `child`,
 * all 0.
 */
static struct listing count_listing(
	const struct cpu_topology *t, enum cpu_level child, enum cpu_level parent, uint32_t *seen)
{
	const struct cpu_elements *p = &t->levels[parent];
	const uint32_t *of = t->levels[child].of;
	struct listing listing = {0, 0};

	for (size_t x = 0; x < p->n; x++)
		for (uint32_t k = p->first[x]; k < p->first[x + 1]; k++) {
			uint32_t element = of[p->cpus[k]];

			if (seen[element] == x + 1)
				continue;
			seen[element] = (uint32_t)x + 1;
			listing.n++;
			listing.cpus += cpu_element_size(t, child, element);
		}
	return listing;
}

/*
 * Lay out the arrays. Where levels are not nested, an element of the lower level is listed under several,
 * with all its children.
 */
static void lay_out_workspace(struct cpu_workspace *ws, struct layout *layout, struct listing listing)
{
	const struct cpu_topology *t = ws->topology;
	struct cpu_accumulator *accumulators[] = {&ws->packed, &ws->distributed};
	enum cpu_level high = ws->numa_first ? CPU_LEVEL_NUMA : CPU_LEVEL_SOCKET;
	size_t n_numas = t->levels[CPU_LEVEL_NUMA].n;
	size_t sizes[CPU_LEVEL_COUNT];

	sizes[CPU_LEVEL_NUMA] = sizes[CPU_LEVEL_SOCKET] =
		listing.n > t->levels[high].n ? listing.n : t->levels[high].n;
	sizes[CPU_LEVEL_UNCORE] = sizes[CPU_LEVEL_CORE] = listing.cpus;
	for (size_t i = 0; i < 2; i++) {
		accumulators[i]->free = place_array(layout, t->n_cpus, sizeof(bool));
		for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++)
			accumulators[i]->n_free[level] =
				place_array(layout, t->levels[level].n, sizeof(uint32_t));
	}
	ws->inner_taken = place_array(layout, t->n_cpus, sizeof(bool));
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		ws->lists[level] = place_array(layout, sizes[level], sizeof(uint32_t));
		ws->seen[level] = place_array(layout, t->levels[level].n, sizeof(uint64_t));
	}
	ws->uncore_walk = place_array(layout, sizes[CPU_LEVEL_UNCORE], sizeof(uint32_t));
	ws->cpu_list = place_array(layout, t->n_cpus, sizeof(uint32_t));
	ws->combo = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->best_combo = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->subset = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->best_subset = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->local_best_subset = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->numas = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->candidates = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->left = place_array(layout, n_numas, sizeof(long));
	ws->most_counted = place_array(layout, t->n_cpus, sizeof(long));
	ws->left_after = place_array(layout, sizes[CPU_LEVEL_NUMA], sizeof(long));
}

struct cpu_workspace *cpu_workspace_new(const struct cpu_topology *t)
{
	bool numa_first = t->levels[CPU_LEVEL_SOCKET].n >= t->levels[CPU_LEVEL_NUMA].n;
	enum cpu_level high = numa_first ? CPU_LEVEL_NUMA : CPU_LEVEL_SOCKET;
	enum cpu_level low = numa_first ? CPU_LEVEL_SOCKET : CPU_LEVEL_NUMA;
	CLEANUP(freep) uint32_t *seen = xcalloc(t->levels[low].n + 1, sizeof(*seen));
	CLEANUP(cpu_workspace_freep) struct cpu_workspace *ws = xcalloc(1, sizeof(*ws));
	struct layout layout = {0};
	struct listing listing;

	ws->topology = t;
	ws->unlimited.limit = UINT64_MAX;
	ws->work = &ws->unlimited;
	ws->numa_first = numa_first;
	listing = count_listing(t, low, high, seen);
	lay_out_workspace(ws, &layout, listing); /* only computes the size */
	layout.block = ws->block = xcalloc(1, layout.bytes);
	layout.bytes = 0;
	lay_out_workspace(ws, &layout, listing);
	return TAKE(ws);
}

void cpu_workspace_freep(struct cpu_workspace **ws)
{
	if (*ws)
		free((*ws)->block);
	free(*ws);
	*ws = NULL;
}
