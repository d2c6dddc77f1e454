/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fit_hints: what a scheduler would have to compute about this node, computed once: the fit of any request
 * (scoring/frontier.h), the numbers of exclusive CPUs its kubelet would admit (scoring/exclusive_cpus.h), and
 * the score of the request shapes that the operator names. Depends on common/ and scoring/ only.
 */
#include "scoring/exclusive_cpus.h"
#include "scoring/frontier.h"
#include "scoring/strategies.h"

/* A pod to be scored under a name. */
struct request_shape {
	const char *name;
	const struct pod_request *pod;
};

struct shape_hint {
	const char *name; /* the shape's own */
	struct pod_fit fit;
	int score; /* 0..100 or SCORE_UNKNOWN, all resources weighing 1 */
};

struct fit_hints {
	const struct inventory *inventory;
	struct frontier frontier;
	bool has_exclusive; /* the node's kubelet was given */
	struct exclusive_cpus_admitted exclusive;
	struct shape_hint *shapes; /* in the order given */
	size_t n_shapes;
};

struct fit_hints_input {
	const struct inventory *inventory;
	const struct kubelet *kubelet; /* NULL = nothing is known of it */
	const struct request_shape *shapes;
	size_t n_shapes;
	enum strategy strategy; /* of the shapes' scores */
	struct distances_kept
		*kept; /* the inventory's distances, from one call to the next; NULL = not kept */
	struct frontier_limits limits;
};

/*
 * Steps that the search for a shape's request may take, less than where a person asks: the hints are made at every
 * change. 16 NUMA nodes of any kind stay below it, and 64 take 3 ms. Beyond it the shape's fit and score are unknown.
 */
#define FIT_HINTS_WORK_LIMIT 32768u

/*
 * 0; -E2BIG (more than COMBINATION_MAX_NODES NUMA nodes). *ret is untouched on failure, else the
 * caller releases it before the inventory and the shapes' names go.
 */
int fit_hints_init(struct fit_hints *ret, const struct fit_hints_input *input);
void fit_hints_release(struct fit_hints *h);
