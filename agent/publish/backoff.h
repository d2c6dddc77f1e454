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

/* A period that is `percent` shorter to `percent` longer than `period_ms` by chance. */
uint64_t backoff_spread_ms(uint64_t period_ms, unsigned percent, uint64_t random);

/* 64 random bits of the kernel, for jitter: 0 where it has none yet. */
uint64_t backoff_random(void);
