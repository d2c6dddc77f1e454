/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * cleanup: scope guards. A local that owns something has CLEANUP(x_freep) and starts as NULL (a file
 * descriptor as -1); TAKE() transfers ownership. HACKING.md, Ownership, has the rules. Depends on libc only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Yield the value of an owning pointer and set the pointer to NULL. */
#define TAKE(p)                            \
	__extension__({                    \
		__typeof__(p) take_ = (p); \
		(p) = NULL;                \
		take_;                     \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void freep(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
	*f = NULL;
}
