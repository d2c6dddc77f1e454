/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Checks what a parser of documents makes of a text.
 */
#include <stddef.h>

#include "common/doc.h"

typedef int test_parse_fn(const char *text, size_t len, struct doc *ret, struct err *err);

/* The document as compact JSON is `want`; NULL: the text is refused, with `message` in the error, and nothing is returned. */
void test_check_parse(
	test_parse_fn *parse, const char *text, size_t len, const char *want, const char *message);
