/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/list_doc.h"

#include <errno.h>

static bool add_text(struct doc *map, const char *key, const char *text)
{
	return *text ? doc_add_string(map, key, text) != NULL : doc_add(map, key) != NULL;
}

static bool add_number(struct doc *parent, const char *key, const struct list_number *n)
{
	return n->known ? doc_add_number(parent, key, (int64_t)n->n) != NULL : doc_add(parent, key) != NULL;
}

static bool add_cpus(struct doc *parent, size_t free, size_t allocatable, const struct list_number *stranded)
{
	struct doc *map = doc_add_map(parent, "cpus");

	return doc_add_number(map, "free", (int64_t)free) &&
	       doc_add_number(map, "allocatable", (int64_t)allocatable) &&
	       add_number(map, "stranded", stranded);
}

static bool add_largest(struct doc *parent, const struct list_number largest[LIST_LARGEST])
{
	struct doc *list = doc_add_list(parent, "largestPods");
	bool ok = list != NULL;

	for (size_t i = 0; i < LIST_LARGEST && ok; i++)
		ok = add_number(list, NULL, &largest[i]);
	return ok;
}

static bool add_numa(struct doc *parent, const struct list_row *row)
{
	struct doc *list = doc_add_list(parent, "numaNodes");
	bool ok = list != NULL;

	for (size_t i = 0; i < row->n_numa && ok; i++) {
		const struct list_numa *numa = &row->numa[i];
		struct doc *map = doc_add_map(list, NULL);

		ok = doc_add_number(map, "id", numa->id) != NULL;
		if (ok && numa->has_cpus)
			ok = doc_add_number(map, "free", numa->free) &&
			     doc_add_number(map, "allocatable", numa->allocatable);
		else if (ok)
			ok = doc_add(map, "free") && doc_add(map, "allocatable");
	}
	return ok;
}

static bool add_devices(struct doc *parent, const struct list_device *devices, size_t n)
{
	struct doc *all = doc_add_map(parent, "devices");
	bool ok = all != NULL;

	for (size_t i = 0; i < n && ok; i++) {
		struct doc *map = doc_add_map(all, devices[i].resource);

		ok = doc_add_number(map, "free", devices[i].free) &&
		     doc_add_number(map, "healthy", devices[i].healthy);
	}
	return ok;
}

static bool add_row(struct doc *list, const struct list_row *row)
{
	const char *policy =
		row->policy == TOPOLOGY_MANAGER_UNKNOWN ? "" : topology_manager_policy_names[row->policy];
	const char *scope =
		row->scope == TOPOLOGY_SCOPE_UNKNOWN ? "" : topology_manager_scope_names[row->scope];
	struct doc *map = doc_add_map(list, NULL), *manager;

	if (!map || !add_text(map, "name", row->name) || !add_text(map, "exporter", row->exporter) ||
		!(row->age_s < 0 ? doc_add(map, "ageSeconds")
				 : doc_add_number(map, "ageSeconds", row->age_s)) ||
		!doc_add_string(map, "basis", cluster_basis_names[row->basis]) ||
		!add_text(map, "reason", row->unknown))
		return false;
	manager = doc_add_map(map, "topologyManager");
	return manager && add_text(manager, "policy", policy) && add_text(manager, "scope", scope) &&
	       add_cpus(map, row->free, row->allocatable, &row->stranded) && add_largest(map, row->largest) &&
	       add_numa(map, row) && add_devices(map, row->devices, row->n_devices);
}

static bool add_totals(struct doc *parent, const struct list_totals *t)
{
	struct doc *map = doc_add_map(parent, "totals");

	return doc_add_number(map, "nodes", (int64_t)t->n_nodes) &&
	       doc_add_number(map, "estimated", (int64_t)t->n_estimated) &&
	       add_cpus(map, t->free, t->allocatable, &t->stranded) && add_largest(map, t->largest) &&
	       add_devices(map, t->devices, t->n_devices);
}

int list_to_doc(const struct list_row *rows, size_t n, const struct list_totals *totals, struct doc *ret)
{
	struct doc d = {.kind = DOC_MAP}, *list = doc_add_list(&d, "nodes");
	bool ok = list != NULL;

	for (size_t i = 0; i < n && ok; i++)
		ok = add_row(list, &rows[i]);
	if (!ok || !add_totals(&d, totals)) {
		doc_release(&d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}
