/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/zone_filter.h"

#include <errno.h>
#include <fnmatch.h>

#include "common/cleanup.h"

static bool is_excluded(const struct options *options, const char *name)
{
	const char *pattern;
	size_t pos = 0;

	while ((pattern = options_next(options, OPT_EXCLUDE_RESOURCES, &pos)))
		if (!strcmp(pattern, name) || fnmatch(pattern, name, 0) == 0)
			return true;
	return false;
}

void zone_filter_resources(const struct options *options, struct inventory *inv)
{
	size_t n = inv->n_resources, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_excluded(options, inv->resources[i]))
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

bool zone_filter_has_namespaces(const struct options *options)
{
	return option_set(options, OPT_NAMESPACE);
}

static bool counts(const struct options *options, const struct allocation *item)
{
	const char *namespace;
	size_t pos = 0;

	if (!*item->pod)
		return true;
	while ((namespace = options_next(options, OPT_NAMESPACE, &pos)))
		if (!strcmp(namespace, item->namespace))
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

/* The opposite of how the kubelet charges a block: its nodes give back in ascending order. */
static void give_back(struct memory_state *state, const struct memory_block *block)
{
	uint64_t left = block->bytes;

	for (size_t i = 0; i < state->n_nodes; i++) {
		struct memory_node *node = &state->nodes[i];

		if (!hwloc_bitmap_isset(block->nodes, node->id))
			continue;
		for (size_t t = 0; t < node->n_tables; t++) {
			struct memory_table *table = &node->tables[t];
			uint64_t part = table->reserved < left ? table->reserved : left;

			if (strcmp(table->type, block->type) != 0)
				continue;
			table->reserved -= part;
			table->free += part;
			left -= part;
		}
	}
}

int zone_filter_view(const struct options *options, const struct allocations *all, struct allocations *ret)
{
	CLEANUP(memory_state_release) struct memory_state memory;
	struct allocation *items = calloc(all->n_items + 1, sizeof(*items));
	size_t n = 0;

	memory_state_init(&memory);
	if (!items || copy_memory(&all->memory, &memory) < 0) {
		free(items);
		return -ENOMEM;
	}
	for (size_t i = 0; i < all->n_items; i++) {
		const struct allocation *item = &all->items[i];

		if (counts(options, item)) {
			items[n++] = *item;
			continue;
		}
		for (size_t b = 0; b < item->n_memory; b++)
			give_back(&memory, &item->memory[b]);
	}
	*ret = *all;
	ret->items = items;
	ret->n_items = ret->items_size = n;
	ret->memory = memory;
	memory_state_init(&memory);
	return 0;
}

void zone_filter_view_release(struct allocations *view)
{
	free(view->items);
	memory_state_release(&view->memory);
	allocations_init(view);
}
