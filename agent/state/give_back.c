/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/give_back.h"

#include "agent/state/memory_blocks.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"

/* What the item held becomes free. */
static void take_back(const struct allocation *item, hwloc_bitmap_t shared, struct memory_state *memory)
{
	if (shared)
		cpuset_or(shared, shared, item->cpus);
	for (size_t b = 0; b < item->n_memory; b++)
		memory_state_give_back(memory, &item->memory[b]);
}

void allocations_give_back(struct allocations *a, const bool *ended)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (ended[i])
			take_back(&a->items[i], a->shared, &a->memory);
	for (size_t i = a->n_items; i > 0; i--)
		if (ended[i - 1])
			allocations_remove(a, i - 1);
}

static void copy_memory(const struct memory_state *from, struct memory_state *to)
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

void allocations_view_without(const struct allocations *all, const bool *gone, struct allocations *ret)
{
	CLEANUP(memory_state_release) struct memory_state memory;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = all->shared ? cpuset_dup(all->shared) : NULL;
	CLEANUP(freep) struct allocation *items = xcalloc(all->n_items + 1, sizeof(*items));
	size_t n = 0;

	memory_state_init(&memory);
	copy_memory(&all->memory, &memory);
	for (size_t i = 0; i < all->n_items; i++)
		if (!gone[i])
			items[n++] = all->items[i];
		else
			take_back(&all->items[i], shared, &memory);
	*ret = *all;
	ret->items = TAKE(items);
	ret->shared = TAKE(shared);
	ret->n_items = ret->items_size = n;
	ret->memory = memory;
	memory_state_init(&memory);
}

void allocations_view_release(struct allocations *view)
{
	free(view->items);
	hwloc_bitmap_free(view->shared);
	memory_state_release(&view->memory);
	allocations_init(view);
}
