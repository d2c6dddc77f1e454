/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/model/zone_filter.h"

#include <errno.h>
#include <fnmatch.h>

#include "agent/observe/memory_blocks.h"
#include "common/cleanup.h"

static bool is_excluded(const struct zone_filter *filter, const char *name)
{
	for (size_t i = 0; i < filter->n_resources; i++)
		if (!strcmp(filter->resources[i], name) || fnmatch(filter->resources[i], name, 0) == 0)
			return true;
	return false;
}

void zone_filter_resources(const struct zone_filter *filter, struct inventory *inv)
{
	size_t n = inv->n_resources, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_excluded(filter, inv->resources[i]))
			continue;
		for (size_t node = 0; node < inv->n_nodes; node++)
			inv->amounts[node * n + kept] = inv->amounts[node * n + i];
		inv->resources[kept++] = inv->resources[i];
	}
	/* The rows move together, the lower ones first: a row never reaches into the next one's. */
	for (size_t node = 1; node < inv->n_nodes; node++)
		memmove(&inv->amounts[node * kept], &inv->amounts[node * n], kept * sizeof(*inv->amounts));
	inv->n_resources = kept;
}

static bool counts(const struct zone_filter *filter, const struct allocation *item)
{
	if (!*item->pod || item->named_by_logs)
		return true;
	for (size_t i = 0; i < filter->n_namespaces; i++)
		if (!strcmp(filter->namespaces[i], item->namespace))
			return true;
	return false;
}

static int copy_memory(const struct memory_state *from, struct memory_state *to)
{
	to->nodes = calloc(from->n_nodes + 1, sizeof(*to->nodes));
	if (!to->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_nodes; i++) {
		const struct memory_node *node = &from->nodes[i];
		struct memory_node *copy = &to->nodes[to->n_nodes++];

		*copy = (struct memory_node){.id = node->id, .assignments = node->assignments};
		copy->cells = node->cells ? hwloc_bitmap_dup(node->cells) : NULL;
		copy->tables = calloc(node->n_tables + 1, sizeof(*copy->tables));
		if ((node->cells && !copy->cells) || !copy->tables)
			return -ENOMEM;
		for (size_t t = 0; t < node->n_tables; t++) {
			copy->tables[t] = node->tables[t];
			copy->n_tables = t + 1;
			copy->tables[t].type = strdup(node->tables[t].type);
			if (!copy->tables[t].type)
				return -ENOMEM;
		}
	}
	return 0;
}

int zone_filter_view(const struct zone_filter *filter, const struct allocations *all, struct allocations *ret)
{
	CLEANUP(memory_state_release) struct memory_state memory;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = all->shared ? hwloc_bitmap_dup(all->shared) : NULL;
	CLEANUP(freep) struct allocation *items = calloc(all->n_items + 1, sizeof(*items));
	size_t n = 0;

	memory_state_init(&memory);
	if (!items || (all->shared && !shared) || copy_memory(&all->memory, &memory) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < all->n_items; i++) {
		const struct allocation *item = &all->items[i];

		if (counts(filter, item)) {
			items[n++] = *item;
			continue;
		}
		if (shared && hwloc_bitmap_or(shared, shared, item->cpus) < 0)
			return -ENOMEM;
		for (size_t b = 0; b < item->n_memory; b++)
			if (memory_state_give_back(&memory, &item->memory[b]) < 0)
				return -ENOMEM;
	}
	*ret = *all;
	ret->items = TAKE(items);
	ret->shared = TAKE(shared);
	ret->n_items = ret->items_size = n;
	ret->memory = memory;
	memory_state_init(&memory);
	return 0;
}

void zone_filter_view_release(struct allocations *view)
{
	free(view->items);
	hwloc_bitmap_free(view->shared);
	memory_state_release(&view->memory);
	allocations_init(view);
}
