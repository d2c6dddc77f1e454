/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/pod_held.h"

#include <errno.h>
#include <string.h>

#include "agent/model/node_state_text.h"
#include "common/cleanup.h"

void pod_held_release(struct pod_held *h)
{
	hwloc_bitmap_free(h->cpus);
	hwloc_bitmap_free(h->numa);
	*h = (struct pod_held){0};
}

/* A static pod's UID is another one in its object. */
static bool is_of(const struct allocation *item, const char *pod_hash, const char *uid_hash)
{
	return (*uid_hash && !strcmp(item->pod_uid, uid_hash)) || !strcmp(item->pod, pod_hash);
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

int pod_held_find(const struct node_state *state, const char *namespace, const char *name, const char *uid,
	struct pod_held *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), numa = hwloc_bitmap_alloc();
	char pod_hash[NODE_STATE_HASH_SIZE], uid_hash[NODE_STATE_HASH_SIZE] = "";
	bool found = false;

	if (!cpus || !numa)
		return -ENOMEM;
	node_state_hash_pod(namespace, name, pod_hash);
	if (*uid)
		node_state_hash_uid(uid, uid_hash);
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		if (!is_of(&state->allocations.items[i], pod_hash, uid_hash))
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
