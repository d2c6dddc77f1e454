/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * strbuf: a growing string with a maximum length. `text` is always a valid C string (never NULL) of `len`
 * bytes. A text that came from a file may contain NUL bytes.
 *
 * After a failed append, further appends do nothing, so a renderer checks strbuf_error() once, at the end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strv;

struct strbuf {
	char *text;
	size_t len;
	size_t size; /* bytes allocated; 0 while `text` is strbuf_empty */
	size_t max;  /* maximum of `len` */
	int error;   /* 0, or the error of the first append that failed */
};

extern char strbuf_empty[1];

/* An empty buffer. An append beyond `limit` bytes fails with -EFBIG. */
#define STRBUF_INIT(limit)                           \
	{                                            \
		.text = strbuf_empty, .max = (limit) \
	}

void strbuf_release(struct strbuf *sb); /* free the storage; the buffer is empty and may be used again */
void strbuf_reset(struct strbuf *sb);   /* empty the buffer and clear the error; the storage is kept */

/* 0, or the error of the first append that failed. */
int strbuf_error(const struct strbuf *sb);

void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_add_utf8(struct strbuf *sb, uint32_t character);
void strbuf_add_one_line(struct strbuf *sb, const char *s); /* made safe by text_one_line() */
/* The first `max` strings of the list, made safe, and how many follow: "a, b, and 3 more". */
void strbuf_add_list(struct strbuf *sb, const struct strv *list, size_t max);
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *sb, const char *fmt, ...);

/* Return the text as a malloc'd string that the caller owns, and empty the buffer. NULL after a failed
 * append. */
char *strbuf_detach(struct strbuf *sb);

/*
 * Decode base64 (RFC 4648, section 4) as Go's encoding/json writes it, and append the bytes to `out`. Strict:
 * the standard alphabet, padded to a multiple of four, no white space, unused bits zero. 0; -EINVAL (not
 * base64, `out` is unchanged); -EFBIG.
 */
int base64_decode(const char *text, struct strbuf *out);
