/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/list_doc.h"

#include <errno.h>

static void add_text(struct doc *map, const char *key, const char *text)
{
	if (*text)
		doc_add_string(map, key, text);
	else
		doc_add(map, key);
}

static void add_number(struct doc *parent, const char *key, const struct list_number *n)
{
	if (n->known)
		doc_add_number(parent, key, (int64_t)n->n);
	else
		doc_add(parent, key);
}

static void add_cpus(struct doc *parent, size_t free, size_t allocatable, const struct list_number *stranded)
{
	struct doc *map = doc_add_map(parent, "cpus");

	doc_add_number(map, "free", (int64_t)free);
	doc_add_number(map, "allocatable", (int64_t)allocatable);
	add_number(map, "stranded", stranded);
}

static void add_largest(struct doc *parent, const struct list_number largest[LIST_LARGEST])
{
	struct doc *list = doc_add_list(parent, "largestPods");

	for (size_t i = 0; i < LIST_LARGEST; i++)
		add_number(list, NULL, &largest[i]);
}

static void add_numa(struct doc *parent, const struct list_row *row)
{
	struct doc *list = doc_add_list(parent, "numaNodes");

	for (size_t i = 0; i < row->n_numa; i++) {
		const struct list_numa *numa = &row->numa[i];
		struct doc *map = doc_add_map(list, NULL);

		doc_add_number(map, "id", numa->id);
		if (numa->has_cpus) {
			doc_add_number(map, "free", numa->free);
			doc_add_number(map, "allocatable", numa->allocatable);
		} else {
			doc_add(map, "free");
			doc_add(map, "allocatable");
		}
	}
}

static void add_devices(struct doc *parent, const struct list_device *devices, size_t n)
{
	struct doc *all = doc_add_map(parent, "devices");

	for (size_t i = 0; i < n; i++) {
		struct doc *map = doc_add_map(all, devices[i].resource);

		doc_add_number(map, "free", devices[i].free);
		doc_add_number(map, "healthy", devices[i].healthy);
	}
}

static void add_row(struct doc *list, const struct list_row *row)
{
	const char *policy =
		row->policy == TOPOLOGY_MANAGER_UNKNOWN ? "" : topology_manager_policy_names[row->policy];
	const char *scope =
		row->scope == TOPOLOGY_SCOPE_UNKNOWN ? "" : topology_manager_scope_names[row->scope];
	struct doc *map = doc_add_map(list, NULL), *manager;

	add_text(map, "name", row->name);
	add_text(map, "exporter", row->exporter);
	if (row->age_s < 0)
		doc_add(map, "ageSeconds");
	else
		doc_add_number(map, "ageSeconds", row->age_s);
	doc_add_string(map, "basis", cluster_basis_names[row->basis]);
	add_text(map, "reason", row->unknown);
	manager = doc_add_map(map, "topologyManager");
	add_text(manager, "policy", policy);
	add_text(manager, "scope", scope);
	add_cpus(map, row->free, row->allocatable, &row->stranded);
	add_largest(map, row->largest);
	add_numa(map, row);
	add_devices(map, row->devices, row->n_devices);
}

static void add_totals(struct doc *parent, const struct list_totals *t)
{
	struct doc *map = doc_add_map(parent, "totals");

	doc_add_number(map, "nodes", (int64_t)t->n_nodes);
	doc_add_number(map, "estimated", (int64_t)t->n_estimated);
	add_cpus(map, t->free, t->allocatable, &t->stranded);
	add_largest(map, t->largest);
	add_devices(map, t->devices, t->n_devices);
}

void list_to_doc(const struct list_row *rows, size_t n, const struct list_totals *totals, struct doc *ret)
{
	struct doc d = {.kind = DOC_MAP}, *list = doc_add_list(&d, "nodes");

	for (size_t i = 0; i < n; i++)
		add_row(list, &rows[i]);
	add_totals(&d, totals);
	*ret = d;
}
