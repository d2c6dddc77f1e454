/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes a node's state without some of its pods, or with pods that its kubelet would admit.
 */
#include "common/err.h"
#include "common/node_state.h"
#include "scoring/node/node_admission.h"

struct projected_state {
	struct node_state state;    /* borrows from the node except allocations.items, .shared and .memory */
	struct inventory inventory; /* of `state`, set by projected_state_finish() */
};

/*
 * Start with `state` without the items whose excluded[i] is set; `excluded` NULL = with all items. `state` must
 * outlive `p` unchanged. Until projected_state_finish() the inventory is that of `state`.
 */
void projected_state_init(struct projected_state *p, const struct node_state *state, const bool *excluded);
void projected_state_release(struct projected_state *p);

/*
 * Whether everything that the item holds is free in the projection: its CPUs are in the shared pool, its
 * devices and memory not held.
 */
bool projected_state_has_free(const struct projected_state *p, const struct allocation *item);

/* Add the item, which is borrowed. Not after projected_state_finish(). */
void projected_state_add(struct projected_state *p, const struct allocation *item);

/* Derive the inventory from the items. */
void projected_state_finish(struct projected_state *p);

/*
 * What a pod holds once it is admitted: one item for all its containers, from the `verdict` that `admission`
 * gave last. Names are "". What an init container leaves to later containers counts once. `ret` is to be
 * released by allocation_release().
 */
void admission_placed_item(const struct node_admission *admission, const struct pod_request *pod,
	const struct kubelet_verdict *verdict, struct allocation *ret);

/*
 * Empty a node whose machine and settings are known, before node_derive(): the node as its kubelet has it
 * before the first pod, whatever the sources report. The shared pool is what the kubelet's CPU manager starts
 * with; the memory manager's state follows from the hardware and reservedMemory. Registered devices stay, and
 * nobody holds them; if they are unknown they stay unknown. 0; -errno with one line (the node can then only
 * be released).
 */
int projected_state_empty(struct node_state *node, struct err *err);

/*
 * Remove the CPU manager's state file (`cpus`), the memory manager's (`memory`), or both, before node_derive(). A manager without state
 * file has the state of an empty node, and pods hold nothing of its resources. Devices stay. Returns as projected_state_empty().
 */
int projected_state_remove_files(struct node_state *node, bool cpus, bool memory, struct err *err);
