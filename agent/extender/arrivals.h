/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods on their way to a node: whether its kubelet takes them all in whatever order they come.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/extender/shape.h"
#include "agent/extender/work_limit.h"
#include "agent/model/node_outlook.h"

struct arrivals {
	const struct shape **order; /* those who have arrived, in their order; then the others */
	size_t n, n_arrived;
	bool open; /* what the kubelet has when they come is not known: none more is admitted */
	const struct shape **tried;  /* scratch: an order of all and one more */
	struct node_outlook without; /* the node without them; only where there are any */
	struct node_state state;     /* its state, which the asker points to */
	struct node_asker asker;
	bool asked; /* the asker is made */
};

/*
 * Room for so many pods on the node of this state, which must outlive it unchanged; items whose gone[i] is set do not
 * count. 0 or -ENOMEM; to be released in either case. Not to be moved.
 */
int arrivals_init(struct arrivals *a, const struct node_state *state, const bool *gone, size_t room);
void arrivals_release(struct arrivals *a);

/* One pod more, which `arrived` or not: first those who have, in their order. The shape is borrowed. */
void arrivals_add(struct arrivals *a, const struct shape *shape, bool arrived);

/* Whether the kubelet admits the shape as the only one on its way. 0; -ETIME or -ENOMEM as arrivals_admit(). */
int arrivals_admit_alone(struct arrivals *a, const struct shape *shape, struct work_limit *work, bool *ret);

/*
 * Pods are bound side by side, so a kubelet may get them in another order than they were promised; and one that ended
 * meanwhile may have made room that an earlier one takes. *ret: all and the shape are admitted in every order of those on
 * their way, behind those who have arrived. False where there are too many orders, or `open`. 0; -ETIME when the work limit is
 * reached before that is known; -ENOMEM.
 */
int arrivals_admit(struct arrivals *a, const struct shape *shape, struct work_limit *work, bool *ret);
