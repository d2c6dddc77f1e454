/* SPDX-License-Identifier: Apache-2.0 */
#include "common/notes.h"

#include <stdarg.h>

#include "common/text.h"
#include "common/xalloc.h"

void notes_init(struct notes *n)
{
	*n = (struct notes){0};
}

void notes_release(struct notes *n)
{
	strv_release(&n->lines);
	notes_init(n);
}

void notes_add(struct notes *n, const char *fmt, ...)
{
	char *line;
	va_list ap;

	if (!n)
		return;
	va_start(ap, fmt);
	line = xvasprintf(fmt, ap);
	va_end(ap);
	text_one_line(line);
	strv_take(&n->lines, line);
}

void notes_move(struct notes *n, struct notes *from, const char *prefix)
{
	for (size_t i = 0; i < from->lines.n_items; i++)
		notes_add(n, "%s: %s", prefix, from->lines.items[i]);
	notes_release(from);
}
