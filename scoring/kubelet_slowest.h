/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds how long a kubelet needs for its slowest container, and for CPUs and memory alone. Knows the
 * machine, the settings and the registered devices; what is free does not matter. Depends on common/ and scoring/ only.
 */
#include "scoring/kubelet.h"

/* The container that takes this kubelet the longest: it requests every resource that has hints. */
struct kubelet_slowest {
	bool known;                 /* false: the Topology Manager's policy is unknown */
	bool cpus;                  /* exclusive CPUs have hints */
	size_t n_memory, n_devices; /* types of memory, and device resources, that have hints */
	struct kubelet_time time;
	struct kubelet_time hints; /* the part of `time` in which hints are made, which no policy avoids */
};

/*
 * Finds the slowest container from the machine, the settings and the registered devices alone, whatever is free. In
 * scope container, a pod of n such containers takes n times as long.
 */
struct kubelet_slowest kubelet_find_slowest(const struct kubelet *k);

/* The longest time in which distribute-cpus-across-numa finds the NUMA nodes for some number of CPUs; 0 without the option. */
struct kubelet_time kubelet_find_slowest_distribution(const struct kubelet *k);

/*
 * The time for a container with exclusive CPUs and memory, and no other resource, if every set of NUMA nodes suffices: the time for small
 * Guaranteed pods. `k` has no unknown policy.
 */
struct kubelet_time kubelet_find_fastest(const struct kubelet *k);
