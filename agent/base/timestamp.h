/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Times as Kubernetes writes them: RFC 3339.
 */
#include <stdint.h>

/* "2026-11-21T08:00:00Z", also with a fraction (passed over) or an offset, in seconds since the epoch. 0 or -EINVAL,
 * *ret then untouched. */
int timestamp_parse(const char *text, int64_t *ret);

/* "12s", "5m", "3h", "2d": the largest unit that there are two of, as kubectl has ages; "-" for less than 0, which is an
 * age that is not known. */
#define AGE_TEXT_MAX 24
void timestamp_print_age(int64_t seconds, char ret[AGE_TEXT_MAX]);

/* Microseconds since the epoch as "2026-11-21T08:00:00.000000Z", Kubernetes' MicroTime. */
#define TIMESTAMP_MICRO_MAX 40
void timestamp_print_micro(int64_t us, char ret[TIMESTAMP_MICRO_MAX]);
