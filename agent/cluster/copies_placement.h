/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How many copies of a pod go onto nodes together under its scheduling constraints. Each node has room for some.
 */
#include "agent/cluster/scheduling_constraints.h"

/* A node with room for copies. */
struct copies_node {
	const char *name;
	size_t room;     /* so many copies, as its kubelet says */
	size_t placed;   /* of all copies */
	size_t replicas; /* of the first `wanted` copies */
};

/*
 * Place copies one after the other until no node takes another one. Each goes to the first node in this order that has room
 * and that the constraints allow; the first of pods that have affinity to each other goes to the domain with the most room.
 * *ret_complete is false where the search ended early, after a bounded amount of work. Changes what the constraints count, so
 * it is called once.
 */
void copies_placement_find(struct scheduling_constraints *sc, struct copies_node *nodes, size_t n,
	size_t wanted, bool *ret_complete);

/* No node takes a second copy, because of the pod's host ports or of its anti-affinity to its own copies. */
bool copies_placement_one_each(const struct scheduling_constraints *sc, const char *node);
