/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A set of NUMA nodes as the kubelet's Topology Manager stores it: one 64-bit word, bit i = NUMA node id i.
 * Order and iteration as in k8s.io/kubernetes pkg/kubelet/cm/topologymanager/bitmask. Depends on hwloc's
 * bitmap and libc only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwloc/bitmap.h>

/* Larger ids do not fit the kubelet's masks. */
#define NODE_MASK_MAX_ID 63

/*
 * Walking every subset of n nodes takes 2^n steps; the kubelet warns above 8 nodes. With more nodes than
 * this nrtd does not walk, and the answer is "unknown".
 */
#define NODE_MASK_WALK_MAX 16

static inline uint64_t node_mask_of(unsigned id)
{
	return id <= NODE_MASK_MAX_ID ? UINT64_C(1) << id : 0;
}

static inline unsigned node_mask_count(uint64_t mask)
{
	/* Without the processor's popcount instruction the compiler would call a function. */
	mask -= mask >> 1 & UINT64_C(0x5555555555555555);
	mask = (mask & UINT64_C(0x3333333333333333)) + (mask >> 2 & UINT64_C(0x3333333333333333));
	mask = (mask + (mask >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(mask * UINT64_C(0x0101010101010101) >> 56);
}

/* IsNarrowerThan(): fewer nodes, or as many nodes and the smaller mask. */
static inline bool node_mask_narrower(uint64_t a, uint64_t b)
{
	unsigned n_a = node_mask_count(a), n_b = node_mask_count(b);

	return n_a == n_b ? a < b : n_a < n_b;
}

/* The bitmap's ids as a mask. False, with *ret_mask untouched, when an id exceeds NODE_MASK_MAX_ID. */
bool node_mask_from_bitmap(hwloc_const_bitmap_t set, uint64_t *ret_mask);

/* The mask as a list of ids, "0-1,3"; "" when empty. */
#define NODE_MASK_TEXT_MAX 192
void node_mask_print(uint64_t mask, char text[NODE_MASK_TEXT_MAX]);

/*
 * Every non-empty subset of `nodes`, in IterateBitMasks' order: by size, within a size in the lexicographic
 * order of the ascending ids.
 *
 *	struct node_mask_walk walk;
 *	node_mask_walk_start(&walk, nodes);
 *	while (node_mask_walk_next(&walk, &mask))
 *		...
 *
 * After each step, at[0..size) has the positions (among the ascending ids of `nodes`) of the subset's nodes;
 * at[0..kept) is unchanged since the step before, so that sums over these nodes can be reused.
 */
struct node_mask_walk {
	unsigned char ids[64];
	unsigned char at[64];
	unsigned n, size, kept;
	uint64_t masks[65]; /* masks[i] = the first i nodes of the subset */
};

void node_mask_walk_start(struct node_mask_walk *walk, uint64_t nodes);

/* Begin with the subsets of `size` nodes (at least 1). */
void node_mask_walk_start_at(struct node_mask_walk *walk, uint64_t nodes, unsigned size);

bool node_mask_walk_next(struct node_mask_walk *walk, uint64_t *ret_mask);

/*
 * How an amount of one resource fits the fewest NUMA nodes, for explanations such as "it fits one NUMA node by size,
 * but the freest has less".
 */
struct node_mask_fit {
	unsigned min_nodes;      /* nodes needed if everything on them were free; 0 = all nodes are too few */
	uint64_t capacity, free; /* the largest capacity, and the largest free amount, of min_nodes nodes */
	uint64_t available;      /* free on all nodes together */
};

/* Counts what a set of nodes has and has free; `ctx` is the caller's. */
typedef void (*node_mask_count_fn)(
	const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free);

/* `nodes` has at most NODE_MASK_WALK_MAX nodes. */
struct node_mask_fit node_mask_find_fit(
	uint64_t nodes, uint64_t amount, node_mask_count_fn count, const void *ctx);
