/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts and measures for `nrtd run`, and prints the metrics for Prometheus.
 *
 * All families are in one table in metrics.c. Callers pass label values as indexes into the name lists of
 * metrics_new(), so that every series exists from the start, with the value 0. Every function locks: the HTTP
 * server's thread prints while other threads count.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/render/render.h"
#include "common/node_state.h"
#include "common/strbuf.h"
#include "scoring/node/pod_alignment.h"

/* The families that callers count or measure. */
enum metric {
	METRIC_PUBLISHES,       /* counter, labels target and result */
	METRIC_PUBLISH_SECONDS, /* histogram, label target: one publication */
	METRIC_OBSERVE_SECONDS, /* histogram: reading every source once */
	METRIC_CHANGE_SECONDS,  /* histogram: from the first sign of a change to its publication */
	METRIC_SOURCE_STATE,    /* gauge, labels source and state: 1 for the current state */
	METRIC_LAST_SUCCESS,    /* gauge, label target, set by metrics_succeeded() */
	METRIC_DIRTY_MARKS,     /* counter, label cause */
	METRIC_DISAGREEMENTS,   /* counter: two sources contradicted each other */
	METRIC_EVENTS,          /* counter, label result: attempts to write an Event */
	METRIC_COUNT
};

/* Values of a label. */
struct metric_names {
	const char *const *names; /* NULL = a value without series */
	size_t n;
};

/* The lists must outlive the struct metrics; each has at least one name. */
struct metrics_labels {
	struct metric_names targets; /* "nrt", "node" */
	struct metric_names results; /* of publishing: "written", "unchanged", ... */
	struct metric_names sources; /* "pod-resources", "cpu_manager_state", ... */
	struct metric_names states;  /* of a source: "ok", "absent", "broken", ... */
	struct metric_names causes;  /* of dirty marks: "watch", "timer", ... */
};

struct metrics;

/* All values 0, all sources in no state. The caller owns *ret and frees it with metrics_free(). */
void metrics_new(const struct metrics_labels *labels, struct metrics **ret);
void metrics_free(struct metrics *m);

static inline void metrics_freep(struct metrics **m)
{
	metrics_free(*m);
	*m = NULL;
}

/* Increments a counter. Labels in the order above, 0 for labels that the family does not have. */
void metrics_count(struct metrics *m, enum metric metric, unsigned label1, unsigned label2);

/* Adds a duration to a histogram. A negative duration counts as 0. */
void metrics_observe(struct metrics *m, enum metric metric, unsigned label1, double seconds);

/* Sets the state of a source. */
void metrics_set_source(struct metrics *m, unsigned source, unsigned state);

/* A publication to the target succeeded at `now`, in monotonic seconds. */
void metrics_succeeded(struct metrics *m, unsigned target, double now);

/* Sets what each NUMA node has and has free. */
void metrics_set_inventory(struct metrics *m, const struct inventory *inv);

/* Sets the node's headroom. `config` has the names of its shapes. */
void metrics_set_headroom(
	struct metrics *m, const struct headroom *headroom, const struct hints_config *config);

/* Sets on which NUMA nodes the memory of pods is (node->pods_memory); NULL = unknown. `names`: also a series per
 * pod. */
void metrics_set_pod_memory(struct metrics *m, const struct node_state *node, bool names);

/* Sets the number of pods by alignment. */
void metrics_set_alignment(struct metrics *m, const struct pod_alignments *pods);

/* Sets the name of another program that writes the NodeResourceTopology object; "" = none. */
void metrics_set_rival(struct metrics *m, const char *manager);

/* Sets when the client certificate expires, in seconds since 1970; 0 = no certificate. */
void metrics_set_certificate(struct metrics *m, int64_t until_s);

/* State at the time of printing. */
struct metrics_moment {
	double monotonic_s; /* of the clock of metrics_succeeded() */
	double wall_s;      /* since 1970 */
	bool ready;         /* /readyz answers 200 */
};

/* Appends every family with its HELP and TYPE, and those of process_stats_print(). 0, -EFBIG. */
int metrics_render(struct metrics *m, const struct metrics_moment *now, struct strbuf *out);
