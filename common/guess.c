/* SPDX-License-Identifier: Apache-2.0 */
#include "common/guess.h"

#include <stdint.h>
#include <string.h>

#define NAME_MAX_LENGTH 48u
#define MAX_DISTANCE    2u

/* The Levenshtein distance between the first `a_len` bytes of `a`, and `b`; SIZE_MAX if `b` is too long. row[j] is the distance
 * between the first i bytes of `a` and the first j bytes of `b`. */
static size_t edit_distance(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b), row[NAME_MAX_LENGTH + 1] = {0};

	if (b_len > NAME_MAX_LENGTH)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t changed = diagonal + (a[i - 1] != b[j - 1]);
			size_t shifted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = changed < shifted ? changed : shifted;
		}
	}
	return row[b_len];
}

void guess_name(const char *word, size_t length, const char *name, struct guess *best)
{
	size_t d = edit_distance(word, length, name);

	/* If the first letters differ, at most a third of the word may differ, so that "foo" does not suggest "top". */
	if (d <= MAX_DISTANCE && (d <= 1 || d * 3 <= length || *word == *name) &&
		(!best->name || d < best->distance))
		*best = (struct guess){.name = name, .distance = d};
}
