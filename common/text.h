/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * text: fixed and owned strings, text from outside made safe to print, and line breaks. Depends on common/
 * only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Append to the string in `text`, a buffer of `size` bytes with the NUL. A string that is too long is cut.
 * Does not allocate. */
__attribute__((format(printf, 3, 4))) void text_addf(char *text, size_t size, const char *fmt, ...);

/* Append a duration for people: "90 s", "12 min", "5 h", "3 days", "4 years". */
void text_add_duration(char *text, size_t size, int64_t seconds);

/*
 * Make text from outside safe to print: it must neither control a terminal nor start a new line. Each byte of
 * a control character (C0, DEL, C1) and of an invalid UTF-8 sequence becomes '?'.
 */
void text_one_line(char *text);

/* As text_one_line(), but keeps the newlines of a text of several lines. */
void text_multi_line(char *text, size_t len);

/* Bytes of the UTF-8 sequence at the start of `text` (`len` bytes), 0 if there is none. */
size_t text_utf8_length(const char *text, size_t len);

/* Compare names by the numbers in them, "node-2" before "node-10", as strverscmp(3), which macOS lacks. */
int text_compare_numbered(const char *a, const char *b);

/* As text_compare_numbered(), but "" is last. */
int text_compare_empty_last(const char *a, const char *b);

/* Whether two texts are equal apart from decimal numbers, as "after 5001 ms" and "after 12 ms" are. */
bool text_same_but_numbers(const char *a, const char *b);

/* Parse a boolean as Go's strconv.ParseBool: 1, t, T, true, True, TRUE, 0, f, ... False if the text is not
 * a boolean (*ret is untouched). */
bool text_parse_bool(const char *text, bool *ret);

/* Replace an owned string (or NULL) with a copy of `value`. */
void text_set(char **owned, const char *value);

/* Whether the text of `len` bytes is a name as in labels, and after the domain of resources: letters, digits, "-", "_" and ".", the first and the
 * last a letter or digit, at most 63 bytes. */
bool text_is_label_name(const char *text, size_t len);

/* Whether the text of `len` bytes is a DNS-1123 subdomain: lower-case labels, separated by dots, at most 253 bytes. */
bool text_is_dns_subdomain(const char *text, size_t len);

/* Whether the text ends with `suffix`. */
bool text_ends_with(const char *text, const char *suffix);

/* The part of the path after its last slash; borrows. */
const char *text_basename(const char *path);

/* The text, or "" for NULL. */
static inline const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* ---- columns and lines: one column per UTF-8 sequence */

/* Whether a byte continues a UTF-8 sequence and so takes no column. */
static inline bool text_is_continuation(char ch)
{
	return ((unsigned char)ch & 0xc0) == 0x80;
}

/* The character, or '?' if it is not printable ASCII, so that no text can control a terminal. */
static inline char text_printable(char ch)
{
	return ch >= ' ' && ch <= '~' ? ch : '?';
}

/* Columns of a text. */
size_t text_width(const char *text);

/*
 * Bytes of the first line when a text is broken into lines of `width` columns (at least 1). The line ends at
 * the last possible break, or else at `width`. It includes the space at the break, which may be beyond
 * `width`. Breaks after ", " and "; " are preferred, unless the line would be less than a third full; then
 * any space or comma is a break.
 */
size_t text_line_length(const char *text, size_t width);
