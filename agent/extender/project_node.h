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
	/* The kubelet would not admit the pod of one of the node's reservations now: room is being made for the pod. Every free
	 * CPU and device of the node may be part of that room. */
	bool reserved;
};

/* Accepts a zeroed struct. */
void projected_node_release(struct projected_node *o);

#define PROJECTIONS_KEPT 512u /* entries; up to 80 kB each for a node of 64 CPUs and 8 NUMA nodes */

/*
 * Caches recently projected nodes. Nodes whose slots differ by a multiple of PROJECTIONS_KEPT share an entry of `kept`.
 * A node whose slot is PROJECTIONS_KEPT or higher uses `kept` only if it has in-flight pods, because such nodes cost the most to
 * project. Otherwise the node uses `last`.
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

/* Whether the node has a NodeResourceTopology object from which its state is known. The two functions below require it. */
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

/*
 * Assumes the pod on the node, as cache_assume_pod(), also if project_node_possible() is false. Computes at once what the kubelet
 * will assign to the pod, regardless of the work limit: pods that end later would change the result.
 */
void project_assume_pod(
	struct projections *p, const struct assume_request *request, struct node_info *node, uint64_t now_ms);
