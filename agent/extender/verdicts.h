/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What each node's kubelet would say to a pod class, found again only when the node has changed.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/extender/cluster_cache.h"
#include "scoring/strategies.h"

/*
 * The verdict on the pod class of the node's kubelet, as it will be: project_node(). One that admits is to be confirmed before the
 * node is given to a pod.
 *
 * When the work limit is reached what is kept is still found, and all else is an unknown answer that is `unreached` and not
 * kept: the next question goes on from there. *ret is valid until the next call for the pod class. 0 or -ENOMEM.
 */
int verdict_of(struct cluster_cache *cache, struct pod_class *class, struct node_info *node,
	enum strategy strategy, const struct verdict **ret);

/*
 * The verdict that verdict_of() has just found becomes a rejection where the kubelet admits the pod class in some orders only
 * of the pods on their way: in_flight_admit(). That costs more than the verdict. *ret is the verdict then, as from
 * verdict_of(). 0 or -ENOMEM.
 */
int verdict_confirm(struct cluster_cache *cache, struct pod_class *class, const struct node_info *node,
	const struct verdict **ret);

/*
 * The first extended resource of the pod class that other nodes have and this node does not; NULL = none, or there is no Node object.
 * The kubelet ignores an extended resource that its Node does not have, and the pod would run without it. What no node has may
 * be served by a DRA driver: the kubelet's own answer counts.
 */
const char *verdict_lacks(const struct pod_class *class, const struct node_info *node);

/*
 * Whether the kubelet would admit the pod class without some of the node's pods as well: gone[i] belongs to node->pods[i]
 * and may be NULL. 0; -ETIME when the work limit is reached before; -ENOMEM.
 */
int verdict_without(struct cluster_cache *cache, const struct pod_class *class, const struct node_info *node,
	const bool *gone, enum kubelet_answer *ret);
