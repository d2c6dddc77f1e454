/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Times as a number. */
#include <stdint.h>
#include <time.h>

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
