/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Projects a node's state: the reported state, plus assumed and bound pods, minus ended pods.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/extender/cluster_cache.h"
#include "agent/extender/projected_nodes.h"

/* Whether the node's NodeResourceTopology object has a state. The two functions below require it. */
bool project_node_possible(const struct node_info *node);

/*
 * The node with all pods that are bound to it or assumed on it, and without ended pods. A pod that the object reports in part
 * is placed again from its requests. The cache owns *ret; it is valid until the cache changes or another node is projected.
 * 0; -ETIME when the work limit is reached first.
 */
int project_node(struct cluster_cache *cache, const struct node_info *node, struct projected_node **ret);

/* As project_node(), without some pods and without the data about in-flight pods. excluded[i] belongs to node->pods[i], and
 * `excluded` may be NULL. 0 or -ETIME; to be released in either case. */
int project_node_without(struct cluster_cache *cache, const struct node_info *node, const bool *excluded,
	struct projected_node *ret);

/* cache_assume_pod() for any node. Computes what the kubelet will assign to the pod now, regardless of the work limit, because
 * pods that end later change the result. */
int project_assume_pod(struct cluster_cache *cache, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms);
