/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes a report in the format of --output: text with tables for people, names for scripts, JSON or YAML.
 *
 * A report calls one function per field. In JSON and YAML the field is the member `key` of the open map, or
 * an item of the open list (NULL). In a table it is the cell of the column `heading` in the last row. A field
 * without a heading, or whose heading is not a column of the table, is omitted from the table; fields without
 * a key are omitted from JSON and YAML.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/report/table.h"
#include "common/doc.h"
#include "common/strbuf.h"
#include "common/vec.h"

enum writer_format { WRITER_TEXT, WRITER_WIDE, WRITER_NAME, WRITER_JSON, WRITER_YAML };

#define WRITER_DEPTH 8

struct writer {
	enum writer_format format;
	bool headings;      /* tables have headings */
	struct strbuf *out; /* the caller's */
	struct table table;
	size_t width;   /* of a terminal, for the format "text"; 0 = unlimited */
	size_t indent;  /* of the rest of a line that is wider */
	struct doc doc; /* unless the format is text; a report may fill it in directly */
	struct doc *open[WRITER_DEPTH];
	size_t depth;
};

/*
 * `output` is the value of --output: "text", "wide", "name", "json" or "yaml". Appends to `out`,
 * which must outlive `w`.
 */
void writer_init(struct writer *w, const char *output, bool headings, struct strbuf *out);
void writer_release(struct writer *w);

/* Whether the report is a document: JSON or YAML. */
bool writer_is_doc(const struct writer *w);

/*
 * Appends the document, if any. On a terminal, lines of the format "text" that are wider than w->width continue on indented
 * lines. 0 or -EFBIG, also if a report's text was too long.
 */
int writer_finish(struct writer *w);

/* ---- tables */

/* Starts a table, in place of the previous one. `columns` must outlive the table. */
void writer_columns(struct writer *w, const struct column *columns, size_t n);

/* A cell of the last row; without this call the cell is "-". */
__attribute__((format(printf, 3, 4))) void writer_cell(
	struct writer *w, const char *heading, const char *fmt, ...);

/* Appends the table to the text, at most w->width wide. */
void writer_table(struct writer *w);

/* In the format "name" a line "KIND/NAME"; no effect in other formats. */
void writer_name(struct writer *w, const char *kind, const char *name);

/* ---- structure */

/* Starts a row, which in JSON and YAML is a map in the open list. writer_end() closes the map. */
void writer_row(struct writer *w);

/* Opens a map or a list, which writer_end() closes. No effect in text. */
void writer_map(struct writer *w, const char *key);
void writer_list(struct writer *w, const char *key);
void writer_end(struct writer *w);

/* ---- fields */

/* An empty string is "-" in a table. */
void writer_string(struct writer *w, const char *key, const char *heading, const char *value);

/* As writer_string(), but an empty string is null in JSON and YAML. */
void writer_text(struct writer *w, const char *key, const char *heading, const char *value);

/* null, and "-" in a table, unless `known`. */
void writer_number(struct writer *w, const char *key, const char *heading, bool known, int64_t value);

/* The other fields are for JSON and YAML only: null unless `known`. */
void writer_bool(struct writer *w, const char *key, bool known, bool value);
void writer_null(struct writer *w, const char *key);

/* A list of the set bits. */
void writer_ids(struct writer *w, const char *key, bool known, uint64_t ids);

void writer_strings(struct writer *w, const char *key, const struct strv *list);

/* Nodes that have no NodeResourceTopology object: the member withoutObject with their names; in a text, if there are any, a line with
 * their number, and in the format "wide" their names. */
void writer_without_object(struct writer *w, const struct strv *nodes);

/*
 * Adds the members of a row to the open map, in the order of their places; for `totals` those of columns with a total. For
 * JSON and YAML only.
 */
void writer_members(struct writer *w, const struct column *columns, size_t n, const void *row, bool totals);
