/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts the allocations of a test program and of its libraries. Include it in one file of the program. Counts nothing under a
 * sanitizer or valgrind, which have allocators of their own.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Volatile: the compiler would take for granted that strdup() leaves them as they are. */
static volatile unsigned long n_allocations; /* asked for so far */

#if defined(__SANITIZE_ADDRESS__)
#define COUNTS_ALLOCATIONS false
#else
#define COUNTS_ALLOCATIONS true

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	n_allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	n_allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	n_allocations++;
	return __libc_realloc(p, size);
}

#endif

static inline bool allocations_are_counted(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return COUNTS_ALLOCATIONS && !(preload && strstr(preload, "vgpreload"));
}
