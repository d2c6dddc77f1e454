/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds nodes on which preemption cannot help: their kubelets reject the pod even without other pods.
 */
#include "agent/extender/cluster_cache.h"
#include "agent/extender/extender_api.h"

/* Nodes tested per request; fewer if the work limit is reached. Later requests test the remaining nodes. */
#define UNRESOLVABLE_MAX 256u

/*
 * Whether the node's kubelet rejects the pod class whatever is evicted: the pod is larger than the node, no combination of
 * NUMA nodes satisfies the request, or the node does not have a resource. *ret is false if that is not certain: the verdict is
 * an estimate, or the kubelet rejects only a later container, whose result may depend on the placement of earlier containers.
 */
void unresolvable_rejects(const struct node_info *node, const struct pod_class *class, bool *ret);

/*
 * Sets verdicts[i].unresolvable for each of the n nodes on which preemption cannot help; none of the nodes passes. nodes[i] is
 * NULL for a node that is not in the cache. The results are cached with the pod class's verdicts.
 */
void unresolvable_mark(struct cluster_cache *cache, struct node_info *const *nodes, size_t n,
	struct pod_class *class, struct extender_verdict *verdicts);
