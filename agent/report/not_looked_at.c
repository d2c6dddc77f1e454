/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/not_looked_at.h"

void not_looked_at_text(const struct strv *list, struct strbuf *out)
{
	for (size_t i = 0; i < list->n_items; i++)
		strbuf_addf(out, "%s%s%s", i == 0 ? "not looked at, and schedulers do: " : ", ",
			list->items[i], i + 1 == list->n_items ? "\n" : "");
}

void not_looked_at_to_doc(const struct strv *list, struct doc *map)
{
	struct doc *items = doc_add_list(map, "notLookedAt");

	for (size_t i = 0; i < list->n_items; i++)
		doc_add_string(items, NULL, list->items[i]);
}
