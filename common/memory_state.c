/* SPDX-License-Identifier: Apache-2.0 */
#include "common/memory_state.h"

#include <stdlib.h>
#include <string.h>

void memory_state_init(struct memory_state *s)
{
	memset(s, 0, sizeof(*s));
}

void memory_state_release(struct memory_state *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct memory_node *node = &s->nodes[i];

		for (size_t t = 0; t < node->n_tables; t++)
			free(node->tables[t].type);
		free(node->tables);
		hwloc_bitmap_free(node->cells);
	}
	free(s->nodes);
	memory_state_init(s);
}

const struct memory_table *memory_node_table(const struct memory_node *node, const char *type)
{
	for (size_t i = 0; i < node->n_tables; i++)
		if (!strcmp(node->tables[i].type, type))
			return &node->tables[i];
	return NULL;
}

bool memory_table_wrapped(const struct memory_table *table)
{
	return table->allocatable > table->total;
}

uint64_t memory_state_reserved(const struct memory_state *s, const char *type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_nodes; i++) {
		const struct memory_table *t = memory_node_table(&s->nodes[i], type);

		sum += t ? t->reserved : 0;
	}
	return sum;
}
