/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * volcano: what Volcano's numa-aware plugin decides: whether a pod may go to a node, and the score of each
 * node of a set. It knows CPUs only, always works container by container (init containers left out), and
 * weighs neither distances nor the kubelet's CPU manager options.
 *
 * CPUs are counted per NUMA node, not named. That is exact for the first container and for all that fit on
 * one NUMA node. After a container that needed several, Volcano's own choice of single CPUs is not determined
 * (its comparison is not an ordering); here the lowest NUMA nodes are emptied first.
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
 * The predicate. `qos` is the pod's class; `pod_policy` the pod's annotation volcano.sh/numa-topology-policy,
 * unknown when it has none: then the node's own policy is applied if it has one. A pod whose policy is set
 * goes only to nodes of the same policy. A container that asks for no whole number of CPUs passes and uses
 * none. Free CPUs of `node` are not changed. 0; -E2BIG (more than 64 NUMA nodes).
 */
int volcano_predicate(const struct volcano_node *node, const struct pod_request *pod, enum qos_class qos,
	enum topology_manager_policy pod_policy, struct volcano_result *ret);

/* Whether it scores nodes for the pod: one that is Guaranteed and has a policy. For any other each node has 0. */
bool volcano_scores_pod(enum qos_class qos, enum topology_manager_policy pod_policy);

/*
 * Scores over candidate nodes, from the number of NUMA nodes each would use: weight * (100 - 100 * n /
 * largest), the fraction cut off as the code does; 100 for every node when none uses any. `ret_scores` has
 * room for n.
 */
void volcano_scores(const unsigned *n_used, size_t n, int64_t weight, int64_t *ret_scores);
