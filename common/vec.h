/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Growing arrays. A vec is three plain members of the struct that owns it:
 *
 *	struct cpu *cpus; size_t n_cpus; size_t cpus_size;
 *	vec_grow(&m->cpus, &m->cpus_size, m->n_cpus + 1, sizeof(*m->cpus));
 *	m->cpus[m->n_cpus++] = cpu;
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Make room for `need` items of `item` bytes at *array (a pointer to the array's pointer), whose
 * allocated number of items is *size. New room is zeroed.
 */
void vec_grow(void *array, size_t *size, size_t need, size_t item);

/* Append one zeroed item: grow if needed and count it. Returns the new item's address, valid until the next growth. */
__attribute__((returns_nonnull)) void *vec_push(void *array, size_t *n_items, size_t *size, size_t item);

/* ---- lists of strings */

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
