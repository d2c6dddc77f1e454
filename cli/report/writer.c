/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define GAP        2
#define LAST_WIDTH 24u /* the last column is not broken into narrower lines */
#define INDENT     4u  /* of a last cell that has lines of its own */

void writer_init(struct writer *w, const char *output, bool headings, struct strbuf *out)
{
	static const char *const names[] = {"text", "wide", "name", "json", "yaml"};

	*w = (struct writer){.headings = headings, .indent = INDENT, .out = out, .doc = {.kind = DOC_MAP}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(output, names[i]))
			w->format = (enum writer_format)i;
}

void writer_release(struct writer *w)
{
	doc_release(&w->doc);
	strv_release(&w->table.cells);
}

bool writer_is_doc(const struct writer *w)
{
	return w->format == WRITER_JSON || w->format == WRITER_YAML;
}

/* ---- tables */

void writer_columns(struct writer *w, const char *const *headings, size_t n)
{
	strv_release(&w->table.cells);
	w->table = (struct table){.headings = headings, .n_columns = n};
}

static void set_cell(struct writer *w, const char *heading, char *text)
{
	struct table *t = &w->table;

	text_one_line(text);
	for (size_t i = 0; heading && i < t->n_columns && t->cells.n_items >= t->n_columns; i++) {
		char **cell = &t->cells.items[t->cells.n_items - t->n_columns + i];

		if (t->headings[i] != heading && strcmp(t->headings[i], heading) != 0)
			continue;
		free(*cell);
		*cell = text;
		return;
	}
	free(text);
}

void writer_cell(struct writer *w, const char *heading, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (writer_is_doc(w))
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	set_cell(w, heading, text);
}

size_t *table_widths(const struct table *t, bool headings)
{
	size_t *widths = xcalloc(t->n_columns + 1, sizeof(*widths));

	for (size_t i = 0; i < t->n_columns && headings; i++)
		widths[i] = strlen(t->headings[i]);
	for (size_t i = 0; i < t->cells.n_items; i++) {
		size_t width = text_width(t->cells.items[i]), *most = &widths[i % t->n_columns];

		if (width > *most)
			*most = width;
	}
	return widths;
}

/* Whether lines have at most w->width columns. */
static bool is_limited(const struct writer *w)
{
	return w->width > INDENT + LAST_WIDTH && w->format == WRITER_TEXT;
}

/* How a table is printed. */
struct print {
	const struct table *t;
	const size_t *widths; /* per column */
	bool *omitted;        /* per column */
	size_t limit;         /* of the last column's width; SIZE_MAX = unlimited */
	size_t own_width;     /* 0, or of the own lines of last cells that are wider than `limit` */
	struct strbuf *out;
};

/* A text on lines: the first of at most `first` columns, the others of at most `width`, which begin at column `at`. */
static void print_lines(struct strbuf *out, const char *text, size_t first, size_t at, size_t width)
{
	size_t limit = first;

	while (*text) {
		size_t len = text_line_length(text, limit), shown;

		/* A word that is longer than a line stays whole, so that a path can be copied. */
		while (text[len] && !strchr(" ,", text[len - 1]))
			len++;
		shown = len;
		while (shown > 0 && text[shown - 1] == ' ')
			shown--;
		strbuf_add(out, text, shown);
		strbuf_addch(out, '\n');
		text += len;
		text += strspn(text, " ");
		if (*text)
			strbuf_addf(out, "%*s", (int)at, "");
		limit = width;
	}
}

/* The last cell on as many lines as it takes. */
static void print_last(const struct print *p, size_t at, const char *text)
{
	if (text_width(text) <= p->limit)
		strbuf_addf(p->out, "%s\n", text);
	else if (p->own_width > 0) {
		strbuf_addf(p->out, "\n%*s", (int)INDENT, "");
		print_lines(p->out, text, p->own_width, INDENT, p->own_width);
	} else
		print_lines(p->out, text, p->limit, at, p->limit);
}

static void print_row(const struct print *p, const char *const *cells)
{
	size_t at = 0;

	for (size_t i = 0; i + 1 < p->t->n_columns; i++) {
		if (p->omitted[i])
			continue;
		strbuf_addf(p->out, "%s%*s", cells[i], (int)(p->widths[i] - text_width(cells[i])) + GAP, "");
		at += p->widths[i] + GAP;
	}
	if (p->t->n_columns > 0)
		print_last(p, at, cells[p->t->n_columns - 1]);
}

static bool is_empty(const struct table *t, size_t column)
{
	for (size_t i = column; i < t->cells.n_items; i += t->n_columns)
		if (strcmp(t->cells.items[i], "-") != 0)
			return false;
	return true;
}

/* The width of all columns but the last, with the gaps behind them. */
static size_t width_before_last(const struct print *p)
{
	size_t width = 0;

	for (size_t i = 0; i + 1 < p->t->n_columns; i++)
		width += p->omitted[i] ? 0 : p->widths[i] + GAP;
	return width;
}

static bool fits(const struct print *p, size_t width)
{
	size_t last = p->widths[p->t->n_columns - 1];

	return width_before_last(p) + (last < LAST_WIDTH ? last : LAST_WIDTH) <= width;
}

/* Omits a column, unless it is the last one or the table already fits the width. */
static void omit_column(struct print *p, size_t column, size_t width)
{
	if (column + 1 < p->t->n_columns && !fits(p, width))
		p->omitted[column] = true;
}

/* Omits columns, and limits the width of the last column. */
static void fit_table(const struct writer *w, struct print *p)
{
	size_t before;

	for (size_t i = 0; i < p->t->n_columns; i++)
		if (is_empty(p->t, i))
			omit_column(p, i, w->width);
	for (size_t k = 0; w->optional && w->optional[k]; k++)
		for (size_t i = 0; i < p->t->n_columns; i++)
			if (!strcmp(p->t->headings[i], w->optional[k]))
				omit_column(p, i, w->width);
	before = width_before_last(p);
	p->own_width = fits(p, w->width) ? 0 : w->width - INDENT;
	p->limit = w->width > before ? w->width - before : 0;
}

void writer_table(struct writer *w)
{
	const struct table *t = &w->table;
	CLEANUP(freep) size_t *widths = table_widths(t, w->headings);
	CLEANUP(freep) bool *omitted = xcalloc(t->n_columns + 1, sizeof(*omitted));
	struct print p = {.t = t, .widths = widths, .omitted = omitted, .limit = SIZE_MAX, .out = w->out};

	if (t->n_columns == 0)
		return;
	if (is_limited(w))
		fit_table(w, &p);
	if (w->headings)
		print_row(&p, t->headings);
	for (size_t i = 0; i + t->n_columns <= t->cells.n_items; i += t->n_columns)
		print_row(&p, (const char *const *)&t->cells.items[i]);
}

/* Breaks the lines that are wider than the terminal. */
static void break_lines(struct writer *w)
{
	CLEANUP(freep) char *all = strbuf_detach(w->out);
	char *rest = NULL;

	for (char *line = all; line && *line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (text_width(line) > w->width)
			print_lines(w->out, line, w->width, w->indent, w->width - w->indent);
		else
			strbuf_addf(w->out, rest ? "%s\n" : "%s", line);
	}
}

int writer_finish(struct writer *w)
{
	if (w->format == WRITER_JSON)
		return json_print(&w->doc, w->out);
	if (w->format == WRITER_YAML)
		return yaml_print(&w->doc, w->out);
	if (is_limited(w) && w->width > 2 * w->indent && strbuf_error(w->out) == 0)
		break_lines(w);
	return strbuf_error(w->out);
}

void writer_name(struct writer *w, const char *name)
{
	if (w->format != WRITER_NAME)
		return;
	strbuf_addstr(w->out, "node/");
	strbuf_add_one_line(w->out, name);
	strbuf_addch(w->out, '\n');
}

/* ---- structure */

static struct doc *parent(struct writer *w)
{
	return w->depth > 0 ? w->open[w->depth - 1] : &w->doc;
}

static void open_doc(struct writer *w, struct doc *d)
{
	assert(w->depth < WRITER_DEPTH);
	w->open[w->depth++] = d;
}

void writer_row(struct writer *w)
{
	if (writer_is_doc(w))
		writer_map(w, NULL);
	for (size_t i = 0; i < w->table.n_columns && !writer_is_doc(w); i++)
		strv_push(&w->table.cells, "-");
}

void writer_map(struct writer *w, const char *key)
{
	if (writer_is_doc(w))
		open_doc(w, doc_add_map(parent(w), key));
}

void writer_list(struct writer *w, const char *key)
{
	if (writer_is_doc(w))
		open_doc(w, doc_add_list(parent(w), key));
}

void writer_end(struct writer *w)
{
	if (writer_is_doc(w))
		w->depth--;
}

/* ---- fields */

/* Whether the field is a member or an item. */
static bool in_doc(const struct writer *w, const char *key)
{
	return writer_is_doc(w) && (key || (w->depth > 0 && w->open[w->depth - 1]->kind == DOC_LIST));
}

void writer_null(struct writer *w, const char *key)
{
	if (in_doc(w, key))
		doc_add(parent(w), key);
}

void writer_string(struct writer *w, const char *key, const char *heading, const char *value)
{
	if (in_doc(w, key))
		doc_add_string(parent(w), key, value);
	else if (*value)
		writer_cell(w, heading, "%s", value);
}

void writer_text(struct writer *w, const char *key, const char *heading, const char *value)
{
	if (*value)
		writer_string(w, key, heading, value);
	else
		writer_null(w, key);
}

void writer_number(struct writer *w, const char *key, const char *heading, bool known, int64_t value)
{
	if (!known)
		writer_null(w, key);
	else if (in_doc(w, key))
		doc_add_number(parent(w), key, value);
	else
		writer_cell(w, heading, "%" PRId64, value);
}

void writer_bool(struct writer *w, const char *key, bool known, bool value)
{
	if (known && in_doc(w, key))
		doc_add_bool(parent(w), key, value);
	else
		writer_null(w, key);
}

void writer_ids(struct writer *w, const char *key, bool known, uint64_t ids)
{
	if (!known) {
		writer_null(w, key);
		return;
	}
	writer_list(w, key);
	for (; ids; ids &= ids - 1)
		writer_number(w, NULL, NULL, true, __builtin_ctzll(ids));
	writer_end(w);
}

void writer_strings(struct writer *w, const char *key, const struct strv *list)
{
	writer_list(w, key);
	for (size_t i = 0; i < list->n_items; i++)
		writer_string(w, NULL, NULL, list->items[i]);
	writer_end(w);
}
