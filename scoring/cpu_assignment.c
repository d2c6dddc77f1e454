/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/cpu_accumulator.h"

#include <stdlib.h>
#include <string.h>

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

/* How many elements of `child` the elements of `parent` hold in all; one held by two parents counts twice. */
static size_t count_pairs(const struct cpu_topology *t, enum cpu_level child, enum cpu_level parent)
{
	const struct cpu_elements *p = &t->levels[parent];
	size_t pairs = 0;

	for (size_t i = 0; i < t->n_cpus; i++) {
		bool first = true;

		for (uint32_t k = p->first[p->of[i]]; p->cpus[k] < i && first; k++)
			first = t->levels[child].of[p->cpus[k]] != t->levels[child].of[i];
		pairs += first;
	}
	return pairs;
}

static void lay_out_workspace(struct cpu_workspace *ws, struct layout *layout)
{
	const struct cpu_topology *t = ws->topology;
	struct cpu_accumulator *accumulators[] = {&ws->packed, &ws->distributed};
	enum cpu_level high = ws->numa_first ? CPU_LEVEL_NUMA : CPU_LEVEL_SOCKET;
	enum cpu_level low = ws->numa_first ? CPU_LEVEL_SOCKET : CPU_LEVEL_NUMA;
	size_t n_numas = t->levels[CPU_LEVEL_NUMA].n, n_low = count_pairs(t, low, high);
	/* Where elements are not nested, one can be listed under several parents: n_low holds the excess. */
	size_t excess = n_low - t->levels[low].n + 1;
	size_t sizes[CPU_LEVEL_COUNT];

	sizes[CPU_LEVEL_NUMA] = sizes[CPU_LEVEL_SOCKET] =
		n_low > t->levels[high].n ? n_low : t->levels[high].n;
	sizes[CPU_LEVEL_UNCORE] = sizes[CPU_LEVEL_CORE] = excess * t->n_cpus;
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
	struct cpu_workspace *ws = calloc(1, sizeof(*ws));
	struct layout layout = {0};

	if (!ws)
		return NULL;
	ws->topology = t;
	ws->numa_first = t->levels[CPU_LEVEL_SOCKET].n >= t->levels[CPU_LEVEL_NUMA].n;
	lay_out_workspace(ws, &layout);
	layout.block = ws->block = calloc(1, layout.bytes);
	if (!ws->block) {
		free(ws);
		return NULL;
	}
	layout.bytes = 0;
	lay_out_workspace(ws, &layout);
	return ws;
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

struct cpu_take cpu_take(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	size_t n, bool *taken)
{
	struct cpu_take take = rules->distribute ? cpu_take_distributed(ws, rules, available, n, taken)
						 : cpu_take_packed(ws, rules, available, n, taken);

	if (take.status != CPU_TAKE_OK)
		memset(taken, 0, ws->topology->n_cpus * sizeof(*taken));
	return take;
}
