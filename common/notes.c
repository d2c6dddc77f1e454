/* SPDX-License-Identifier: Apache-2.0 */
#include "common/notes.h"

#include <errno.h>
#include <stdarg.h>

#include "common/vec.h"

void notes_init(struct notes *n)
{
	*n = (struct notes){0};
}

void notes_release(struct notes *n)
{
	for (size_t i = 0; i < n->n_lines; i++)
		free(n->lines[i]);
	free(n->lines);
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
	if (len < 0 || vec_grow(&n->lines, &n->lines_size, n->n_lines + 1, sizeof(*n->lines)) < 0) {
		if (len >= 0)
			free(line);
		n->error = -ENOMEM;
		return;
	}
	n->lines[n->n_lines++] = line;
}

void notes_move(struct notes *n, struct notes *from, const char *prefix)
{
	for (size_t i = 0; i < from->n_lines; i++)
		notes_add(n, "%s: %s", prefix, from->lines[i]);
	if (n && from->error)
		n->error = from->error;
	notes_release(from);
}
