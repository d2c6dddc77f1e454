/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a command prints. */
#include <stddef.h>

/* Write to standard output, and out of its buffer, so that a full disk or a closed pipe is noticed. 0 or
 * -errno.
 */
int output_write(const char *text, size_t len);
