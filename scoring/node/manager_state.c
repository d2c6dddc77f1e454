/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/manager_state.h"

#include <stdlib.h>
#include <string.h>

#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- one memory block */

uint64_t memory_state_charge(struct memory_state *state, const struct memory_block *block)
{
	uint64_t left = block->bytes;

	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct memory_node *node = memory_state_node(state, (unsigned)id);
		struct memory_table *table = memory_node_table(node, block->type);
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
	return left;
}

/* The reverse of memory_state_charge(), as allocations_give_back() describes. */
static void give_back_block(struct memory_state *state, const struct memory_block *block)
{
	uint64_t left = block->bytes;

	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct memory_node *node = memory_state_node(state, (unsigned)id);
		struct memory_table *table = memory_node_table(node, block->type);
		uint64_t part;

		if (!node)
			continue;
		if (node->assignments > 0) {
			node->assignments--;
			if (node->assignments == 0 && node->cells)
				cpuset_only(node->cells, (unsigned)id);
		}
		if (!table)
			continue;
		part = table->reserved < left ? table->reserved : left;
		table->reserved -= part;
		table->free += part;
		left -= part;
	}
}

/* ---- containers that end */

static void give_back_item(const struct allocation *item, hwloc_bitmap_t shared, struct memory_state *memory)
{
	if (shared)
		cpuset_or(shared, shared, item->cpus);
	for (size_t b = 0; b < item->n_memory; b++)
		give_back_block(memory, &item->memory[b]);
}

void allocations_give_back(struct allocations *a, const bool *ended)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (ended[i])
			give_back_item(&a->items[i], a->shared, &a->memory);
	for (size_t i = a->n_items; i > 0; i--)
		if (ended[i - 1])
			allocations_remove(a, i - 1);
}

static void copy_memory_state(const struct memory_state *from, struct memory_state *to)
{
	to->nodes = xcalloc(from->n_nodes + 1, sizeof(*to->nodes));
	for (size_t i = 0; i < from->n_nodes; i++) {
		const struct memory_node *node = &from->nodes[i];
		struct memory_node *copy = &to->nodes[to->n_nodes++];

		*copy = (struct memory_node){.id = node->id, .assignments = node->assignments};
		copy->cells = node->cells ? cpuset_dup(node->cells) : NULL;
		copy->tables = xcalloc(node->n_tables + 1, sizeof(*copy->tables));
		for (size_t t = 0; t < node->n_tables; t++) {
			copy->tables[t] = node->tables[t];
			copy->n_tables = t + 1;
			copy->tables[t].type = xstrdup(node->tables[t].type);
		}
	}
}

void allocations_view_without(const struct allocations *all, const bool *excluded, struct allocations *ret)
{
	*ret = *all;
	ret->items = xcalloc(all->n_items + 1, sizeof(*ret->items));
	ret->n_items = 0;
	ret->items_size = all->n_items;
	ret->shared = all->shared ? cpuset_dup(all->shared) : NULL;
	memory_state_init(&ret->memory);
	copy_memory_state(&all->memory, &ret->memory);
	for (size_t i = 0; i < all->n_items; i++)
		if (excluded && excluded[i])
			give_back_item(&all->items[i], ret->shared, &ret->memory);
		else
			ret->items[ret->n_items++] = all->items[i];
}

void allocations_view_release(struct allocations *view)
{
	free(view->items);
	hwloc_bitmap_free(view->shared);
	memory_state_release(&view->memory);
	allocations_init(view);
}

/* ---- the machine state from blocks */

static struct memory_table *add_memory_table(struct memory_node *node, const char *type, uint64_t total)
{
	struct memory_table *table =
		vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*table));

	table->total = total;
	table->type = xstrdup(type);
	return table;
}

static int compare_tables(const void *a, const void *b)
{
	return strcmp(((const struct memory_table *)a)->type, ((const struct memory_table *)b)->type);
}

/* Appends the NUMA node with the totals of the hardware. The other amounts are 0 until the blocks are known. */
static struct memory_node *append_memory_node(struct memory_state *state, const struct numa_node *from)
{
	struct memory_node *node =
		vec_push(&state->nodes, &state->n_nodes, &state->nodes_size, sizeof(*node));

	node->id = from->id;
	node->cells = cpuset_new();
	add_memory_table(node, "memory", from->memory_bytes);
	for (size_t i = 0; i < from->n_pools; i++) {
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];

		resource_name_of_hugepages(from->pools[i].page_bytes, name);
		add_memory_table(node, name, from->pools[i].page_bytes * from->pools[i].pages);
	}
	return node;
}

static int compare_memory_nodes(const void *va, const void *vb)
{
	const struct memory_node *a = va, *b = vb;

	return (a->id > b->id) - (a->id < b->id);
}

/* The node's table of this type; both are created where the machine does not have them now. */
static struct memory_table *find_or_add_table(struct memory_state *state, unsigned id, const char *type)
{
	struct memory_node *node = memory_state_node(state, id);
	struct memory_table *table;

	if (!node)
		node = append_memory_node(state, &(struct numa_node){.id = id});
	table = memory_node_table(node, type);
	return table ? table : add_memory_table(node, type, 0);
}

/*
 * Of several blocks of a node the smallest counts, but a block of 0 bytes is replaced by the next one. A block of 2^63 bytes or more is an
 * amount that wrapped around below 0.
 */
static void set_block_allocatable(struct memory_state *state, const struct memory_block *block)
{
	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct memory_table *table = find_or_add_table(state, (unsigned)id, block->type);

		if (table->allocatable > 0 && table->allocatable < block->bytes)
			continue;
		table->allocatable = table->free = block->bytes;
		/* The kubelet may have counted more hugepages or memory at its start than the machine has
		 * now. */
		if (table->total < block->bytes && block->bytes <= INT64_MAX)
			table->total = block->bytes;
	}
}

/* Reserved for the system: what is neither allocatable nor set aside as hugepages. A NUMA node of which nothing is allocatable may have
 * appeared after the kubelet's start: then the kubelet has not counted its memory. */
static void set_system_reserved(struct memory_node *node)
{
	uint64_t pages = 0;
	bool has_allocatable = false;

	for (size_t i = 0; i < node->n_tables; i++)
		has_allocatable = has_allocatable || node->tables[i].allocatable > 0;
	for (size_t i = 0; i < node->n_tables && !has_allocatable; i++)
		node->tables[i].total = 0;
	for (size_t i = 0; i < node->n_tables; i++)
		if (strcmp(node->tables[i].type, "memory") != 0)
			pages += node->tables[i].total;
	for (size_t i = 0; i < node->n_tables; i++) {
		struct memory_table *t = &node->tables[i];
		uint64_t used = t->allocatable + (strcmp(t->type, "memory") ? 0 : pages);

		/* The kubelet's subtraction went below 0: the reverse subtraction gives what it subtracted. */
		if (memory_table_wrapped(t)) {
			t->system_reserved = t->total - t->allocatable;
			continue;
		}
		t->system_reserved = t->total > used ? t->total - used : 0;
	}
}

/* Charges only the blocks on several NUMA nodes if `of_groups`, otherwise only the blocks on one NUMA node.
 * Returns the bytes that no node had free. */
static uint64_t charge_blocks(struct memory_state *state, const struct allocations *held, bool of_groups)
{
	uint64_t over = 0;

	for (size_t i = 0; i < held->n_items; i++)
		for (size_t b = 0; b < held->items[i].n_memory; b++) {
			const struct memory_block *block = &held->items[i].memory[b];

			if (!hwloc_bitmap_iszero(block->nodes) &&
				(cpuset_size(block->nodes) > 1) == of_groups)
				over += memory_state_charge(state, block);
		}
	return over;
}

uint64_t memory_state_from_blocks(const struct machine *machine, const struct memory_block *allocatable,
	size_t n_allocatable, const struct allocations *held, struct memory_state *ret)
{
	uint64_t over;

	memory_state_init(ret);
	for (size_t i = 0; i < machine->n_nodes; i++)
		append_memory_node(ret, &machine->nodes[i]);
	for (size_t i = 0; i < n_allocatable; i++)
		set_block_allocatable(ret, &allocatable[i]);
	if (ret->n_nodes > 0)
		qsort(ret->nodes, ret->n_nodes, sizeof(*ret->nodes), compare_memory_nodes);
	for (size_t i = 0; i < ret->n_nodes; i++) {
		qsort(ret->nodes[i].tables, ret->nodes[i].n_tables, sizeof(*ret->nodes[i].tables),
			compare_tables);
		set_system_reserved(&ret->nodes[i]);
	}
	over = charge_blocks(ret, held, false); /* first: groups get what is left */
	return over + charge_blocks(ret, held, true);
}
