/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/skipped_objects.h"

#include <inttypes.h>

#include "common/log.h"

#define INTERVAL_MS 60000u

void skipped_objects_note(struct skipped_objects *s, const char *kind, const struct err *why, uint64_t now_ms)
{
	s->n++;
	if (now_ms < s->say_from_ms)
		return;
	if (s->n == s->n_said + 1)
		log_warning("%s: an object is passed over: %s", kind, why->text);
	else
		log_warning("%s: %" PRIu64 " objects are passed over, the last one: %s", kind,
			s->n - s->n_said, why->text);
	s->n_said = s->n;
	s->say_from_ms = now_ms + INTERVAL_MS;
}
