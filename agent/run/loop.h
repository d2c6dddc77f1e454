/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Runs the event loop of `nrtd run`. Event handlers mark changes and start the worker, which does the rest.
 * Only loop.c includes libsystemd.
 */

#include "agent/run/reconcile.h"
#include "common/http/http.h"
#include "common/io/time.h"

struct cancel; /* common/io/thread.h */

struct loop_config {
	struct reconciler *reconciler;
	struct metrics *metrics;
	struct cancel *cancel; /* requested when the process is to end */
	const char *lock;      /* file; NULL = none */
	struct http_listen http;
	uint64_t coalesce_ms, poll_ms; /* as in struct schedule */
	struct budget changes;
	/* For tests, 0 = the default: interval of checks of the worker, maximum duration of a run, how long
	 * failing runs may leave /readyz at 200, interval of trimming memory without requests, when READY is sent at
	 * the latest. */
	uint64_t check_ms, run_max_ms, stale_ms, trim_ms, ready_ms;
};

/*
 * Runs until SIGTERM or SIGINT. SIGHUP reads everything again. Notifies the service manager if NOTIFY_SOCKET
 * is set: READY after the first publication, but at most 30 s after the start, RELOADING, STOPPING, STATUS,
 * and the watchdog while loop and worker work. 0, or -errno with one line if it cannot start.
 */
int loop_run(const struct loop_config *config, struct err *err);
