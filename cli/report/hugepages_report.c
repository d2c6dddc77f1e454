/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/hugepages_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"

#define NAMED_NODES 8u /* in a row of text */

/* Nodes with the same pages and the same problem. */
struct group {
	const struct hugepages *pages; /* of the first node */
	struct strv nodes;
	uint64_t reserved, assigned, requested;
	bool requested_known;
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

void hugepages_report_release(struct hugepages_report *r)
{
	for (size_t i = 0; i < r->n_items; i++) {
		free(r->items[i].node);
		hugepages_list_release(&r->items[i].list);
	}
	free(r->items);
}

bool hugepages_report_add(struct hugepages_report *r, const struct node_state *state)
{
	struct node_hugepages *n = vec_push(&r->items, &r->n_items, &r->items_size, sizeof(*n));

	text_set(&n->node, state->node_name);
	hugepages_find(state, &n->list);
	return n->list.n_items > 0;
}

static struct group *find_or_add_group(struct groups *g, const struct hugepages *h)
{
	struct group *new;

	for (size_t i = 0; i < g->n_items; i++) {
		const struct hugepages *p = g->items[i].pages;

		if (!strcmp(p->name, h->name) && p->problem == h->problem && !strcmp(p->where, h->where))
			return &g->items[i];
	}
	new = vec_push(&g->items, &g->n_items, &g->items_size, sizeof(*new));
	*new = (struct group){.pages = h, .requested_known = true};
	return new;
}

static void add_node(struct groups *g, const struct node_hugepages *n, const struct cluster *cluster)
{
	const struct node_info *node = cluster ? cluster_find_node(cluster, n->node) : NULL;

	for (size_t i = 0; i < n->list.n_items; i++) {
		const struct hugepages *h = &n->list.items[i];
		struct group *group = find_or_add_group(g, h);
		const struct resource_quantity *q =
			node ? resource_list_find(&node->requested, h->name) : NULL;

		strv_push(&group->nodes, n->node);
		group->reserved += h->reserved;
		group->assigned += h->assigned;
		group->requested += q ? (uint64_t)(q->quantity.nano / QTY_UNIT) : 0;
		group->requested_known = group->requested_known && node && node->has_node;
	}
}

static int compare_groups(const void *va, const void *vb)
{
	const struct group *a = va, *b = vb;
	int r = strcmp(a->pages->name, b->pages->name);

	if (r != 0)
		return r;
	if (a->pages->problem != b->pages->problem)
		return a->pages->problem > b->pages->problem ? -1 : 1;
	return strcmp(a->pages->where, b->pages->where);
}

static void write_amount(struct writer *w, const char *key, const char *heading, bool known, uint64_t bytes)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print((struct quantity){(qty_t)bytes * QTY_UNIT, QUANTITY_BINARY_SI}, text);
	writer_number(w, key, NULL, known, (int64_t)bytes);
	writer_cell(w, heading, "%s", known ? text : "?");
}

static void write_which(struct writer *w, const struct strv *nodes)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);

	strbuf_add_list(&out, nodes, w->format == WRITER_WIDE ? SIZE_MAX : NAMED_NODES);
	writer_cell(w, "NODES", "%s", out.text);
}

static void write_group(struct writer *w, const struct group *g)
{
	static const char *const words[HUGEPAGES_PROBLEM_COUNT] = {[HUGEPAGES_FINE] = "aligned",
		[HUGEPAGES_NO_POLICY] = "no policy",
		[HUGEPAGES_UNKNOWN] = "?",
		[HUGEPAGES_ONE_NODE] = "one NUMA node",
		[HUGEPAGES_UNALIGNED] = "not aligned",
		[HUGEPAGES_UNCOUNTED] = "not counted"};
	const struct hugepages *h = g->pages;
	bool known = h->problem != HUGEPAGES_UNKNOWN;

	writer_row(w);
	writer_string(w, "name", "HUGEPAGES", h->name);
	writer_string(w, "allocated", "PER NODE", h->where);
	write_which(w, &g->nodes);
	writer_strings(w, "nodes", &g->nodes);
	write_amount(w, "reservedBytes", "RESERVED", true, g->reserved);
	write_amount(w, "requestedBytes", "REQUESTED", g->requested_known, g->requested);
	writer_number(w, "assignedBytes", NULL, true, (int64_t)g->assigned);
	writer_bool(w, "aligned", known, h->problem == HUGEPAGES_FINE);
	writer_string(w, "text", NULL, hugepages_problem_texts[h->problem]);
	writer_cell(w, "VERDICT", "%s", words[h->problem]);
	writer_text(w, "remedy", NULL, hugepages_remedies[h->problem]);
	writer_end(w);
}

static void write_remedies(struct writer *w, const struct groups *g)
{
	bool said[HUGEPAGES_PROBLEM_COUNT] = {false};

	for (size_t i = 0; i < g->n_items; i++) {
		enum hugepages_problem problem = g->items[i].pages->problem;

		if (said[problem] || !*hugepages_remedies[problem])
			continue;
		said[problem] = true;
		strbuf_addf(w->out, "%s: %s\n  remedy: %s\n", g->items[i].pages->name,
			hugepages_problem_texts[problem], hugepages_remedies[problem]);
	}
}

void hugepages_report_write(struct writer *w, const struct hugepages_report *r, const struct cluster *cluster)
{
	static const struct column columns[] = {COLUMN("HUGEPAGES"), COLUMN("VERDICT"),
		COLUMN("RESERVED", .rank = 1), COLUMN("REQUESTED"), COLUMN("NODES"), COLUMN("PER NODE")};
	CLEANUP(groups_release) struct groups g = {0};

	for (size_t i = 0; i < r->n_items; i++)
		add_node(&g, &r->items[i], cluster);
	if (g.n_items > 1)
		qsort(g.items, g.n_items, sizeof(*g.items), compare_groups);
	writer_columns(w, columns, ARRAY_SIZE(columns));
	writer_list(w, "hugepages");
	for (size_t i = 0; i < g.n_items; i++)
		write_group(w, &g.items[i]);
	writer_end(w);
	if (writer_is_doc(w) || g.n_items == 0)
		return;
	strbuf_addch(w->out, '\n');
	writer_table(w);
	if (w->headings)
		write_remedies(w, &g);
}
