/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/empty_node.h"

#include <errno.h>

#include "agent/state/inventory_build.h"
#include "agent/state/memory_blocks.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource_name.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* The CPU manager's default set of a kubelet without a state file (policy_static.go, validateState). */
static int find_shared(struct node_state *node, struct err *err)
{
	CLEANUP(reserved_cpus_release) struct reserved_cpus reserved = {0};
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;
	int r;

	machine_counted_cpus(&node->machine, &shared);
	r = inventory_reserved_cpus(&node->machine, &node->settings, &reserved, err);
	if (r < 0)
		return r;
	if (node->settings.cpu_options.strict_cpu_reservation && reserved.cpus)
		cpuset_andnot(shared, shared, reserved.cpus);
	node->allocations.shared = TAKE(shared);
	return 0;
}

/* What is left of `total` bytes of the type without what the configuration reserves. */
static uint64_t without_reserved(const struct settings *s, unsigned node, const char *type, uint64_t total)
{
	uint64_t reserved = 0;

	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (s->memory_reservations[i].node == node && !strcmp(s->memory_reservations[i].type, type))
			reserved += (uint64_t)(s->memory_reservations[i].bytes / QTY_UNIT);
	return total > reserved ? total - reserved : 0;
}

/* One block: the type's allocatable bytes on the node. */
static void add_block(
	struct allocation *blocks, const struct settings *s, unsigned node, const char *type, uint64_t total)
{
	struct memory_block *block =
		vec_push(&blocks->memory, &blocks->n_memory, &blocks->memory_size, sizeof(*block));

	block->type = xstrdup(type);
	block->nodes = cpuset_new();
	block->bytes = without_reserved(s, node, type, total);
	cpuset_only(block->nodes, node);
}

static void add_blocks(struct allocation *blocks, const struct settings *s, const struct numa_node *node)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < node->n_pools; i++) {
		uint64_t bytes = node->pools[i].page_bytes * node->pools[i].pages;
		char type[RESOURCE_NAME_HUGEPAGES_SIZE];

		resource_name_of_hugepages(node->pools[i].page_bytes, type);
		pages += bytes;
		add_block(blocks, s, node->id, type, bytes);
	}
	add_block(blocks, s, node->id, "memory", node->memory_bytes > pages ? node->memory_bytes - pages : 0);
}

static void find_memory(struct node_state *node)
{
	CLEANUP(allocation_release) struct allocation blocks = {0};
	uint64_t over;

	if (node->settings.memory_manager != MEMORY_MANAGER_STATIC)
		return;
	for (size_t i = 0; i < node->machine.n_nodes; i++)
		add_blocks(&blocks, &node->settings, &node->machine.nodes[i]);
	memory_state_from_blocks(&node->machine, blocks.memory, blocks.n_memory, &node->allocations,
		&node->allocations.memory, &over);
	node->allocations.memory_known = true;
}

int empty_node_make(struct node_state *node, struct err *err)
{
	struct allocations before = node->allocations, *now = &node->allocations;
	int r;

	allocations_init(now);
	now->registered = before.registered;
	now->n_registered = before.n_registered;
	now->registered_size = before.registered_size;
	now->registered_known = before.registered_known;
	now->cpus_known = true;
	now->devices_known = before.registered_known;
	before.registered = NULL;
	before.n_registered = before.registered_size = 0;
	allocations_release(&before);
	claims_release(&node->claims);
	r = find_shared(node, err);
	if (r == 0)
		find_memory(node);
	return r;
}
