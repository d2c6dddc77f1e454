/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * exclusive_cpus: the numbers of exclusive CPUs that this node's kubelet would admit right now. They are
 * given for each policy of the Topology Manager that aligns. A number is admitted when kubelet_judge() admits
 * the Guaranteed pod of one container that asks for as many CPUs and nothing else. Depends on scoring/kubelet.h.
 */
#include "scoring/kubelet.h"

struct exclusive_cpu_range {
	size_t first, last; /* first, first + step, ..., last */
};

struct exclusive_cpus_admitted {
	struct err unknown;                 /* why the ranges are not known; "" when they are */
	struct exclusive_cpu_range *ranges; /* ascending, as long as can be */
	size_t n_ranges;
	size_t ranges_size;
};

struct exclusive_cpus {
	unsigned step; /* CPUs per core under full-pcpus-only, else 1 */
	/* Of best-effort, restricted and single-numa-node; the others stay empty. */
	struct exclusive_cpus_admitted policies[TOPOLOGY_MANAGER_POLICY_COUNT];
};

/* With distribute-cpus-across-numa each number is tried out; on more NUMA nodes with CPUs than this that
 * takes too long and the ranges are not known. */
#define EXCLUSIVE_CPUS_MAX_DISTRIBUTED_NODES 8u

/* 0 or -ENOMEM; *ret is untouched on failure, else the caller releases it. The node's own policy and scope
 * play no part: one container gets the same in either scope. */
int exclusive_cpus_init(struct exclusive_cpus *ret, const struct kubelet_node *node);
void exclusive_cpus_release(struct exclusive_cpus *e);

/* Take the numbers above `most` out: the managers would admit them, but the whole node has not that many left
 * (OutOfcpu). */
void exclusive_cpus_limit(struct exclusive_cpus *e, size_t most);
