/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/cpu_topology.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"

static int level_id(const struct cpu *cpu, enum cpu_level level)
{
	switch (level) {
	case CPU_LEVEL_CORE:
		return (int)cpu->core;
	case CPU_LEVEL_UNCORE:
		return cpu->uncore;
	case CPU_LEVEL_NUMA:
		return cpu->numa;
	case CPU_LEVEL_SOCKET:
		return cpu->socket;
	case CPU_LEVEL_COUNT: /* GCOVR_EXCL_LINE: no level has this name */
		break;        /* GCOVR_EXCL_LINE */
	}
	return MACHINE_NONE; /* GCOVR_EXCL_LINE */
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

long cpu_element_find(const struct cpu_topology *t, enum cpu_level level, int id)
{
	const struct cpu_elements *e = &t->levels[level];
	const int *at = e->n ? bsearch(&id, e->ids, e->n, sizeof(*e->ids), compare_ints) : NULL;

	return at ? at - e->ids : -1;
}

/* Find the elements: sort the ids, then look up each CPU's. */
static void sort_elements(struct cpu_topology *t, enum cpu_level level, const int *ids)
{
	struct cpu_elements *e = &t->levels[level];

	memcpy(e->ids, ids, t->n_cpus * sizeof(*ids));
	qsort(e->ids, t->n_cpus, sizeof(*e->ids), compare_ints);
	for (size_t i = 0; i < t->n_cpus; i++)
		if (e->n == 0 || e->ids[e->n - 1] != e->ids[i])
			e->ids[e->n++] = e->ids[i];
	for (size_t i = 0; i < t->n_cpus; i++)
		e->of[i] = (uint32_t)cpu_element_find(t, level, ids[i]);
}

/*
 * Find the elements when the ids are close together, as in most machines: sort them with a table of all
 * ids, for which e->first (all 0) serves. False: the ids are not close together.
 */
static bool count_elements(struct cpu_topology *t, enum cpu_level level, const int *ids)
{
	struct cpu_elements *e = &t->levels[level];
	int low = INT_MAX, high = INT_MIN;

	for (size_t i = 0; i < t->n_cpus; i++) {
		low = ids[i] < low ? ids[i] : low;
		high = ids[i] > high ? ids[i] : high;
	}
	if (t->n_cpus == 0 || (int64_t)high - low >= (int64_t)t->n_cpus)
		return false;
	for (size_t i = 0; i < t->n_cpus; i++)
		e->first[ids[i] - low] = 1;
	for (int id = low; id <= high; id++)
		if (e->first[id - low]) {
			e->first[id - low] = (uint32_t)e->n;
			e->ids[e->n++] = id;
		}
	for (size_t i = 0; i < t->n_cpus; i++)
		e->of[i] = e->first[ids[i] - low];
	memset(e->first, 0, t->n_cpus * sizeof(*e->first));
	return true;
}

/* Fill one level; ids[i] is the id of CPU i. */
static void init_level(struct cpu_topology *t, enum cpu_level level, const int *ids)
{
	struct cpu_elements *e = &t->levels[level];
	size_t n = t->n_cpus;

	e->ids = xcalloc(n + 1, sizeof(*e->ids));
	e->of = xcalloc(n + 1, sizeof(*e->of));
	e->first = xcalloc(n + 2, sizeof(*e->first));
	e->cpus = xcalloc(n + 1, sizeof(*e->cpus));
	if (!count_elements(t, level, ids))
		sort_elements(t, level, ids);
	for (size_t i = 0; i < n; i++)
		e->first[e->of[i] + 2]++;
	/* first[x + 1] is where the next CPU of element x goes; at the end, where element x + 1 begins. */
	for (size_t x = 2; x < e->n + 2; x++)
		e->first[x] += e->first[x - 1];
	for (size_t i = 0; i < n; i++)
		e->cpus[e->first[e->of[i] + 1]++] = (uint32_t)i;
}

int cpu_topology_init(struct cpu_topology *t, const struct machine *m)
{
	CLEANUP(freep) int *ids = NULL;
	size_t n = 0;

	memset(t, 0, sizeof(*t));
	if (m->n_cpus > UINT16_MAX)
		return -E2BIG;
	ids = xcalloc(m->n_cpus + 1, sizeof(*ids));
	t->ids = xcalloc(m->n_cpus + 1, sizeof(*t->ids));
	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].numa != MACHINE_NONE)
			t->ids[t->n_cpus++] = m->cpus[i].id;
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		n = 0;
		for (size_t i = 0; i < m->n_cpus; i++)
			if (m->cpus[i].numa != MACHINE_NONE)
				ids[n++] = level_id(&m->cpus[i], level);
		init_level(t, level, ids);
	}
	return 0;
}

void cpu_topology_release(struct cpu_topology *t)
{
	for (enum cpu_level level = 0; level < CPU_LEVEL_COUNT; level++) {
		free(t->levels[level].ids);
		free(t->levels[level].of);
		free(t->levels[level].first);
		free(t->levels[level].cpus);
	}
	free(t->ids);
	memset(t, 0, sizeof(*t));
}

uint32_t cpu_topology_average(const struct cpu_topology *t, enum cpu_level level)
{
	return t->levels[level].n ? (uint32_t)(t->n_cpus / t->levels[level].n) : 0;
}

bool cpu_topology_is_uniform(const struct cpu_topology *t, enum cpu_level level)
{
	for (size_t i = 1; i < t->levels[level].n; i++)
		if (cpu_element_size(t, level, i) != cpu_element_size(t, level, 0))
			return false;
	return true;
}

size_t cpu_set_from_bitmap(const struct cpu_topology *t, hwloc_const_bitmap_t bitmap, bool *set)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_cpus; i++) {
		set[i] = bitmap && hwloc_bitmap_isset(bitmap, t->ids[i]);
		n += set[i];
	}
	return n;
}

void cpu_set_to_bitmap(const struct cpu_topology *t, const bool *set, hwloc_bitmap_t bitmap)
{
	hwloc_bitmap_zero(bitmap);
	for (size_t i = 0; i < t->n_cpus; i++)
		if (set[i])
			cpuset_set(bitmap, t->ids[i]);
}

size_t cpu_set_size(const struct cpu_topology *t, const bool *set)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_cpus; i++)
		n += set[i];
	return n;
}
