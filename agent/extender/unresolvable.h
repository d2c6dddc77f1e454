/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Nodes whose kubelet would reject a pod also if no other pod were there: no eviction helps.
 */
#include "agent/extender/cluster_cache.h"
#include "agent/extender/extender_api.h"

/* Nodes that are looked at for one question, fewer when the work limit is reached; of the others it is found out at the next
 * one. */
#define UNRESOLVABLE_MAX 256u

/*
 * Whether the node's kubelet rejects the pod class whatever is evicted: it is larger than the node, no set of NUMA nodes ever
 * has what it asks for, or the node has no such resource. False where that is not certain: of an estimate, and where only
 * a later container of the pod is rejected, which may be for where the earlier ones came to lie. 0 or -ENOMEM.
 */
int unresolvable_rejects(const struct node_info *node, const struct pod_class *class, bool *ret);

/*
 * None of the n nodes takes the pod: of each whose kubelet rejects it, whether preemption may help there. A node is NULL
 * where nothing is known of it. What is found is kept with the pod class's verdict. 0 or -ENOMEM.
 */
int unresolvable_mark(struct cluster_cache *cache, struct node_info *const *nodes, size_t n,
	struct pod_class *class, struct extender_verdict *verdicts);
