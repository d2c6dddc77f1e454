/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON text <-> doc. The only file that includes cJSON is json.c.
 */
#include "agent/base/doc.h"
#include "common/strbuf.h"

/*
 * Parse one JSON text; nothing but white space may follow it. 0; -EINVAL with the place of the error;
 * -ERANGE for a number of 2^53 or more that is not written as a plain integer (those are exact at any size);
 * -ENOMEM. *ret untouched on failure, else the caller releases it.
 */
int json_parse(const char *text, size_t len, struct doc *ret, struct err *err);

/* Print with two-space indentation and a closing newline. 0 or -ENOMEM/-EFBIG. */
int json_print(const struct doc *d, struct strbuf *out);

/* Print on one line without spaces and without a closing newline. */
int json_print_compact(const struct doc *d, struct strbuf *out);

/* Append a string with its quotes. Control characters are escaped, also those that a terminal would take for its
 * own; what is not UTF-8 becomes U+FFFD, as in Go. */
void json_add_string(struct strbuf *out, const char *text);

/* The number of bytes up to `end` that a JSON string holds as they are: printable ASCII, no quote, no backslash. */
size_t json_plain_length(const char *text, const char *end);
