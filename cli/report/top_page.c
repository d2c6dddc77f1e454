/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/top_page.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/html.h"
#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define LINE_MAX_BYTES 4096
#define OPEN_MAX       16 /* nodes whose pictures are shown at once */

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

static void add_summary(const struct top_row *rows, size_t n, const struct top_totals *t, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LINE_MAX_BYTES);
	size_t spans = 0;

	for (size_t i = 0; i < n; i++)
		spans += rows[i].details->n_spans;
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

static void add_link(size_t at, const struct top_row *row, struct strbuf *out)
{
	if (row->no_object) {
		html_text(out, "td", NULL, row->name);
		return;
	}
	strbuf_addf(out, "<td><a href=\"#n%zu\">", at);
	svg_escape(out, row->name);
	strbuf_addstr(out, "</a></td>\n");
}

/* A cell of a row, or without a row of the totals. */
static void add_cell(const struct column *c, const struct top_row *row, const char *cell, struct strbuf *out)
{
	bool marked = row && c->right && c->marked && c->marked(row);

	html_text(out, row ? "td" : "th", marked ? "number p-stranded" : c->right ? "number" : NULL, cell);
}

static void add_rows(const struct top_row *rows, size_t n, const struct table *t, struct strbuf *out)
{
	char *const *cells = t->cells.items;

	for (size_t i = 0; i <= n; i++, cells += t->n_columns) {
		const struct top_row *row = i < n ? &rows[i] : NULL;

		if (row) {
			html_item(out, "tr", NULL, row->name, row->details->pool, is_marked(row));
			add_link(i, row, out);
		} else {
			strbuf_addstr(out, "</tbody>\n<tfoot><tr>");
			add_cell(t->columns[0].def, NULL, cells[0], out);
		}
		for (size_t c = 1; c < t->n_columns; c++)
			add_cell(t->columns[c].def, row, cells[c], out);
		strbuf_addstr(out, "</tr>\n");
	}
}

static void add_table(
	const struct top_row *rows, size_t n, const struct top_totals *totals, struct strbuf *out)
{
	CLEANUP(table_release) struct table t = {0};
	CLEANUP(strv_release) struct strv notes = {0};

	top_page_table(rows, n, totals, &t);
	html_text(out, "p", "note",
		"1-NUMA and 2-NUMA: exclusive CPUs of the largest additional pod that the kubelet would admit on one and on two NUMA "
		"nodes. STRANDED: free CPUs that no such pod can get. NOT ALIGNED: pods that span NUMA nodes, or whose memory or devices are remote.");
	strbuf_addstr(out, "<div class=\"p-wide\"><table>\n<thead><tr>");
	for (size_t c = 0; c < t.n_columns; c++)
		html_text(out, "th", NULL, t.columns[c].heading);
	strbuf_addstr(out, "</tr></thead>\n<tbody>\n");
	add_rows(rows, n, &t, out);
	strbuf_addstr(out, "</tfoot></table></div>\n");
	top_notes(rows, n, totals, &notes);
	for (size_t i = 0; i < notes.n_items; i++)
		html_text(out, "p", "note", notes.items[i]);
}

static void add_spans(const struct top_row *rows, size_t n, struct strbuf *out)
{
	bool any = false;

	html_text(out, "h2", NULL, "Pods that are not aligned");
	for (size_t i = 0; i < n; i++) {
		const struct top_details *d = rows[i].details;

		for (size_t k = 0; k < d->n_spans; k++) {
			if (!any)
				strbuf_addstr(out,
					"<table>\n<thead><tr><th>POD</th><th>NODE</th><th>POLICY</th>"
					"<th>EXCLUSIVE CPUS</th><th>ALIGNMENT</th><th>REASON</th></tr></thead>\n<tbody>\n");
			any = true;
			html_item(out, "tr", NULL, rows[i].name, d->pool, is_marked(&rows[i]));
			html_text(out, "td", NULL, d->spans[k].pod);
			add_link(i, &rows[i], out);
			html_text(out, "td", NULL, topology_manager_policy_names[rows[i].policy]);
			html_text(out, "td", NULL, d->spans[k].cpus);
			html_text(out, "td", NULL, alignment_names[d->spans[k].alignment]);
			html_text(out, "td", NULL, d->spans[k].reason);
			strbuf_addstr(out, "</tr>\n");
		}
	}
	if (any)
		strbuf_addstr(out, "</tbody></table>\n");
	else
		html_text(out, "p", "note", "none on nodes whose objects have the node state");
}

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
	if (*row->details->picture)
		strbuf_addstr(out, row->details->picture);
	else
		html_text(out, "p", "note", "the picture is omitted: kubectl numa show NODE -o svg draws it");
	strbuf_addstr(out, "</details>\n");
}

int top_page(const struct top_row *rows, size_t n, const struct top_totals *totals, const char *made,
	struct strbuf *out)
{
	CLEANUP(strv_release) struct strv pools = {0};

	html_begin(out, "NUMA nodes of the cluster");
	html_text(out, "p", "note", made);
	add_summary(rows, n, totals, out);
	for (size_t i = 0; i < n; i++)
		strv_push(&pools, rows[i].details->pool);
	html_filter(out, &pools, "only nodes with stranded CPUs or with pods that are not aligned");
	add_table(rows, n, totals, out);
	add_spans(rows, n, out);
	html_text(out, "h2", NULL, "Nodes");
	html_pictures(out);
	for (size_t i = 0; i < n; i++)
		if (!rows[i].no_object)
			add_node(&rows[i], i, n - totals->n_without_object <= OPEN_MAX, out);
	html_end(out);
	return strbuf_error(out);
}
