/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/xalloc.h"

#define CELL_MAX   1024u /* bytes of a cell that a column prints; a longer text is cut */
#define LAST_WIDTH 24u   /* the last column is not broken into narrower lines */
#define INDENT     4u    /* of a last cell that has lines of its own */
#define RANK_MAX   9u
#define FOLDS_MAX  64u /* folded rows; later rows that differ from all of them are not folded */

/* ---- columns */

struct column_value column_value(const struct column *c, const void *row)
{
	const void *member = (const char *)row + c->offset;
	const char *const *text = member;
	const struct column_number *number = member;
	const int64_t *age_s = member;

	switch (c->type) {
	case COLUMN_STRING:
		return (struct column_value){*text && **text, text_or_empty(*text), 0};
	case COLUMN_NUMBER:
		return (struct column_value){number->known, NULL, number->known ? (int64_t)number->n : -1};
	case COLUMN_AGE:
		return (struct column_value){*age_s >= 0, NULL, *age_s >= 0 ? *age_s : -1};
	case COLUMN_NO_MEMBER:
		break;
	}
	return c->value ? c->value(row) : (struct column_value){false, "", 0};
}

int column_compare(const struct column *c, const void *a, const void *b)
{
	struct column_value x = column_value(c, a), y = column_value(c, b);

	return x.text ? strcmp(x.text, y.text) : (x.number < y.number) - (x.number > y.number);
}

static bool column_is_in(const struct column *c, unsigned kinds)
{
	return c->heading && ((c->in ? c->in : TABLE_TEXT | TABLE_WIDE) & kinds) != 0;
}

const struct column *column_find(const struct column *columns, size_t n, const char *heading)
{
	for (size_t i = 0; i < n; i++)
		if (column_is_in(&columns[i], TABLE_TEXT | TABLE_WIDE) &&
			!strcasecmp(columns[i].heading, heading))
			return &columns[i];
	return NULL;
}

void column_names(const struct column *columns, size_t n, struct strbuf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (!column_is_in(&columns[i], TABLE_TEXT | TABLE_WIDE))
			continue;
		if (i > 0)
			strbuf_addch(out, '|');
		for (const char *p = columns[i].heading; *p; p++)
			strbuf_addch(out, (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p));
	}
}

/* ---- cells */

void table_begin(struct table *t, enum table_kind kind, const struct column *columns, size_t n)
{
	table_release(t);
	t->kind = kind;
	t->columns = xcalloc(n + 1, sizeof(*t->columns));
	for (size_t i = 0; i < n; i++)
		if (column_is_in(&columns[i], kind))
			t->columns[t->n_columns++] =
				(struct table_column){.def = &columns[i], .heading = columns[i].heading};
}

void table_release(struct table *t)
{
	for (size_t i = 0; i < t->n_folds; i++)
		free(t->folds[i].name);
	free(t->folds);
	free(t->columns);
	strv_release(&t->cells);
	*t = (struct table){0};
}

struct table_column *table_find(const struct table *t, const char *heading)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (!strcmp(t->columns[i].def->heading, heading))
			return &t->columns[i];
	return NULL;
}

void table_add_cells(struct table *t)
{
	for (size_t i = 0; i < t->n_columns; i++)
		strv_push(&t->cells, "-");
}

void table_set_cell(struct table *t, const char *heading, char *text)
{
	struct table_column *c = heading && t->cells.n_items > 0 ? table_find(t, heading) : NULL;
	char **cell;

	if (!c) {
		free(text);
		return;
	}
	cell = &t->cells.items[t->cells.n_items - t->n_columns + (size_t)(c - t->columns)];
	text_one_line(text);
	free(*cell);
	*cell = text;
}

static bool differ_in_first_cell_only(const struct table *t, size_t row, size_t other)
{
	char *const *a = &t->cells.items[row * t->n_columns], *const *b =
								      &t->cells.items[other * t->n_columns];

	for (size_t i = 1; i < t->n_columns; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static void remove_last_row(struct table *t)
{
	for (size_t i = 0; i < t->n_columns; i++)
		free(t->cells.items[--t->cells.n_items]);
}

void table_fold_row(struct table *t)
{
	size_t last = t->n_columns > 0 ? t->cells.n_items / t->n_columns - 1 : 0;
	struct table_fold *fold;
	char **cell;

	if (t->n_columns == 0)
		return;
	for (size_t i = 0; i < t->n_folds; i++) {
		fold = &t->folds[i];
		if (!differ_in_first_cell_only(t, fold->row, last))
			continue;
		cell = &t->cells.items[fold->row * t->n_columns];
		free(*cell);
		*cell = xasprintf("%s +%zu", fold->name, ++fold->n_more);
		remove_last_row(t);
		return;
	}
	if (t->n_folds == FOLDS_MAX)
		return;
	fold = vec_push(&t->folds, &t->n_folds, &t->folds_size, sizeof(*fold));
	*fold = (struct table_fold){.name = xstrdup(t->cells.items[last * t->n_columns]), .row = last};
}

static char *print_value(const struct column *c, const void *row)
{
	struct column_value v = column_value(c, row);
	char age[AGE_TEXT_MAX];

	if (!v.known && (!v.text || !*v.text))
		return xstrdup("-");
	if (v.text)
		return xstrdup(v.text);
	if (c->type != COLUMN_AGE)
		return xasprintf("%" PRId64, v.number);
	timestamp_print_age(v.number, age);
	return xstrdup(age);
}

static char *print_cell(const struct table *t, const struct column *c, const void *row, bool totals)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CELL_MAX);

	if (totals && !c->total)
		return xstrdup("");
	if (!c->cell)
		return print_value(c, row);
	c->cell(&(struct table_cell){t, c, row}, &text);
	return xstrdup(text.len > 0 || totals ? text.text : "-");
}

void table_add_row(struct table *t, const void *row, bool totals)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		char *cell = print_cell(t, t->columns[i].def, row, totals);

		text_one_line(cell);
		strv_take(&t->cells, cell);
	}
}

/* ---- widths */

void table_measure(struct table *t, bool headings)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		struct table_column *c = &t->columns[i];
		size_t own = strlen(c->def->heading), shown = strlen(c->heading);

		c->width = 0;
		if (headings)
			c->width = own > shown ? own : shown;
		for (size_t k = i; k < t->cells.n_items; k += t->n_columns)
			if (text_width(t->cells.items[k]) > c->width)
				c->width = text_width(t->cells.items[k]);
	}
}

size_t table_width(const struct table *t)
{
	size_t width = 0;

	for (size_t i = 0; i < t->n_columns; i++)
		if (!t->columns[i].omitted)
			width += t->columns[i].width + TABLE_GAP;
	return width > 0 ? width - TABLE_GAP : 0;
}

static struct table_column *find_rank(const struct table *t, unsigned rank)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (t->columns[i].def->rank == rank)
			return &t->columns[i];
	return NULL;
}

void table_fit(struct table *t, size_t limit)
{
	unsigned last = 0; /* the rank of the last column that was changed */

	do {
		struct table_column *c = find_rank(t, ++last);

		if (c && c->narrow_width > 0 && !c->narrow) {
			c->width = c->narrow_width;
			c->narrow = true;
		} else if (c && !c->narrow && t->kind != TABLE_WIDE) {
			c->omitted = true;
		}
	} while (last < RANK_MAX && table_width(t) > limit);
	/* The change of the last column may have left room for columns that were omitted before it. */
	for (unsigned rank = last - 1; rank > 0; rank--) {
		struct table_column *c = find_rank(t, rank);

		if (!c || !c->omitted)
			continue;
		c->omitted = false;
		c->omitted = table_width(t) > limit;
	}
}

/* ---- text */

/* How a table is printed. */
struct print {
	const struct table *t;
	size_t limit; /* of the last column's width; SIZE_MAX = unlimited */
	size_t own_width; /* last cells wider than `limit` have lines of their own of this width; 0 = they have none */
	struct strbuf *out;
};

void table_print_lines(struct strbuf *out, const char *text, size_t first, size_t at, size_t width)
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

/* Prints the last cell, which begins at column `at`, on as many lines as its text needs. */
static void print_last(const struct print *p, size_t at, const char *text)
{
	if (text_width(text) <= p->limit)
		strbuf_addf(p->out, "%s\n", text);
	else if (p->own_width > 0) {
		strbuf_addf(p->out, "\n%*s", (int)INDENT, "");
		table_print_lines(p->out, text, p->own_width, INDENT, p->own_width);
	} else
		table_print_lines(p->out, text, p->limit, at, p->limit);
}

/* The row of these cells, or (NULL) the headings. */
static void print_row(const struct print *p, char *const *cells)
{
	size_t at = 0, last = p->t->n_columns - 1;

	for (size_t i = 0; i < last; i++) {
		const struct table_column *c = &p->t->columns[i];
		const char *text = cells ? cells[i] : c->heading;

		if (c->omitted)
			continue;
		strbuf_addf(p->out, "%s%*s", text, (int)(c->width - text_width(text)) + TABLE_GAP, "");
		at += c->width + TABLE_GAP;
	}
	print_last(p, at, cells ? cells[last] : p->t->columns[last].heading);
}

static bool is_empty(const struct table *t, size_t column)
{
	for (size_t i = column; i < t->cells.n_items; i += t->n_columns)
		if (strcmp(t->cells.items[i], "-") != 0)
			return false;
	return true;
}

/* The width of all columns but the last, with the gaps behind them. */
static size_t width_before_last(const struct table *t)
{
	return table_width(t) - t->columns[t->n_columns - 1].width;
}

static bool fits(const struct table *t, size_t limit)
{
	size_t last = t->columns[t->n_columns - 1].width;

	return width_before_last(t) + (last < LAST_WIDTH ? last : LAST_WIDTH) <= limit;
}

/* Omits columns, and limits the width of the last column. */
static void fit_text(struct print *p, struct table *t, size_t limit)
{
	size_t before;

	for (size_t i = 0; i + 1 < t->n_columns && !fits(t, limit); i++)
		t->columns[i].omitted |= is_empty(t, i);
	for (unsigned rank = 1; rank <= RANK_MAX && !fits(t, limit); rank++) {
		struct table_column *c = find_rank(t, rank);

		if (c)
			c->omitted = true;
	}
	before = width_before_last(t);
	p->own_width = fits(t, limit) ? 0 : limit - INDENT;
	p->limit = limit > before ? limit - before : 0;
}

void table_print(struct table *t, bool headings, size_t limit, struct strbuf *out)
{
	struct print p = {.t = t, .limit = SIZE_MAX, .out = out};

	if (t->n_columns == 0)
		return;
	table_measure(t, headings);
	if (limit > 0)
		fit_text(&p, t, limit);
	if (headings)
		print_row(&p, NULL);
	for (size_t i = 0; i + t->n_columns <= t->cells.n_items; i += t->n_columns)
		print_row(&p, &t->cells.items[i]);
}
