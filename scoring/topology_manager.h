/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's Topology Manager: merging hints and admitting (pkg/kubelet/cm/topologymanager, 1.36.2).
 * The kubelet walks the cross product of all resources' hints; here the same answer comes from sets of
 * masks, in R * n * 2^n steps for R resources on n nodes. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/machine.h"
#include "common/settings.h"
#include "scoring/node_mask.h"

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

/* The NUMA nodes the Topology Manager knows and their SLIT distances, both by id. */
struct topology_nodes {
	uint64_t all; /* its default affinity */
	bool distances_known;
	uint32_t distance[NODE_MASK_MAX_ID + 1][NODE_MASK_MAX_ID + 1]; /* from, to */
};

/*
 * Fill from the machine. False when an id exceeds NODE_MASK_MAX_ID (*ret is then unspecified). Distances are
 * known when each of them is, or when there is a single node.
 */
bool topology_nodes_from_machine(const struct machine *m, struct topology_nodes *ret);

/* Sum of the distances between the mask's nodes, each ordered pair and each node to itself. The kubelet's
 * average distance is this over count^2; between masks of one size the sums order alike, exactly. */
uint64_t topology_distance_sum(const struct topology_nodes *nodes, uint64_t mask);

/* Closest(): true when `candidate` is a better mask than `current`. */
bool topology_closer(const struct topology_nodes *nodes, uint64_t current, uint64_t candidate);

/* What one merge is made under. */
struct topology_rules {
	const struct topology_nodes *nodes;
	enum topology_manager_policy policy;
	bool prefer_closest;
};

/* canAdmitPodResult(): does the policy admit a merged hint that is, or is not, preferred? */
bool topology_policy_admits(enum topology_manager_policy policy, bool preferred);

/* Does single-numa-node consider this hint at all? */
bool topology_single_node_hint(struct topology_hint hint);

/*
 * compare(): does `candidate` replace `current` (NULL = nothing kept yet)? best_count is the largest over the
 * resources of the narrowest hint's size. Hints here always have an affinity, possibly empty.
 */
bool topology_hint_replaces(const struct topology_rules *rules, unsigned best_count,
	const struct topology_hint *current, const struct topology_hint *candidate);

/*
 * A merge in progress, and its tables. The tables are allocated once, for hints within `reach`, and serve any
 * number of merges.
 */
struct topology_merge {
	uint64_t reach;   /* nodes a hint may name */
	unsigned bits;    /* their number, plus one when the machine has nodes beyond them */
	uint64_t *masks;  /* [2^bits] the mask of a table index */
	uint64_t *counts; /* [2^bits] two scratch tables of the AND convolution */
	uint64_t *counts_b;
	unsigned char *state; /* [2^bits] what is known of each mask so far */
	struct topology_rules rules;
	unsigned best_count;
	bool impossible;      /* a resource has no hint left: no permutation exists */
	bool all_indifferent; /* every resource so far has a preferred "any node" */
	bool narrowed; /* some resource named a mask, so `state` holds more than the default affinity */
};

/*
 * Make the tables. 0; -E2BIG when `reach` has too many nodes to walk (NODE_MASK_WALK_MAX, one less
 * when the machine has further nodes). `all` is the default affinity and must contain `reach`.
 */
int topology_merge_init(struct topology_merge *merge, uint64_t all, uint64_t reach);
void topology_merge_release(struct topology_merge *merge);

/* Begin a merge. rules->nodes must outlive it. */
void topology_merge_start(struct topology_merge *merge, const struct topology_rules *rules);

/* Add one resource. Nodes outside `reach` are ignored, as outside the default affinity. */
void topology_merge_add(struct topology_merge *merge, const struct topology_hints *hints);

/* The merged hint; *ret_admit says whether the policy admits it. */
struct topology_hint topology_merge_finish(struct topology_merge *merge, bool *ret_admit);
