/* SPDX-License-Identifier: Apache-2.0 */
#include "common/err.h"

#include <stdarg.h>

#include "common/text.h"
#include "common/xalloc.h"

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	text_one_line(err->text);
	return code;
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char rest[sizeof(err->text)];
	va_list ap;
	int n;

	if (!err)
		return code;
	memcpy(rest, err->text, sizeof(rest));
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* A text that is too long is cut off at the end. */
	if (n >= 0 && (size_t)n < sizeof(err->text) &&
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", rest) < 0)
		err->text[n] = '\0';
	text_one_line(err->text);
	return code;
}

/* ---- notes */

void notes_release(struct notes *n)
{
	strv_release(&n->lines);
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
