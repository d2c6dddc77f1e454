/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Projects a node's state: the reported state, plus assumed and bound pods, minus ended pods.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/cluster/cluster_cache.h"
#include "agent/extender/in_flight_pods.h"
#include "agent/extender/work_limit.h"
#include "agent/state/node_admission.h"
#include "agent/state/projected_state.h"

/* Borrows from the node. After the node's version changes, only projected_node_release() may be called. */
struct projected_node {
	uint64_t version, amounts_version; /* of the node_info */
	struct projected_state node;
	struct node_admission admission;
	struct in_flight_pods in_flight;
};

/* Accepts a zeroed struct. */
void projected_node_release(struct projected_node *o);

#define PROJECTIONS_KEPT 512u /* entries; up to 80 kB each for a node of 64 CPUs and 8 NUMA nodes */

/*
 * Caches recently projected nodes. Nodes whose slots differ by a multiple of PROJECTIONS_KEPT share an entry of `kept`.
 * Nodes of higher slots use `kept` only if they have in-flight pods, because these nodes cost the most to project; else
 * they use `last`.
 */
struct projections {
	struct cluster_cache *cache; /* borrowed */
	struct work_limit work;      /* of the current request */
	struct projected_node *kept[PROJECTIONS_KEPT];
	struct projected_node *last;
};

void projections_release(struct projections *p);

/* Discards the cached projection of this slot, and `last`. */
void projections_forget(struct projections *p, size_t slot);

/* Whether the node's NodeResourceTopology object has a state. The two functions below require it. */
bool project_node_possible(const struct node_info *node);

/*
 * The node with all pods that are bound to it or assumed on it, and without ended pods. A pod that the object reports in part
 * is placed again from its requests. `p` owns the result, which is valid until the cluster cache changes or another node is
 * projected. NULL when the work limit is reached first.
 */
struct projected_node *project_node(struct projections *p, const struct node_info *node);

/* As project_node(), without some pods and without the data about in-flight pods. excluded[i] belongs to node->pods[i], and
 * `excluded` may be NULL. 0 or -ETIME; to be released in either case. */
int project_node_without(struct projections *p, const struct node_info *node, const bool *excluded,
	struct projected_node *ret);

/* cache_assume_pod() for any node. Computes what the kubelet will assign to the pod now, regardless of the work limit, because
 * pods that end later change the result. */
void project_assume_pod(
	struct projections *p, const struct assume_request *request, struct node_info *node, uint64_t now_ms);
