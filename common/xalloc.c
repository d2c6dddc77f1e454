/* SPDX-License-Identifier: Apache-2.0 */
#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program_name(void)
{
#ifdef __APPLE__
	return getprogname();
#else
	return program_invocation_short_name;
#endif
}

void xalloc_failed(void)
{
	char line[64];

	/* As log_error(). Printing to stderr with stdio might allocate. */
	if (getenv("JOURNAL_STREAM"))
		snprintf(line, sizeof(line), "<3>out of memory\n");
	else
		snprintf(line, sizeof(line), "%.40s: out of memory\n", program_name());
	if (write(STDERR_FILENO, line, strlen(line)) < 0) /* glibc warns about an unused result */
		abort();
	abort();
}

static void *checked(void *p)
{
	if (!p)
		xalloc_failed();
	return p;
}

void *xmalloc(size_t size)
{
	return checked(malloc(size > 0 ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return checked(n > 0 && size > 0 ? calloc(n, size) : calloc(1, 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		xalloc_failed();
	return checked(realloc(p, bytes > 0 ? bytes : 1));
}

char *xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *xstrndup(const char *text, size_t len)
{
	return checked(strndup(text, len));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char text[256], *copy = NULL; /* vasprintf() is slow: only for long texts */
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	if (len >= 0 && (size_t)len < sizeof(text))
		copy = xstrndup(text, (size_t)len);
	else if (vasprintf(&copy, fmt, again) < 0)
		xalloc_failed();
	va_end(again);
	return copy;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return text;
}
