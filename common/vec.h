/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Growing arrays. A vec is three plain members of the struct that owns it:
 *
 *	struct cpu *cpus; size_t n_cpus; size_t cpus_size;
 *	vec_grow(&m->cpus, &m->cpus_size, m->n_cpus + 1, sizeof(*m->cpus));
 *	m->cpus[m->n_cpus++] = cpu;
 */
#include <stddef.h>

/*
 * Make room for `need` items of `item` bytes at *array (a pointer to the array's pointer), whose
 * allocated number of items is *size. New room is zeroed.
 */
void vec_grow(void *array, size_t *size, size_t need, size_t item);

/* Append one zeroed item: grow if needed and count it. Returns the new item's address, valid until the next growth. */
__attribute__((returns_nonnull)) void *vec_push(void *array, size_t *n_items, size_t *size, size_t item);
