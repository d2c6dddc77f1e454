/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A table for a person, as kubectl prints them: columns as wide as what is in them, two spaces between.
 */
#include <stdbool.h>

#include "common/strbuf.h"
#include "common/vec.h"

struct table {
	size_t n_columns;
	struct strv cells; /* row by row, the headings first */
};

void table_release(struct table *t);

/* The next cell, on one line and with "-" for no text. */
void table_add(struct table *t, const char *text);
__attribute__((format(printf, 2, 3))) void table_addf(struct table *t, const char *fmt, ...);

/* All rows, the headings if asked for. */
void table_print(const struct table *t, bool headings, struct strbuf *out);
