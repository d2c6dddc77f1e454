/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * time: clocks, Kubernetes timestamps, durations of flags, and rate limits.
 */
#include <stdint.h>
#include <time.h>

#include "common/err.h"

/* ---- clocks */

/* Milliseconds of the clock: CLOCK_MONOTONIC and CLOCK_BOOTTIME since the boot, CLOCK_REALTIME since 1970. */
static inline int64_t clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Seconds of the clock, for what takes less than a millisecond. */
static inline double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- timestamps */

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

/* ---- durations */

/* Milliseconds of a sequence of whole numbers with the units h, m, s, ms (Go's, without fractions); "0" is 0.
 * 0 or -EINVAL, also beyond a year; *ret_ms is untouched on failure. */
int duration_parse(const char *text, uint64_t *ret_ms, struct err *err);

/* ---- rate limits */

/* Times are milliseconds of a clock that never goes back. */
struct budget {
	uint64_t interval_ms; /* it grows by one in this time */
	unsigned burst;       /* as many as there may be at once, at least 1 */
	uint64_t full_at_ms;  /* when all of them are there again; 0 = they are */
};

/* The time from which on it may be done again. */
uint64_t budget_at(const struct budget *b);

/* It is done, allowed or not. (The generic cell rate algorithm, ITU-T I.371.) */
void budget_take(struct budget *b, uint64_t now_ms);
