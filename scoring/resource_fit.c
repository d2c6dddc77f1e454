/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/resource_fit.h"

#include "scoring/node_mask.h"

struct resource_fit resource_fit_find(
	uint64_t nodes, uint64_t amount, resource_fit_count count, const void *ctx)
{
	struct resource_fit fit = {0};
	struct node_mask_walk walk;
	uint64_t mask, capacity;
	unsigned size = 0;

	count(ctx, nodes, &capacity, &fit.available);
	node_mask_walk_start(&walk, nodes);
	while (node_mask_walk_next(&walk, &mask)) {
		uint64_t free;

		if (walk.size != size) {
			if (fit.min_nodes)
				break;
			size = walk.size;
			fit.capacity = fit.free = 0;
		}
		count(ctx, mask, &capacity, &free);
		if (capacity >= amount)
			fit.min_nodes = size;
		if (capacity > fit.capacity)
			fit.capacity = capacity;
		if (free > fit.free)
			fit.free = free;
	}
	return fit;
}
