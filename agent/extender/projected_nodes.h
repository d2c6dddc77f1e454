/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Caches recently projected nodes, so that a request about an unchanged node does not project it again.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/extender/in_flight_pods.h"
#include "agent/state/node_admission.h"
#include "agent/state/projected_state.h"

/* Borrows from the node. After the node's version changes, only projected_node_release() may be called. */
struct projected_node {
	uint64_t version, amounts_version; /* of the node_info */
	struct projected_state node;
	struct node_admission admission;
	struct in_flight_pods in_flight;
};

/* Accepts a zeroed struct. */
void projected_node_release(struct projected_node *o);

#define PROJECTED_NODES_KEPT 512u /* entries; up to 80 kB each for a node of 64 CPUs and 8 NUMA nodes */

/*
 * Nodes whose slots differ by a multiple of PROJECTED_NODES_KEPT share an entry of `kept`. Nodes of higher slots use `kept`
 * only if they have in-flight pods, because these nodes cost the most to project; else they use `last`.
 */
struct projected_nodes {
	struct projected_node *kept[PROJECTED_NODES_KEPT];
	struct projected_node *last;
};

void projected_nodes_release(struct projected_nodes *o);

/* The cached projection of these versions, which are unique among nodes. NULL = not cached. */
struct projected_node *projected_nodes_find(
	const struct projected_nodes *o, size_t slot, uint64_t version, uint64_t amounts_version);

/* Caches `projected`, which moves to the cache, in place of the entry's previous content. */
void projected_nodes_keep(struct projected_nodes *o, size_t slot, struct projected_node *projected);

/* Discards what is cached for this slot, and `last`. */
void projected_nodes_forget(struct projected_nodes *o, size_t slot);
