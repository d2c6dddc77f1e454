/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's Topology Manager (pkg/kubelet/cm/topologymanager, 1.36.2): merges topology hints and
 * admits. A topology hint is what a manager of the kubelet reports to the Topology Manager about one
 * resource. The kubelet walks the cross product of all resources' hints; this module computes the same
 * answer from sets of masks, in R * n * 2^n steps for R resources on n nodes. Depends on common/ and
 * scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/machine.h"
#include "common/settings.h"
#include "scoring/node_mask.h"

struct topology_hint {
	uint64_t nodes; /* scoring/node_mask.h; not valid when any_node is set */
	bool any_node;  /* the kubelet's nil affinity */
	bool preferred;
	/* Percentage of the resource that is allocated on the nodes, at least 1; 0 = not scored. */
	unsigned char score;
};

/*
 * The hints of one resource. "No preference" (the kubelet's nil list) and an empty list are opposites: no
 * preference is always satisfied, an empty list never.
 */
struct topology_hints {
	struct topology_hint *items;
	size_t n_items;
	size_t items_size;
	bool no_preference;
};

/* Allocate space for the hints over every subset of `n_nodes` nodes (at most NODE_MASK_WALK_MAX). */
void topology_hints_init(struct topology_hints *hints, unsigned n_nodes);
void topology_hints_release(struct topology_hints *hints);

static inline void topology_hints_clear(struct topology_hints *hints)
{
	hints->n_items = 0;
	hints->no_preference = false;
}

/* Append one hint. topology_hints_init() made the list large enough; a hint beyond that is ignored. */
static inline void topology_hints_add(struct topology_hints *hints, uint64_t nodes, bool preferred)
{
	if (hints->n_items < hints->items_size)
		hints->items[hints->n_items++] =
			(struct topology_hint){.nodes = nodes, .preferred = preferred};
}

/*
 * The NUMA nodes that the Topology Manager knows, and their SLIT distances. The kubelet looks up the distance to a
 * NUMA node by the node's id in a row that has the distances in the order of the nodes (DEFECTS.md, K7).
 */
struct topology_nodes {
	uint64_t all; /* its default affinity */
	/* Nodes whose id is not below the number of nodes: the kubelet panics when it looks up the distance to one. */
	uint64_t beyond;
	bool distances_known;
	uint32_t (*distance)[NODE_MASK_MAX_ID + 1]; /* from (id), to (position); rows up to the highest id */
};

/*
 * Fill from the machine. False when an id exceeds NODE_MASK_MAX_ID (*ret has no nodes then): the kubelet panics for
 * every pod. The distances are known when each of them is, or when there is a single node. *ret is to be released in
 * either case.
 */
bool topology_nodes_from_machine(const struct machine *m, struct topology_nodes *ret);
void topology_nodes_release(struct topology_nodes *nodes);

/*
 * The sum of the distances between the mask's nodes, as the kubelet looks them up: each ordered pair, and each node to
 * itself. The kubelet's average distance is this sum divided by count^2; masks of one size order by the sums exactly
 * as by the averages. Has no meaning for a mask with a node of nodes->beyond.
 */
uint64_t topology_distance_sum(const struct topology_nodes *nodes, uint64_t mask);

/* Closest(): whether `candidate` is a better mask than `current`. */
bool topology_closer(const struct topology_nodes *nodes, uint64_t current, uint64_t candidate);

/* The rules of one merge. */
struct topology_rules {
	const struct topology_nodes *nodes;
	enum topology_manager_policy policy;
	bool prefer_closest;
	bool preferred_first;                   /* struct kubelet_version.preferred_hints_first */
	enum numa_allocation_strategy strategy; /* NUMA_ALLOCATION_NONE: the hints need no scores */
};

/* Set the scores of hints as KEP-6007 proposes them: the percentage of the allocatable amount of the hint's nodes that is not free,
 * at least 1. `count` returns the allocatable and the free amount. */
void topology_hints_score(struct topology_hints *hints, node_mask_count_fn count, const void *ctx);

/* canAdmitPodResult(): whether the policy admits a merged hint that is, or is not, preferred. */
bool topology_policy_admits(enum topology_manager_policy policy, bool preferred);

/* Whether policy single-numa-node considers this hint at all. */
bool topology_single_node_hint(struct topology_hint hint);

/*
 * compare(): whether `candidate` replaces `current` (NULL = no hint yet). best_count is the largest, over
 * the resources, of the size of the narrowest hint. These hints always have an affinity, possibly empty.
 */
bool topology_hint_replaces(const struct topology_rules *rules, unsigned best_count,
	const struct topology_hint *current, const struct topology_hint *candidate);

/* Whether the kubelet panics in a merge. POSSIBLE: in some order of its maps, or there are too many hints to tell. */
enum topology_panic { TOPOLOGY_PANIC_NONE, TOPOLOGY_PANIC_POSSIBLE, TOPOLOGY_PANIC_CERTAIN };

/*
 * A merge in progress, and its tables, which are allocated once for hints within `reach` and serve any
 * number of merges.
 */
struct topology_merge {
	uint64_t reach;   /* nodes that a hint may name */
	unsigned bits;    /* their number, plus one when the machine has other nodes */
	uint64_t *masks;  /* [2^bits] the mask of a table index */
	uint64_t *counts; /* [2^bits] two scratch tables of the AND convolution */
	uint64_t *counts_b;
	unsigned char *state; /* [2^bits] the flags of each mask */
	struct topology_rules rules;
	unsigned best_count;
	uint32_t *scores; /* [2^bits] the sum of the scores of the mask as a hint; NULL without a strategy */
	unsigned *n_scores;  /* [2^bits] the number of these scores */
	size_t n_with_masks; /* resources so far with a hint that has a mask */
	bool undetermined; /* of the last merge: the strategy chooses among hints that are not preferred, and which
			       hint is chosen depends on the order in which the kubelet visits its maps */
	/* The hints that were added, when the kubelet may panic while it compares them (topology_may_panic()). */
	struct topology_hint *added;
	size_t n_added, added_size;
	size_t *list_ends; /* per resource: the index after its last hint in added[] */
	size_t n_lists, list_ends_size;
	size_t n_unordered; /* the first resources, which the kubelet visits in any order: those of one manager */
	enum topology_panic panic; /* of the last merge */
	size_t n_walked;           /* permutations to find out */
	bool impossible;           /* a resource has no hint: no permutation exists */
	bool all_indifferent;      /* every resource so far has a preferred "any node" */
	bool narrowed; /* some resource has a hint with a mask, so not only the default affinity is reached */
};

/*
 * Allocate the tables. Returns 0; -E2BIG when `reach` has too many nodes to walk (NODE_MASK_WALK_MAX, one
 * less when the machine has other nodes). `all` is the default affinity and must contain `reach`.
 */
int topology_merge_init(struct topology_merge *merge, uint64_t all, uint64_t reach);
void topology_merge_release(struct topology_merge *merge);

/* Begin a merge. rules->nodes must outlive the merge. */
void topology_merge_start(struct topology_merge *merge, const struct topology_rules *rules);

/* Add one resource. Nodes outside `reach` are ignored, like nodes outside the default affinity. */
void topology_merge_add(struct topology_merge *merge, const struct topology_hints *hints);

/* The merged hint; *ret_admit says whether the policy admits it. Sets merge->panic. */
struct topology_hint topology_merge_finish(struct topology_merge *merge, bool *ret_admit);

/*
 * As topology_merge_add() and topology_merge_finish() of one resource, whose hints name NUMA nodes within `reach`, are all preferred, and have no
 * scores. Costs nothing per set of NUMA nodes. False, and nothing is decided: the policy ignores all of the hints, or the merge may panic.
 */
bool topology_merge_preferred(struct topology_merge *merge, const struct topology_hints *hints,
	struct topology_hint *ret, bool *ret_admit);

/*
 * Whether a merge under these rules can panic, because distances to nodes of nodes->beyond may be compared. Then every
 * hint of every resource must be added.
 */
bool topology_may_panic(const struct topology_rules *rules);

/*
 * The most permutations of hints that are walked, in all orders together: enough for two resources on 8 NUMA nodes.
 * Beyond them a panic that is possible counts as one.
 */
#define TOPOLOGY_PANIC_WALK_MAX (1u << 17)

/* ---- between topology_compare.c, topology_manager.c and topology_panic.c */

/* Whether sets of nodes are compared by their distances. False: by the ids alone. */
bool topology_prefers_closest(const struct topology_rules *rules);

/* Whether only the ids make a difference between two masks. */
bool topology_equally_fit(const struct topology_rules *rules, uint64_t a, uint64_t b);

/* Append the hints of one resource to merge->added. */
void topology_panic_add(struct topology_merge *merge, const struct topology_hint *items, size_t n_items);

/* The merged masks that are, and are not, preferred, in any order. */
struct topology_masks {
	const uint64_t *masks; /* [1 << bits] */
	const unsigned char *state;
	unsigned bits;
	unsigned char preferred, reached; /* the flags of state[] */
};

/*
 * Whether the kubelet panics: when it compares two masks of one size that differ and of which one has a node of nodes->beyond.
 * *ret_walked = the permutations that were walked.
 */
enum topology_panic topology_panic_find(
	const struct topology_merge *merge, const struct topology_masks *merged, size_t *ret_walked);
