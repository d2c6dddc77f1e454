/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How often something may be done: some times at once, and then once an interval.
 */
#include <stdint.h>

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
