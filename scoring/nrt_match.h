/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The scheduler plugin NodeResourceTopologyMatch: how it reads a NodeResourceTopology object, which nodes
 * its Filter passes, and its Score. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/settings.h"
#include "scoring/fit.h"
#include "scoring/request.h"

/* ---- names and values in a NodeResourceTopology object */

/* An attribute or annotation of the object. */
struct nrt_attribute {
	const char *name, *value;
};

#define NRT_MAX_NODE_ID 63u /* readers keep NUMA ids in 64-bit masks; larger ids crash them or are skipped */

/*
 * The NUMA node id in the name of a zone or a cost, "node-3": 0..63, or -1 for any other name (also
 * "node--1", "numa-0", ids above 63). A sign and leading zeros are accepted, as by the plugin.
 */
int nrt_zone_id(const char *name);

/*
 * The Topology Manager configuration that the plugin reads from the object. Starts with scope container,
 * policy none and 8 NUMA nodes; the first of `policies` (the deprecated topologyPolicies) sets policy and
 * scope if the plugin knows it; each valid attribute, in order, replaces a value. The result has no unknown
 * values.
 */
struct topology_manager_config nrt_topology_manager(const char *const *policies, size_t n_policies,
	const struct nrt_attribute *attributes, size_t n_attributes);

/* The two halves of nrt_topology_manager(), applied to existing values. */
void nrt_apply_policies(
	struct topology_manager_config *config, const char *const *policies, size_t n_policies);
void nrt_apply_attributes(
	struct topology_manager_config *config, const struct nrt_attribute *attributes, size_t n_attributes);

/* The divisor of the plugin's scores for a node with this many Node zones: at least the number of zones. */
unsigned nrt_max_numa_nodes(const struct settings *s, unsigned zones);

/*
 * ---- Filter: with policy single-numa-node every container (in pod scope the pod) must fit on one NUMA
 * node; every other policy passes
 */

enum filter_verdict {
	FILTER_PASS,
	FILTER_UNSCHEDULABLE,
	FILTER_ERROR, /* two positions with the same NUMA node id disagree */
	FILTER_VERDICT_COUNT
};

#define FILTER_REASON_MAX 320
#define FILTER_DETAIL_MAX 512

struct filter_result {
	enum filter_verdict verdict;
	char reason[FILTER_REASON_MAX]; /* the plugin's message, "" when the pod passes */
	char detail[FILTER_DETAIL_MAX]; /* one line for a person, with amounts; "" when the pod passes */
};

/*
 * Filter the pod on the space's inventory under the effective Topology Manager configuration (an unknown
 * policy or scope counts as the plugin's default, none and container). `node` has the node's allocatable
 * resources (only the names matter); NULL = every name. Resets the space's amounts first; after the call
 * they are what the containers left.
 */
struct filter_result filter_pod(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, const struct resource_list *node);

/*
 * Subtract a container's request from one NUMA node's amounts, as the filter does between containers: at
 * every position with that id; cpu, memory and hugepages only for Guaranteed pods. False when some amount
 * is smaller than the request (*ret_reason names it); the amounts before it are subtracted then.
 */
bool filter_subtract(struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	unsigned id, char ret_reason[FILTER_REASON_MAX]);

/* ---- Score, by one of four strategies */

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

/* No score: a work limit was exceeded, or the plugin's own arithmetic has no answer (scoring/DEFECTS.md). */
#define SCORE_UNKNOWN (-1)

/* Steps (scoring/work.h) of the score of a pod's containers on one node; beyond them the score is unknown. */
#define SCORE_WORK_MAX ((uint64_t)16 << 20)

struct resource_weight {
	const char *name;
	int64_t weight; /* below 1 counts as 1 */
};

/* Weights of MostAllocated and LeastAllocated; a resource that is not listed has weight 1. */
struct resource_weights {
	const struct resource_weight *items;
	size_t n_items;
};

/*
 * The score of the pod on the space's inventory under the effective Topology Manager configuration: 0..100
 * or SCORE_UNKNOWN. An unknown policy or scope counts as the plugin's default, none and container.
 * `weights` may be NULL. Resets the space's amounts first; after the call they are what the containers
 * left.
 */
int strategy_score(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, enum strategy strategy,
	const struct resource_weights *weights);

/* The NUMA nodes that a pod's requests need, one request after the other; LeastNUMANodes scores this. */
struct pod_fit {
	enum fit_verdict verdict; /* FIT_NONE: no combination covers some request */
	unsigned n_nodes; /* the most that one request needs; 0 = the pod does not depend on NUMA nodes */
	enum fit_min_distance min_distance; /* of all requests */
};

/*
 * Uses the space and treats an unknown scope as strategy_score() does. A pod that is not Guaranteed does
 * not depend on NUMA nodes.
 */
struct pod_fit strategy_pod_fit(
	struct fit_space *s, const struct request_plan *plan, enum topology_manager_scope scope);

/* LeastNUMANodes' score of a Guaranteed pod with this fit: 0..100 or SCORE_UNKNOWN. */
int strategy_fit_score(const struct pod_fit *fit, const struct topology_manager_config *topology);

/*
 * LeastNUMANodes' score of a fit: 100 minus a share for each NUMA node, plus half a share for the minimum
 * distance; at least 0. A max_numa_nodes of 0 counts as 1.
 */
int strategy_normalize(unsigned n_nodes, bool min_distance, unsigned max_numa_nodes);
