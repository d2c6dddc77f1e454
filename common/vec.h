/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * vec: growing arrays, and growing lists of strings. A vec is three members of the struct that owns it, all
 * zero at first:
 *
 *	struct cpu *cpus; size_t n_cpus; size_t cpus_size;
 *	struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));
 */
#include <stdbool.h>
#include <stddef.h>

/* Reserve space for `need` items of `item` bytes in *array, which has space for *size items. The new space
 * is zeroed. */
void vec_grow(void *array, size_t *size, size_t need, size_t item);

/* Sort `n_items` of `item` bytes. Items that compare equal keep their order. Replaces qsort_r(3), whose
 * arguments depend on the system. */
void vec_sort(void *items, size_t n_items, size_t item,
	int (*compare)(const void *a, const void *b, void *data), void *data);

/* Append one zeroed item. Returns its address, which is valid until the next append. */
__attribute__((returns_nonnull)) void *vec_push(void *array, size_t *n_items, size_t *size, size_t item);

/* The position of the first item whose name is not below `name`, among items of `item` bytes in ascending order of their names;
 * n_items = all names are below. The item has a pointer to its name at `offset`. */
size_t vec_lower_bound(const void *items, size_t n_items, size_t item, size_t offset, const char *name);

/* vec_lower_bound() of an array of structs with the names in `member`. */
#define VEC_LOWER_BOUND(items, n_items, member, name) \
	vec_lower_bound(items, n_items, sizeof(*(items)), offsetof(__typeof__(*(items)), member), name)

/* ---- lists of strings. Zeroed, a list is empty; an empty list needs no release. */

struct strv {
	char **items;
	size_t n_items;
	size_t items_size;
};

/* Free the list and its strings; `v` is empty and may be used again. */
void strv_release(struct strv *v);

/* Append a string; the list takes ownership. */
void strv_take(struct strv *v, char *text);

/* Append a copy. */
void strv_push(struct strv *v, const char *text);

/* Append a copy unless the list contains the string. */
void strv_push_new(struct strv *v, const char *text);

bool strv_contains(const struct strv *v, const char *text);

/* Whether both lists have the same strings in the same order. */
bool strv_equal(const struct strv *a, const struct strv *b);

/* Sort the strings by their bytes. */
void strv_sort(struct strv *v);

/* Sort the strings by text_compare_numbered(). */
void strv_sort_numbered(struct strv *v);

/* Sorts the strings by their bytes, and frees duplicates. */
void strv_sort_unique(struct strv *v);
