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

struct err {
	char text[512];
};

/* Replace the text. Returns `code` unchanged, so it can be returned directly. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Put "context: " in front of the text that a callee left. Returns `code`. */
__attribute__((format(printf, 3, 4))) int err_wrap(struct err *err, int code, const char *fmt, ...);
