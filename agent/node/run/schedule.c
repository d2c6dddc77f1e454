/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/run/schedule.h"

void schedule_mark(struct schedule *s, uint64_t now)
{
	if (s->marked)
		return;
	s->marked = true;
	s->marked_at = now;
}

static uint64_t latest(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t of_two = a > b ? a : b;

	return of_two > c ? of_two : c;
}

#define SOON 10u /* part of the coalescing time */

static uint64_t gap(const struct schedule *s)
{
	return s->vain == 1 ? s->coalesce_ms / SOON : s->coalesce_ms;
}

uint64_t schedule_due(const struct schedule *s)
{
	uint64_t due = SCHEDULE_NEVER;

	if (s->running)
		return SCHEDULE_NEVER;
	if (!s->has_run)
		return 0;
	if (s->marked)
		due = latest(s->marked_at, s->last_run + gap(s), budget_at(&s->changes));
	if (s->poll_ms > 0 && s->last_run + s->poll_ms < due)
		due = s->last_run + s->poll_ms;
	return s->again_at < due ? s->again_at : due;
}

void schedule_start(struct schedule *s, uint64_t now, uint64_t *ret_since)
{
	*ret_since = s->marked ? s->marked_at : now;
	if (!s->has_run || now - s->last_run > 2 * s->coalesce_ms)
		s->vain = 0;
	s->marked = false;
	s->running = s->has_run = true;
	s->last_run = now;
	s->again_at = SCHEDULE_NEVER;
}

void schedule_end(struct schedule *s, bool published, uint64_t again_at)
{
	if (published)
		budget_take(&s->changes, s->last_run);
	s->vain = published ? 0 : s->vain + 1;
	s->running = false;
	s->again_at = again_at;
}
