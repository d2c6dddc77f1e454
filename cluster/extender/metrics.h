/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts scheduler requests, and prints all metrics of the extender.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cluster/extender/nominations.h"
#include "cluster/model/cluster.h"
#include "common/http/exposition.h"
#include "common/kube/lease.h"
#include "common/kube/reflector.h"
#include "common/strbuf.h"

enum verb { VERB_FILTER, VERB_PRIORITIZE, VERB_PREEMPT, VERB_CHOOSE, VERB_ADMIT, VERB_FORGET, VERB_COUNT };

enum result {
	RESULT_ASSUMED,       /* one node passes, and the pod is assumed there */
	RESULT_PASSED,        /* nodes pass, and the pod is not assumed */
	RESULT_UNSCHEDULABLE, /* no node passes */
	RESULT_BAD,           /* the request cannot be parsed */
	RESULT_STALE,         /* stale cluster, incomplete lists, or no holder of the lease */
	RESULT_FORWARDED,     /* redirected to the replica that holds the lease */
	RESULT_FAILED,        /* the answer is larger than allowed */
	RESULT_FORBIDDEN,     /* the client has no valid certificate of the client CA */
	RESULT_SETTLING,      /* of /preempt: the pod probably fits its nominated node in a moment */
	RESULT_COUNT
};

extern const char *const verb_names[VERB_COUNT]; /* "filter", ... */
extern const char *const verb_paths[VERB_COUNT]; /* "/filter", ... "/v1/choose", ... */

#define REQUEST_BUCKETS 8

struct request_counts {
	uint64_t results[VERB_COUNT][RESULT_COUNT];
	uint64_t buckets[VERB_COUNT][REQUEST_BUCKETS + 1]; /* the last is +Inf */
	double seconds[VERB_COUNT];
	uint64_t unknown_nodes;   /* requested nodes with an unknown verdict */
	uint64_t unreached_nodes; /* requested nodes not judged before the work limit */
	uint64_t whole;           /* /filter requests with more nodes than the scheduler's default sample */
	uint64_t slow_nodes;      /* requested nodes whose kubelets would need more than --max-kubelet-time */
};

void request_counts_add(struct request_counts *c, enum verb verb, enum result result, double seconds);

/* The data of the metrics; borrowed. */
struct metrics_source {
	const struct process_stats *process;
	const struct request_counts *requests;
	const struct nomination_counts *nominations; /* NULL = --nominate=off */
	const struct cluster *cluster;
	const uint64_t *skipped; /* unreadable objects, by kind */
	bool ready;
	double silence_s;                       /* since the API server last sent anything */
	const struct reflector_counts *watches; /* by kind; NULL = no API server */
	const struct lease *lease;              /* NULL = a single replica */
	int64_t certificate_until_s;            /* notAfter of the serving certificate; 0 = no TLS */
};

void metrics_print(const struct metrics_source *from, struct strbuf *out);
