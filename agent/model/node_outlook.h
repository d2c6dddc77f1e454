/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node's state as it will be: without pods that have ended, and with pods that its kubelet will have admitted by then.
 */
#include "agent/model/node_asker.h"
#include "common/node_state.h"

struct node_outlook {
	struct node_state state; /* borrows the node's own but what changes */
	struct allocations view;
	struct inventory inventory;
};

/*
 * The state without the items whose gone[i] is set. It must outlive the outlook unchanged. Nothing else is done before
 * node_outlook_finish(). 0 or -ENOMEM; to be released in either case.
 */
int node_outlook_init(struct node_outlook *o, const struct node_state *state, const bool *gone);
void node_outlook_release(struct node_outlook *o);

/* Whether nobody has what the item has: its CPUs are in the shared pool, its devices and its memory free. */
bool node_outlook_has(const struct node_outlook *o, const struct allocation *item);

/* Add the item, which is borrowed. 0 or -ENOMEM. */
int node_outlook_add(struct node_outlook *o, const struct allocation *item);

/* Work out what follows, the inventory; nothing is added behind it. 0 or -ENOMEM. */
int node_outlook_finish(struct node_outlook *o);

/*
 * What a pod holds once it is admitted: one item of all its containers, of `verdict`, which the asker has just given on
 * it. Names are "". What an init container leaves to others is counted once. 0 or -ENOMEM; `ret` is written on success
 * only, and is then to be released by allocation_release().
 */
int node_outlook_item(const struct node_asker *asker, const struct pod_request *pod,
	const struct kubelet_verdict *verdict, struct allocation *ret);
