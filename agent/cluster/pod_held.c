/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/pod_held.h"

#include <errno.h>

#include "common/cleanup.h"

void pod_held_release(struct pod_held *h)
{
	hwloc_bitmap_free(h->cpus);
	hwloc_bitmap_free(h->numa);
	*h = (struct pod_held){0};
}

/* The NUMA nodes of these CPUs. */
static int add_nodes_of(const struct machine *machine, hwloc_const_bitmap_t cpus, hwloc_bitmap_t numa)
{
	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		const struct cpu *cpu = machine_cpu(machine, (unsigned)id);

		if (cpu && cpu->numa != MACHINE_NONE && hwloc_bitmap_set(numa, (unsigned)cpu->numa) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_item(const struct machine *machine, const struct allocation *item, hwloc_bitmap_t cpus,
	hwloc_bitmap_t numa)
{
	int r = hwloc_bitmap_or(cpus, cpus, item->cpus);

	for (size_t i = 0; i < item->n_memory && r == 0; i++)
		r = hwloc_bitmap_or(numa, numa, item->memory[i].nodes);
	for (size_t i = 0; i < item->n_devices && r == 0; i++)
		r = hwloc_bitmap_or(numa, numa, item->devices[i].nodes);
	return r < 0 ? -ENOMEM : add_nodes_of(machine, item->cpus, numa);
}

int pod_held_find(const struct node_state *state, const struct pod_names *names, struct pod_held *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), numa = hwloc_bitmap_alloc();
	bool found = false;

	if (!cpus || !numa)
		return -ENOMEM;
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		if (!pod_names_match(names, &state->allocations.items[i]))
			continue;
		found = true;
		if (add_item(&state->machine, &state->allocations.items[i], cpus, numa) < 0)
			return -ENOMEM;
	}
	*ret = (struct pod_held){.found = found};
	if (found) {
		ret->cpus = TAKE(cpus);
		ret->numa = TAKE(numa);
	}
	return 0;
}
