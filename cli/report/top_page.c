/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/top_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/html.h"
#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define LINE_MAX_BYTES 4096
#define NAME_MAX_BYTES 1024 /* of the cluster, and of the file */
#define OPEN_MAX       16   /* nodes whose pictures are shown at once */

/* ---- details */

static void fill_spans(struct top_details *d, const struct node_state *state)
{
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	pod_alignments_find(state, &all);
	for (size_t i = 0; i < all.n_items; i++) {
		const struct pod_alignment *p = &all.items[i];
		CLEANUP(freep) char *nodes = cpuset_print(p->cpu_nodes);
		size_t n_cpus = cpuset_size(p->cpus);

		if (p->alignment == ALIGNMENT_ALIGNED || p->alignment == ALIGNMENT_UNKNOWN)
			continue;
		*(struct top_span *)vec_push(&d->spans, &d->n_spans, &d->spans_size, sizeof(*d->spans)) =
			(struct top_span){
				.pod = xasprintf("%s%s%s", p->namespace, *p->namespace ? "/" : "", p->name),
				.cpus = n_cpus > 0 ? xasprintf("%zu on NUMA node%s %s", n_cpus,
							     cpuset_size(p->cpu_nodes) > 1 ? "s" : "", nodes)
						   : xstrdup(""),
				.alignment = p->alignment,
				.reason = xstrdup(p->reason.text)};
	}
}

void top_details_fill(
	struct top_details *d, const struct node_state *state, const struct notes *notes, bool picture)
{
	CLEANUP(show_view_release) struct show_view view;
	CLEANUP(strbuf_release) struct strbuf svg = STRBUF_INIT(TOP_PICTURES_MAX);

	show_view_init(&view);
	show_view(state, notes, &view);
	fill_spans(d, state);
	if (picture && show_svg_inline(&view, SHOW_SVG_WIDTH, &svg) < 0)
		strbuf_reset(&svg);
	text_set(&d->picture, svg.text);
}

/* ---- the page */

static bool is_marked(const struct top_row *row)
{
	return (row->stranded.known && row->stranded.n > 0) || row->details->n_spans > 0;
}

static void add_summary(size_t spans, const struct top_totals *t, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LINE_MAX_BYTES);

	strbuf_addf(&text, "%zu node%s, %zu of %zu CPUs free", t->n_nodes, t->n_nodes == 1 ? "" : "s",
		t->sum.free, t->sum.allocatable);
	if (t->sum.stranded.known)
		strbuf_addf(&text, ", %zu of them stranded", t->sum.stranded.n);
	if (t->sum.largest[0].known)
		strbuf_addf(&text, "; the largest additional pod on one NUMA node has %zu CPUs",
			t->sum.largest[0].n);
	strbuf_addf(
		&text, "; %zu pod%s %s not aligned", spans, spans == 1 ? "" : "s", spans == 1 ? "is" : "are");
	html_text(out, "p", NULL, text.text);
}

/* ---- pools */

/* The rows of one pool, which are adjacent. */
struct page_group {
	const struct top_row *rows;
	size_t n, first; /* first: index of the first row among all rows */
};

/* Moves to the next group; starts with a zeroed one. False after the last. */
static bool page_next_group(struct page_group *g, const struct top_row *rows, size_t n)
{
	g->first += g->n;
	g->rows = rows + g->first;
	for (g->n = 0; g->first + g->n < n; g->n++)
		if (strcmp(g->rows[g->n].details->pool, g->rows[0].details->pool) != 0)
			break;
	return g->n > 0;
}

/* The pools in the order of the rows; none if no node has a pool. */
static void list_pools(const struct top_row *rows, size_t n, struct strv *ret)
{
	struct page_group g = {.n = 0};

	while (page_next_group(&g, rows, n))
		strv_push(ret, g.rows[0].details->pool);
	if (ret->n_items == 1 && !*ret->items[0])
		strv_release(ret);
}

/* "hpc: 7 nodes, 43 of 95 CPUs free, 27 stranded" */
static void print_group(const struct page_group *g, struct strbuf *out)
{
	CLEANUP(top_totals_release) struct top_totals t = {0};
	const char *pool = g->rows[0].details->pool;

	top_totals(g->rows, g->n, &t);
	strbuf_addf(out, "%s: %zu node%s, %zu of %zu CPUs free", *pool ? pool : "no pool", g->n,
		g->n == 1 ? "" : "s", t.sum.free, t.sum.allocatable);
	if (t.sum.stranded.known && t.sum.stranded.n > 0)
		strbuf_addf(out, ", %zu stranded", t.sum.stranded.n);
}

/* ---- the table */

/* The content of a cell: the node's name, with a link to the picture of the node. `at`: the row's index among all rows. */
static void add_name(size_t at, const struct top_row *row, struct strbuf *out)
{
	if (!row->no_object)
		strbuf_addf(out, "<a href=\"#n%zu\">", at);
	svg_escape(out, row->name);
	if (!row->no_object)
		strbuf_addstr(out, "</a>");
}

#define BAR_HEIGHT 16u
#define BARS_MANY  16u /* the bars of more NUMA nodes have no visible numbers */

/* A bar per NUMA node with CPUs, filled as far as its CPUs are free, with the number of free CPUs. */
static void add_bars(const struct top_row *row, struct strbuf *out)
{
	size_t n_bars = 0;

	for (size_t i = 0; i < row->n_numa; i++)
		n_bars += row->numa[i].has_cpus;
	strbuf_addf(out, "<td data-v=\"%zu\"><div class=\"p-bars%s\">", row->free,
		n_bars > BARS_MANY ? " p-many" : "");
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct top_numa *numa = &row->numa[i];
		unsigned height = top_bar_height(numa, BAR_HEIGHT);

		if (!numa->has_cpus)
			continue;
		strbuf_addf(out,
			"<span title=\"NUMA node %u: %u of %u CPUs free\"><svg aria-hidden=\"true\"><path d=\"M0 %uh8v%uh-8z\"/></svg><b>%u</b></span> ",
			numa->id, numa->free, numa->allocatable, BAR_HEIGHT - height, height, numa->free);
	}
	strbuf_addstr(out, "</div>");
	if (n_bars < row->n_numa)
		strbuf_addf(out, "<span class=\"p-note\">%zu without CPUs</span>", row->n_numa - n_bars);
	strbuf_addstr(out, "</td>\n");
}

static bool is_numa(const struct column *c)
{
	return !strcmp(c->heading, "NUMA");
}

/* The classes of a column's cells, for html_text(); NULL = none. */
static const char *find_class(const struct column *c, bool marked)
{
	bool minor = c->rank > 0 && !is_numa(c);

	if (c->right && marked)
		return "number p-stranded";
	if (c->right)
		return minor ? "number p-minor" : "number";
	if (!strcmp(c->heading, "DEVICES"))
		return "breaks p-minor";
	return minor ? "minor" : NULL;
}

static void add_cell(const struct column *c, const struct top_row *row, const char *cell, struct strbuf *out)
{
	struct column_value v = column_value(c, row);
	char element[64] = "td";

	if (is_numa(c) && !row->no_object) {
		add_bars(row, out);
		return;
	}
	if (!v.text && v.known)
		snprintf(element, sizeof(element), "td data-v=\"%" PRId64 "\"", v.number);
	else if (!v.text)
		snprintf(element, sizeof(element), "td data-v=\"\"");
	html_text(out, element, find_class(c, c->right && c->marked && c->marked(row)), cell);
}

static size_t count_shown(const struct table *t)
{
	size_t n = 0;

	for (size_t c = 0; c < t->n_columns; c++)
		n += !t->columns[c].omitted;
	return n;
}

/* Appends the rows of a group, with `title` below the group's name. `cells`: the cells of its first row, and of the rows after it. */
static void add_group(
	const struct page_group *g, bool title, const struct table *t, char *const *cells, struct strbuf *out)
{
	strbuf_addstr(out, "<tbody data-group>\n");
	if (title) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LINE_MAX_BYTES);
		char element[64];

		print_group(g, &text);
		snprintf(element, sizeof(element), "th scope=\"rowgroup\" colspan=\"%zu\"", count_shown(t));
		strbuf_addstr(out, "<tr class=\"p-group\">");
		html_text(out, element, NULL, text.text);
		strbuf_addstr(out, "</tr>\n");
	}
	for (size_t i = 0; i < g->n; i++, cells += t->n_columns) {
		const struct top_row *row = &g->rows[i];

		html_item(out, "tr", NULL, row->name, row->details->pool, is_marked(row));
		strbuf_addstr(out, "<th scope=\"row\">");
		add_name(g->first + i, row, out);
		strbuf_addstr(out, "</th>\n");
		for (size_t c = 1; c < t->n_columns; c++)
			if (!t->columns[c].omitted)
				add_cell(t->columns[c].def, row, cells[c], out);
		strbuf_addstr(out, "</tr>\n");
	}
	strbuf_addstr(out, "</tbody>\n");
}

static void add_headings(const struct table *t, struct strbuf *out)
{
	for (size_t c = 0; c < t->n_columns; c++)
		if (!t->columns[c].omitted)
			html_text(out, "th scope=\"col\"", find_class(t->columns[c].def, false),
				t->columns[c].heading);
}

static void add_totals(const struct table *t, char *const *cells, struct strbuf *out)
{
	for (size_t c = 0; c < t->n_columns; c++)
		if (!t->columns[c].omitted)
			html_text(out, c > 0 ? "td" : "th scope=\"row\"",
				find_class(t->columns[c].def, false), cells[c]);
}

static void add_table(const struct top_row *rows, size_t n, const struct top_totals *totals, bool grouped,
	struct strbuf *out)
{
	CLEANUP(table_release) struct table t = {0};
	CLEANUP(strv_release) struct strv notes = {0};
	struct page_group g = {.n = 0};

	top_page_table(rows, n, totals, &t);
	html_text(out, "p", "note",
		"NUMA: a bar per NUMA node, and its free CPUs. "
		"1-NUMA and 2-NUMA: exclusive CPUs of the largest additional pod that the kubelet would admit on one and on two NUMA "
		"nodes. STRANDED: free CPUs that no such pod can get. NOT ALIGNED: pods that span NUMA nodes, or whose memory or devices are remote.");
	html_wide_begin(out, "table of the nodes");
	strbuf_addstr(out, "<table class=\"p-sorted\" id=\"p-nodes\">\n<thead><tr>");
	add_headings(&t, out);
	strbuf_addstr(out, "</tr></thead>\n");
	while (page_next_group(&g, rows, n))
		add_group(&g, grouped, &t, t.cells.items + g.first * t.n_columns, out);
	strbuf_addstr(out, "<tfoot><tr>");
	add_totals(&t, t.cells.items + n * t.n_columns, out);
	strbuf_addstr(out, "</tr></tfoot></table>\n");
	html_wide_end(out);
	top_notes(rows, n, totals, &notes);
	for (size_t i = 0; i < notes.n_items; i++)
		html_text(out, "p", "note", notes.items[i]);
}

/* ---- the pods that are not aligned */

static void add_span(const struct top_row *row, size_t at, const struct top_span *span, struct strbuf *out)
{
	html_item(out, "tr", NULL, row->name, row->details->pool, is_marked(row));
	html_text(out, "th scope=\"row\"", NULL, span->pod);
	strbuf_addstr(out, "<td class=\"p-breaks\">");
	add_name(at, row, out);
	strbuf_addstr(out, "</td>\n");
	html_text(out, "td", "minor", topology_manager_policy_names[row->policy]);
	html_text(out, "td", "breaks", span->cpus);
	html_text(out, "td", NULL, alignment_names[span->alignment]);
	html_text(out, "td", "text p-breaks", span->reason);
	strbuf_addstr(out, "</tr>\n");
}

static void add_spans(const struct top_row *rows, size_t n, size_t n_spans, struct strbuf *out)
{
	html_text(out, "h2", NULL, "Pods that are not aligned");
	if (n_spans == 0) {
		html_text(out, "p", "note", "none on nodes whose objects have the node state");
		return;
	}
	html_wide_begin(out, "table of the pods that are not aligned");
	strbuf_addstr(out,
		"<table class=\"p-sorted\">\n<thead><tr><th scope=\"col\">POD</th><th scope=\"col\">NODE</th>"
		"<th scope=\"col\" class=\"p-minor\">POLICY</th><th scope=\"col\">EXCLUSIVE CPUS</th>"
		"<th scope=\"col\">ALIGNMENT</th><th scope=\"col\">REASON</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rows[i].details->n_spans; k++)
			add_span(&rows[i], i, &rows[i].details->spans[k], out);
	strbuf_addstr(out, "</tbody></table>\n");
	html_wide_end(out);
}

/* ---- the pictures */

/* `open`: the picture is shown before anybody opens it. */
static void add_node(const struct top_row *row, size_t at, bool open, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LINE_MAX_BYTES);
	char id[32];

	snprintf(id, sizeof(id), "n%zu", at);
	html_item(out, open ? "details open" : "details", id, row->name, row->details->pool, is_marked(row));
	strbuf_addstr(out, "<summary>");
	html_text(out, "b", NULL, row->name);
	strbuf_addf(&text, " %s%s%zu of %zu CPUs free", row->details->pool, *row->details->pool ? ", " : "",
		row->free, row->allocatable);
	if (row->stranded.known && row->stranded.n > 0)
		strbuf_addf(&text, ", %zu stranded", row->stranded.n);
	if (row->details->n_spans > 0)
		strbuf_addf(&text, ", %zu pod%s not aligned", row->details->n_spans,
			row->details->n_spans == 1 ? "" : "s");
	if (*row->unknown)
		strbuf_addf(&text, ", %s", row->unknown);
	svg_escape(out, text.text);
	strbuf_addstr(out, "</summary>\n");
	if (*row->details->picture) {
		strbuf_reset(&text);
		strbuf_addf(&text, "picture of node %s", row->name);
		html_wide_begin(out, text.text);
		strbuf_addstr(out, row->details->picture);
		html_wide_end(out);
	} else {
		html_text(out, "p", "note", "the picture is omitted: kubectl numa show NODE -o svg draws it");
	}
	strbuf_addstr(out, "</details>\n");
}

static void add_pictures(const struct top_row *rows, size_t n, const struct top_totals *totals, bool grouped,
	struct strbuf *out)
{
	struct page_group g = {.n = 0};

	html_text(out, "h2", NULL, "Nodes");
	html_pictures(out);
	while (page_next_group(&g, rows, n)) {
		strbuf_addstr(out, "<section data-group>\n");
		if (grouped)
			html_text(out, "h3", NULL,
				*g.rows[0].details->pool ? g.rows[0].details->pool : "no pool");
		for (size_t i = 0; i < g.n; i++)
			if (!g.rows[i].no_object)
				add_node(&g.rows[i], g.first + i, n - totals->n_without_object <= OPEN_MAX,
					out);
		strbuf_addstr(out, "</section>\n");
	}
}

int top_page(const struct top_row *rows, size_t n, const struct top_totals *totals,
	const struct top_page_about *about, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LINE_MAX_BYTES);
	CLEANUP(strv_release) struct strv pools = {0};
	size_t n_spans = 0;

	for (size_t i = 0; i < n; i++)
		n_spans += rows[i].details->n_spans;
	list_pools(rows, n, &pools);
	strbuf_addf(&text, "NUMA nodes of %s%.*s", about->cluster ? "cluster " : "the cluster",
		NAME_MAX_BYTES, text_or_empty(about->cluster));
	html_begin(out, text.text);
	strbuf_reset(&text);
	strbuf_addf(&text, "%s%s%.*s", about->made, about->file ? ", from " : "", NAME_MAX_BYTES,
		text_or_empty(about->file));
	html_text(out, "p", "note", text.text);
	add_summary(n_spans, totals, out);
	html_filter(out, &pools, "only nodes with stranded CPUs or with pods that are not aligned");
	add_table(rows, n, totals, pools.n_items > 0, out);
	add_spans(rows, n, n_spans, out);
	add_pictures(rows, n, totals, pools.n_items > 0, out);
	html_end(out);
	return strbuf_error(out);
}
