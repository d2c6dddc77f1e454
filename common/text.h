/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Texts as members of a struct: of bounded length within it, for reasons and names that must not allocate
 * (what does not fit is cut), and owned strings. Depends on libc only.
 */
#include <stdbool.h>
#include <stddef.h>

/* Append to the string in `text`, of `size` bytes with its closing NUL. */
__attribute__((format(printf, 3, 4))) void text_addf(char *text, size_t size, const char *fmt, ...);

/*
 * Text from outside must not steer a terminal or begin a line of its own: each byte of a control character (of
 * 7 bits, DEL, of 8 bits) and of what is not UTF-8 becomes '?'.
 */
void text_one_line(char *text);

/* The same for a text of several lines: newlines stay. */
void text_multi_line(char *text, size_t len);

/* Bytes of the UTF-8 sequence that `text` of `len` bytes begins with, 0 where it begins with none. */
size_t text_utf8_length(const char *text, size_t len);

/* Whether two texts differ in their decimal numbers at most: "after 5001 ms" and "after 12 ms" are the same.
 */
bool text_same_but_numbers(const char *a, const char *b);

/* Go's strconv.ParseBool: 1, t, T, true, True, TRUE, 0, f, ... False when it is none of them (*ret is
 * untouched). */
bool text_parse_bool(const char *text, bool *ret);

/* Replace an owned string (or NULL) by a copy of `value`. */
void text_set(char **owned, const char *value);

bool text_ends_with(const char *text, const char *suffix);

/* The text, or "" for none. */
static inline const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* ---- columns and lines */

/* A byte that continues a UTF-8 sequence: it has no column of its own. */
static inline bool text_is_continuation(char ch)
{
	return ((unsigned char)ch & 0xc0) == 0x80;
}

/* The character itself, or '?' for what is not printable ASCII, so that no text can steer a terminal. */
static inline char text_printable(char ch)
{
	return ch >= ' ' && ch <= '~' ? ch : '?';
}

/* Columns of a text. */
size_t text_width(const char *text);

/*
 * Bytes of the first line of a text that is broken at `width` columns (1 at least): up to the last break that
 * fits, or as many as fit; the space of a break belongs to the line and may be beyond the width. Behind
 * ", " and "; " is the better place, unless that leaves most of the line empty; then behind any space or
 * comma.
 */
size_t text_line_length(const char *text, size_t width);
