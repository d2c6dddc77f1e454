/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Scope guards. A local that owns something carries CLEANUP(x_freep) and starts at NULL (or -1 for a
 * file descriptor); a pointer escapes only through TAKE(). Depends on libc only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Move an owning pointer out of a guarded local: yields its value and leaves NULL behind. */
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
