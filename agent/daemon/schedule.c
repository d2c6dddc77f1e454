/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/daemon/schedule.h"

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
		if (s->has_published && due < s->published + s->interval_ms)
			due = s->published + s->interval_ms;
	}
	if (s->poll_ms > 0 && s->last_run + s->poll_ms < due)
		due = s->last_run + s->poll_ms;
	return s->again_at < due ? s->again_at : due;
}

void schedule_start(struct schedule *s, uint64_t now, uint64_t *ret_since)
{
	*ret_since = s->marked ? s->marked_at : now;
	s->marked = false;
	s->running = s->has_run = true;
	s->last_run = now;
	s->again_at = SCHEDULE_NEVER;
}

void schedule_end(struct schedule *s, bool published, uint64_t again_at)
{
	if (published) {
		s->published = s->last_run;
		s->has_published = true;
	}
	s->running = false;
	s->again_at = again_at;
}
