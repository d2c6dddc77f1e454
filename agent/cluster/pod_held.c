/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/pod_held.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"

void pod_held_release(struct pod_held *h)
{
	hwloc_bitmap_free(h->cpus);
	hwloc_bitmap_free(h->numa);
	*h = (struct pod_held){0};
}

/* The NUMA nodes of these CPUs. */
static void add_nodes_of(const struct machine *machine, hwloc_const_bitmap_t cpus, hwloc_bitmap_t numa)
{
	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		const struct cpu *cpu = machine_cpu(machine, (unsigned)id);

		if (cpu && cpu->numa != MACHINE_NONE)
			cpuset_set(numa, (unsigned)cpu->numa);
	}
}

static void add_item(const struct machine *machine, const struct allocation *item, hwloc_bitmap_t cpus,
	hwloc_bitmap_t numa)
{
	cpuset_or(cpus, cpus, item->cpus);
	for (size_t i = 0; i < item->n_memory; i++)
		cpuset_or(numa, numa, item->memory[i].nodes);
	for (size_t i = 0; i < item->n_devices; i++)
		cpuset_or(numa, numa, item->devices[i].nodes);
	add_nodes_of(machine, item->cpus, numa);
}

void pod_held_find(const struct node_state *state, const struct pod_names *names, struct pod_held *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new(), numa = cpuset_new();
	bool found = false;

	for (size_t i = 0; i < state->allocations.n_items; i++) {
		if (!pod_names_match(names, &state->allocations.items[i]))
			continue;
		found = true;
		add_item(&state->machine, &state->allocations.items[i], cpus, numa);
	}
	*ret = (struct pod_held){.found = found};
	if (found) {
		ret->cpus = TAKE(cpus);
		ret->numa = TAKE(numa);
	}
}
