/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The text of an error, for functions that touch the outside. The code is the return value (-errno);
 * the struct carries the sentence a person reads: what, on which path or URL, why.
 *
 *	return err_set(err, -EINVAL, "unknown policy '%s'", text);
 *	...
 *	if (r < 0)
 *		return err_wrap(err, r, "%s", path);	("PATH: unknown policy 'x'")
 *
 * `err` may be NULL everywhere. On success nothing is written. The text is one line whatever names from
 * outside are in it: control characters become '?'.
 */
#include "common/vec.h"

struct err {
	char text[512];
};

/* Replace the text. Returns `code` unchanged, so it can be returned directly. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Put "context: " in front of the text that a callee left. Returns `code`. */
__attribute__((format(printf, 3, 4))) int err_wrap(struct err *err, int code, const char *fmt, ...);

/* ---- notes */

struct notes {
	struct strv lines;
};

void notes_init(struct notes *n);
void notes_release(struct notes *n);

/* Append a line. `n` may be NULL: then nobody wants to know. */
__attribute__((format(printf, 2, 3))) void notes_add(struct notes *n, const char *fmt, ...);

/* Append the lines of `from`, each as "PREFIX: line"; `from` is empty afterwards. `n` may be NULL. */
void notes_move(struct notes *n, struct notes *from, const char *prefix);
