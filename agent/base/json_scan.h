/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON text walked without a tree: the members of a map and the elements of a list as pieces of the text. For
 * long lists whose elements are read in part. Depends on libc and common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

/* A value within a text, which stays the caller's: no space around it, no NUL behind it. */
struct json_piece {
	const char *text;
	size_t len;
};

struct json_scan {
	const char *at, *end;
	char close; /* '}' or ']' */
	bool begun; /* a value was found: a comma comes before the next */
};

/* Begin with the members of a map (`open` is '{') or the elements of a list ('['). False: the value is of
 * another kind. */
bool json_scan_begin(struct json_scan *s, struct json_piece value, char open);

/*
 * The next value, and in a map its key with the quotes (ret_key is NULL in a list). 1; 0 at the end; -EINVAL:
 * no JSON at s->at. What is inside of a value is checked only as far as its end has to be found.
 */
int json_scan_next(struct json_scan *s, struct json_piece *ret_key, struct json_piece *ret_value);

/* The one value that a text consists of. 0 or -EINVAL. */
int json_scan_text(const char *text, size_t len, struct json_piece *ret);

bool json_piece_is_null(struct json_piece p);

/* Whether a key, with its quotes, is `name`, ignoring case as Go's encoding/json does. */
bool json_piece_is_key(struct json_piece p, const char *name);

/*
 * Copy a string's value and a NUL to `ret`, which has room for as many bytes as the piece has. The number of
 * bytes with the NUL; -EINVAL: no string, or none that is valid JSON; -ENOMEM.
 */
int json_piece_string(struct json_piece p, char *ret);
