/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * volcano: what Volcano's numa-aware plugin decides: whether a pod can go to a node, and the score of each
 * node of a set. The plugin knows only CPUs, always works container by container (without init containers),
 * and ignores distances and the kubelet's CPU manager options.
 *
 * CPUs are counted per NUMA node, not named. That is exact for the first container and for all containers
 * that fit on one NUMA node. After a container that needs several NUMA nodes Volcano's own choice of CPUs
 * is not determined (its comparison is not an ordering); this module takes CPUs from the lowest NUMA nodes
 * first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/request.h"
#include "common/settings.h"

struct volcano_numa {
	unsigned total; /* CPUs of the NUMA node, allocated and reserved ones included */
	unsigned free;  /* neither allocated nor reserved */
};

struct volcano_node {
	bool known;      /* the node has a Numatopology object */
	bool cpu_static; /* its cpuManagerPolicy is static */
	enum topology_manager_policy policy;
	struct volcano_numa *numa; /* ascending id, at most 64 */
	size_t n_numa;
};

#define VOLCANO_REASON_MAX 160

struct volcano_result {
	bool admitted;
	uint64_t numa; /* positions of the NUMA nodes that the containers would use together */
	char reason[VOLCANO_REASON_MAX]; /* for a person; "" when admitted */
};

/*
 * The predicate. `qos` is the pod's class; `pod_policy` is the pod's annotation
 * volcano.sh/numa-topology-policy, unknown without the annotation: then the node's policy applies, if it
 * has one. A pod with a policy goes only to nodes of the same policy. A container that does not request
 * whole CPUs passes and uses none. Does not change the free CPUs of `node`. Returns 0; -E2BIG (more than 64
 * NUMA nodes).
 */
int volcano_predicate(const struct volcano_node *node, const struct pod_request *pod, enum qos_class qos,
	enum topology_manager_policy pod_policy, struct volcano_result *ret);

/*
 * Whether the plugin scores nodes for the pod: it must be Guaranteed and have a policy. For any other pod
 * each node has score 0.
 */
bool volcano_scores_pod(enum qos_class qos, enum topology_manager_policy pod_policy);

/*
 * Scores of candidate nodes, from the number of NUMA nodes that each would use: weight * (100 - 100 * n /
 * largest), truncated as in the plugin; 100 for every node if no node uses any. `ret_scores` has n
 * elements.
 */
void volcano_scores(const unsigned *n_used, size_t n, int64_t weight, int64_t *ret_scores);
