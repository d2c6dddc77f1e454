/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/devices_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/xalloc.h"

static void row_release(struct devices_row *row)
{
	free(row->node);
	free(row->numa);
	free(row->root);
	free(row->resource);
	strv_release(&row->addresses);
	strv_release(&row->names);
}

void devices_report_release(struct devices_report *r)
{
	for (size_t i = 0; i < r->n_rows; i++)
		row_release(&r->rows[i]);
	free(r->rows);
	strv_release(&r->without_devices);
	strv_release(&r->without_object);
	*r = (struct devices_report){0};
}

/* ---- the rows of one node */

/* The node whose devices are added. */
struct addition {
	struct devices_report *report;
	const struct node_state *state;
	const char *node;
	size_t first;                 /* of the node's rows */
	struct device_index held;     /* by containers */
	bool *of_plugins, *of_claims; /* per PCI device of the machine */
};

/* Whole CPUs that are free on a NUMA node; unknown for a list of several. */
static struct column_number free_cpus(const struct inventory *inv, const char *numa)
{
	int cpu = inventory_resource(inv, "cpu");
	char *end;
	unsigned long id = strtoul(numa, &end, 10);

	for (size_t i = 0; cpu >= 0 && *numa && !*end && i < inv->n_nodes; i++) {
		const struct inventory_amount *a = inventory_amount(inv, i, (size_t)cpu);

		if (inv->nodes[i].id == id && a->present)
			return (struct column_number){true, qty_whole_units(a->available)};
	}
	return (struct column_number){false, 0};
}

/* Takes `numa`. */
static struct devices_row *add_row(
	struct addition *a, char *numa, const char *root, const char *kind, const char *resource)
{
	struct devices_report *r = a->report;
	struct devices_row *row = vec_push(&r->rows, &r->n_rows, &r->rows_size, sizeof(*row));

	*row = (struct devices_row){.node = xstrdup(a->node),
		.numa = numa,
		.root = xstrdup(root),
		.kind = kind,
		.resource = xstrdup(resource),
		.free_cpus = free_cpus(&a->state->inventory, numa)};
	return row;
}

/* The row of the devices that equal `d` (NULL = the PCI device is unknown) and have this resource ("" = of no plugin). Takes `numa`. */
static struct devices_row *find_or_add_row(
	struct addition *a, char *numa, const struct pci_device *d, const char *resource)
{
	struct devices_report *r = a->report;
	CLEANUP(freep) char *nodes = numa;
	char root[PCI_ROOT_SIZE] = "";
	const char *kind = "";

	if (d)
		kind = d->virtual_function ? "virtual function" : pci_kind_names[d->kind];
	if (d && d->root_known)
		pci_root_print(&d->root, root);
	for (size_t i = a->first; i < r->n_rows; i++) {
		struct devices_row *row = &r->rows[i];

		if (!strcmp(row->numa, nodes) && !strcmp(row->root, root) && !strcmp(row->kind, kind) &&
			!strcmp(row->resource, resource))
			return row;
	}
	return add_row(a, TAKE(nodes), root, kind, resource);
}

static char *pci_numa(const struct pci_device *d)
{
	return d && d->numa != MACHINE_NONE ? xasprintf("%d", d->numa) : xstrdup("");
}

static void add_device_to_row(struct devices_row *row, const struct pci_device *d)
{
	char address[PCI_ADDRESS_SIZE];
	const char *names;

	row->n_devices++;
	if (!d)
		return;
	pci_address_print(&d->address, address);
	strv_push_new(&row->addresses, address);
	names = text_or_empty(d->names);
	while (*names) {
		CLEANUP(freep) char *name = xstrndup(names, strcspn(names, " "));

		strv_push_new(&row->names, name);
		names += strlen(name);
		names += strspn(names, " ");
	}
}

static void add_plugin_device(struct addition *a, const struct device_ref *ref)
{
	const struct node_state *s = a->state;
	const char *resource = ref->block->resource;
	const struct pci_address *address = device_addresses_find(&s->device_addresses, resource, ref->id);
	const struct pci_device *d = address ? pci_devices_find(&s->machine.pci, address) : NULL;
	struct devices_row *row = find_or_add_row(a,
		hwloc_bitmap_iszero(ref->block->nodes) ? pci_numa(d) : cpuset_print(ref->block->nodes), d,
		resource);

	add_device_to_row(row, d);
	row->free.known = s->allocations.devices_known;
	row->free.n += !device_index_find(&a->held, resource, ref->id);
	if (d)
		a->of_plugins[d - s->machine.pci.items] = true;
}

static void mark_claimed(struct addition *a)
{
	const struct pci_devices *all = &a->state->machine.pci;
	const struct claims *claims = &a->state->claims;

	for (size_t i = 0; i < claims->n_items; i++)
		for (size_t k = 0; k < claims->items[i].n_addresses; k++) {
			const struct pci_device *d = pci_devices_find(all, &claims->items[i].addresses[k]);

			if (d)
				a->of_claims[d - all->items] = true;
		}
}

/* Devices that no plugin has. Virtual functions among them only if a claim has them: a node state has no others. */
static void add_pci_devices(struct addition *a)
{
	const struct pci_devices *all = &a->state->machine.pci;

	for (size_t i = 0; i < all->n_items; i++) {
		const struct pci_device *d = &all->items[i];
		struct devices_row *row;

		if (a->of_plugins[i] || (d->virtual_function && !a->of_claims[i]))
			continue;
		row = find_or_add_row(a, pci_numa(d), d, "");
		add_device_to_row(row, d);
		row->n_claimed += a->of_claims[i];
	}
}

static void add_exact(struct addition *a)
{
	const struct allocations *allocations = &a->state->allocations;
	size_t n_pci = a->state->machine.pci.n_items;
	CLEANUP(device_index_release) struct device_index registered = {0};
	CLEANUP(freep) bool *of_plugins = xcalloc(n_pci + 1, sizeof(bool));
	CLEANUP(freep) bool *of_claims = xcalloc(n_pci + 1, sizeof(bool));

	a->of_plugins = of_plugins;
	a->of_claims = of_claims;
	device_index_registered(allocations, &registered);
	device_index_held(allocations, &a->held);
	for (size_t i = 0; i < registered.n_items; i++)
		add_plugin_device(a, &registered.items[i]);
	mark_claimed(a);
	add_pci_devices(a);
	device_index_release(&a->held);
}

/* The numbers of the zones: a row for each resource of each NUMA node. */
static void add_zones(struct addition *a)
{
	const struct inventory *inv = &a->state->inventory;

	for (size_t i = 0; i < inv->n_nodes; i++)
		for (size_t k = 0; k < inv->n_resources; k++) {
			const struct inventory_amount *amount = inventory_amount(inv, i, k);
			struct devices_row *row;

			if (!amount->present || amount->allocatable == 0 ||
				resource_name_is_native(inv->resources[k]))
				continue;
			row = add_row(a, xasprintf("%u", inv->nodes[i].id), "", "", inv->resources[k]);
			row->n_devices = qty_whole_units(amount->allocatable);
			row->free = (struct column_number){true, qty_whole_units(amount->available)};
		}
}

void devices_report_add(struct devices_report *r, const struct cluster_node *node)
{
	struct addition a = {
		.report = r, .state = &node->state, .node = node->state.node_name, .first = r->n_rows};

	if (node->basis == CLUSTER_EXACT)
		add_exact(&a);
	else
		add_zones(&a);
	if (r->n_rows == a.first)
		strv_push(&r->without_devices, a.node);
}

static int compare_rows(const void *va, const void *vb)
{
	const struct devices_row *a = va, *b = vb;
	const char *const texts[][2] = {{a->node, b->node}, {a->numa, b->numa}, {a->root, b->root},
		{a->kind, b->kind}, {a->resource, b->resource}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = text_compare_empty_last(texts[i][0], texts[i][1]);
	return r;
}

void devices_report_sort(struct devices_report *r)
{
	if (r->n_rows > 1)
		qsort(r->rows, r->n_rows, sizeof(*r->rows), compare_rows);
	strv_sort_numbered(&r->without_devices);
}

/* ---- the output */

static struct column_value text_value(const char *text)
{
	return (struct column_value){*text, text, 0};
}

static struct column_value root_value(const void *data)
{
	return text_value(((const struct devices_row *)data)->root);
}

static struct column_value kind_value(const void *data)
{
	return text_value(((const struct devices_row *)data)->kind);
}

static struct column_value count_value(const void *data)
{
	return (struct column_value){true, NULL, (int64_t)((const struct devices_row *)data)->n_devices};
}

static struct column_value claimed_value(const void *data)
{
	return (struct column_value){true, NULL, (int64_t)((const struct devices_row *)data)->n_claimed};
}

static void free_cell(const struct table_cell *cell, struct strbuf *out)
{
	const struct devices_row *row = cell->row;

	if (row->free.known)
		strbuf_addf(out, "%zu/%zu", row->free.n, row->n_devices);
	else
		strbuf_addf(out, "-/%zu", row->n_devices);
}

static void addresses_cell(const struct table_cell *cell, struct strbuf *out)
{
	strbuf_add_list(out, &((const struct devices_row *)cell->row)->addresses, SIZE_MAX);
}

static void names_cell(const struct table_cell *cell, struct strbuf *out)
{
	strbuf_add_list(out, &((const struct devices_row *)cell->row)->names, SIZE_MAX);
}

static void numa_member(struct writer *w, const char *key, const void *data)
{
	const struct devices_row *row = data;
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = NULL;

	if (!*row->numa || cpuset_parse(row->numa, &ids, NULL) < 0) {
		writer_null(w, key);
		return;
	}
	writer_list(w, key);
	for (int id = hwloc_bitmap_first(ids); id >= 0; id = hwloc_bitmap_next(ids, id))
		writer_number(w, NULL, NULL, true, id);
	writer_end(w);
}

static void addresses_member(struct writer *w, const char *key, const void *data)
{
	writer_strings(w, key, &((const struct devices_row *)data)->addresses);
}

static void names_member(struct writer *w, const char *key, const void *data)
{
	writer_strings(w, key, &((const struct devices_row *)data)->names);
}

#define STRING(field) .type = COLUMN_STRING, .offset = offsetof(struct devices_row, field)
#define NUMBER(field) .type = COLUMN_NUMBER, .offset = offsetof(struct devices_row, field)

static const struct column columns[] = {
	{"NODE", "node", 1, STRING(node)},
	{"NUMA", "numaNodes", 2, STRING(numa), .member = numa_member},
	{"FREE CPUS", "freeCPUs", 9, NUMBER(free_cpus), .rank = 2},
	{"PCIE ROOT", "pcieRoot", 3, .value = root_value},
	{"DEVICE", "kind", 4, .value = kind_value},
	{"FREE", .cell = free_cell},
	{"RESOURCE", "resource", 5, STRING(resource), .rank = 3},
	{"CLAIMED", "claimed", 8, .value = claimed_value, .in = TABLE_WIDE},
	{"NAMES", "names", 11, .cell = names_cell, .member = names_member, .in = TABLE_WIDE},
	{"ADDRESSES", "addresses", 10, .cell = addresses_cell, .member = addresses_member, .in = TABLE_WIDE},
	{NULL, "count", 6, .value = count_value},
	{NULL, "free", 7, NUMBER(free)},
};

static void write_names(struct writer *w, const struct devices_report *r)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (i == 0 || strcmp(r->rows[i - 1].node, r->rows[i].node) != 0)
			writer_name(w, "node", r->rows[i].node);
}

/* "no devices are known of 2 nodes: node-1, node-2" */
static void add_without_devices(struct writer *w, const struct strv *nodes)
{
	if (nodes->n_items == 0)
		return;
	strbuf_addf(
		w->out, "no devices are known of %zu node%s", nodes->n_items, nodes->n_items == 1 ? "" : "s");
	if (w->format == WRITER_WIDE) {
		strbuf_addstr(w->out, ": ");
		strbuf_add_list(w->out, nodes, SIZE_MAX);
	}
	strbuf_addch(w->out, '\n');
}

void devices_report_write(struct writer *w, const struct devices_report *r)
{
	CLEANUP(table_release) struct table t = {0};
	size_t n_nodes = 0;

	if (w->format == WRITER_NAME) {
		write_names(w, r);
		return;
	}
	table_begin(&t, w->format == WRITER_WIDE ? TABLE_WIDE : TABLE_TEXT, columns, ARRAY_SIZE(columns));
	writer_list(w, "devices");
	for (size_t i = 0; i < r->n_rows; i++) {
		writer_map(w, NULL);
		writer_members(w, columns, ARRAY_SIZE(columns), &r->rows[i], false);
		writer_end(w);
		table_add_row(&t, &r->rows[i], false);
		n_nodes += i == 0 || strcmp(r->rows[i - 1].node, r->rows[i].node) != 0;
	}
	writer_end(w);
	writer_strings(w, "withoutDevices", &r->without_devices);
	if (writer_is_doc(w)) {
		writer_without_object(w, &r->without_object);
		return;
	}
	if (r->n_rows > 0)
		table_print(&t, w->headings, w->width, w->out);
	if (!w->headings)
		return;
	if (r->n_rows > 0)
		strbuf_addf(w->out, "\n%zu node%s with devices\n", n_nodes, n_nodes == 1 ? "" : "s");
	add_without_devices(w, &r->without_devices);
	writer_without_object(w, &r->without_object);
}
