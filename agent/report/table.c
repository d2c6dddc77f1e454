/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

void table_release(struct table *t)
{
	strv_release(&t->cells);
}

static void take(struct table *t, char *text)
{
	if (text)
		text_one_line(text);
	strv_take(&t->cells, text);
}

void table_add(struct table *t, const char *text)
{
	take(t, xstrdup(text && *text ? text : "-"));
}

void table_addf(struct table *t, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;
	int n;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	n = 0;
	va_end(ap);
	take(t, n < 0 ? NULL : text);
}

void table_print(const struct table *t, bool headings, struct strbuf *out)
{
	size_t first = headings ? 0 : t->n_columns;
	CLEANUP(freep) size_t *widths = xcalloc(t->n_columns + 1, sizeof(*widths));

	for (size_t i = first; i < t->cells.n_items; i++) {
		size_t width = text_width(t->cells.items[i]);

		if (width > widths[i % t->n_columns])
			widths[i % t->n_columns] = width;
	}
	for (size_t i = first; i < t->cells.n_items; i++) {
		size_t column = i % t->n_columns, width = text_width(t->cells.items[i]);
		bool last = column + 1 == t->n_columns;

		strbuf_addstr(out, t->cells.items[i]);
		for (; !last && width < widths[column] + 2; width++)
			strbuf_addch(out, ' ');
		if (last)
			strbuf_addch(out, '\n');
	}
}
