/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * work: bounds a computation by counting its steps, of about a nanosecond each. Counted instead of measured
 * time gives the same answer to the same request on every machine. Depends on libc only.
 */
#include <stdbool.h>
#include <stdint.h>

struct work {
	uint64_t steps, limit;
};

static inline bool work_exceeded(const struct work *work)
{
	return work->steps > work->limit;
}

/* Count steps. False when the limit is exceeded. */
static inline bool work_add(struct work *work, uint64_t steps)
{
	work->steps = steps > UINT64_MAX - work->steps ? UINT64_MAX : work->steps + steps;
	return !work_exceeded(work);
}
