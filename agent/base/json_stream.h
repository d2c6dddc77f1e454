/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON text in pieces of any size, cut into documents and items of Lists. Those are parsed one at a time. A
 * List as kubectl prints it is a map whose member "items" is a list; it is never in memory as a whole.
 */
#include <stdint.h>

#include "agent/base/doc.h"
#include "common/strbuf.h"

enum json_stream_part {
	JSON_STREAM_ITEM,     /* an item of a List, always a map */
	JSON_STREAM_LIST,     /* the List itself, after its items; its member "items" is empty */
	JSON_STREAM_DOCUMENT, /* another document, always a map */
	JSON_STREAM_PART_COUNT
};

/*
 * Called with each. For an item `list` has the members of its List that come before "items" in the text, else it
 * is NULL. `part` may be taken apart. 0, or -errno, which ends the reading.
 */
typedef int json_stream_fn(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err);

/* Called with the reason why an item or a document is passed over, which is then not handed on. */
typedef void json_stream_skip_fn(void *data, const struct err *err);

struct json_stream {
	json_stream_fn *fn;
	json_stream_skip_fn *skip; /* NULL = what cannot be parsed, or is too large, ends the reading */
	void *data;
	struct strbuf text;   /* the item that has begun */
	struct strbuf around; /* the document that has begun, of a List what is around its items */
	struct doc list;      /* of `around`, when its items begin */
	int state;            /* of json_stream.c */
	bool in_string, escaped;
	bool in_list;   /* the document has items */
	bool wants_key; /* the next string of the document's own is a key */
	bool is_items;  /* the last such string is the key "items" */
	size_t depth;   /* open brackets, of the item or else of the document */
	size_t key;     /* where in `around` the key begins */
	size_t n_items; /* of this List */
	size_t line, begin_line, document_line;
};

#define JSON_STREAM_PART_MAX \
	((size_t)64 << 20) /* bytes of a document or an item: etcd holds less than 2 MiB */

void json_stream_init(struct json_stream *s, json_stream_fn *fn, void *data);
void json_stream_release(struct json_stream *s);

/*
 * More of the text. 0; -EINVAL with one line (no JSON, an item of another kind); -EFBIG; what json_parse() and
 * `fn` return. After a failure the stream can only be released.
 */
int json_stream_feed(struct json_stream *s, const char *text, size_t len, struct err *err);

/* The text has ended: -EINVAL when that is within a document. */
int json_stream_end(struct json_stream *s, struct err *err);
