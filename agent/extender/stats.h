/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts and times scheduler requests, counts broken assumptions, and prints both as metrics.
 */
#include <stdint.h>

#include "common/strbuf.h"

enum verb { VERB_FILTER, VERB_PRIORITIZE, VERB_PREEMPT, VERB_COUNT };

enum result {
	RESULT_ASSUMED,       /* one node passes, and the pod is assumed there */
	RESULT_PASSED,        /* nodes pass, and the pod is not assumed */
	RESULT_UNSCHEDULABLE, /* no node passes */
	RESULT_BAD,           /* the request cannot be parsed */
	RESULT_STALE,         /* stale cache, incomplete lists, or no holder of the lease */
	RESULT_FORWARDED,     /* redirected to the replica that holds the lease */
	RESULT_FAILED,        /* the answer is larger than allowed */
	RESULT_COUNT
};

extern const char *const verb_names[VERB_COUNT]; /* "filter", ... */

#define STATS_BUCKETS 8

struct stats {
	uint64_t requests[VERB_COUNT][RESULT_COUNT];
	uint64_t buckets[VERB_COUNT][STATS_BUCKETS + 1]; /* the last is +Inf */
	double seconds[VERB_COUNT];
	uint64_t unknown_nodes;   /* in requests */
	uint64_t unreached_nodes; /* in requests: not judged before the work limit */
};

void stats_count(struct stats *s, enum verb verb, enum result result, double seconds);
void stats_print(const struct stats *s, struct strbuf *out);

#define BROKEN_REASONS 6

/* Pods that a kubelet rejected although the extender had assumed them on its node, by the kubelet's reason. */
struct broken_assumptions {
	uint64_t n[BROKEN_REASONS];
};

/* `reason` is the pod's status.reason. */
void broken_assumptions_count(struct broken_assumptions *b, const char *reason);

/* Prints the family nrtd_extender_assumed_pods_rejected_total. */
void broken_assumptions_print(const struct broken_assumptions *b, struct strbuf *out);
