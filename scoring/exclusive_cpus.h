/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * exclusive_cpus: the numbers of exclusive CPUs that a kubelet would admit right now. A number is admitted when
 * kubelet_judge() admits the Guaranteed pod of one container that asks for as many CPUs and nothing else.
 * Depends on scoring/kubelet.h.
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
	unsigned step; /* CPUs per core under full-pcpus-only, else 1 */
};

/* With distribute-cpus-across-numa each number is tried out; on more NUMA nodes with CPUs than this that
 * takes too long and the ranges are not known. */
#define EXCLUSIVE_CPUS_MAX_DISTRIBUTED_NODES 8u

/* *ret is to be released. The scope plays no part, but has to be
 * known: one container gets the same in either. */
void exclusive_cpus_find(const struct kubelet *k, struct exclusive_cpus_admitted *ret);
void exclusive_cpus_admitted_release(struct exclusive_cpus_admitted *a);

/* The largest number admitted that is not above `most`, 0 = there is none. */
size_t exclusive_cpus_largest(const struct exclusive_cpus_admitted *a, size_t most);

/*
 * How many CPUs the smallest pods admitted would hold together, one after the other until the kubelet refuses one:
 * what of the free CPUs is of use at all. `a` is what exclusive_cpus_find() gave for `k`, and known.
 */
void exclusive_cpus_usable(const struct kubelet *k, struct kubelet_workspace *ws,
	const struct exclusive_cpus_admitted *a, size_t *ret);

/* Take the numbers above `most` out: the managers would admit them, but the whole node has not that many left
 * (OutOfcpu). */
void exclusive_cpus_limit(struct exclusive_cpus_admitted *a, size_t most);
