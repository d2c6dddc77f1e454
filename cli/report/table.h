/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Prints tables. An array of struct column lists what a report shows of each of its rows: the headings and cells of tables, the
 * members of JSON and YAML (writer_members() in writer.h), the order of the rows, and what a narrow terminal omits.
 *
 * A report either has columns that read its rows (table_add_row()), or sets each cell itself (table_add_cells(), table_set_cell()).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/strbuf.h"
#include "common/vec.h"

struct column;
struct table;
struct writer;

#define TABLE_GAP 2 /* spaces between columns */

/* The tables that have a column, as a set. */
enum table_kind { TABLE_TEXT = 1, TABLE_WIDE = 2, TABLE_PAGE = 4, TABLE_POOLS = 8 };

/* A number that may be unknown. */
struct column_number {
	bool known;
	size_t n;
};

struct column_value {
	bool known;
	const char *text; /* NULL = a number; borrows from the row */
	int64_t number;   /* -1 = unknown */
};

/* A member of the row that is the value of a column. */
enum column_member {
	COLUMN_NO_MEMBER,
	COLUMN_STRING, /* char *; NULL and "" are unknown */
	COLUMN_NUMBER, /* struct column_number */
	COLUMN_AGE,    /* int64_t, in seconds; -1 = unknown */
};

struct table_cell {
	const struct table *table;
	const struct column *column;
	const void *row;
};

struct column {
	const char *heading; /* NULL = no table has the column */
	const char *key;     /* in JSON and YAML: "age", "cpus.free", or "sizes[]" for an item; or NULL */
	unsigned place;      /* of the key among the keys, from 1 without holes */
	enum column_member type;
	size_t offset;                                 /* of the member of the row */
	struct column_value (*value)(const void *row); /* in place of a member of the row */
	/* Prints the cell; NULL = the value. If it prints nothing, the cell is "-", in the totals "". */
	void (*cell)(const struct table_cell *cell, struct strbuf *out);
	/* Writes the member of JSON and YAML; NULL = the value, null if unknown. */
	void (*member)(struct writer *w, const char *key, const void *row);
	unsigned in;    /* the tables, of enum table_kind; 0 = text and wide tables */
	unsigned rank;  /* narrow terminals omit the column with rank 1 first; 0 = none does */
	bool right;     /* aligned to the right */
	bool total;     /* the totals have the column and the member */
	unsigned style; /* on a canvas, of enum canvas_style */
	bool (*marked)(const void *row); /* whether a cell needs attention; NULL = none does */
};

/* A column whose cells the report sets. */
#define COLUMN(...)                    \
	{                              \
		.heading = __VA_ARGS__ \
	}

/* The value of a column in a row. */
struct column_value column_value(const struct column *c, const void *row);

/* Orders rows by a column: numbers descending with unknown ones last, texts ascending. The result is that of strcmp(3). */
int column_compare(const struct column *c, const void *a, const void *b);

/* The column with this heading, ignoring case, among those of text and wide tables; NULL = none. */
const struct column *column_find(const struct column *columns, size_t n, const char *heading);

/* Appends the headings of text and wide tables in lower case, "node|status". */
void column_names(const struct column *columns, size_t n, struct strbuf *out);

struct table_column {
	const struct column *def;
	const char *heading; /* that of `def` unless the report changes it */
	size_t width;
	size_t narrow_width; /* narrow terminals give the column this width and do not omit it; 0 = they omit it */
	bool omitted;
	bool narrow; /* the column has that width already, and is not omitted */
};

/* Rows that differ in the first cell only, and are shown as one. */
struct table_fold {
	char *name; /* the first cell of the first row */
	size_t row, n_more;
};

struct table {
	enum table_kind kind;
	const void *report; /* for the cells of columns; set by the report after table_begin() */
	struct table_column *columns;
	size_t n_columns;
	struct strv cells; /* row by row, each cell on one line; omitted columns have cells, too */
	struct table_fold *folds;
	size_t n_folds, folds_size;
};

/* Starts a table in place of the previous one, which is zeroed or a table. `columns` must outlive the table. */
void table_begin(struct table *t, enum table_kind kind, const struct column *columns, size_t n);
void table_release(struct table *t);

/* The column with this heading in `struct column`; NULL = the table does not have the column. */
struct table_column *table_find(const struct table *t, const char *heading);

/* Adds a row whose cells are all "-". */
void table_add_cells(struct table *t);

/* Sets a cell of the last row; no effect if the table does not have the column. Takes ownership of the text. */
void table_set_cell(struct table *t, const char *heading, char *text);

/* Folds the last row: into an earlier folded row if only the first cells differ, which then shows "NAME +N", with the number of further rows. */
void table_fold_row(struct table *t);

/* Adds a row, printed by the columns. `totals`: the row is the totals, and cells of columns without a total are empty. */
void table_add_row(struct table *t, const void *row, bool totals);

/* Sets the columns' widths: the widest cell, or heading if asked for. */
void table_measure(struct table *t, bool headings);

/* The width of the columns that are not omitted, with the gaps between them. */
size_t table_width(const struct table *t);

/*
 * Omits columns or makes them narrower, at least one, in the order of their ranks, until the table is at most `limit` wide; then
 * shows each omitted column again for which there is room. Wide tables do not omit columns. Call table_measure() before.
 */
void table_fit(struct table *t, size_t limit);

/*
 * Appends the table to a text. A table that is wider than `limit` (0 = unlimited) omits columns: those without content, then by
 * rank, as few as possible. What does not fit into the last column continues on the next lines.
 */
void table_print(struct table *t, bool headings, size_t limit, struct strbuf *out);

/*
 * Appends a text on lines, which are broken after spaces and commas: the first of at most `first` columns, the others of at most
 * `width`, which begin at column `at`.
 */
void table_print_lines(struct strbuf *out, const char *text, size_t first, size_t at, size_t width);

/* The least width of a terminal to which tables are fitted. */
#define TABLE_MIN_WIDTH 29u
