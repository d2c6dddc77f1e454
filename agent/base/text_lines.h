/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Text of unknown origin for terminals and pictures: one column for each printable ASCII character and for
 * each UTF-8 sequence. Depends on libc only.
 */
#include <stdbool.h>
#include <stddef.h>

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
