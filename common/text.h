/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Texts as members of a struct: of bounded length within it, for reasons and names that must not allocate
 * (what does not fit is cut), and owned strings. Depends on libc only.
 */
#include <stdbool.h>
#include <stddef.h>

/* Append to the string in `text`, of `size` bytes with its closing NUL. */
__attribute__((format(printf, 3, 4))) void text_addf(char *text, size_t size, const char *fmt, ...);

/* Replace control characters by '?', so that what came from outside cannot begin a new line of a log or steer
 * a terminal. */
void text_one_line(char *text);

/* Whether two texts differ in their decimal numbers at most: "after 5001 ms" and "after 12 ms" are the same.
 */
bool text_same_but_numbers(const char *a, const char *b);

/* Replace an owned string (or NULL) by a copy of `value`. 0 or -ENOMEM (*owned unchanged). */
int text_set(char **owned, const char *value);

/* Append a copy of `value` to a vec of strings (common/vec.h). 0 or -ENOMEM (unchanged). */
int text_push(char ***list, size_t *n_items, size_t *size, const char *value);
