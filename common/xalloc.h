/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * xalloc: allocates memory, and ends the process with one line when memory runs out. systemd and Kubernetes
 * restart nrtd, and no published object is lost. Sizes from outside must be bounded before they are
 * allocated.
 */
#include <stdarg.h>
#include <stddef.h>

/* Print "PROGRAM: out of memory" on standard error and abort. */
__attribute__((noreturn)) void xalloc_failed(void);

/* Like the libc functions without the x. The result is the caller's, to be released with free(3), and
 * never NULL, not even for 0 bytes. */
__attribute__((malloc, returns_nonnull)) void *xmalloc(size_t size);
__attribute__((malloc, returns_nonnull)) void *xcalloc(size_t n, size_t size);
__attribute__((returns_nonnull)) void *xreallocarray(void *p, size_t n, size_t size);
__attribute__((malloc, returns_nonnull)) char *xstrdup(const char *text);
__attribute__((malloc, returns_nonnull)) char *xstrndup(const char *text, size_t len);

/* Format a string as printf(3). */
__attribute__((malloc, returns_nonnull, format(printf, 1, 2))) char *xasprintf(const char *fmt, ...);
__attribute__((malloc, returns_nonnull, format(printf, 1, 0))) char *xvasprintf(const char *fmt, va_list ap);
