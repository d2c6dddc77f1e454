/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * err: messages that a function leaves for its caller: the text of an error, and notes.
 *
 * The error code is the return value (-errno). struct err holds one line for people: what failed, on which
 * path or URL, and why.
 *
 *	return err_set(err, -EINVAL, "unknown policy '%s'", text);
 *	...
 *	if (r < 0)
 *		return err_wrap(err, r, "%s", path);	("PATH: unknown policy 'x'")
 *
 * `err` may be NULL everywhere. On success nothing is written. Control characters in names from outside
 * become '?', so that the text stays one line.
 */
#include "common/vec.h"

struct err {
	char text[512];
};

/* Replace the text. Returns `code`, so that failing takes one return statement. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Put "context: " in front of the text that a callee set. Returns `code`. */
__attribute__((format(printf, 3, 4))) int err_wrap(struct err *err, int code, const char *fmt, ...);

/* ---- notes: warnings of one line each, which the caller may log, print or count. Zeroed, `notes` is
 * empty. */

struct notes {
	struct strv lines;
};

void notes_release(struct notes *n);

/* Append a line. `n` may be NULL: the line is dropped. */
__attribute__((format(printf, 2, 3))) void notes_add(struct notes *n, const char *fmt, ...);

/* Append the lines of `from` as "PREFIX: line"; `from` is then empty. `n` may be NULL: the lines are
 * dropped. */
void notes_move(struct notes *n, struct notes *from, const char *prefix);
