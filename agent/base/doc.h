/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A document: scalars, lists and maps, as JSON and YAML both have them. Readers (agent/base/json.c, agent/base/yaml.c)
 * make one from text, writers print one; in between nobody needs to know which it was. Numbers keep their
 * decimal text, so no value passes through a double. Depends on libc and common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strbuf.h"

enum doc_kind {
	DOC_NULL,
	DOC_BOOL,
	DOC_NUMBER, /* decimal text in `text` */
	DOC_STRING,
	DOC_LIST,
	DOC_MAP,
	DOC_KIND_COUNT
};

struct doc {
	enum doc_kind kind;
	char *key;         /* name within the parent map, else NULL */
	char *text;        /* NUMBER, STRING: the value; BOOL: "true" or "false"; NULL for the other kinds */
	struct doc *items; /* LIST, MAP: children in document order */
	size_t n_items;
	size_t items_size;
};

#define DOC_FOREACH(item, parent) \
	for (struct doc *item = (parent)->items; item && item < (parent)->items + (parent)->n_items; item++)

/* The items of a list; none if `list` is NULL or not a list. */
#define DOC_FOREACH_ITEM(item, list) \
	for (struct doc *item = doc_list_items(list); item && item < (list)->items + (list)->n_items; item++)

#define DOC_INIT                 \
	{                        \
		.kind = DOC_NULL \
	}

void doc_release(struct doc *d); /* free the children and texts; the value is null afterwards, its key too */

/* ---- building: the child that was added, to be filled by the caller. `key` is NULL in a list. The returned pointer is valid
 * until the next child is added to the same parent. */
struct doc *doc_add_map(struct doc *parent, const char *key);
struct doc *doc_add_list(struct doc *parent, const char *key);
struct doc *doc_add_string(struct doc *parent, const char *key, const char *value);
struct doc *doc_add_number(struct doc *parent, const char *key, int64_t value);
struct doc *doc_add_bool(struct doc *parent, const char *key, bool value);

/* Append an empty (null) child; `key` is copied. For readers. */
struct doc *doc_add(struct doc *parent, const char *key);

/* Set a scalar's kind and text (copied, `len` bytes). */
void doc_set_text(struct doc *d, enum doc_kind kind, const char *text, size_t len);

/* A deep copy, without the key of `d` itself. */
void doc_copy(const struct doc *d, struct doc *ret);

/* ---- reading: strict getters. NULL or an error when the member is absent or of another kind. */

/* The child of a map with exactly this key (the last one, as Go's decoder lets the last win), or NULL. */
const struct doc *doc_get(const struct doc *map, const char *key);

/* The same, ignoring case as Go's encoding/json does. */
const struct doc *doc_get_fold(const struct doc *map, const char *key);

/* A string's text, or NULL when d is NULL or no string. */
const char *doc_string(const struct doc *d);

/* The text of a string member, "" if the map has no such string. */
static inline const char *doc_text(const struct doc *map, const char *key)
{
	const char *text = doc_string(doc_get(map, key));

	return text ? text : "";
}

/* NULL if `d` is NULL, not a list, or an empty list. */
static inline struct doc *doc_list_items(const struct doc *d)
{
	return d && d->kind == DOC_LIST && d->n_items > 0 ? d->items : NULL;
}

/* An integer in 0..UINT64_MAX / INT64 range. 0; -EINVAL when d is NULL, no number, or no such integer. */
int doc_uint64(const struct doc *d, uint64_t *ret);
int doc_int64(const struct doc *d, int64_t *ret);

/* "a string", "a list", ... for messages. */
const char *doc_kind_name(const struct doc *d);

/* The children of a map in byte order of their keys: a malloc'd array of n_items pointers into the map that
 * the caller frees. */
const struct doc **doc_sorted(const struct doc *map);

/* ---- differences */

/*
 * Append a line for each value that is not alike in `from` and `to`; NULL means one that is not there.
 * Maps go by key, lists of maps that have names by name, other lists by place. `path` is put in front.
 * Returns how many lines.
 */
size_t doc_diff(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out);
