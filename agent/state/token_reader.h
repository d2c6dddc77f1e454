/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Words of a compact text, read strictly one after the other and written: numbers, amounts of bytes, sets, names.
 *
 * Reading after a failure gives zeros and the reader is at the end of its text, so that a caller looks at
 * `error` where it is done, and before it uses what it has read. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpuset.h"
#include "common/err.h"
#include "common/quantity.h"
#include "common/strbuf.h"

struct token_reader {
	const char *start, *at;
	const char *section; /* what is being read, for messages */
	int error;           /* 0 or -EINVAL: sticky */
	struct err *err;
};

/* Refuse the text: one line with the section and the byte. The first failure stays. */
__attribute__((format(printf, 2, 3))) void token_reader_fail(struct token_reader *r, const char *fmt, ...);
void token_reader_no_memory(struct token_reader *r);

/* Step over `c` when it is the next character. */
bool token_reader_skip(struct token_reader *r, char c);
bool token_reader_skip_word(struct token_reader *r, const char *word);
void token_reader_expect(struct token_reader *r, char c);

/* A decimal number of at most `max`. */
uint64_t token_reader_number(struct token_reader *r, uint64_t max);

/* An amount of bytes: a number and perhaps one of k, m, g, t (binary). */
uint64_t token_reader_bytes(struct token_reader *r);
void text_add_bytes(struct strbuf *out, uint64_t bytes);

/*
 * "0-5,8-14:2": ids of at most `max_id` in ascending order, ranges with a stride; perhaps none. What is read is a
 * new bitmap, NULL after a failure. A set with a larger id is not written: -EFBIG is the buffer's error then.
 */
hwloc_bitmap_t token_reader_set(struct token_reader *r, unsigned max_id);
void text_add_set(struct strbuf *out, hwloc_const_bitmap_t set, unsigned max_id);

/* A name: letters, digits, '.', '_', '-', '/'; every other byte as %XX. A malloc'd string; NULL after a failure. */
#define TEXT_NAME_MAX 512
char *token_reader_name(struct token_reader *r);
void text_add_name(struct strbuf *out, const char *name);

/* A Kubernetes quantity of 0 or more, up to the next of ",|;". Both in nano-units. Others are not written: -EFBIG is the
 * buffer's error then. */
qty_t token_reader_quantity(struct token_reader *r);
void text_add_quantity(struct strbuf *out, qty_t amount);

/* A position as letters: a..z, ba..zz and so on, counted from `first` ('a' or 'A'). At most `n` - 1. */
size_t token_reader_letters(struct token_reader *r, char first, size_t n);
void text_add_letters(struct strbuf *out, char first, size_t position);
