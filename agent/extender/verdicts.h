/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes and caches each node's kubelet verdict on a pod class.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/extender/cluster_cache.h"
#include "scoring/strategies.h"

/*
 * The verdict of the node's kubelet on the pod class, with the node's state as of project_node(). Call verdict_confirm() for
 * an admitting verdict before a pod is assumed on the node.
 *
 * After the work limit is reached, cached verdicts are still returned. For all other nodes the answer is unknown, with
 * `unreached` set, and is not cached: the next request continues there. *ret is valid until the next call for the pod class.
 */
int verdict_of(struct cluster_cache *cache, struct pod_class *class, struct node_info *node,
	enum strategy strategy, const struct verdict **ret);

/*
 * Turns an admitting verdict, just returned by verdict_of(), into a rejection if the kubelet admits the pod class only in some
 * orders of the in-flight pods: in_flight_admit(). Costs more than the verdict. *ret is as from verdict_of().
 */
int verdict_confirm(struct cluster_cache *cache, struct pod_class *class, const struct node_info *node,
	const struct verdict **ret);

/*
 * The first extended resource that the pod class requests, that another node has and that this node does not have. NULL = no
 * such resource, or no Node object. A kubelet ignores an extended resource that its Node does not have: the pod would run
 * without the resource. For a resource that no node has, the kubelet's answer counts, because a DRA driver may serve it.
 */
const char *verdict_lacks(const struct pod_class *class, const struct node_info *node);

/*
 * The kubelet's answer to the pod class after the eviction of some of the node's pods: excluded[i] belongs to node->pods[i],
 * and `excluded` may be NULL. 0; -ETIME when the work limit is reached first.
 */
int verdict_without(struct cluster_cache *cache, const struct pod_class *class, const struct node_info *node,
	const bool *excluded, enum kubelet_answer *ret);
