/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes delays: exponential backoff with full jitter. (M. Brooker, "Exponential Backoff And Jitter", AWS
 * Architecture Blog, 2015.)
 */
#include <stdint.h>

#define BACKOFF_BASE_MS 500u
#define BACKOFF_MAX_MS  30000u

/*
 * The delay after `failures` consecutive failures (at least 1): uniformly distributed over 1 ms to base *
 * 2^(failures - 1), at most BACKOFF_MAX_MS. `random` is 64 random bits.
 */
uint64_t backoff_ms(unsigned failures, uint64_t random);

/*
 * The delay after a response with Retry-After: `retry_after_s`, plus a random part of at most half of it or
 * of backoff_ms()'s maximum, whichever is more. The random part keeps clients that were rejected together
 * from returning together. Without Retry-After (0 or less) the same as backoff_ms().
 */
uint64_t backoff_after_ms(unsigned failures, int retry_after_s, uint64_t random);

/* A random period within +-`percent` of `period_ms`. */
uint64_t backoff_spread_ms(uint64_t period_ms, unsigned percent, uint64_t random);

/* 64 random bits from the kernel, for jitter; 0 while the kernel has none. */
uint64_t backoff_random(void);
