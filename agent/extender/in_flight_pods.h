/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tests whether a kubelet admits all in-flight pods of a node in every order.
 *
 * A pod is in flight from the moment it is assumed on the node, or bound to the node, until the NodeResourceTopology object
 * reports it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/cluster/pod_class.h"
#include "agent/extender/work_limit.h"
#include "agent/state/projected_state.h"

struct in_flight_pods {
	const struct pod_class **order; /* the admitted pods, then all other pods */
	size_t n, n_admitted;
	bool unknown_start; /* it is unknown which pods the kubelet held when the pods arrived: no further pod is admitted */
	const struct pod_class **trial; /* scratch: an order of all in-flight pods and one more pod */
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

/* Adds a pod. Add the admitted pods first. The pod class is borrowed. */
void in_flight_add(struct in_flight_pods *p, const struct pod_class *class, bool admitted);

/* Whether the kubelet admits the pod class with no other pod in flight. 0; -ETIME as in_flight_admit(). */
int in_flight_admit_alone(
	struct in_flight_pods *p, const struct pod_class *class, struct work_limit *work, bool *ret);

/*
 * Whether the kubelet admits the pod class and all in-flight pods, whatever the order in which they arrive. The admitted pods
 * arrived before all others, in an unknown order in which the kubelet admits each of them: kubelets report admissions in another
 * order than that of the admissions. Schedulers bind pods concurrently, so pods may reach the kubelet in another order than they
 * were assumed in. *ret is false if there are too many orders to try, if the kubelet admits the admitted pods in no order, or if
 * unknown_start is set. 0; -ETIME when the work limit is reached first.
 */
int in_flight_admit(
	struct in_flight_pods *p, const struct pod_class *class, struct work_limit *work, bool *ret);
