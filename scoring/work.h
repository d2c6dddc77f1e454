/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * work: bounds a computation by counting its steps. A step takes about a nanosecond. Steps are counted and not measured,
 * so that the same question has the same answer on every machine. Depends on libc only.
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

/* Count steps. False when there are more than the limit by now. */
static inline bool work_add(struct work *work, uint64_t steps)
{
	work->steps = steps > UINT64_MAX - work->steps ? UINT64_MAX : work->steps + steps;
	return !work_exceeded(work);
}
