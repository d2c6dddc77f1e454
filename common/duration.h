/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Durations as flags take them: "50ms", "10s", "1m30s", "2h". Depends on common/err.h only. */
#include <stdint.h>

#include "common/err.h"

/* Milliseconds of a sequence of whole numbers with the units h, m, s, ms (Go's, without fractions); "0" is 0.
 * 0 or -EINVAL, also beyond a year; *ret_ms is untouched on failure. */
int duration_parse(const char *text, uint64_t *ret_ms, struct err *err);
