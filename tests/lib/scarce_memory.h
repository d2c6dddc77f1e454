/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * For one file of a test program: every allocation of the program and of its libraries goes through the
 * functions below, which count and can refuse. Not where a sanitizer or valgrind has its own allocator.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Volatile: the compiler would take for granted that strdup() leaves them as they are. */
static volatile unsigned long n_allocations; /* asked for so far */
static volatile unsigned long refused_one;   /* number of the one that fails; 0 = none does */
static volatile long n_alive;                /* handed out and not freed */

#if defined(__SANITIZE_ADDRESS__)
#define SCARCE_MEMORY_WORKS false
#else
#define SCARCE_MEMORY_WORKS true

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static bool refuses(void)
{
	if (++n_allocations != refused_one)
		return false;
	errno = ENOMEM;
	return true;
}

static void *count(void *p)
{
	n_alive += p != NULL;
	return p;
}

void *malloc(size_t size)
{
	return refuses() ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return refuses() ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	void *moved = refuses() ? NULL : __libc_realloc(p, size);

	n_alive += !p && moved;
	return moved;
}

void free(void *p)
{
	n_alive -= p != NULL;
	__libc_free(p);
}
#endif

static inline bool scarce_memory_works(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return SCARCE_MEMORY_WORKS && !(preload && strstr(preload, "vgpreload"));
}
