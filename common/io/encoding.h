/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * encoding: removes the byte order mark of a text, and converts UTF-16 to UTF-8, as Windows programs write it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strbuf.h"

#define UTF8_BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Find the text in UTF-8, in `text` itself or in `out`. Texts without a byte order mark are UTF-8, and not checked. 0; -EINVAL: invalid
 * UTF-16, with the line; -EFBIG: `out` is too small. */
int encoding_to_utf8(const char *text, size_t len, struct strbuf *out, const char **ret_text, size_t *ret_len,
	struct err *err);

/* Join the two units of a surrogate pair in *c. False, *c untouched: they are no pair. */
bool encoding_join_surrogates(uint32_t *c, uint32_t low);

/* The line of a byte, counted from 1. Lines end with a newline, or with a carriage return that no newline follows. */
size_t encoding_line(const char *text, size_t at);
