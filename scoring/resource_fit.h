/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How an amount of one resource fits the fewest NUMA nodes: the numbers behind "it would fit one node by
 * size, but the freest has less". For explanations only. Depends on scoring/node_mask.h.
 */
#include <stdint.h>

struct resource_fit {
	unsigned min_nodes; /* nodes needed when everything on them were free; 0 = all nodes are too few */
	uint64_t capacity,
		free;       /* the most that min_nodes nodes hold, and the most that is free on as many */
	uint64_t available; /* free on all nodes together */
};

/* What a set of nodes holds and has free, `ctx` being the resource's. */
typedef void (*resource_fit_count)(
	const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free);

/* `nodes` has at most NODE_MASK_WALK_MAX nodes. */
struct resource_fit resource_fit_find(
	uint64_t nodes, uint64_t amount, resource_fit_count count, const void *ctx);
