/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/node_status.h"

#include <errno.h>
#include <string.h>

const char *node_ready_status(const struct doc *node)
{
	const struct doc *conditions = doc_get(doc_get(node, "status"), "conditions");

	DOC_FOREACH_ITEM (condition, conditions)
		if (!strcmp(doc_text(condition, "type"), "Ready"))
			return doc_text(condition, "status");
	return "True";
}

bool node_is_cordoned(const struct doc *node)
{
	return doc_is_true(doc_get(doc_get(node, "spec"), "unschedulable"));
}

bool node_is_usable(const struct doc *node)
{
	return !strcmp(node_ready_status(node), "True") && !node_is_cordoned(node);
}

void node_copy_constraints(const struct doc *node, struct doc *ret)
{
	const struct doc *metadata = doc_get(node, "metadata"), *spec = doc_get(node, "spec");
	struct doc *part, *ready;

	*ret = (struct doc){.kind = DOC_MAP};
	part = doc_add_map(ret, "metadata");
	doc_copy_member(metadata, "name", part);
	doc_copy_member(metadata, "labels", part);
	part = doc_add_map(ret, "spec");
	doc_copy_member(spec, "taints", part);
	doc_copy_member(spec, "unschedulable", part);
	ready = doc_add_map(doc_add_list(doc_add_map(ret, "status"), "conditions"), NULL);
	doc_add_string(ready, "type", "Ready");
	doc_add_string(ready, "status", node_ready_status(node));
}

int node_allocatable(const struct doc *node, struct resource_list *ret, struct err *err)
{
	const struct doc *map = doc_get(doc_get(node, "status"), "allocatable");

	if (!map || map->kind != DOC_MAP)
		return 0;
	DOC_FOREACH (item, map) {
		struct quantity q = {.nano = 0};
		int r = item->kind == DOC_STRING || item->kind == DOC_NUMBER
				? quantity_parse(item->text, &q, err)
				: err_set(err, -EINVAL, "a quantity is expected, not %s",
					  doc_kind_name(item));

		if (r < 0)
			return err_wrap(err, r, "status.allocatable.%.60s", item->key);
		resource_list_append(ret, item->key, q);
	}
	resource_list_sort(ret);
	return 0;
}
