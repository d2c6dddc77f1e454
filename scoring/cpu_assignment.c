/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/cpu_accumulator.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

/* Where an array of the workspace goes when the block is laid out. */
struct layout {
	unsigned char *block; /* NULL while only the size is counted */
	size_t bytes;
};

static void *lay_out(struct layout *layout, size_t n, size_t item)
{
	size_t at = (layout->bytes + 7) & ~(size_t)7;

	layout->bytes = at + (n + 1) * item;
	return layout->block ? layout->block + at : NULL;
}

/* Elements of one level that are listed within elements of another, one for each element that they are in. */
struct listing {
	size_t n;    /* how many are listed */
	size_t cpus; /* the CPUs of all of them together */
};

/* The elements of `child` within those of `parent`. `seen` has room for a number for each element of `child`, all 0. */
static struct listing list_within(
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

/* Where elements are not nested, one of the lower level is listed under several, with all that it has below. */
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
		accumulators[i]->free = lay_out(layout, t->n_cpus, sizeof(bool));
		for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++)
			accumulators[i]->n_free[level] =
				lay_out(layout, t->levels[level].n, sizeof(uint32_t));
	}
	ws->inner_taken = lay_out(layout, t->n_cpus, sizeof(bool));
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		ws->lists[level] = lay_out(layout, sizes[level], sizeof(uint32_t));
		ws->seen[level] = lay_out(layout, t->levels[level].n, sizeof(uint64_t));
	}
	ws->uncore_walk = lay_out(layout, sizes[CPU_LEVEL_UNCORE], sizeof(uint32_t));
	ws->cpu_list = lay_out(layout, t->n_cpus, sizeof(uint32_t));
	ws->combo = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->best_combo = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->subset = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->best_subset = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->local_best_subset = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->numas = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->candidates = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(uint32_t));
	ws->left = lay_out(layout, n_numas, sizeof(long));
	ws->left_after = lay_out(layout, sizes[CPU_LEVEL_NUMA], sizeof(long));
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
	listing = list_within(t, low, high, seen);
	lay_out_workspace(ws, &layout, listing);
	layout.block = ws->block = xcalloc(1, layout.bytes);
	layout.bytes = 0;
	lay_out_workspace(ws, &layout, listing);
	return TAKE(ws);
}

void cpu_workspace_free(struct cpu_workspace *ws)
{
	if (ws)
		free(ws->block);
	free(ws);
}

void cpu_workspace_freep(struct cpu_workspace **ws)
{
	cpu_workspace_free(*ws);
	*ws = NULL;
}

void cpu_workspace_count_in(struct cpu_workspace *ws, struct work *work)
{
	ws->work = work;
}

struct cpu_take cpu_take(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	size_t n, bool *taken)
{
	struct cpu_take take = rules->distribute ? cpu_take_distributed(ws, rules, available, n, taken)
						 : cpu_take_packed(ws, rules, available, n, taken);

	if (take.status != CPU_TAKE_OK)
		memset(taken, 0, ws->topology->n_cpus * sizeof(*taken));
	return take;
}
