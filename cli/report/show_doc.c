/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a document of the view of `nrtd show`. */
#include <string.h>

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

static void add_id(struct doc *map, const char *key, int id)
{
	if (id == MACHINE_NONE)
		doc_add(map, key);
	else
		doc_add_number(map, key, id);
}

static void add_amount(struct doc *map, const char *key, qty_t nano)
{
	struct quantity q = {.nano = nano, .format = QUANTITY_DECIMAL_SI};
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	doc_add_string(map, key, text);
}

static void add_node(const struct show_view *v, const struct show_node *node, struct doc *list)
{
	struct doc *map = doc_add_map(list, NULL), *resources;

	add_id(map, "id", node->id);
	doc_add_string(map, "cpus", node->cpu_list);
	resources = doc_add_list(map, "resources");
	for (size_t i = 0; i < v->n_resources; i++) {
		const struct inventory_amount *amount = &node->amounts[i];
		struct doc *resource;

		if (!amount->present)
			continue;
		resource = doc_add_map(resources, NULL);
		doc_add_string(resource, "name", v->resources[i].name);
		add_amount(resource, "capacity", amount->capacity);
		add_amount(resource, "allocatable", amount->allocatable);
		add_amount(resource, "available", amount->available);
	}
}

static void add_device(const struct show_view *v, const struct show_pci *p, struct doc *list)
{
	static const char *const uses[] = {
		[SHOW_USE_UNKNOWN] = NULL, [SHOW_USE_FREE] = "free", [SHOW_USE_HELD] = "held"};
	struct doc *map = doc_add_map(list, NULL);
	char address[PCI_ADDRESS_SIZE];

	pci_address_print(&p->device->address, address);
	doc_add_string(map, "kind", pci_kind_names[p->device->kind]);
	doc_add_string(map, "address", address);
	doc_add_words(map, "names", p->device->names);
	doc_add_bool(map, "virtualFunction", p->device->virtual_function);
	doc_add_string_or_null(map, "resource", p->resource);
	doc_add_string_or_null(map, "use", uses[p->use]);
	doc_add_string_or_null(map, "holder", p->holder >= 0 ? v->holders[p->holder].name : NULL);
}

static void add_roots(const struct show_view *v, struct doc *top)
{
	struct doc *list;

	if (!v->pci_known) {
		doc_add(top, "pcieRoots");
		return;
	}
	list = doc_add_list(top, "pcieRoots");
	for (size_t i = 0; i < v->n_roots; i++) {
		const struct show_root *root = &v->roots[i];
		struct doc *map = doc_add_map(list, NULL), *devices;

		doc_add_string_or_null(map, "root", *root->name ? root->name : NULL);
		add_id(map, "numaNode", root->numa);
		doc_add_string_or_null(map, "cpus", root->node ? root->node->cpu_list : NULL);
		devices = doc_add_list(map, "devices");
		for (size_t k = 0; k < root->n_devices; k++)
			add_device(v, &v->pci[root->first + k], devices);
	}
}

static void add_holders(const struct show_view *v, struct doc *top)
{
	struct doc *list = doc_add_list(top, "holders");

	for (size_t i = 0; i < v->n_holders; i++) {
		struct doc *map = doc_add_map(list, NULL);
		CLEANUP(freep) char *cpus = cpuset_print(v->holders[i].cpus);

		doc_add_string(map, "name", v->holders[i].name);
		doc_add_string(map, "cpus", cpus);
		doc_add_string(map, "holds", v->holders[i].holds);
	}
}

void show_doc(const struct show_view *v, struct doc *ret)
{
	struct doc *list;

	ret->kind = DOC_MAP;
	doc_add_string(ret, "node", v->node_name);
	doc_add_string(ret, "machine", v->machine);
	doc_add_string(ret, "kubelet", v->kubelet);
	doc_add_string_or_null(ret, "reservedCPUs", v->reserved);
	doc_add_string(ret, "offlineCPUs", v->offline);
	list = doc_add_list(ret, "numaNodes");
	for (size_t i = 0; i < v->n_nodes; i++)
		add_node(v, &v->nodes[i], list);
	add_roots(v, ret);
	add_holders(v, ret);
	list = doc_add_list(ret, "notes");
	for (size_t i = 0; i < v->notes->lines.n_items; i++)
		doc_add_string(list, NULL, v->notes->lines.items[i]);
}
