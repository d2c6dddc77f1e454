/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a node can still take, in numbers: the largest exclusive CPUs, what is stranded, copies of each shape.
 */
#include "agent/node/render/hints.h"
#include "agent/state/pod_copies.h"

struct headroom {
	size_t max_exclusive
		[HINTS_MAX_NUMA_LABELS]; /* on 1, 2, ... NUMA nodes or fewer; as the Node's labels */
	unsigned n_max;                  /* known; 0 = none */
	bool stranded_known;
	size_t stranded;           /* CPUs: largest_pod_stranded() */
	struct pod_copies *copies; /* of each shape, in their order */
	size_t n_copies;
};

/* Of the shapes of `c`. `ret` is to be released. */
void headroom_find(const struct hints_config *c, const struct node_state *node, struct headroom *ret);
void headroom_release(struct headroom *r);
