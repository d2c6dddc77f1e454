/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node as its kubelet will have it, of what its object shows and who is bound or promised to it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/extender/cluster_cache.h"
#include "agent/extender/projected_nodes.h"

/* Whether anything can be said of the node: its object has a state. The others below are for such nodes. */
bool project_node_possible(const struct node_info *node);

/*
 * The node with all pods that are bound or promised to it, and none that has ended. What the object shows in part is not
 * taken from it: the pod is placed again. *ret is the cache's and valid until anything of the cluster cache changes or another
 * node is asked about. 0; -ETIME when the work limit is reached before; -ENOMEM.
 */
int project_node(struct cluster_cache *cache, const struct node_info *node, struct projected_node **ret);

/* The same without some of the pods: gone[i] belongs to node->pods[i] and may be NULL. It has no pods in flight. 0, -ETIME or -ENOMEM; to be
 * released in either case. */
int project_node_without(struct cluster_cache *cache, const struct node_info *node, const bool *gone,
	struct projected_node *ret);

/* book_promise(); what the pod gets there is worked out now, before others end, whatever the work
 * limit. Of any node. 0 or -ENOMEM. */
int project_assume_pod(struct cluster_cache *cache, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms);
