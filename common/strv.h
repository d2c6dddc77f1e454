/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * strv: a growing list of owned strings.
 */
#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **items;
	size_t n_items;
	size_t items_size;
};

/* Free the strings and the list; `v` is empty and may be used again. An empty list needs no release. */
void strv_release(struct strv *v);

/* Append a string, which the list owns from then on. */
void strv_take(struct strv *v, char *text);

/* Append a copy. */
void strv_push(struct strv *v, const char *text);

/* Append a copy unless the list has such a string. */
void strv_push_new(struct strv *v, const char *text);

bool strv_contains(const struct strv *v, const char *text);

/* Whether both have the same strings in the same order. */
bool strv_equal(const struct strv *a, const struct strv *b);

/* Bring the strings into the order of their bytes. */
void strv_sort(struct strv *v);
