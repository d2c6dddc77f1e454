/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/budget.h"

uint64_t budget_at(const struct budget *b)
{
	uint64_t ahead = (b->burst - 1) * b->interval_ms;

	return b->full_at_ms > ahead ? b->full_at_ms - ahead : 0;
}

void budget_take(struct budget *b, uint64_t now_ms)
{
	b->full_at_ms = (b->full_at_ms > now_ms ? b->full_at_ms : now_ms) + b->interval_ms;
}
