/* SPDX-License-Identifier: Apache-2.0 */
#include "common/notes.h"

#include <errno.h>
#include <stdarg.h>

#include "common/cleanup.h"
#include "common/text.h"
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
	CLEANUP(freep) char *line = NULL;
	char **slot = NULL;
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
		slot = vec_push(&n->lines, &n->n_lines, &n->lines_size, sizeof(*slot));
	if (slot) {
		text_one_line(line);
		*slot = TAKE(line);
	} else {
		n->error = -ENOMEM;
	}
}

void notes_move(struct notes *n, struct notes *from, const char *prefix)
{
	for (size_t i = 0; i < from->n_lines; i++)
		notes_add(n, "%s: %s", prefix, from->lines[i]);
	if (n && from->error)
		n->error = from->error;
	notes_release(from);
}
