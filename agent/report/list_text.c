/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/list_text.h"

#include <errno.h>
#include <string.h>

#include "agent/base/time.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"

#define GAP        2    /* columns between columns */
#define DIGITS_MAX 16   /* NUMA nodes whose bars have their number beside them */
#define CELL_MAX   1024 /* bytes of a cell; what is beyond is not shown */
#define LEVELS     8

/* How the table is laid out. */
struct table {
	const struct list_look *look;
	bool digits;         /* beside the bars */
	size_t digits_width; /* of the largest number of free CPUs */
	size_t widths[LIST_COLUMN_COUNT];
};

/* ---- texts */

static void add_number(struct strbuf *out, const struct list_number *n, bool estimated)
{
	if (n->known)
		strbuf_addf(out, "%s%zu", estimated ? "~" : "", n->n);
	else
		strbuf_addch(out, '-');
}

static void add_name(struct strbuf *out, const char *name)
{
	strbuf_addstr(out, *name ? name : "-");
}

static void add_age(struct strbuf *out, int64_t s)
{
	char text[AGE_TEXT_MAX];

	timestamp_print_age(s, text);
	strbuf_addstr(out, text);
}

static void add_devices(struct strbuf *out, const struct list_device *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, "%s%s=%u/%u", i > 0 ? "," : "", devices[i].resource, devices[i].free,
			devices[i].healthy);
	if (n == 0)
		strbuf_addch(out, '-');
}

static void add_numa(struct strbuf *out, const struct list_row *row, bool allocatable)
{
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct list_numa *numa = &row->numa[i];

		strbuf_addstr(out, i > 0 ? "," : "");
		if (numa->has_cpus)
			strbuf_addf(out, "%u", allocatable ? numa->allocatable : numa->free);
		else
			strbuf_addch(out, '-');
	}
	if (row->n_numa == 0)
		strbuf_addch(out, '-');
}

static void add_cell(struct strbuf *out, const struct list_row *row, enum list_column column)
{
	switch (column) {
	case LIST_NODE:
		add_name(out, row->name);
		break;
	case LIST_POLICY:
		add_name(out, topology_manager_policy_names[row->policy]);
		break;
	case LIST_SCOPE:
		add_name(out, topology_manager_scope_names[row->scope]);
		break;
	case LIST_NUMA:
	case LIST_ALLOCATABLE:
		add_numa(out, row, column == LIST_ALLOCATABLE);
		break;
	case LIST_FREE:
		strbuf_addf(out, "%u/%u", row->free, row->allocatable);
		break;
	case LIST_ONE_NUMA:
	case LIST_TWO_NUMA:
		add_number(out, &row->largest[column - LIST_ONE_NUMA], row->basis == CLUSTER_ESTIMATED);
		break;
	case LIST_STRANDED:
		add_number(out, &row->stranded, row->basis == CLUSTER_ESTIMATED);
		break;
	case LIST_AGE:
		add_age(out, row->age_s);
		break;
	case LIST_EXPORTER:
		add_name(out, row->exporter);
		break;
	case LIST_DEVICES:
		add_devices(out, row->devices, row->n_devices);
		break;
	case LIST_BASIS:
		strbuf_addstr(out, cluster_basis_names[row->basis]);
		break;
	case LIST_COLUMN_COUNT:
		break;
	}
}

/* What all nodes together have in a column, "" where that is nothing. */
static void add_total(struct strbuf *out, const struct list_totals *t, enum list_column column)
{
	if (column == LIST_NODE)
		strbuf_addf(out, "%zu node%s", t->n_nodes, t->n_nodes == 1 ? "" : "s");
	else if (column == LIST_FREE)
		strbuf_addf(out, "%zu/%zu", t->free, t->allocatable);
	else if (column == LIST_ONE_NUMA || column == LIST_TWO_NUMA)
		add_number(out, &t->largest[column - LIST_ONE_NUMA], false);
	else if (column == LIST_STRANDED)
		add_number(out, &t->stranded, t->n_estimated > 0);
	else if (column == LIST_DEVICES && t->n_devices > 0)
		add_devices(out, t->devices, t->n_devices);
}

/* ---- layout */

static bool is_right(enum list_column column)
{
	return column >= LIST_FREE && column <= LIST_AGE;
}

static enum list_column end_of(const struct list_look *look)
{
	return look->wide ? LIST_COLUMN_COUNT : LIST_WIDE;
}

static void widen(struct table *t, enum list_column column, size_t width)
{
	if (width > t->widths[column])
		t->widths[column] = width;
}

static size_t digits_of(unsigned n)
{
	return (size_t)snprintf(NULL, 0, "%u", n);
}

/* Columns of a row's bars. */
static size_t bars_width(const struct table *t, const struct list_row *row)
{
	if (row->n_numa == 0)
		return 0;
	return t->digits ? row->n_numa * (t->digits_width + 2) - 1 : row->n_numa;
}

static size_t table_width(const struct table *t)
{
	size_t width = 0;

	for (enum list_column c = 0; c < end_of(t->look); c++)
		width += t->widths[c] + (c > 0 ? GAP : 0);
	return width;
}

/* The widths of the cells, the bars' too. */
static void measure(struct table *t, const struct list_row *rows, size_t n, const struct list_totals *totals)
{
	for (enum list_column c = 0; c < end_of(t->look); c++) {
		CLEANUP(strbuf_release) struct strbuf cell = STRBUF_INIT(CELL_MAX);

		t->widths[c] = t->look->headers ? strlen(list_column_names[c]) : 0;
		for (size_t i = 0; i < n; i++) {
			strbuf_reset(&cell);
			if (c == LIST_NUMA && t->look->bars) {
				widen(t, c, bars_width(t, &rows[i]));
				continue;
			}
			add_cell(&cell, &rows[i], c);
			widen(t, c, text_width(cell.text));
		}
		strbuf_reset(&cell);
		if (t->look->headers)
			add_total(&cell, totals, c);
		widen(t, c, text_width(cell.text));
	}
}

static void lay_out(struct table *t, const struct list_row *rows, size_t n, const struct list_totals *totals)
{
	size_t most = 0;

	t->digits_width = 1;
	for (size_t i = 0; i < n; i++) {
		most = rows[i].n_numa > most ? rows[i].n_numa : most;
		for (size_t k = 0; k < rows[i].n_numa; k++)
			if (digits_of(rows[i].numa[k].free) > t->digits_width)
				t->digits_width = digits_of(rows[i].numa[k].free);
	}
	t->digits = most <= DIGITS_MAX;
	measure(t, rows, n, totals);
	if (t->digits && t->look->width > 0 && table_width(t) > t->look->width) {
		t->digits = false;
		measure(t, rows, n, totals);
	}
}

/* ---- drawing */

static enum canvas_style style_of(const struct list_row *row, enum list_column column)
{
	if (column == LIST_STRANDED && row->stranded.known && row->stranded.n > 0)
		return STYLE_NOTE;
	if (column == LIST_AGE || column == LIST_EXPORTER || column == LIST_BASIS)
		return STYLE_FAINT;
	return column == LIST_NODE ? STYLE_STRONG : STYLE_PLAIN;
}

static void draw_bars(
	struct canvas *c, size_t at, size_t col, const struct table *t, const struct list_row *row)
{
	for (size_t i = 0; i < row->n_numa; i++) {
		const struct list_numa *numa = &row->numa[i];
		unsigned level = numa->free >= numa->allocatable
					 ? 8
					 : (unsigned)(numa->free * 8ULL / numa->allocatable);
		char text[16];

		level = numa->free == 0 ? 0 : level == 0 ? 1 : level;
		canvas_put(c, at, col, numa->has_cpus ? GLYPH_LEVEL_0 + level : '-',
			numa->free > 0 ? STYLE_FREE : STYLE_FAINT);
		col++;
		if (!t->digits)
			continue;
		snprintf(text, sizeof(text), "%u", numa->free);
		canvas_text_right(c, at, col, t->digits_width, numa->free > 0 ? STYLE_PLAIN : STYLE_FAINT,
			numa->has_cpus ? text : "");
		col += t->digits_width + 1;
	}
}

static void draw_text(struct canvas *c, size_t at, size_t col, const struct table *t, enum list_column column,
	enum canvas_style style, const char *text)
{
	if (is_right(column))
		canvas_text_right(c, at, col, t->widths[column], style, text);
	else
		canvas_text(c, at, col, t->widths[column], style, text);
}

/* One line: of a row, of the totals, or without either the titles. */
static void draw_line(struct canvas *c, size_t at, const struct table *t, const struct list_row *row,
	const struct list_totals *totals)
{
	CLEANUP(strbuf_release) struct strbuf cell = STRBUF_INIT(CELL_MAX);
	size_t col = 0;

	for (enum list_column column = 0; column < end_of(t->look); column++) {
		strbuf_reset(&cell);
		if (row)
			add_cell(&cell, row, column);
		else if (totals)
			add_total(&cell, totals, column);
		else
			strbuf_addstr(&cell, list_column_names[column]);
		if (row && column == LIST_NUMA && t->look->bars)
			draw_bars(c, at, col, t, row);
		else
			draw_text(
				c, at, col, t, column, row ? style_of(row, column) : STYLE_STRONG, cell.text);
		col += t->widths[column] + GAP;
	}
}

int list_text_draw(const struct list_row *rows, size_t n, const struct list_totals *totals,
	const struct list_look *look, struct canvas *c)
{
	static const char estimated[] = "~ estimated by the zones: the object has no node state";
	struct table t = {.look = look};
	size_t at = 0, width;

	lay_out(&t, rows, n, totals);
	width = table_width(&t);
	if (look->headers && totals->n_estimated > 0 && width < strlen(estimated))
		width = strlen(estimated);
	canvas_init(c, width);
	if (look->headers)
		draw_line(c, at++, &t, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		draw_line(c, at++, &t, &rows[i], NULL);
	if (look->headers) {
		at++; /* an empty line */
		draw_line(c, at++, &t, NULL, totals);
	}
	if (look->headers && totals->n_estimated > 0)
		canvas_text(c, at, 0, width, STYLE_FAINT, estimated);
	return 0;
}
