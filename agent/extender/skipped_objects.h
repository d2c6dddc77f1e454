/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts skipped objects and logs them at most once a minute. Users can create any number of unreadable objects.
 */
#include <stdint.h>

#include "common/err.h"

/* Skipped objects of one kind. A zeroed struct counts none. */
struct skipped_objects {
	uint64_t n;
	uint64_t n_logged;    /* covered by log lines so far */
	uint64_t next_log_ms; /* no line is logged before */
};

/* Counts one object; `kind` is in the plural. Times are of CLOCK_MONOTONIC. */
void skipped_objects_note(
	struct skipped_objects *s, const char *kind, const struct err *why, uint64_t now_ms);
