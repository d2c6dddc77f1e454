/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tests whether a node's kubelet admits all in-flight pods in any order.
 *
 * A pod is in flight from the moment it is assumed on the node, or bound to the node, until the NodeResourceTopology object
 * reports it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cluster/objects/pod_class.h"
#include "common/io/time.h"
#include "scoring/node/projected_state.h"

struct in_flight_pods {
	const struct pod_class **order; /* classes of the in-flight pods: admitted pods first */
	size_t n, n_admitted;
	bool unknown_start; /* unknown which other pods held resources when the pods arrived: in_flight_admit() returns false */
	const struct kubelet *
		kubelet; /* of the node with the in-flight pods, for its settings; borrowed; NULL = not known */
	const struct pod_class **trial; /* scratch: the order that is tried, with the pod in question */
	struct projected_state base; /* the node without the in-flight pods; initialized if `max` was not 0 */
	struct node_state state;     /* the state of `base`; `admission` points to it */
	struct node_admission admission;
	bool has_admission;
};

/*
 * Prepares for up to `max` pods on a node of this state, which must outlive `p` unchanged. Items with excluded[i] set do not
 * count. To be released. Not to be moved.
 */
void in_flight_init(
	struct in_flight_pods *p, const struct node_state *state, const bool *excluded, size_t max);
void in_flight_release(struct in_flight_pods *p);

/* Adds a pod. Add the admitted pods first: those that were admitted before all other pods. The pod class is borrowed. */
void in_flight_add(struct in_flight_pods *p, const struct pod_class *class, bool admitted);

/* Whether the kubelet admits the pod class with no other pod in flight. 0; -ETIME as in_flight_admit(). */
int in_flight_admit_alone(
	struct in_flight_pods *p, const struct pod_class *class, struct work_limit *work, bool *ret);

/*
 * Whether the kubelet admits a pod of the class and all in-flight pods, whatever the order of their arrival at the
 * kubelet. Schedulers bind pods concurrently, so the order of arrival may differ from the order in which the pods were
 * assumed. Admitted pods arrived before all other pods, in an unknown order, because kubelets do not report admissions
 * in their order. *ret is false if there are too many orders to try, if no order of the admitted pods is possible, or
 * if unknown_start is set. 0; -ETIME when the work limit is reached first.
 */
int in_flight_admit(
	struct in_flight_pods *p, const struct pod_class *class, struct work_limit *work, bool *ret);
