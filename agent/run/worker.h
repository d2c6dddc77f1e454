/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decides when the next run of reconcile() is due, and runs reconcile() in its own thread. A slow source or API server therefore does not
 * delay signals, the watchdog or the HTTP endpoint.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/run/reconcile.h"
#include "common/io/time.h"

/* ---- when a run is due. A mark means that something may have changed since the last run. A run reads all sources, so it
 * covers all earlier marks. Times are monotonic milliseconds. */

#define SCHEDULE_NEVER UINT64_MAX

struct schedule {
	/* One run covers all marks within this time after the beginning of the last run. */
	uint64_t coalesce_ms;
	struct budget changes; /* of runs that publish a change */
	uint64_t poll_ms;      /* a run is due at least this often; 0 = no polling */
	bool marked, running;
	uint64_t marked_at; /* the first mark since the last run; valid if marked */
	uint64_t last_run;  /* beginning of the last run; valid if has_run */
	bool has_run;
	unsigned idle_runs;    /* consecutive runs that published nothing, while marks were coalesced */
	uint64_t requested_at; /* when a run was requested, SCHEDULE_NEVER = not */
};

/* Something may have changed. */
void schedule_mark(struct schedule *s, uint64_t now);

/*
 * When the next run is due; SCHEDULE_NEVER during a run. After the first mark a run is due at once: while the kubelet admits a
 * pod, every file that the kubelet writes reduces what is free, so a state between two writes is closer to the truth than the
 * published state. One run covers the marks of the next coalesce_ms. A run that publishes nothing came too early: the kubelet
 * had not yet written the change, for example because it writes released CPUs before it assigns them to a pod. Then the next
 * mark is coalesced for a tenth of the time only.
 */
uint64_t schedule_due(const struct schedule *s);

/* A run is due at `at`, although nothing may have changed. */
void schedule_request(struct schedule *s, uint64_t at);

/* A run begins, and covers all earlier marks. *ret_since is the time of the first of these marks; `now` without marks. */
void schedule_start(struct schedule *s, uint64_t now, uint64_t *ret_since);

/* The run has ended; `published` if it published a change; a further run is due at `again_at`. */
void schedule_end(struct schedule *s, bool published, uint64_t again_at);

/* ---- the thread */

struct worker;

/* Starts the thread, which handles no signals. Only the worker may use the reconciler until worker_free(). 0
 * or -errno with one line. */
int worker_new(struct reconciler *reconciler, struct worker **ret, struct err *err);

/*
 * Ends the thread after the current run, which the caller has cancelled, and frees `w` (NULL = nothing to do). A run that waits for
 * the kernel cannot be cancelled: false if the run has not ended after WORKER_END_MS. Then nothing that the run may use can be
 * released any more, and the process must end with _exit(2).
 */
#define WORKER_END_MS 5000
bool worker_free(struct worker *w);

/* Readable when a run has ended. */
int worker_fd(const struct worker *w);

/* Begins a run, with the arguments of reconcile(). The previous run must have ended. */
void worker_run(struct worker *w, bool forget, uint64_t since_ms, uint64_t now_ms);

/* The result of the run that has ended; the caller releases it. False without a result. */
bool worker_take(struct worker *w, struct reconcile_result *ret);
