/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Objects that cannot be read and are passed over: counted, and said at most once a minute. Users can make as many as they
 * like.
 */
#include <stdint.h>

#include "common/err.h"

/* Of one kind. Zeroed there were none. */
struct skipped_objects {
	uint64_t n;
	uint64_t n_said;      /* of these, when the last line was written */
	uint64_t say_from_ms; /* the next line may be written then */
};

/* One more; `kind` is in the plural. Times are of CLOCK_MONOTONIC. */
void skipped_objects_note(
	struct skipped_objects *s, const char *kind, const struct err *why, uint64_t now_ms);
