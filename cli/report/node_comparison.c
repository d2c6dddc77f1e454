/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/node_comparison.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/show.h"
#include "cluster/objects/nrt_parse.h"
#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/pod_alignment.h"

#define TEXT_MAX_BYTES (1u << 20) /* of a value */
#define NAMES_MAX      32u        /* nodes that a row of text names */

/* ---- settings */

/* The value of a setting of an object without a node state; NULL = the object does not have it. */
static char *published_setting(const struct cluster_node *node, enum setting what)
{
	const struct setting_row *row = &settings_table[what];
	const char *text = nrt_attribute(node->object, row->name);
	unsigned choice;

	if (row->kind == SETTING_IS_OPTIONS)
		return text ? xstrdup(text) : NULL;
	if (row->kind != SETTING_IS_CHOICE)
		return NULL;
	/* The state has the Topology Manager's settings as nrt_kubelet_topology() reads them. */
	choice = row->manager == MANAGER_TOPOLOGY ? setting_choice(&node->state.settings, what)
						  : nrt_policy(node->object, what);
	/* 0 = unknown */
	return choice > 0 ? xstrdup(row->names[choice]) : NULL;
}

/* Of an object without a node state: only what its attributes contain. */
static void add_published_settings(struct node_facts *f, const struct cluster_node *node)
{
	node_facts_add(f, FACT_SETTING, xstrdup("kubeletRelease"), NULL);
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (settings_table[what].fact)
			node_facts_add(f, FACT_SETTING, xstrdup(settings_table[what].fact),
				published_setting(node, what));
}

void node_comparison_add_settings(struct node_facts *f, const struct cluster_node *node)
{
	text_set(&f->node, node->state.node_name);
	if (node->basis == CLUSTER_EXACT)
		node_facts_add_settings(f, &node->state);
	else
		add_published_settings(f, node);
}

/* ---- topology, and what is free */

static bool is_bytes(const char *resource)
{
	return !strcmp(resource, "memory") || resource_name_is_hugepages(resource);
}

static char *resource_amount(const char *resource, qty_t nano)
{
	char text[SHOW_AMOUNT_SIZE];

	show_amount_text(is_bytes(resource) ? SHOW_BYTES : SHOW_DEVICES, nano, text);
	return xstrdup(text);
}

/* Per NUMA node and resource of the zones: the capacity, or what is available of what is allocatable. */
static void add_amounts(struct node_facts *f, const struct inventory *inv, enum fact_section section)
{
	for (size_t i = 0; i < inv->n_nodes; i++)
		for (size_t k = 0; k < inv->n_resources; k++) {
			const struct inventory_amount *a = inventory_amount(inv, i, k);
			CLEANUP(freep) char *available = resource_amount(inv->resources[k], a->available);
			CLEANUP(freep) char *allocatable = resource_amount(inv->resources[k], a->allocatable);

			if (!a->present)
				continue;
			node_facts_add(f, section,
				xasprintf("%s of NUMA node %u", inv->resources[k], inv->nodes[i].id),
				section == FACT_FREE ? xasprintf("%s of %s", available, allocatable)
						     : resource_amount(inv->resources[k], a->capacity));
		}
}

static void add_machine(struct node_facts *f, const struct machine *m)
{
	static const char *const names[] = {"sockets", "NUMA nodes", "cores", "CPUs"};
	const size_t counts[] = {m->n_sockets, m->n_nodes, m->n_cores, m->n_cpus};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		node_facts_add(f, FACT_TOPOLOGY, xstrdup(names[i]), xasprintf("%zu", counts[i]));
	for (size_t i = 0; i < m->n_nodes; i++)
		node_facts_add(f, FACT_TOPOLOGY, xasprintf("CPUs of NUMA node %u", m->nodes[i].id),
			cpuset_print(m->nodes[i].cpus));
}

/* "10 21" for a NUMA node, as the firmware reports them. */
static void add_distances(struct node_facts *f, const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_nodes; i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX_BYTES);

		for (size_t k = 0; k < inv->n_nodes; k++)
			if (inv->costs[i * inv->n_nodes + k] == INVENTORY_COST_UNKNOWN)
				strbuf_addstr(&out, k > 0 ? " ?" : "?");
			else
				strbuf_addf(&out, "%s%u", k > 0 ? " " : "", inv->costs[i * inv->n_nodes + k]);
		node_facts_add(f, FACT_TOPOLOGY, xasprintf("distances of NUMA node %u", inv->nodes[i].id),
			strbuf_detach(&out));
	}
}

/* ---- PCI devices */

/* "NUMA node 0, pci0000:16" */
static char *pci_place(const struct pci_device *d)
{
	char root[PCI_ROOT_SIZE] = "root unknown";

	if (d->root_known)
		pci_root_print(&d->root, root);
	return d->numa == MACHINE_NONE ? xasprintf("NUMA node unknown, %s", root)
				       : xasprintf("NUMA node %d, %s", d->numa, root);
}

static int by_root(const void *va, const void *vb)
{
	const struct pci_device *a = *(const struct pci_device *const *)va;
	const struct pci_device *b = *(const struct pci_device *const *)vb;

	if (!a->root_known || !b->root_known)
		return b->root_known - a->root_known;
	return pci_root_compare(&a->root, &b->root);
}

/* Per root the number of virtual functions. A node state only has those of plugins and claims. */
static void add_virtual_functions(struct node_facts *f, const struct pci_device **functions, size_t n)
{
	if (n > 1)
		qsort(functions, n, sizeof(*functions), by_root);
	for (size_t first = 0, end; first < n; first = end) {
		char root[PCI_ROOT_SIZE] = "unknown root";

		if (functions[first]->root_known)
			pci_root_print(&functions[first]->root, root);
		for (end = first + 1; end < n && by_root(&functions[first], &functions[end]) == 0; end++)
			;
		node_facts_add(f, FACT_DEVICE, xasprintf("virtual functions of %s", root),
			xasprintf("%zu", end - first));
	}
}

/* Per device its NUMA node and PCIe root. Names such as eth0 depend on the order in which drivers start, and are omitted. */
static void add_pci_devices(struct node_facts *f, const struct machine *m)
{
	CLEANUP(freep)
	const struct pci_device **functions = xcalloc(m->pci.n_items + 1, sizeof(*functions));
	char address[PCI_ADDRESS_SIZE];
	size_t n_functions = 0;

	for (size_t i = 0; i < m->pci.n_items; i++) {
		const struct pci_device *d = &m->pci.items[i];

		if (d->virtual_function) {
			functions[n_functions++] = d;
			continue;
		}
		pci_address_print(&d->address, address);
		node_facts_add(
			f, FACT_DEVICE, xasprintf("%s %s", pci_kind_names[d->kind], address), pci_place(d));
	}
	add_virtual_functions(f, functions, n_functions);
	f->devices_known = m->pci_known;
	node_facts_add(f, FACT_TOPOLOGY, xstrdup("PCI devices"),
		m->pci_known ? xasprintf("%zu", m->pci.n_items - n_functions) : NULL);
}

void node_comparison_add_rest(struct node_facts *f, const struct cluster_node *node)
{
	CLEANUP(pod_alignments_release) struct pod_alignments pods = {0};
	const struct inventory *inv = &node->state.inventory;
	bool exact = node->basis == CLUSTER_EXACT;

	if (exact)
		add_machine(f, &node->state.machine);
	add_amounts(f, inv, FACT_TOPOLOGY);
	add_distances(f, inv);
	add_pci_devices(f, &node->state.machine);
	add_amounts(f, inv, FACT_FREE);
	if (exact)
		pod_alignments_find(&node->state, &pods);
	node_facts_add(f, FACT_FREE, xstrdup("pods with exclusive resources"),
		exact ? xasprintf("%zu", pods.n_items) : NULL);
}

/* ---- the settings of many nodes */

/* Nodes with one value of a setting. */
struct group {
	const char *value;
	struct strv nodes;
};

struct groups {
	struct group *items;
	size_t n_items, items_size;
};

static void groups_release(struct groups *g)
{
	for (size_t i = 0; i < g->n_items; i++)
		strv_release(&g->items[i].nodes);
	free(g->items);
}

static int compare_groups(const void *va, const void *vb)
{
	const struct group *a = va, *b = vb;

	if (a->nodes.n_items != b->nodes.n_items)
		return a->nodes.n_items > b->nodes.n_items ? -1 : 1;
	return text_compare_numbered(a->value, b->value);
}

static void find_groups(const struct node_facts *nodes, size_t n, size_t setting, struct groups *ret)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = fact_text(&nodes[i].items[setting]);
		size_t k = 0;

		while (k < ret->n_items && strcmp(ret->items[k].value, value) != 0)
			k++;
		if (k == ret->n_items)
			*(struct group *)vec_push(&ret->items, &ret->n_items, &ret->items_size,
				sizeof(*ret->items)) = (struct group){.value = value};
		strv_push(&ret->items[k].nodes, nodes[i].node);
	}
	if (ret->n_items > 1)
		qsort(ret->items, ret->n_items, sizeof(*ret->items), compare_groups);
}

/* Which nodes have the value: "all", "the others" for the most frequent value, or the first names. */
static void write_nodes(struct writer *w, const struct groups *g, size_t at)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX_BYTES);
	const struct strv *nodes = &g->items[at].nodes;
	size_t max = w->format == WRITER_WIDE ? SIZE_MAX : NAMES_MAX;

	if (g->n_items == 1 || (at == 0 && nodes->n_items > 1)) {
		writer_cell(w, "WHICH", "%s", g->n_items == 1 ? "all" : "the others");
		return;
	}
	strbuf_add_list(&out, nodes, max);
	if (nodes->n_items > max)
		strbuf_addstr(&out, " (-o wide names all)");
	writer_cell(w, "WHICH", "%s", out.text);
}

static void write_setting(struct writer *w, const char *name, const struct groups *g)
{
	if (writer_is_doc(w))
		writer_map(w, NULL);
	writer_string(w, "name", NULL, name);
	writer_list(w, "values");
	for (size_t i = 0; i < g->n_items; i++) {
		writer_row(w);
		writer_cell(w, "SETTING", "%s", name);
		writer_string(w, "value", "VALUE", g->items[i].value);
		writer_cell(w, "NODES", "%zu", g->items[i].nodes.n_items);
		write_nodes(w, g, i);
		writer_strings(w, "nodes", &g->items[i].nodes);
		writer_end(w);
	}
	writer_end(w);
	writer_end(w);
}

static int by_node(const void *a, const void *b)
{
	return text_compare_numbered(
		((const struct node_facts *)a)->node, ((const struct node_facts *)b)->node);
}

size_t node_comparison_write_settings(
	struct writer *w, const struct node_facts *nodes, size_t n, bool only_different)
{
	static const struct column columns[] = {
		COLUMN("SETTING"), COLUMN("VALUE"), COLUMN("NODES"), COLUMN("WHICH")};
	CLEANUP(freep) struct node_facts *sorted = xcalloc(n + 1, sizeof(*sorted));
	size_t different = 0;

	if (n > 0)
		memcpy(sorted, nodes, n * sizeof(*sorted));
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), by_node);
	writer_number(w, "nodes", NULL, true, (int64_t)n);
	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "settings");
	for (size_t i = 0; n > 0 && i < sorted[0].n_items; i++) {
		CLEANUP(groups_release) struct groups g = {0};

		find_groups(sorted, n, i, &g);
		different += g.n_items > 1;
		if (g.n_items > 1 || !only_different)
			write_setting(w, sorted[0].items[i].name, &g);
	}
	writer_end(w);
	writer_number(w, "different", NULL, true, (int64_t)different);
	if (writer_is_doc(w))
		return different;
	writer_table(w);
	if (w->headings && different == 0)
		strbuf_addf(w->out, "\n%zu node%s: all settings are equal\n", n, n == 1 ? "" : "s");
	else if (w->headings)
		strbuf_addf(w->out, "\n%zu nodes: %zu setting%s differ%s\n", n, different,
			different == 1 ? "" : "s", different == 1 ? "s" : "");
	return different;
}

/* ---- two nodes */

/* Returns whether the values differ. One of `a` and `b` may be NULL: the node has no such value. */
static bool write_pair(
	struct writer *w, const struct node_facts nodes[2], const struct fact *a, const struct fact *b)
{
	const struct fact *any = a ? a : b;
	bool equal = a && b && !strcmp(fact_text(a), fact_text(b));

	if (equal && !writer_is_doc(w) && w->format != WRITER_WIDE)
		return false;
	writer_row(w);
	writer_string(w, "section", "ABOUT", fact_section_names[any->section]);
	writer_string(w, "name", "WHAT", any->name);
	writer_list(w, "values");
	writer_text(w, NULL, nodes[0].node, a ? fact_text(a) : "");
	writer_text(w, NULL, nodes[1].node, b ? fact_text(b) : "");
	writer_end(w);
	writer_bool(w, "equal", true, equal);
	writer_end(w);
	return !equal;
}

static size_t write_section(struct writer *w, const struct node_facts nodes[2], enum fact_section section)
{
	size_t different = 0;

	for (size_t i = 0; i < nodes[0].n_items; i++)
		if (nodes[0].items[i].section == section)
			different += write_pair(w, nodes, &nodes[0].items[i],
				node_facts_find(&nodes[1], section, nodes[0].items[i].name));
	for (size_t i = 0; i < nodes[1].n_items; i++)
		if (nodes[1].items[i].section == section &&
			!node_facts_find(&nodes[0], section, nodes[1].items[i].name))
			different += write_pair(w, nodes, NULL, &nodes[1].items[i]);
	return different;
}

size_t node_comparison_write_diff(struct writer *w, const struct node_facts nodes[2], unsigned ignored)
{
	const struct column columns[] = {
		COLUMN("ABOUT"), COLUMN("WHAT"), COLUMN(nodes[0].node), COLUMN(nodes[1].node)};
	size_t different = 0;

	writer_list(w, "nodes");
	writer_string(w, NULL, NULL, nodes[0].node);
	writer_string(w, NULL, NULL, nodes[1].node);
	writer_end(w);
	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "facts");
	for (enum fact_section s = 0; s < FACT_SECTION_COUNT; s++)
		if (!(ignored >> s & 1) &&
			(s != FACT_DEVICE || (nodes[0].devices_known && nodes[1].devices_known)))
			different += write_section(w, nodes, s);
	writer_end(w);
	writer_number(w, "different", NULL, true, (int64_t)different);
	if (writer_is_doc(w))
		return different;
	if (w->table.cells.n_items > 0)
		writer_table(w);
	if (w->headings && different == 0)
		strbuf_addstr(w->out, w->table.cells.n_items > 0 ? "\nno difference\n" : "no difference\n");
	else if (w->headings)
		strbuf_addf(w->out, "\n%zu difference%s\n", different, different == 1 ? "" : "s");
	writer_columns(w, NULL, 0); /* the columns end with this function */
	return different;
}
