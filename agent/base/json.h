/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads and writes JSON text: as a document, value by value without a tree, and in pieces of any size.
 *
 * json.c is the only file that includes cJSON.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/doc.h"
#include "common/strbuf.h"

/* ---- documents */

/*
 * Parse one JSON text; nothing but white space may follow it. 0; -EINVAL with the place of the error; -ERANGE for a
 * number of 2^53 or more that is not written as a plain integer (plain integers are exact at any size). *ret is
 * untouched on failure, else the caller releases it.
 */
int json_parse(const char *text, size_t len, struct doc *ret, struct err *err);

/* Print with two-space indentation and a closing newline. 0 or -EFBIG. */
int json_print(const struct doc *d, struct strbuf *out);

/* Print on one line without spaces and without a closing newline. */
int json_print_compact(const struct doc *d, struct strbuf *out);

/* Append a string with its quotes. Control characters are escaped, also those that a terminal would take for its
 * own; what is not UTF-8 becomes U+FFFD, as in Go. */
void json_add_string(struct strbuf *out, const char *text);

/* ---- a text in memory: for long lists of which only a part of each element is read */

/* A value within a text that the caller owns: no space around the value, no NUL behind it. */
struct json_piece {
	const char *text;
	size_t len;
};

struct json_walk {
	const char *at, *end;
	char close; /* '}' or ']' */
	bool begun; /* a value was found: a comma is required before the next value */
};

/* Begin with the members of a map (`open` is '{') or the elements of a list ('['). False: the value is of
 * another kind. */
bool json_walk_begin(struct json_walk *w, struct json_piece value, char open);

/*
 * The next value, and in a map its key with the quotes (ret_key is NULL in a list). 1; 0 at the end; -EINVAL:
 * not valid JSON at w->at. The inside of a value is read only to find the value's end: json_parse() checks it.
 */
int json_walk_next(struct json_walk *w, struct json_piece *ret_key, struct json_piece *ret_value);

/* The only value of a text. 0; -EINVAL: none, or something follows the value. */
int json_walk_text(const char *text, size_t len, struct json_piece *ret);

bool json_piece_is_null(struct json_piece p);

/* Whether a key, with its quotes, is `name`, ignoring case as Go's encoding/json does. */
bool json_piece_is_key(struct json_piece p, const char *name);

/*
 * Copy a string's value and a NUL to `ret`, which has room for p.len bytes. Returns the number of bytes with the
 * NUL; -EINVAL: not a string, or not valid JSON.
 */
int json_piece_string(struct json_piece p, char *ret);

/*
 * ---- a text in pieces: a sequence of objects. An object with a list as its member "items" is a List, as kubectl
 * prints it: each item is parsed and handed on by itself, and the List is never in memory as a whole.
 */

enum json_stream_part {
	JSON_STREAM_ITEM,     /* an item of a List, always a map */
	JSON_STREAM_LIST,     /* the List itself, after its items; its member "items" is empty */
	JSON_STREAM_DOCUMENT, /* another object */
	JSON_STREAM_PART_COUNT
};

/*
 * Called with each part. For an item, `list` has the members of the List that come before "items" in the text;
 * otherwise `list` is NULL. The function may take `part` apart. 0, or -errno, which ends the reading.
 */
typedef int json_stream_fn(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err);

/* Called instead of json_stream_fn for an item or another object that cannot be parsed or is too large. */
typedef void json_stream_skip_fn(void *data, const struct err *why);

/* Where a text is: in a string or not, and in how many brackets. */
struct json_nesting {
	size_t depth;
	bool in_string;
	bool escaped; /* the byte before was a backslash in a string */
};

/* `skip` may be set after json_stream_init(). The members below `data` belong to json.c. */
struct json_stream {
	json_stream_fn *fn;
	json_stream_skip_fn *skip; /* NULL = what cannot be parsed, or is too large, ends the reading */
	void *data;
	struct strbuf text;          /* the item that has begun */
	struct strbuf around;        /* the object that has begun; of a List, everything but its items */
	struct doc list;             /* `around` as it was when the items began */
	int state;                   /* enum state of json.c */
	struct json_nesting nesting; /* of the item or else of the object */
	bool in_list;                /* the object has items */
	bool wants_key;              /* the next string at depth 1 is a key */
	bool is_items;               /* the last key at depth 1 is "items" */
	size_t key;                  /* where in `around` the last string at depth 1 begins */
	size_t n_items;              /* of this List, so far */
	size_t line, begin_line, document_line;
};

#define JSON_STREAM_PART_MAX ((size_t)64 << 20) /* bytes of a part: etcd holds less than 2 MiB */

void json_stream_init(struct json_stream *s, json_stream_fn *fn, void *data);
void json_stream_release(struct json_stream *s);

/*
 * Read more of the text. 0; -EINVAL with one line (not valid JSON, an item that is not a map); -EFBIG: a part of
 * more than JSON_STREAM_PART_MAX; what json_parse() and `fn` return. After a failure the stream can only be
 * released.
 */
int json_stream_feed(struct json_stream *s, const char *text, size_t len, struct err *err);

/* The text has ended: -EINVAL when the end is within an object. */
int json_stream_end(struct json_stream *s, struct err *err);
