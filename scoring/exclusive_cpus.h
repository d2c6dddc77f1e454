/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * exclusive_cpus: the numbers of exclusive CPUs that a kubelet would admit now. A number is admitted when
 * kubelet_judge() admits a Guaranteed pod of one container that requests this number of CPUs and nothing
 * else. No number is admitted if the kubelet needs more than KUBELET_TIME_MAX for CPUs and memory, which a real
 * Guaranteed pod requests too. Depends on scoring/kubelet.h.
 */
#include "scoring/kubelet.h"

struct exclusive_cpu_range {
	size_t first, last; /* first, first + step, ..., last */
};

struct exclusive_cpus_admitted {
	struct err unknown;                 /* why the ranges are unknown, or "" */
	struct exclusive_cpu_range *ranges; /* ascending, each as long as possible */
	size_t n_ranges;
	size_t ranges_size;
	unsigned step; /* CPUs per core under full-pcpus-only, else 1 */
};

/*
 * With distribute-cpus-across-numa each number is tried. On more NUMA nodes with CPUs than this limit, trying
 * takes too long, and the ranges are unknown.
 */
#define EXCLUSIVE_CPUS_MAX_DISTRIBUTED_NODES 8u

/*
 * *ret is to be released. The scope does not matter but must be known: one container gets the same in
 * either scope.
 */
void exclusive_cpus_find(const struct kubelet *k, struct exclusive_cpus_admitted *ret);
void exclusive_cpus_admitted_release(struct exclusive_cpus_admitted *a);

/* The largest admitted number that is not above `max`, 0 = none. */
size_t exclusive_cpus_largest(const struct exclusive_cpus_admitted *a, size_t max);

/*
 * How many CPUs the smallest admitted pods would hold together, one after the other until the kubelet
 * rejects one: the usable part of the free CPUs. `a` is the result of exclusive_cpus_find() for `k`, with
 * known ranges.
 */
size_t exclusive_cpus_usable(
	const struct kubelet *k, struct kubelet_workspace *ws, const struct exclusive_cpus_admitted *a);

/*
 * Remove the numbers above `max`, the CPUs that the whole node has left: the managers would admit them, but the kubelet rejects the pod
 * (OutOfcpu).
 */
void exclusive_cpus_limit(struct exclusive_cpus_admitted *a, size_t max);
