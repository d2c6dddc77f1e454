/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Memory that is always there: the functions of libc, which end the process with one line when memory runs out.
 * systemd and Kubernetes restart nrtd, and nothing that is published is lost. Sizes that come from outside must be
 * bounded before they are allocated.
 */
#include <stdarg.h>
#include <stddef.h>

/* Print "out of memory" on standard error and abort. */
__attribute__((noreturn)) void xalloc_failed(void);

/* As their namesakes without the x. Each result is the caller's, to be freed by free(3), and never NULL, not for
 * 0 bytes either. */
__attribute__((malloc, returns_nonnull)) void *xmalloc(size_t size);
__attribute__((malloc, returns_nonnull)) void *xcalloc(size_t n, size_t size);
__attribute__((returns_nonnull)) void *xreallocarray(void *p, size_t n, size_t size);
__attribute__((malloc, returns_nonnull)) char *xstrdup(const char *text);
__attribute__((malloc, returns_nonnull)) char *xstrndup(const char *text, size_t len);

/* The text as printf(3) prints it. */
__attribute__((malloc, returns_nonnull, format(printf, 1, 2))) char *xasprintf(const char *fmt, ...);
__attribute__((malloc, returns_nonnull, format(printf, 1, 0))) char *xvasprintf(const char *fmt, va_list ap);
