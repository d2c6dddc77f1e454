/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node_mask.h"

#include <string.h>

bool node_mask_from_bitmap(hwloc_const_bitmap_t set, uint64_t *ret_mask)
{
	uint64_t mask = 0;
	int id;

	if (!set) {
		*ret_mask = 0;
		return true;
	}
	/* hwloc_bitmap_last() is -1 for the empty set and for infinite sets. */
	if (hwloc_bitmap_last(set) > NODE_MASK_MAX_ID ||
		(hwloc_bitmap_last(set) < 0 && !hwloc_bitmap_iszero(set)))
		return false;
	for (id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id))
		mask |= node_mask_of((unsigned)id);
	*ret_mask = mask;
	return true;
}

/* Append an id below 100 as decimal text. */
static char *append_id(char *to, unsigned id)
{
	if (id >= 10)
		*to++ = (char)('0' + id / 10);
	*to++ = (char)('0' + id % 10);
	return to;
}

void node_mask_print(uint64_t mask, char text[NODE_MASK_TEXT_MAX])
{
	char *to = text;

	for (unsigned id = 0; id <= NODE_MASK_MAX_ID; id++) {
		unsigned last = id;

		if (!(mask & node_mask_of(id)))
			continue;
		while (last < NODE_MASK_MAX_ID && (mask & node_mask_of(last + 1)))
			last++;
		if (to > text)
			*to++ = ',';
		to = append_id(to, id);
		if (last > id) {
			*to++ = '-';
			to = append_id(to, last);
		}
		id = last;
	}
	*to = '\0';
}

void node_mask_walk_start(struct node_mask_walk *walk, uint64_t nodes)
{
	walk->n = walk->size = walk->kept = 0;
	walk->masks[0] = 0;
	for (; nodes; nodes &= nodes - 1)
		walk->ids[walk->n++] = (unsigned char)__builtin_ctzll(nodes);
}

/* Continue after the last of the smaller subsets. */
void node_mask_walk_start_at(struct node_mask_walk *walk, uint64_t nodes, unsigned size)
{
	node_mask_walk_start(walk, nodes);
	walk->size = size - 1 < walk->n ? size - 1 : walk->n;
	for (unsigned i = 0; i < walk->size; i++)
		walk->at[i] = (unsigned char)(walk->n - walk->size + i);
}

bool node_mask_walk_next(struct node_mask_walk *walk, uint64_t *ret_mask)
{
	unsigned i = walk->size;

	/* In most steps the last position can move. */
	if (i > 0 && walk->at[i - 1] + 1u < walk->n) {
		walk->kept = i - 1;
		walk->at[i - 1]++;
		walk->masks[i] = walk->masks[i - 1] | node_mask_of(walk->ids[walk->at[i - 1]]);
		*ret_mask = walk->masks[i];
		return true;
	}
	/* Find the rightmost position that can still move right. */
	while (i > 0 && walk->at[i - 1] == walk->n - (walk->size - (i - 1)))
		i--;
	if (i > 0) {
		walk->at[i - 1]++;
	} else {
		/* That was the last subset of this size. */
		if (walk->size == walk->n)
			return false;
		walk->size++;
		walk->at[0] = 0;
		i = 1;
	}
	walk->kept = i - 1;
	for (; i < walk->size; i++)
		walk->at[i] = (unsigned char)(walk->at[i - 1] + 1);
	for (i = walk->kept; i < walk->size; i++)
		walk->masks[i + 1] = walk->masks[i] | node_mask_of(walk->ids[walk->at[i]]);
	*ret_mask = walk->masks[walk->size];
	return true;
}

struct node_mask_fit node_mask_find_fit(
	uint64_t nodes, uint64_t amount, node_mask_count_fn count, const void *ctx)
{
	struct node_mask_fit fit = {0};
	struct node_mask_walk walk;
	uint64_t mask, capacity;
	unsigned size = 0;

	count(ctx, nodes, &capacity, &fit.available);
	node_mask_walk_start(&walk, nodes);
	while (node_mask_walk_next(&walk, &mask)) {
		uint64_t free;

		if (walk.size != size) { /* all smaller sets were counted */
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
