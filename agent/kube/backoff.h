/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Exponential backoff with full jitter. M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
 * 2015. */
#include <stdint.h>

#define BACKOFF_BASE_MS 500u
#define BACKOFF_MAX_MS  30000u

/*
 * How long to wait after this many failures in a row (1 at least): evenly spread over 1 ms to base *
 * 2^(failures - 1), never above the maximum. `random` is 64 random bits.
 */
uint64_t backoff_ms(unsigned failures, uint64_t random);

/*
 * The same for a server that asked to be left alone for `retry_after_s` seconds (0 and less: it did not): so long, and by
 * chance up to half as long on top, where that is more. Those who were sent away together do not come back together.
 */
uint64_t backoff_after_ms(unsigned failures, int retry_after_s, uint64_t random);

/* A period that is `percent` shorter to `percent` longer than `period_ms` by chance. */
uint64_t backoff_spread_ms(uint64_t period_ms, unsigned percent, uint64_t random);

/* 64 random bits of the kernel, for jitter: 0 where it has none yet. */
uint64_t backoff_random(void);
