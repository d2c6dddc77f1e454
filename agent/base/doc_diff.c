/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/doc_diff.h"

#include <string.h>

#include "common/cleanup.h"

#define PATH_TEXT_MAX 4096u
#define VALUE_MAX     200

static bool is_leaf(const struct doc *d)
{
	return !d || (d->kind != DOC_MAP && d->kind != DOC_LIST);
}

static const char *name_in(const struct doc *item)
{
	return item->kind == DOC_MAP ? doc_string(doc_get(item, "name")) : NULL;
}

/* Every item is a map with a name of its own. */
static bool has_names(const struct doc *list)
{
	DOC_FOREACH (item, list)
		if (!name_in(item))
			return false;
	return true;
}

static void add_cut(const char *text, struct strbuf *out)
{
	char cut[VALUE_MAX + 1];

	snprintf(cut, sizeof(cut), "%s", text);
	strbuf_add_one_line(out, cut);
	strbuf_addstr(out, strlen(text) > VALUE_MAX ? "..." : "");
}

static void add_value(const struct doc *d, struct strbuf *out)
{
	if (!d)
		strbuf_addstr(out, "(absent)");
	else if (d->kind == DOC_MAP || d->kind == DOC_LIST)
		strbuf_addf(out, "(%s of %zu)", d->kind == DOC_MAP ? "map" : "list", d->n_items);
	else
		add_cut(d->text ? d->text : "null", out);
}

static size_t say(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	strbuf_add_one_line(out, path);
	strbuf_addstr(out, ": ");
	add_value(from, out);
	strbuf_addstr(out, " -> ");
	add_value(to, out);
	strbuf_addch(out, '\n');
	return 1;
}

static const struct doc *find(const struct doc *parent, const char *name)
{
	if (!parent)
		return NULL;
	if (parent->kind == DOC_MAP)
		return doc_get(parent, name);
	DOC_FOREACH (item, parent)
		if (!strcmp(name_in(item), name))
			return item;
	return NULL;
}

/* The children of `from` with their like in `to`; or, `added`, those of `from` that `to` does not have, the other way
 * round. */
static size_t by_name(
	const char *path, const struct doc *from, const struct doc *to, bool added, struct strbuf *out)
{
	bool list = from && from->kind == DOC_LIST;
	size_t n = 0;

	if (!from)
		return 0;
	DOC_FOREACH (item, from) {
		CLEANUP(strbuf_release) struct strbuf child = STRBUF_INIT(PATH_TEXT_MAX);
		const char *name = list ? name_in(item) : item->key;
		const struct doc *other = find(to, name);

		strbuf_addf(&child, list ? "%s[%s]" : *path ? "%s.%s" : "%s%s", path, name);
		if (added && !other)
			n += say(child.text, NULL, item, out);
		else if (!added)
			n += doc_diff(child.text, item, other, out);
	}
	return n;
}

static size_t by_place(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	size_t most = from->n_items > to->n_items ? from->n_items : to->n_items, n = 0;

	for (size_t i = 0; i < most; i++) {
		CLEANUP(strbuf_release) struct strbuf child = STRBUF_INIT(PATH_TEXT_MAX);

		strbuf_addf(&child, "%s[%zu]", path, i);
		n += doc_diff(child.text, i < from->n_items ? &from->items[i] : NULL,
			i < to->n_items ? &to->items[i] : NULL, out);
	}
	return n;
}

size_t doc_diff(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	if (!from || !to || from->kind != to->kind)
		return from == to ? 0 : say(path, from, to, out);
	if (is_leaf(from))
		return (from->text && to->text ? strcmp(from->text, to->text) == 0 : from->text == to->text)
			       ? 0
			       : say(path, from, to, out);
	if (from->kind == DOC_LIST && (!has_names(from) || !has_names(to)))
		return by_place(path, from, to, out);
	return by_name(path, from, to, false, out) + by_name(path, to, from, true, out);
}
