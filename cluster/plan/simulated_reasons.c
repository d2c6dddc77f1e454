/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/plan/simulated_reasons.h"

#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "common/xalloc.h"

void simulated_reasons_release(struct simulated_reasons *r)
{
	for (size_t i = 0; i < r->n_items; i++)
		free(r->items[i].text);
	free(r->items);
	*r = (struct simulated_reasons){0};
}

void simulated_reasons_count(struct simulated_reasons *r, char *text)
{
	for (size_t i = 0; i < r->n_items; i++)
		if (!strcmp(r->items[i].text, text)) {
			r->items[i].n_nodes++;
			free(text);
			return;
		}
	*(struct simulated_reason *)vec_push(&r->items, &r->n_items, &r->items_size, sizeof(*r->items)) =
		(struct simulated_reason){.text = text, .n_nodes = 1};
}

static int compare_reasons(const void *va, const void *vb)
{
	const struct simulated_reason *a = va, *b = vb;

	if (a->n_nodes != b->n_nodes)
		return a->n_nodes > b->n_nodes ? -1 : 1;
	return strcmp(a->text, b->text);
}

void simulated_reasons_find(
	struct simulated_cluster *c, size_t pod, const bool *excluded, struct simulated_reasons *ret)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		const char *constraint;

		if (c->nodes[i].obstacle == SIMULATED_NOT_SELECTED || (excluded && excluded[i]))
			continue;
		constraint = c->nodes[i].info->has_node ? simulated_constraint(c, i, pod) : "";
		simulated_reasons_count(
			ret, *constraint ? xstrdup(constraint) : simulated_explain(c, i, pod));
	}
	if (ret->n_items > 1)
		qsort(ret->items, ret->n_items, sizeof(*ret->items), compare_reasons);
}
