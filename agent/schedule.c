/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/schedule.h"

void schedule_mark(struct schedule *s, uint64_t now)
{
	if (s->marked)
		return;
	s->marked = true;
	s->marked_at = now;
}

uint64_t schedule_due(const struct schedule *s)
{
	uint64_t due = SCHEDULE_NEVER;

	if (s->running)
		return SCHEDULE_NEVER;
	if (!s->has_run)
		return 0;
	if (s->marked) {
		due = s->marked_at + s->coalesce_ms;
		if (s->has_changed && due < s->last_change + s->interval_ms)
			due = s->last_change + s->interval_ms;
	}
	if (s->poll_ms > 0 && s->last_run + s->poll_ms < due)
		due = s->last_run + s->poll_ms;
	return s->again_at < due ? s->again_at : due;
}

void schedule_start(struct schedule *s, uint64_t now, uint64_t *ret_since)
{
	*ret_since = s->marked ? s->marked_at : now;
	/* A poll that finds nothing must not hold up the change after it. */
	if (s->marked) {
		s->last_change = now;
		s->has_changed = true;
	}
	s->marked = false;
	s->running = s->has_run = true;
	s->last_run = now;
	s->again_at = SCHEDULE_NEVER;
}

void schedule_end(struct schedule *s, uint64_t again_at)
{
	s->running = false;
	s->again_at = again_at;
}
