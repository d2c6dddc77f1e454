/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/memory_blocks.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource_name.h"
#include "common/vec.h"
#include "common/xalloc.h"

static struct memory_node *node_of(struct memory_state *state, unsigned id)
{
	for (size_t i = 0; i < state->n_nodes; i++)
		if (state->nodes[i].id == id)
			return &state->nodes[i];
	return NULL;
}

static struct memory_table *table_of(struct memory_node *node, const char *type)
{
	for (size_t i = 0; node && i < node->n_tables; i++)
		if (!strcmp(node->tables[i].type, type))
			return &node->tables[i];
	return NULL;
}

static void add_table(struct memory_node *node, const char *type, uint64_t total)
{
	struct memory_table *table =
		vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*table));

	table->total = total;
	table->type = xstrdup(type);
}

static int by_type(const void *a, const void *b)
{
	return strcmp(((const struct memory_table *)a)->type, ((const struct memory_table *)b)->type);
}

static void add_node(struct memory_state *state, const struct numa_node *from)
{
	struct memory_node *node =
		vec_push(&state->nodes, &state->n_nodes, &state->nodes_size, sizeof(*node));

	node->id = from->id;
	node->cells = cpuset_new();
	add_table(node, "memory", from->memory_bytes);
	for (size_t i = 0; i < from->n_pools; i++) {
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];

		resource_name_of_hugepages(from->pools[i].page_bytes, name);
		add_table(node, name, from->pools[i].page_bytes * from->pools[i].pages);
	}
	qsort(node->tables, node->n_tables, sizeof(*node->tables), by_type);
}

static void set_allocatable(struct memory_state *state, const struct memory_block *block)
{
	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct memory_table *table = table_of(node_of(state, (unsigned)id), block->type);

		if (!table)
			continue;
		table->allocatable = table->free = block->bytes;
		/* The kubelet may have seen more at its start than there is now. */
		if (table->total < block->bytes)
			table->total = block->bytes;
	}
}

/* What is neither allocatable nor set aside as hugepages is the system's. */
static void set_reserved(struct memory_node *node)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < node->n_tables; i++)
		if (strcmp(node->tables[i].type, "memory") != 0)
			pages += node->tables[i].total;
	for (size_t i = 0; i < node->n_tables; i++) {
		struct memory_table *t = &node->tables[i];
		uint64_t used = t->allocatable + (strcmp(t->type, "memory") ? 0 : pages);

		t->system_reserved = t->total > used ? t->total - used : 0;
	}
}

void memory_state_charge(struct memory_state *state, const struct memory_block *block, uint64_t *over)
{
	uint64_t left = block->bytes;

	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct memory_node *node = node_of(state, (unsigned)id);
		struct memory_table *table = table_of(node, block->type);
		uint64_t part;

		if (!table)
			continue;
		part = table->free < left ? table->free : left;
		table->free -= part;
		table->reserved += part;
		left -= part;
		node->assignments++;
		if (!node->cells)
			node->cells = cpuset_new();
		cpuset_copy(node->cells, block->nodes);
	}
	*over += left;
}

void memory_state_give_back(struct memory_state *state, const struct memory_block *block)
{
	uint64_t left = block->bytes;

	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct memory_node *node = node_of(state, (unsigned)id);
		struct memory_table *table = table_of(node, block->type);
		uint64_t part;

		if (!node)
			continue;
		if (node->assignments > 0 && --node->assignments == 0 && node->cells)
			cpuset_only(node->cells, (unsigned)id);
		if (!table)
			continue;
		part = table->reserved < left ? table->reserved : left;
		table->reserved -= part;
		table->free += part;
		left -= part;
	}
}

/* Blocks on one node first: what they leave is what groups can have. */
static void charge_all(
	struct memory_state *state, const struct allocations *held, bool groups, uint64_t *over)
{
	for (size_t i = 0; i < held->n_items; i++)
		for (size_t b = 0; b < held->items[i].n_memory; b++) {
			const struct memory_block *block = &held->items[i].memory[b];

			if (!hwloc_bitmap_iszero(block->nodes) && (cpuset_size(block->nodes) > 1) == groups)
				memory_state_charge(state, block, over);
		}
}

void memory_state_from_blocks(const struct machine *machine, const struct memory_block *allocatable,
	size_t n_allocatable, const struct allocations *held, struct memory_state *ret, uint64_t *ret_over)
{
	CLEANUP(memory_state_release) struct memory_state state;
	uint64_t over = 0;

	memory_state_init(&state);
	for (size_t i = 0; i < machine->n_nodes; i++)
		add_node(&state, &machine->nodes[i]);
	for (size_t i = 0; i < n_allocatable; i++)
		set_allocatable(&state, &allocatable[i]);
	for (size_t i = 0; i < state.n_nodes; i++)
		set_reserved(&state.nodes[i]);
	charge_all(&state, held, false, &over);
	charge_all(&state, held, true, &over);
	*ret_over = over;
	*ret = state;
	memory_state_init(&state);
}
