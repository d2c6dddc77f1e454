/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Nodes as their kubelets will have them, ready to be asked: those that were asked about last are kept.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/extender/arrivals.h"
#include "agent/model/node_asker.h"
#include "agent/model/node_outlook.h"

/* What it was made of is borrowed: only its release may be called once the node has another version. */
struct outlook {
	uint64_t version, amounts; /* of the node: struct book_node */
	struct node_outlook node;
	struct node_asker asker;
	struct arrivals arrivals;
};

/* A zeroed one is released as well. */
void outlook_release(struct outlook *o);

#define OUTLOOKS_KEPT 512u /* up to 80 kB each on a node of 64 CPUs and 8 NUMA nodes */

/*
 * By the slots of nodes: two whose slots differ by a multiple of OUTLOOKS_KEPT share a place. So many nodes have one, and
 * of the others those that pods are on their way to, since they cost the most; of those without a place the last is kept.
 */
struct outlooks {
	struct outlook *kept[OUTLOOKS_KEPT];
	struct outlook *last;
};

void outlooks_release(struct outlooks *o);

/* The one that is kept, if it is of this version: versions are never the same for two nodes. NULL = there is none. */
struct outlook *outlooks_find(const struct outlooks *o, size_t slot, uint64_t version, uint64_t amounts);

/* Keep this one instead of the one that has its place. */
void outlooks_keep(struct outlooks *o, size_t slot, struct outlook *outlook);

/* Keep none of this node. */
void outlooks_forget(struct outlooks *o, size_t slot);
