/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "common/xalloc.h"

#define INDENT 4u

void writer_init(struct writer *w, const char *output, bool headings, struct strbuf *out)
{
	static const char *const names[] = {[WRITER_TEXT] = "text",
		[WRITER_WIDE] = "wide",
		[WRITER_NAME] = "name",
		[WRITER_JSON] = "json",
		[WRITER_YAML] = "yaml"};

	*w = (struct writer){.headings = headings, .indent = INDENT, .out = out, .doc = {.kind = DOC_MAP}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(output, names[i]))
			w->format = (enum writer_format)i;
}

void writer_release(struct writer *w)
{
	doc_release(&w->doc);
	table_release(&w->table);
}

bool writer_is_doc(const struct writer *w)
{
	return w->format == WRITER_JSON || w->format == WRITER_YAML;
}

/* ---- tables */

void writer_columns(struct writer *w, const struct column *columns, size_t n)
{
	table_begin(&w->table, w->format == WRITER_WIDE ? TABLE_WIDE : TABLE_TEXT, columns, n);
}

void writer_cell(struct writer *w, const char *heading, const char *fmt, ...)
{
	va_list ap;

	if (writer_is_doc(w))
		return;
	va_start(ap, fmt);
	table_set_cell(&w->table, heading, xvasprintf(fmt, ap));
	va_end(ap);
}

/* Whether lines have at most w->width columns. */
static bool is_limited(const struct writer *w)
{
	return w->width >= TABLE_MIN_WIDTH && w->format == WRITER_TEXT;
}

void writer_table(struct writer *w)
{
	table_print(&w->table, w->headings, is_limited(w) ? w->width : 0, w->out);
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
			table_print_lines(w->out, line, w->width, w->indent, w->width - w->indent);
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

void writer_name(struct writer *w, const char *kind, const char *name)
{
	if (w->format != WRITER_NAME)
		return;
	strbuf_addf(w->out, "%s/", kind);
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
	else
		table_add_cells(&w->table);
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

/* Whether the field is in the document: as a member, which has a key, or as an item of the open list. */
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

/* ---- members of columns */

static const struct column *find_place(const struct column *columns, size_t n, unsigned place)
{
	for (size_t i = 0; i < n; i++)
		if (columns[i].key && columns[i].place == place)
			return &columns[i];
	return NULL;
}

static void write_member(struct writer *w, const struct column *c, const char *key, const void *row)
{
	struct column_value v = column_value(c, row);

	if (c->member)
		c->member(w, key, row);
	else if (v.text && v.known)
		writer_string(w, key, NULL, v.text);
	else
		writer_number(w, key, NULL, v.known, v.number);
}

/* The length of "cpus" in "cpus.free" and of "sizes" in "sizes[]", 0 in "name". */
static size_t group_length(const char *key)
{
	size_t len = strcspn(key, ".[");

	return key[len] ? len : 0;
}

void writer_members(struct writer *w, const struct column *columns, size_t n, const void *row, bool totals)
{
	CLEANUP(freep) char *group = xstrdup(""); /* the key of the open map or list; "" = none is open */
	const struct column *c;

	for (unsigned place = 1; (c = find_place(columns, n, place)); place++) {
		size_t len = group_length(c->key);
		const char *key = c->key; /* within its group; NULL = an item of a list */

		if (totals && !c->total)
			continue;
		if (strlen(group) != len || strncmp(group, c->key, len) != 0) {
			if (*group)
				writer_end(w);
			free(group);
			group = xstrndup(c->key, len);
			if (len > 0 && c->key[len] == '.')
				writer_map(w, group);
			else if (len > 0)
				writer_list(w, group);
		}
		if (len > 0)
			key = c->key[len] == '.' ? &c->key[len + 1] : NULL;
		write_member(w, c, key, row);
	}
	if (*group)
		writer_end(w);
}

void writer_without_object(struct writer *w, const struct strv *nodes)
{
	if (writer_is_doc(w)) {
		writer_strings(w, "withoutObject", nodes);
		return;
	}
	if (nodes->n_items == 0)
		return;
	strbuf_addf(w->out, "%zu Node%s no object", nodes->n_items, nodes->n_items == 1 ? " has" : "s have");
	if (w->format == WRITER_WIDE) {
		strbuf_addstr(w->out, ": ");
		strbuf_add_list(w->out, nodes, SIZE_MAX);
	}
	strbuf_addch(w->out, '\n');
}
