/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bounds how good a node can be for a pod class, at a fraction of the cost of a verdict.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/cluster/cluster_cache.h"

/* What a verdict that admits the pod class has at least. */
struct verdict_bound {
	unsigned numa_nodes;
	size_t free_on_numa_nodes; /* if the kubelet assigns `numa_nodes` NUMA nodes */
	size_t free_on_node;
};

/*
 * Bounds the verdict by the free CPUs of each NUMA node. False if there is no bound, or no need for one: the kubelet assigns no exclusive CPUs
 * to the class, too few are free on the whole node, other pods count than those that the object reports, or the object has no exact node
 * state.
 */
bool verdict_bound_find(
	const struct node_info *node, const struct pod_class *class, struct verdict_bound *ret);
