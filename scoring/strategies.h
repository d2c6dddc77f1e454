/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * strategies: the score 0..100 that the scheduler plugin gives a node for a pod, by one of its strategies.
 * There are four (NodeResourceTopologyMatch, Score).
 */
#include "common/settings.h"
#include "scoring/fit.h"
#include "scoring/request.h"

enum strategy {
	STRATEGY_MOST_ALLOCATED,
	STRATEGY_LEAST_ALLOCATED,
	STRATEGY_BALANCED_ALLOCATION,
	STRATEGY_LEAST_NUMA_NODES,
	STRATEGY_COUNT
};

/* "MostAllocated", "LeastAllocated", "BalancedAllocation", "LeastNUMANodes" */
extern const char *const strategy_names[STRATEGY_COUNT];

/* The index of a name, or -1. */
int strategy_by_name(const char *name);

/* No score is known: a work limit was met, or the plugin's own arithmetic has no answer
 * (scoring/DEFECTS.md). */
#define SCORE_UNKNOWN (-1)

/* Steps (scoring/work.h) that the score of a pod's containers on one node may take; beyond them it is not known. */
#define SCORE_WORK_MAX ((uint64_t)16 << 20)

struct resource_weight {
	const char *name;
	int64_t weight; /* below 1 counts as 1 */
};

/* Weights of MostAllocated and LeastAllocated; a resource that is not listed weighs 1. */
struct resource_weights {
	const struct resource_weight *items;
	size_t n_items;
};

/*
 * The score of the pod on the space's inventory under the effective Topology Manager configuration: 0..100 or
 * SCORE_UNKNOWN. An unknown policy or scope counts as the plugin's default, none and container. `weights` may
 * be NULL. The space's amounts are reset first and after the call hold what the containers left.
 */
int strategy_score(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, enum strategy strategy,
	const struct resource_weights *weights);

/* The NUMA nodes that a pod's requests need, one after the other: what LeastNUMANodes scores. */
struct pod_fit {
	enum fit_verdict verdict; /* FIT_NONE: one of them is covered by no combination */
	unsigned n_nodes;         /* the most that one needs; 0 = NUMA nodes do not matter to the pod */
	enum fit_min_distance min_distance; /* of all of them */
};

/* As strategy_score() for the space and an unknown scope. NUMA nodes do not matter to a pod that is not
 * Guaranteed. */
struct pod_fit strategy_pod_fit(
	struct fit_space *s, const struct request_plan *plan, enum topology_manager_scope scope);

/* LeastNUMANodes' score of a Guaranteed pod with this fit: 0..100 or SCORE_UNKNOWN. */
int strategy_fit_score(const struct pod_fit *fit, const struct topology_manager_config *topology);

/* LeastNUMANodes' score of a fit: 100 less a share for each NUMA node, half a share back for the least
 * distance; never below 0. A max_numa_nodes of 0 counts as 1. */
int strategy_normalize(unsigned n_nodes, bool min_distance, unsigned max_numa_nodes);
