/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * schedule: when what is published is looked at again. Marks say that something may have changed; runs answer
 * them. Times are milliseconds of a clock that never goes back.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/budget.h"

#define SCHEDULE_NEVER UINT64_MAX

struct schedule {
	uint64_t coalesce_ms;  /* marks that come this soon after a run began wait for each other */
	struct budget changes; /* of runs that publish a change */
	uint64_t poll_ms;      /* run at least this often; 0 = do not */
	bool marked, running;
	uint64_t marked_at; /* the first mark that no run has answered */
	uint64_t last_run;  /* beginning of the last run; valid once has_run */
	bool has_run;
	unsigned vain;     /* runs that published nothing, each while marks of the one before were gathered */
	uint64_t again_at; /* what the last run asked for, SCHEDULE_NEVER = nothing */
};

/* Something may have changed. */
void schedule_mark(struct schedule *s, uint64_t now);

/*
 * The time from which on a run is due; SCHEDULE_NEVER while one is under way. The first mark is answered at once: while a
 * pod is admitted each file that the kubelet writes takes something away, so what lies between two of them is nearer to
 * the truth than what is published. What follows is gathered. A run that finds nothing to publish has come before the
 * change that its mark announced (the kubelet writes down whose CPUs are free again before it gives a pod some), and the
 * next one comes soon after it.
 */
uint64_t schedule_due(const struct schedule *s);

/* A run begins; it answers every mark so far. *ret_since is the time of the first of them, `now` without any.
 */
void schedule_start(struct schedule *s, uint64_t now, uint64_t *ret_since);

/* The run ended, has published or not, and asks to be repeated at `again_at`, changed or not. */
void schedule_end(struct schedule *s, bool published, uint64_t again_at);
