/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads and writes the tokens of a compact text, strictly one after the other: numbers, amounts of bytes,
 * sets, names.
 *
 * After a failure, reading gives zeros and the reader is at the end of its text, so that a caller checks
 * `error` only once, before it uses what it has read. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/err.h"
#include "common/resource.h"
#include "common/strbuf.h"

struct token_reader {
	const char *start, *at;
	const char *section; /* what is being read, for messages */
	int error;           /* 0 or -EINVAL: sticky */
	struct err *err;
};

/* Reject the text: one line with the section and the byte. The first failure stays. */
__attribute__((format(printf, 2, 3))) void token_reader_fail(struct token_reader *r, const char *fmt, ...);

/* Skip `c` if it is the next character. */
bool token_reader_skip(struct token_reader *r, char c);
bool token_reader_skip_word(struct token_reader *r, const char *word);
void token_reader_expect(struct token_reader *r, char c);

/* A decimal number of at most `max`. */
uint64_t token_reader_number(struct token_reader *r, uint64_t max);

/* An amount of bytes: a number and an optional binary unit k, m, g or t. */
uint64_t token_reader_bytes(struct token_reader *r);
void token_add_bytes(struct strbuf *out, uint64_t bytes);

/*
 * "0-5,8-14:2": ids of at most `max_id` in ascending order, and ranges with a stride; may be empty. Reading
 * returns a new bitmap, NULL after a failure. A set with a larger id is not written: the buffer's error is
 * then -EFBIG.
 */
hwloc_bitmap_t token_reader_set(struct token_reader *r, unsigned max_id);
void token_add_set(struct strbuf *out, hwloc_const_bitmap_t set, unsigned max_id);

/*
 * A name: letters, digits, '.', '_', '-', '/'; every other byte as %XX. A malloc'd string; NULL after a
 * failure.
 */
#define TOKEN_NAME_MAX 512
char *token_reader_name(struct token_reader *r);
void token_add_name(struct strbuf *out, const char *name);

/*
 * A Kubernetes quantity of 0 or more, up to the next of ",|;", in nano-units. Other amounts are not written:
 * the buffer's error is then -EFBIG.
 */
qty_t token_reader_quantity(struct token_reader *r);
void token_add_quantity(struct strbuf *out, qty_t amount);

/* A position as letters: a..z, ba..zz and so on, counted from `first` ('a' or 'A'). At most `n` - 1. */
size_t token_reader_letters(struct token_reader *r, char first, size_t n);
void token_add_letters(struct strbuf *out, char first, size_t position);
