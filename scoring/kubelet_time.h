/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Estimates the time that the kubelet's managers need for a pod. The kubelet makes a hint for each set of NUMA nodes
 * that satisfies a resource, and then merges every permutation of one hint per resource: its time grows with the
 * product of the numbers of hints. distribute-cpus-across-numa tries sets of NUMA nodes, too. This module multiplies
 * the numbers and enumerates nothing. The constants were measured with the managers of 1.35 to 1.38
 * (doc/kubelets.md). Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/settings.h"
#include "scoring/topology_manager.h"

#define KUBELET_TIME_SECOND ((uint64_t)1000000000)

/* A pod for which the kubelet needs longer is not admitted, unless the caller sets another limit. */
#define KUBELET_TIME_MAX (10 * KUBELET_TIME_SECOND)

/* From this time on, reports name the kubelet's time. */
#define KUBELET_TIME_NOTICE KUBELET_TIME_SECOND

/* Up to this time, a verdict may have an upper bound of the time, which takes fewer steps. */
#define KUBELET_TIME_SHORT (KUBELET_TIME_SECOND / 20)

/* All saturate at UINT64_MAX. */
struct kubelet_time {
	uint64_t permutations; /* of hints that the Topology Manager merges */
	uint64_t sets; /* of NUMA nodes for which hints are made, or over which CPUs are distributed */
	uint64_t ns;   /* CPU time of one thread */
};

void kubelet_time_add(struct kubelet_time *time, struct kubelet_time other);

/* The hints of one merge: those of one container, or in scope pod those of the pod. */
struct kubelet_merge {
	unsigned n_resources;
	uint64_t permutations;     /* saturates */
	struct kubelet_time hints; /* time to make the hints */
	bool scored;               /* hints have scores (struct kubelet_version) */
};

#define KUBELET_MERGE_INIT(has_scores) ((struct kubelet_merge){.permutations = 1, .scored = (has_scores)})

/*
 * Count the making of the hints of one resource. The kubelet looks at every set of `nodes`, and for each set at
 * every CPU, device, or amount of memory: `elements`.
 */
void kubelet_merge_make(struct kubelet_merge *m, uint64_t nodes, uint64_t elements);

/* Add n_resources resources, each with these hints. Policy single-numa-node drops most hints before the merge. */
void kubelet_merge_add(struct kubelet_merge *m, enum topology_manager_policy policy,
	const struct topology_hints *hints, size_t n_resources);

/* Add a resource that has a hint for every set of `nodes`, the most that it can have. */
void kubelet_merge_add_all(struct kubelet_merge *m, enum topology_manager_policy policy, uint64_t nodes);

/*
 * The time to make the hints and, if `merges_all`, to merge all their permutations. Without a Topology Manager nothing is merged, and with
 * preferred_hints_first (struct kubelet_version) only preferred hints, which are few, if one of their permutations is preferred.
 */
struct kubelet_time kubelet_merge_time(const struct kubelet_merge *m, bool merges_all);

/* What distribute-cpus-across-numa does: it tries combinations of NUMA nodes, and for each the subsets that take the remainder. */
struct kubelet_distribution {
	uint64_t n_cpus, n_nodes; /* available CPUs, and the NUMA nodes that have them */
	uint64_t combinations,
		lookups; /* the NUMA nodes whose CPUs are looked up, for all combinations together */
	uint64_t subsets;
};

/* The lookups for one combination of `n_nodes` NUMA nodes. The kubelet does most of the lookups only if the combination `suffices`. */
static inline uint64_t kubelet_distribution_lookups(
	const struct kubelet_distribution *d, uint64_t n_nodes, bool suffices)
{
	return suffices ? 3 * n_nodes + d->n_nodes : n_nodes;
}

struct kubelet_time kubelet_distribution_time(const struct kubelet_distribution *d);

/* Appends "4 s", "21 min", "9 h" or "30 days" to the text. */
void kubelet_time_print(struct kubelet_time time, char *text, size_t size);

/* Appends what takes the time: "merges 4.23 billion permutations of topology hints", or "tries 1.05 million sets of NUMA nodes". */
void kubelet_time_print_cause(struct kubelet_time time, char *text, size_t size);
