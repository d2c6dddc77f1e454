/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a command prints. */
#include <stddef.h>

#include "common/strbuf.h"

/* Write to standard output, and out of its buffer, so that a full disk or a closed pipe is noticed. 0 or
 * -errno.
 */
int output_write(const char *text, size_t len);

/*
 * The same for text of a buffer that people read and that has no control sequences of ours: names in it may come
 * from anywhere, and none of them reaches a terminal as one (text_lines()). 0, -errno, or the buffer's error.
 */
int output_text(struct strbuf *text);
