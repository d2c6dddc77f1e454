/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/skipped_objects.h"

#include <inttypes.h>

#include "common/log.h"

#define INTERVAL_MS 60000u

void skipped_objects_note(struct skipped_objects *s, const char *kind, const struct err *why, uint64_t now_ms)
{
	s->n++;
	if (now_ms < s->next_log_ms)
		return;
	if (s->n == s->n_logged + 1)
		log_warning("%s: skipped an object: %s", kind, why->text);
	else
		log_warning("%s: skipped %" PRIu64 " objects, the last one because: %s", kind,
			s->n - s->n_logged, why->text);
	s->n_logged = s->n;
	s->next_log_ms = now_ms + INTERVAL_MS;
}
