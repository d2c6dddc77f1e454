/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * time: clocks, Kubernetes timestamps, durations of flags, rate limits, and limits of CPU time. Depends on common/ only.
 */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/err.h"

/* Milliseconds of a clock: CLOCK_MONOTONIC and CLOCK_BOOTTIME since the boot, CLOCK_REALTIME since 1970. */
static inline int64_t clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Seconds of a clock, for durations below a millisecond. */
static inline double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- timestamps: RFC 3339, as Kubernetes writes them */

/* Parse "2026-11-21T08:00:00Z", also with a fraction (ignored) or an offset; *ret is in seconds since
 * 1970. 0 or -EINVAL; *ret is untouched on failure. */
int timestamp_parse(const char *text, int64_t *ret);

/* Print an age as kubectl does: "12s", "5m", "3h", "2d", in the largest unit in which the age is at least 2.
 * "-" when the age is unknown: less than 0. */
#define AGE_TEXT_MAX 24
void timestamp_print_age(int64_t seconds, char ret[AGE_TEXT_MAX]);

/* Print microseconds since 1970 as a Kubernetes MicroTime, "2026-11-21T08:00:00.000000Z". */
#define TIMESTAMP_MICRO_MAX 40
void timestamp_print_micro(int64_t us, char ret[TIMESTAMP_MICRO_MAX]);

/* ---- durations */

/* Parse a duration of a flag, "50ms", "10s", "1m30s", "2h", "0": whole numbers with Go's units h, m, s and
 * ms. 0; -EINVAL, also for more than a year; *ret_ms is untouched on failure. */
int duration_parse(const char *text, uint64_t *ret_ms, struct err *err);

/* ---- rate limits: a burst of actions, then one per interval (the generic cell rate algorithm, ITU-T
 * I.371) */

/* Times are in milliseconds of a clock that never goes back. */
struct budget {
	uint64_t interval_ms; /* time between two actions after a burst */
	unsigned burst;       /* actions that are possible at once, at least 1 */
	uint64_t full_at_ms;  /* when a whole burst is possible again; 0 = now */
};

/* The time from which the next action is allowed. */
uint64_t budget_at(const struct budget *b);

/* Count an action, allowed or not. */
void budget_take(struct budget *b, uint64_t now_ms);

/* ---- CPU time */

/* CPU time of the calling thread. */
uint64_t work_now_ns(void);

/* The limit of one request. A zeroed struct limits nothing. */
struct work_limit {
	uint64_t until_ns; /* of the thread's CPU time; 0 = no limit */
	bool cached_only;  /* answer only from cached results */
	bool advanced;     /* a result was computed; set by the code that computed it */
	bool reached;      /* a result was not computed because of the limit */
};

/* The limit of a part of the request: at most this CPU time from now on. Without effect on a request without a limit. */
struct work_limit work_limit_part(const struct work_limit *w, uint64_t ns);

/* Ends the part. The request has reached its limit if the part did, except the part's own limit. */
void work_limit_end_part(struct work_limit *w, const struct work_limit *part);

/* Whether the request may compute another result. Always true for the first result of a request, so that
 * repeated requests make progress. Call only in the thread that answers the request. */
bool work_limit_goes_on(struct work_limit *w);

/* Whether the request may compute another result that will not be cached. */
bool work_limit_has_time(struct work_limit *w);
