/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node's state as it will be: without pods that have ended, and with pods that its kubelet will have admitted by then.
 */
#include "agent/state/node_admission.h"
#include "common/node_state.h"

struct projected_state {
	struct node_state state; /* borrows the node's own but what changes */
	struct allocations view;
	struct inventory inventory;
};

/*
 * The state without the items whose gone[i] is set. It must outlive `ret` unchanged. Nothing else is done before
 * projected_state_finish(). To be released.
 */
void projected_state_init(struct projected_state *o, const struct node_state *state, const bool *gone);
void projected_state_release(struct projected_state *o);

/* Whether nobody has what the item has: its CPUs are in the shared pool, its devices and its memory free. */
bool projected_state_has_free(const struct projected_state *o, const struct allocation *item);

/* Add the item, which is borrowed. */
void projected_state_add(struct projected_state *o, const struct allocation *item);

/* Work out what follows, the inventory; nothing is added behind it. */
void projected_state_finish(struct projected_state *o);

/*
 * What a pod holds once it is admitted: one item of all its containers, of `verdict`, which `admission` has just given on
 * it. Names are "". What an init container leaves to others is counted once. `ret` is to be released by allocation_release().
 */
void projected_state_item(const struct node_admission *admission, const struct pod_request *pod,
	const struct kubelet_verdict *verdict, struct allocation *ret);
