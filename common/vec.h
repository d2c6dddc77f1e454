/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Growing arrays. A vec is three plain members of the struct that owns it:
 *
 *	struct cpu *cpus; size_t n_cpus; size_t cpus_size;
 *	if (vec_grow(&m->cpus, &m->cpus_size, m->n_cpus + 1, sizeof(*m->cpus)) < 0)
 *		return -ENOMEM;
 *	m->cpus[m->n_cpus++] = cpu;
 *
 * Depends on libc only.
 */
#include <stddef.h>

/*
 * Make room for `need` items of `item` bytes at *array (a pointer to the array's pointer), whose
 * allocated number of items is *size. New room is zeroed. 0 or -ENOMEM (array unchanged).
 */
int vec_grow(void *array, size_t *size, size_t need, size_t item);

/*
 * Append one zeroed item: grow if needed and count it. The new item's address, valid until the next growth;
 * NULL = out of memory (nothing changed).
 */
void *vec_push(void *array, size_t *n_items, size_t *size, size_t item);
