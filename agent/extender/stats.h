/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the extender counts and measures of the questions it answers, as the text that Prometheus reads.
 */
#include <stdint.h>

#include "common/strbuf.h"

enum verb { VERB_FILTER, VERB_PRIORITIZE, VERB_PREEMPT, VERB_COUNT };

enum result {
	RESULT_ASSUMED,       /* one node, which is promised */
	RESULT_PASSED,        /* several nodes, or all of a pod that needs nothing for itself */
	RESULT_UNSCHEDULABLE, /* no node */
	RESULT_BAD,           /* the question cannot be read */
	RESULT_STALE,         /* the API server is away for too long, or nobody holds the lease */
	RESULT_FORWARDED,     /* to the replica that holds the lease */
	RESULT_FAILED,        /* out of memory */
	RESULT_COUNT
};

extern const char *const verb_names[VERB_COUNT]; /* "filter", ... */

#define STATS_BUCKETS 8

struct stats {
	uint64_t requests[VERB_COUNT][RESULT_COUNT];
	uint64_t buckets[VERB_COUNT][STATS_BUCKETS + 1]; /* the last is for all that take longer */
	double seconds[VERB_COUNT];
	uint64_t unknown_nodes;   /* that were asked about */
	uint64_t unreached_nodes; /* as well, and the work limit left no time for them */
};

void stats_count(struct stats *s, enum verb verb, enum result result, double seconds);

/* The end of the text is in `out`. */
void stats_print(const struct stats *s, struct strbuf *out);
