/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A text of bounded length inside a struct, for reasons and names that must not allocate. What does not fit
 * is cut. Depends on libc only.
 */
#include <stddef.h>

/* Append to the string in `text`, of `size` bytes with its closing NUL. */
__attribute__((format(printf, 3, 4))) void text_addf(char *text, size_t size, const char *fmt, ...);

/* Replace control characters by '?', so that what came from outside cannot begin a new line of a log or steer
 * a terminal. */
void text_one_line(char *text);
