/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * worker: the thread that reconciles, one run at a time. No source and no API server can hold up signals, the
 * watchdog or the HTTP endpoint.
 */
#include "agent/node/run/reconcile.h"

struct worker;

/* Start the thread; every signal stays with the caller's. The reconciler is the worker's alone until
 * worker_free(). 0 or -errno with one line. */
int worker_new(struct reconciler *reconciler, struct worker **ret, struct err *err);

/* End the thread after the run under way, which the caller has cancelled. */
void worker_free(struct worker *w);

static inline void worker_freep(struct worker **w)
{
	worker_free(*w);
	*w = NULL;
}

/* Readable when a run has ended. */
int worker_fd(const struct worker *w);

/* Begin a run; none may be under way. */
void worker_run(struct worker *w, bool forget, uint64_t now_ms);

/* Take the result of the run that has ended; the caller releases it. False while there is none. */
bool worker_take(struct worker *w, struct reconcile_result *ret);
