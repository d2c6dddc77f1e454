/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Topology hints: what a manager of the kubelet reports to the Topology Manager about one resource.
 * Depends on scoring/node_mask.h and libc only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topology_hint {
	uint64_t nodes; /* scoring/node_mask.h; without meaning when any_node is set */
	bool any_node;  /* the kubelet's nil affinity */
	bool preferred;
};

/*
 * The hints of one resource. "No preference" (the kubelet's nil list) and an empty list are opposites: the
 * first never hurts, the second cannot be satisfied.
 */
struct topology_hints {
	struct topology_hint *items;
	size_t n_items;
	size_t items_size;
	bool no_preference;
};

/* Room for the hints over every subset of `n_nodes` nodes (at most NODE_MASK_WALK_MAX). */
void topology_hints_init(struct topology_hints *hints, unsigned n_nodes);
void topology_hints_release(struct topology_hints *hints);

static inline void topology_hints_clear(struct topology_hints *hints)
{
	hints->n_items = 0;
	hints->no_preference = false;
}

/* Append one hint. The list was made large enough by topology_hints_init(): beyond that it stays as it is. */
static inline void topology_hints_add(struct topology_hints *hints, uint64_t nodes, bool preferred)
{
	if (hints->n_items < hints->items_size)
		hints->items[hints->n_items++] =
			(struct topology_hint){.nodes = nodes, .preferred = preferred};
}
