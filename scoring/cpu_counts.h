/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decides by numbers of free CPUs whether a kubelet admits pods of CPUs alone, one after the other.
 * Costs a thousandth of kubelet_judge().
 */
#include <stdbool.h>
#include <stddef.h>

#include "scoring/kubelet.h"

struct cpu_counts {
	size_t n, free[NODE_MASK_WALK_MAX]; /* per NUMA node with CPUs, in the order of the ids */
	size_t all[NODE_MASK_WALK_MAX];     /* CPUs, free or not: the largest number first */
	bool single;                        /* policy single-numa-node */
};

/* Whether the pod is a pod of CPUs: it has one container, and with the memory manager's policy None only the CPU manager can have topology
 * hints for it. */
bool cpu_counts_is_pod_of_cpus(const struct pod_request *pod);

/* Counts the free CPUs of a node whose shared pool is `shared`. False: with the kubelet's settings, or on its machine, the numbers do not decide. */
bool cpu_counts_init(const struct kubelet *k, hwloc_const_bitmap_t shared, struct cpu_counts *ret);

/* The number of NUMA nodes on which the kubelet places a pod of CPUs with this number of exclusive CPUs; 0 = the kubelet rejects the pod. */
size_t cpu_counts_nodes(const struct cpu_counts *c, size_t cpus);

/* Takes the exclusive CPUs of a pod of CPUs that the kubelet places on one NUMA node (cpu_counts_nodes()). False: the kubelet rejects the pod. */
bool cpu_counts_take(struct cpu_counts *c, size_t cpus);

/* Whether the kubelet admits a pod of CPUs also after other such pods, which have `others` exclusive CPUs together, wherever the kubelet has
 * placed them. False: perhaps not. */
bool cpu_counts_admit_after(const struct cpu_counts *c, size_t cpus, size_t others);
