/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the name that somebody probably meant.
 */
#include <stddef.h>

struct guess {
	const char *name; /* borrowed; NULL = no name is similar enough */
	size_t distance;
};

/* Sets *best, zeroed before the first call, to `name` if the name is similar to the first `length` bytes of a word, and more similar than *best. */
void guess_name(const char *word, size_t length, const char *name, struct guess *best);
