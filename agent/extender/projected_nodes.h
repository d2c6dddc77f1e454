/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Nodes as their kubelets will have them, ready to be asked: those that were asked about last are kept.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/extender/in_flight_pods.h"
#include "agent/model/node_admission.h"
#include "agent/model/projected_state.h"

/* What it was made of is borrowed: only its release may be called once the node has another version. */
struct projected_node {
	uint64_t version, amounts; /* of the node: struct node_info */
	struct projected_state node;
	struct node_admission admission;
	struct in_flight_pods in_flight;
};

/* A zeroed one is released as well. */
void projected_node_release(struct projected_node *o);

#define PROJECTED_NODES_KEPT 512u /* up to 80 kB each on a node of 64 CPUs and 8 NUMA nodes */

/*
 * By the slots of nodes: two whose slots differ by a multiple of PROJECTED_NODES_KEPT share a place. So many nodes have one, and
 * of the others those that pods are on their way to, since they cost the most; of those without a place the last is kept.
 */
struct projected_nodes {
	struct projected_node *kept[PROJECTED_NODES_KEPT];
	struct projected_node *last;
};

void projected_nodes_release(struct projected_nodes *o);

/* The one that is kept, if it is of this version: versions are never the same for two nodes. NULL = there is none. */
struct projected_node *projected_nodes_find(
	const struct projected_nodes *o, size_t slot, uint64_t version, uint64_t amounts);

/* Keep this one instead of the one that has its place. */
void projected_nodes_keep(struct projected_nodes *o, size_t slot, struct projected_node *projected);

/* Keep none of this node. */
void projected_nodes_forget(struct projected_nodes *o, size_t slot);
