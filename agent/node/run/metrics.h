/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the daemon counts and measures, as the text that Prometheus reads (exposition format 0.0.4). The
 * families are a table in metrics.c; whoever measures gives the values of their labels by index into the name
 * lists of metrics_new(), so that every series exists from the start, at 0. Each function takes the struct's
 * lock: the HTTP server's thread renders while others count. Depends on
 * common/, agent/base, agent/render and node_gauges.h only.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/node/render/render.h"
#include "common/inventory.h"
#include "common/strbuf.h"

enum metric {
	METRIC_PUBLISHES,       /* counter, labels target and result */
	METRIC_PUBLISH_SECONDS, /* histogram, label target: one request */
	METRIC_OBSERVE_SECONDS, /* histogram: reading every source once */
	METRIC_CHANGE_SECONDS,  /* histogram: from the first sign of a change to its publication */
	METRIC_SOURCE_STATE,    /* gauge, labels source and state: 1 for the state it is in */
	METRIC_LAST_SUCCESS,    /* gauge, label target, set by metrics_succeeded() */
	METRIC_DIRTY_MARKS,     /* counter, label cause */
	METRIC_DISAGREEMENTS,   /* counter: two sources contradicted each other */
	METRIC_COUNT
};

/* Values of a label. */
struct metric_names {
	const char *const *names;
	size_t n;
};

/* The lists live as long as the struct metrics; each has one name at least. */
struct metrics_labels {
	struct metric_names targets; /* "nrt", "node" */
	struct metric_names results; /* of publishing: "written", "unchanged", ... */
	struct metric_names sources; /* "pod-resources", "cpu_manager_state", ... */
	struct metric_names states;  /* of a source: "ok", "absent", "broken", ... */
	struct metric_names causes; /* what marks the published state as out of date: "watch", "timer", ... */
};

struct metrics;

/* All at 0, nothing known of any source. *ret is the caller's, to be freed by metrics_free().
 */
void metrics_new(const struct metrics_labels *labels, struct metrics **ret);
void metrics_free(struct metrics *m);

static inline void metrics_freep(struct metrics **m)
{
	metrics_free(*m);
	*m = NULL;
}

/* Add one to a counter. The labels in the order above, 0 for those the family does not have. */
void metrics_count(struct metrics *m, enum metric metric, unsigned label1, unsigned label2);

/* Put a duration into a histogram. A negative one counts as 0. */
void metrics_observe(struct metrics *m, enum metric metric, unsigned label1, double seconds);

/* The source is in this state now, and in none of the others. */
void metrics_set_source(struct metrics *m, unsigned source, unsigned state);

/* A publication to the target succeeded at `now`, in seconds of a clock that never goes back. */
void metrics_succeeded(struct metrics *m, unsigned target, double now);

/* What each NUMA node has and has left, instead of what it was. 0, -EFBIG (nothing changed). */
int metrics_set_inventory(struct metrics *m, const struct inventory *inv);

/* What the node can still take, with the names of the shapes; as metrics_set_inventory(). */
int metrics_set_headroom(
	struct metrics *m, const struct headroom *headroom, const struct hints_config *shapes);

/* When the client certificate ends that the API server is shown, in seconds since 1970; 0 = there is none. */
void metrics_set_certificate(struct metrics *m, int64_t until_s);

/* What is so when the text is made. */
struct metrics_moment {
	double monotonic_s; /* of the clock of metrics_succeeded() */
	double wall_s;      /* since 1970 */
	bool ready;         /* what /readyz answers */
};

/* Append the text: every family with its HELP and TYPE, and those of process_stats.h. 0, -EFBIG. */
int metrics_render(struct metrics *m, const struct metrics_moment *now, struct strbuf *out);
