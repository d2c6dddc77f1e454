/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Limits the CPU time per scheduler request and per namespace. Expensive pods of one user must not delay another user's pods.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/budget.h"

/* A zeroed struct limits nothing. */
struct work_limit {
	uint64_t until_ns; /* of the thread's CPU time; 0 = no limit */
	bool cached_only;  /* compute nothing, answer from cached results */
	bool advanced;     /* a result was computed and cached; set by the code that caches it */
	bool reached;      /* a result was not computed */
};

/* CPU time of the calling thread. */
uint64_t work_limit_now_ns(void);

/* Whether to compute another result that will be cached. True for the first result of each request, whatever the time, so that
 * repeated requests make progress. To be called by the thread that answers the request. */
bool work_limit_goes_on(struct work_limit *w);

/* Whether there is time to compute a result that will not be cached. */
bool work_limit_has_time(struct work_limit *w);

#define WORK_NAMESPACES 64u

/* Namespaces whose requests reached the limit recently. */
struct work_namespaces {
	struct {
		uint64_t hash;       /* of the name */
		uint64_t expires_ms; /* the entry may be reused then */
		struct budget budget;
	} items[WORK_NAMESPACES];
	struct budget all; /* shared by all namespaces */
};

/* Whether a request of the namespace may compute results. Times are of CLOCK_MONOTONIC. */
bool work_namespaces_may(const struct work_namespaces *n, const char *name, uint64_t now_ms);

/* Notes that a request of the namespace reached its limit after cpu_ms of CPU time. In the long run such requests get 1/20 of
 * a CPU per namespace, and 1/4 of a CPU for all namespaces together. */
void work_namespaces_note(struct work_namespaces *n, const char *name, uint64_t now_ms, uint64_t cpu_ms);
