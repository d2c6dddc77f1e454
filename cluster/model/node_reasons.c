/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/node_reasons.h"

#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "common/xalloc.h"

void node_reasons_release(struct node_reasons *r)
{
	for (size_t i = 0; i < r->n_items; i++)
		free(r->items[i].text);
	free(r->items);
	*r = (struct node_reasons){0};
}

void node_reasons_count(struct node_reasons *r, const char *text, size_t max)
{
	size_t i = 0;

	while (i < r->n_items && strcmp(r->items[i].text, text) != 0)
		i++;
	if (i < r->n_items)
		r->items[i].n_nodes++;
	else if (i < max)
		*(struct node_reason *)vec_push(&r->items, &r->n_items, &r->items_size, sizeof(*r->items)) =
			(struct node_reason){.text = xstrdup(text), .n_nodes = 1};
}

static int compare_reasons(const void *va, const void *vb)
{
	const struct node_reason *a = va, *b = vb;

	if (a->n_nodes != b->n_nodes)
		return a->n_nodes > b->n_nodes ? -1 : 1;
	return strcmp(a->text, b->text);
}

void node_reasons_sort(struct node_reasons *r)
{
	if (r->n_items > 1)
		qsort(r->items, r->n_items, sizeof(*r->items), compare_reasons);
}
