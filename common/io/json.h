/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * json: parses and prints JSON text: as a document, value by value without a tree, and as a stream in pieces
 * of any size. json.c is the only file that includes cJSON, which prints; json_parse.c parses.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/doc.h"
#include "common/strbuf.h"

/* ---- documents */

/*
 * Parse one JSON text; only white space may follow. Numbers keep their text; of equal keys, all are kept. Limits:
 * 1000 levels of nesting, no NUL characters. 0; -EINVAL with the line of the error; -ERANGE for a number that is too
 * large for a double. *ret is the caller's to release, and untouched on failure.
 */
int json_parse(const char *text, size_t len, struct doc *ret, struct err *err);

/* As json_parse(), with -EINVAL for an object that has a key twice. */
int json_parse_unique(const char *text, size_t len, struct doc *ret, struct err *err);

/* Parse the value at byte *at, which anything may follow, and move *at behind the value. The same, with -ENOENT when
 * only white space is left. */
int json_parse_next(const char *text, size_t len, size_t *at, struct doc *ret, struct err *err);

/* Whether Kubernetes takes a text for JSON: after white space it begins with a brace. 1 or 0; -EINVAL: the white space is not JSON's. */
int json_begins(const char *text, size_t len, struct err *err);

/* The number of values in a JSON text, or more: a bound of what json_parse() allocates, about 200 bytes per value. */
size_t json_count_values(const char *text, size_t len);

/* Append with an indentation of two spaces and a newline at the end. 0 or -EFBIG. */
int json_print(const struct doc *d, struct strbuf *out);

/* Append on one line without spaces and without a newline at the end. 0 or -EFBIG. */
int json_print_compact(const struct doc *d, struct strbuf *out);

/* Append a string with quotes. Control characters are escaped, including DEL and C1, which control
 * terminals; invalid UTF-8 becomes U+FFFD, as in Go. */
void json_add_string(struct strbuf *out, const char *text);

/* ---- walking a text in memory: for long lists of which only a part of each element is needed */

/* A value within a text that the caller owns, without surrounding white space. Not NUL-terminated. */
struct json_piece {
	const char *text;
	size_t len;
};

struct json_walk {
	const char *at, *end;
	char close; /* '}' or ']' */
	bool begun; /* a comma is required before the next value */
};

/* Start to walk the members of a map (`open` is '{') or the elements of a list ('['). False: the value is
 * of another kind. */
bool json_walk_begin(struct json_walk *w, struct json_piece value, char open);

/*
 * Find the next value, and in a map its key with the quotes (ret_key is NULL in a list). 1; 0 at the end;
 * -EINVAL: not valid JSON at w->at. Only the end of the value is searched: json_parse() checks what is
 * inside.
 */
int json_walk_next(struct json_walk *w, struct json_piece *ret_key, struct json_piece *ret_value);

/* The only value of a text. 0; -EINVAL: no value, or something follows the value. */
int json_walk_text(const char *text, size_t len, struct json_piece *ret);

bool json_piece_is_null(struct json_piece p);

/* Whether a key, with its quotes, is `name`, ignoring case as Go's encoding/json. */
bool json_piece_is_key(struct json_piece p, const char *name);

/*
 * Copy the value of a string and a NUL to `ret`, which has space for p.len bytes. Returns the number of bytes
 * with the NUL; -EINVAL: not a string, or not valid JSON.
 */
int json_piece_string(struct json_piece p, char *ret);

/*
 * ---- streaming: a sequence of objects in pieces of any size. An object with a list as its member "items" is
 * a List, as kubectl prints it: each item is parsed and passed on alone, so that the List is never in memory
 * as a whole.
 */

enum json_stream_part {
	JSON_STREAM_ITEM,     /* an item of a List, always a map */
	JSON_STREAM_LIST,     /* the List, after its items; its member "items" is empty */
	JSON_STREAM_DOCUMENT, /* another object */
	JSON_STREAM_PART_COUNT
};

/*
 * Called with each part. For an item, `list` has the members of the List that precede "items" in the text;
 * otherwise `list` is NULL. The function may move members out of `part`. 0; -errno stops the stream.
 */
typedef int json_stream_fn(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err);

/* Called instead of json_stream_fn for an item or another object that cannot be parsed or is too large. */
typedef void json_stream_skip_fn(void *data, const struct err *why);

/* The position in a text: inside or outside of a string, and the number of open brackets. */
struct json_nesting {
	size_t depth;
	bool in_string;
	bool escaped;   /* the previous byte was a backslash in a string */
	size_t n_lines; /* newlines outside of strings */
};

/* Called with the kind of an item. False = the item is neither parsed nor passed on. */
typedef bool json_stream_wants_fn(void *data, const char *kind);

/* `skip` and `wants` may be set after json_stream_init(). The members below `data` belong to json.c. */
struct json_stream {
	json_stream_fn *fn;
	json_stream_skip_fn *skip;   /* NULL = a part that is invalid or too large stops the stream */
	json_stream_wants_fn *wants; /* NULL = every item is wanted */
	void *data;
	struct strbuf text;          /* the current item, so far */
	struct strbuf around;        /* the current object, so far; of a List, everything except its items */
	struct doc list;             /* `around` at the start of the items */
	int state;                   /* enum state of json.c */
	struct json_nesting nesting; /* in the item, otherwise in the object */
	bool in_list;                /* the object has items */
	bool wants_key;              /* the next string at depth 1 is a key */
	bool is_items;               /* the last key at depth 1 is "items" */
	size_t key;                  /* offset in `around` of the last string at depth 1 */
	size_t n_items;              /* items of this List, so far */
	size_t line, begin_line, document_line;
};

#define JSON_STREAM_PART_MAX ((size_t)64 << 20) /* bytes of a part: objects in etcd have less than 2 MiB */

void json_stream_init(struct json_stream *s, json_stream_fn *fn, void *data);
void json_stream_release(struct json_stream *s);

/*
 * Process the next piece of the text. 0; -EINVAL (not valid JSON, an item that is not a map); -EFBIG: a part
 * larger than JSON_STREAM_PART_MAX; errors of json_parse() and `fn`. After a failure the stream can only be
 * released.
 */
int json_stream_feed(struct json_stream *s, const char *text, size_t len, struct err *err);

/* Finish the text. 0; -EINVAL: the text ends within an object. */
int json_stream_end(struct json_stream *s, struct err *err);
