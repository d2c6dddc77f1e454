/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods on their way to a node: whether its kubelet takes them all in whatever order they come.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/extender/pod_class.h"
#include "agent/extender/work_limit.h"
#include "agent/model/projected_state.h"

struct in_flight_pods {
	const struct pod_class **order; /* those who have arrived, in their order; then the others */
	size_t n, n_admitted;
	bool open; /* what the kubelet has when they come is not known: none more is admitted */
	const struct pod_class **tried; /* scratch: an order of all and one more */
	struct projected_state without; /* the node without them; only where there are any */
	struct node_state state;        /* its state, which `admission` points to */
	struct node_admission admission;
	bool asked; /* `admission` is made */
};

/*
 * Room for so many pods on the node of this state, which must outlive it unchanged; items whose gone[i] is set do not
 * count. 0 or -ENOMEM; to be released in either case. Not to be moved.
 */
int in_flight_init(struct in_flight_pods *a, const struct node_state *state, const bool *gone, size_t room);
void in_flight_release(struct in_flight_pods *a);

/* One pod more, which `arrived` or not: first those who have, in their order. The pod class is borrowed. */
void in_flight_add(struct in_flight_pods *a, const struct pod_class *class, bool admitted);

/* Whether the kubelet admits the pod class as the only one on its way. 0; -ETIME or -ENOMEM as in_flight_admit(). */
int in_flight_admit_alone(
	struct in_flight_pods *a, const struct pod_class *class, struct work_limit *work, bool *ret);

/*
 * Pods are bound side by side, so a kubelet may get them in another order than they were promised; and one that ended
 * meanwhile may have made room that an earlier one takes. *ret: all and the pod class are admitted in every order of those on
 * their way, behind those who have arrived. False where there are too many orders, or `open`. 0; -ETIME when the work limit is
 * reached before that is known; -ENOMEM.
 */
int in_flight_admit(
	struct in_flight_pods *a, const struct pod_class *class, struct work_limit *work, bool *ret);
