/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a pod holds exclusively on its node, and on which NUMA nodes, by the node's state.
 */
#include "common/node_state.h"

struct pod_held {
	bool found;
	hwloc_bitmap_t cpus; /* NULL unless found */
	hwloc_bitmap_t numa; /* NUMA nodes of its CPUs, memory and devices; NULL unless found */
};

void pod_held_release(struct pod_held *h);

/*
 * Of a state that was read from an object: pods are found by the hashes of their UIDs and names, which two may share
 * by chance. 0 or -ENOMEM; `ret` is untouched on failure.
 */
int pod_held_find(const struct node_state *state, const char *namespace, const char *name, const char *uid,
	struct pod_held *ret);
