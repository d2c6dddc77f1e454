/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a pod holds exclusively on its node, and on which NUMA nodes, by the node's state.
 */
#include "agent/state/pod_names.h"
#include "common/node_state.h"

struct pod_held {
	bool found;
	hwloc_bitmap_t cpus; /* NULL unless found */
	hwloc_bitmap_t numa; /* NUMA nodes of its CPUs, memory and devices; NULL unless found */
};

void pod_held_release(struct pod_held *h);

void pod_held_find(const struct node_state *state, const struct pod_names *names, struct pod_held *ret);
