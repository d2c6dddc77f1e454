/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The CPU manager's view of a machine (pkg/kubelet/cm/cpumanager/topology): the core, uncore cache, NUMA
 * node and socket of each CPU. Built once, then read-only. A CPU is its position among the ascending CPU
 * ids; a set of CPUs is one bool per position. Depends on common/machine.h only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/machine.h"

enum cpu_level { CPU_LEVEL_CORE, CPU_LEVEL_UNCORE, CPU_LEVEL_NUMA, CPU_LEVEL_SOCKET, CPU_LEVEL_COUNT };

/* The elements of one level, in ascending order of their ids. */
struct cpu_elements {
	size_t n;
	int *ids;
	uint32_t *of;    /* [n_cpus] the element of each CPU */
	uint32_t *first; /* [n + 1] index in cpus[] of the element's first CPU */
	uint32_t *cpus;  /* [n_cpus] CPUs element by element, ascending within one */
};

struct cpu_topology {
	size_t n_cpus;
	unsigned *ids; /* [n_cpus] the kernel's CPU ids, ascending */
	struct cpu_elements levels[CPU_LEVEL_COUNT];
};

/*
 * Omits CPUs outside every NUMA node, which the kubelet never sees. Returns 0; -E2BIG with more than 65535
 * CPUs. *t is released on failure.
 */
int cpu_topology_init(struct cpu_topology *t, const struct machine *m);
void cpu_topology_release(struct cpu_topology *t);

/* The number of CPUs in an element, including CPUs in use. */
static inline uint32_t cpu_element_size(const struct cpu_topology *t, enum cpu_level level, size_t element)
{
	return t->levels[level].first[element + 1] - t->levels[level].first[element];
}

/* Whether all elements of the level have equally many CPUs. */
bool cpu_topology_is_uniform(const struct cpu_topology *t, enum cpu_level level);

/* CPUsPerCore(), CPUsPerUncore(), CPUsPerSocket(): the machine's average, rounded down; 0 without CPUs. */
uint32_t cpu_topology_average(const struct cpu_topology *t, enum cpu_level level);

/* The element of `level` with this id, or -1. */
long cpu_element_find(const struct cpu_topology *t, enum cpu_level level, int id);

/* Set set[] to the bitmap's CPUs. Returns how many of the bitmap's ids are CPUs of the topology. */
size_t cpu_set_from_bitmap(const struct cpu_topology *t, hwloc_const_bitmap_t bitmap, bool *set);

/* Set the bitmap to the ids of the set. */
void cpu_set_to_bitmap(const struct cpu_topology *t, const bool *set, hwloc_bitmap_t bitmap);

size_t cpu_set_size(const struct cpu_topology *t, const bool *set);
