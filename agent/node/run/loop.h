/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * loop: the daemon. Event handlers mark that something may have changed and decide when the worker looks; the
 * worker does the rest. The only file that includes libsystemd is loop.c.
 */
#include <stdatomic.h>

#include "agent/base/budget.h"
#include "agent/http/http.h"
#include "agent/node/run/reconcile.h"

struct loop_config {
	struct reconciler *reconciler;
	struct metrics *metrics;
	atomic_bool *cancel; /* set when the process is to end: requests under way give up */
	const char *lock;    /* file; NULL = none */
	struct http_listen http;
	uint64_t coalesce_ms, poll_ms; /* see struct schedule */
	struct budget changes;
	/* For tests, 0 = what the daemon has: how often the worker is looked at, how long a run may last, for
	 * how long it may fail and still be ready. */
	uint64_t look_ms, run_max_ms, stale_ms;
};

/*
 * Run until SIGTERM or SIGINT. SIGHUP reads everything again. Talks to the service manager where NOTIFY_SOCKET
 * says so: READY after the first publication, RELOADING, STOPPING, STATUS, and the watchdog while loop and
 * worker work. 0, or -errno with one line when it cannot start.
 */
int loop_run(const struct loop_config *config, struct err *err);
