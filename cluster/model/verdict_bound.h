/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bounds how good a node can be for a pod class, at a fraction of the cost of a verdict.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/model/cluster.h"

/* What a verdict that admits the pod class has at least. */
struct verdict_bound {
	unsigned numa_nodes; /* 0 = too few CPUs are free on the whole node: the kubelet rejects the pod */
	size_t free_on_numa_nodes; /* if the kubelet assigns `numa_nodes` NUMA nodes */
	size_t free_on_node;
};

/* The CPUs of a node that its kubelet can assign. All zero at first. */
struct free_cpus {
	uint64_t version; /* of the node_info; 0 = not computed */
	bool known; /* false: no exact node state, no CPUs to assign, or project_node_shared_cpus() does not know them */
	size_t n, sum;
	size_t *numa_nodes; /* per NUMA node, the largest number first */
	size_t *by_index; /* per NUMA node, in the order of the machine; NULL = the kubelet's order is another one */
};

void free_cpus_release(struct free_cpus *f);

/*
 * Bounds the verdict by the node's free CPUs, which are computed again if `f` is of another version. False if there is no bound: the free CPUs are
 * not known, or the kubelet assigns no exclusive CPUs to the class.
 */
bool verdict_bound_find(const struct node_info *node, const struct pod_class *class, struct free_cpus *f,
	struct verdict_bound *ret);
