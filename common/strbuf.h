/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A growing string with a maximum given at the start. `text` is always a valid C string (never NULL) and
 * `len` its length; the text may hold NUL bytes when it came from a file.
 *
 * Appends after a failure are no-ops, so a long render is checked once, at the end, with strbuf_error().
 */
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *text;
	size_t len;
	size_t size; /* bytes allocated, 0 while `text` is the static empty string */
	size_t max;  /* bytes `len` may reach */
	int error;   /* 0 or -EFBIG: sticky */
};

extern char strbuf_empty[1];

/* `limit` bytes at most; beyond it appends fail with -EFBIG. */
#define STRBUF_INIT(limit)                           \
	{                                            \
		.text = strbuf_empty, .max = (limit) \
	}

void strbuf_release(struct strbuf *sb); /* free the storage; the buffer is empty and usable again */
void strbuf_reset(struct strbuf *sb);   /* length 0, storage kept, error cleared */

/* 0, or the sticky error of the first append that failed. */
int strbuf_error(const struct strbuf *sb);

void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_add_one_line(struct strbuf *sb, const char *s); /* as text_one_line() leaves it */
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *sb, const char *fmt, ...);

/* The text as a malloc'd string that the caller owns; the buffer is empty afterwards. NULL after a failure. */
char *strbuf_detach(struct strbuf *sb);

/* ---- base64 */

/*
 * Decode strictly: the standard alphabet, padded to a multiple of four, no white space, the unused bits zero.
 * The bytes are appended to `out`. 0; -EINVAL (not base64, `out` then unchanged); -EFBIG.
 */
int base64_decode(const char *text, struct strbuf *out);
