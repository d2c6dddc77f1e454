/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * doc: a document tree of scalars, lists and maps, which json.c and yaml.c parse and print. Numbers keep
 * their decimal text, so that no value is rounded to a double. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/err.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/text.h"

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
	char *key;         /* the key in the parent map, otherwise NULL */
	char *text;        /* NUMBER, STRING: the value; BOOL: "true" or "false"; NULL for other kinds */
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

/* Free the children and strings; `d` is then null and without a key. */
void doc_release(struct doc *d);

/* ---- building. The functions return the new child, to be filled by the caller; the pointer is valid
 * until the next child is added to the same parent. `key` is NULL in a list. */

struct doc *doc_add_map(struct doc *parent, const char *key);
struct doc *doc_add_list(struct doc *parent, const char *key);
/* The map's member with this key if the member is a map, or a list; else a new member. */
struct doc *doc_find_or_add_map(struct doc *map, const char *key);
struct doc *doc_find_or_add_list(struct doc *map, const char *key);
struct doc *doc_add_string(struct doc *parent, const char *key, const char *value);
/* A string, or null if `value` is NULL. */
struct doc *doc_add_string_or_null(struct doc *parent, const char *key, const char *value);
struct doc *doc_add_number(struct doc *parent, const char *key, int64_t value);
/* A string with the amount as a quantity of Kubernetes, such as "30500m". */
struct doc *doc_add_quantity(struct doc *parent, const char *key, qty_t nano);
struct doc *doc_add_bool(struct doc *parent, const char *key, bool value);

/* Append a list of the words of a text, which are separated by spaces. NULL = no words. */
void doc_add_words(struct doc *parent, const char *key, const char *words);

/* Append a null child; `key` is copied. For parsers. */
struct doc *doc_add(struct doc *parent, const char *key);

/* Free the space for children that will not be added. */
void doc_fit(struct doc *parent);

/* Set the kind and the text (`len` bytes, copied) of a scalar. */
void doc_set_text(struct doc *d, enum doc_kind kind, const char *text, size_t len);
void doc_set_number(struct doc *d, int64_t value);

/* Set to a number with the shortest text that gives the same double, as Go's encoding/json prints it. The value is finite. */
void doc_set_double(struct doc *d, double value);

/* A deep copy without the key of `d`. */
void doc_copy(const struct doc *d, struct doc *ret);

/* Add a copy of a map's member to another map; do nothing if the map has no such member. */
void doc_copy_member(const struct doc *map, const char *key, struct doc *to);

/* ---- reading. NULL or an error when the member is missing or of another kind. */

/* The child of a map with this key, or NULL. Of equal keys the last wins, as in Go's decoder. */
const struct doc *doc_get(const struct doc *map, const char *key);

/* As doc_get(), ignoring case as Go's encoding/json. */
const struct doc *doc_get_fold(const struct doc *map, const char *key);

/* The text of a string, or NULL when d is NULL or not a string. */
const char *doc_string(const struct doc *d);

/* The text of a string member, "" if the map has no such string. */
static inline const char *doc_text(const struct doc *map, const char *key)
{
	return text_or_empty(doc_string(doc_get(map, key)));
}

/* The name of a Kubernetes object, or NULL. */
static inline const char *doc_object_name(const struct doc *object)
{
	return doc_string(doc_get(doc_get(object, "metadata"), "name"));
}

/* The first item of a list whose member "name" is this name, or NULL. */
const struct doc *doc_find_named(const struct doc *list, const char *name);

/* Whether `d` is the boolean true. */
static inline bool doc_is_true(const struct doc *d)
{
	return d && d->kind == DOC_BOOL && !strcmp(d->text, "true");
}

/* NULL if `d` is NULL, not a list, or an empty list. */
static inline struct doc *doc_list_items(const struct doc *d)
{
	return d && d->kind == DOC_LIST && d->n_items > 0 ? d->items : NULL;
}

/* The value of an integer. 0; -EINVAL when d is NULL, not a number, or not an integer in range. */
int doc_uint64(const struct doc *d, uint64_t *ret);
int doc_int64(const struct doc *d, int64_t *ret);

/* A key that the map has twice, or NULL. */
const char *doc_find_duplicate(const struct doc *map);

/* Of the members of a map with equal keys, keep only the last. */
void doc_drop_duplicates(struct doc *map);

/* Change a document as Kubernetes decodes JSON without a type: of equal keys the last counts, and numbers that are not integers of
 * 64 bits become doubles. */
void doc_normalize(struct doc *d);

/* "a string", "a list", ... for messages. */
const char *doc_kind_name(const struct doc *d);

/* The children of a map, sorted by the bytes of their keys: a malloc'd array of n_items pointers into the
 * map, which the caller frees. */
const struct doc **doc_sorted(const struct doc *map);

/* ---- differences */

/*
 * Append a line to `out` for each value that differs: "zones[node-0].resources[cpu].available: 13 -> 12".
 * NULL is a missing document. Maps are compared by key, lists of maps with names by name, other lists by
 * position. Long texts are cut to the part with the first difference. Each line starts with `path`. Returns the number of lines.
 */
size_t doc_diff(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out);
