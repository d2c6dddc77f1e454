/* SPDX-License-Identifier: Apache-2.0 */
#include "common/notes.h"

#include <errno.h>
#include <stdarg.h>

#include "common/text.h"

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
	char *line = NULL;
	va_list ap;
	int len;

	if (!n)
		return;
	va_start(ap, fmt);
	len = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (len < 0)
		line = NULL;
	else
		text_one_line(line);
	if (strv_take(&n->lines, line) < 0)
		n->error = -ENOMEM;
}

void notes_move(struct notes *n, struct notes *from, const char *prefix)
{
	for (size_t i = 0; i < from->lines.n_items; i++)
		notes_add(n, "%s: %s", prefix, from->lines.items[i]);
	if (n && from->error)
		n->error = from->error;
	notes_release(from);
}
