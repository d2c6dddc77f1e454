/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/topology_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

void topology_hints_init(struct topology_hints *hints, unsigned n_nodes)
{
	size_t size = (size_t)1 << (n_nodes < NODE_MASK_WALK_MAX ? n_nodes : NODE_MASK_WALK_MAX);

	*hints = (struct topology_hints){.items = xcalloc(size, sizeof(*hints->items)), .items_size = size};
}

void topology_hints_release(struct topology_hints *hints)
{
	free(hints->items);
	*hints = (struct topology_hints){0};
}

/* The flags of a mask while resources are added. */
enum {
	REACHED = 1,   /* the AND of some permutation of the hints so far is this mask */
	AGREED = 2,    /* every resource so far has the mask as a preferred hint, or is indifferent */
	NAMED = 4,     /* some resource has the mask as a preferred hint */
	OFFERED = 8,   /* the resource being added has the mask as a hint */
	PREFERRED = 16 /* the resource being added has the mask as a preferred hint */
};

bool topology_nodes_from_machine(const struct machine *m, struct topology_nodes *ret)
{
	unsigned highest = 0;

	*ret = (struct topology_nodes){.distances_known = true};
	for (size_t i = 0; i < m->n_nodes; i++)
		highest = m->nodes[i].id > highest ? m->nodes[i].id : highest;
	if (highest > NODE_MASK_MAX_ID)
		return false;
	ret->distance = xcalloc(highest + 1, sizeof(*ret->distance));
	for (size_t from = 0; from < m->n_nodes; from++) {
		unsigned id = m->nodes[from].id;

		ret->all |= node_mask_of(id);
		if (id >= m->n_nodes)
			ret->beyond |= node_mask_of(id);
		for (size_t to = 0; to < m->n_nodes; to++) {
			unsigned distance = machine_distance(m, from, to);

			ret->distance[id][to] = distance;
			if (distance == 0 && m->n_nodes > 1)
				ret->distances_known = false;
		}
	}
	return true;
}

void topology_nodes_release(struct topology_nodes *nodes)
{
	free(nodes->distance);
	*nodes = (struct topology_nodes){0};
}

bool topology_policy_admits(enum topology_manager_policy policy, bool preferred)
{
	return preferred ||
	       (policy != TOPOLOGY_MANAGER_RESTRICTED && policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
}

bool topology_single_node_hint(struct topology_hint hint)
{
	return hint.preferred && (hint.any_node || node_mask_count(hint.nodes) == 1);
}

static unsigned char make_score(uint64_t allocatable, uint64_t free)
{
	qty_t percent;

	if (allocatable == 0)
		return 0;
	percent = free < allocatable ? (qty_t)(allocatable - free) * 100 / (qty_t)allocatable : 0;
	return percent > 1 ? (unsigned char)percent : 1;
}

void topology_hints_score(struct topology_hints *hints, node_mask_count_fn count, const void *ctx)
{
	for (size_t i = 0; i < hints->n_items; i++) {
		uint64_t allocatable, free;

		count(ctx, hints->items[i].nodes, &allocatable, &free);
		hints->items[i].score = make_score(allocatable, free);
	}
}

int topology_merge_init(struct topology_merge *merge, uint64_t all, uint64_t reach)
{
	uint64_t rest = all & ~reach;
	size_t n;

	memset(merge, 0, sizeof(*merge));
	merge->reach = reach;
	merge->bits = node_mask_count(reach) + (rest ? 1 : 0);
	if (merge->bits > NODE_MASK_WALK_MAX)
		return -E2BIG;
	n = (size_t)1 << merge->bits;
	merge->masks = xcalloc(n, sizeof(*merge->masks));
	merge->counts = xcalloc(n, sizeof(*merge->counts));
	merge->counts_b = xcalloc(n, sizeof(*merge->counts_b));
	merge->state = xcalloc(n, 1);
	/* Bit k of a table index is the k-th node of `reach`, and the last bit, if the machine has other nodes, all of these. */
	for (size_t i = 1; i < n; i++) {
		size_t low = i & (~i + 1); /* the lowest bit */
		uint64_t nodes = reach;

		for (size_t bit = low; bit > 1; bit >>= 1)
			nodes &= nodes - 1;
		merge->masks[i] = merge->masks[i - low] | (nodes ? nodes & (~nodes + 1) : rest);
	}
	return 0;
}

void topology_merge_release(struct topology_merge *merge)
{
	free(merge->masks);
	free(merge->counts);
	free(merge->counts_b);
	free(merge->state);
	free(merge->scores);
	free(merge->n_scores);
	free(merge->added);
	free(merge->list_ends);
	memset(merge, 0, sizeof(*merge));
}

void topology_merge_start(struct topology_merge *merge, const struct topology_rules *rules)
{
	size_t n = (size_t)1 << merge->bits;

	merge->rules = *rules;
	merge->best_count = 0;
	merge->impossible = merge->narrowed = merge->undetermined = false;
	merge->all_indifferent = true;
	merge->n_with_masks = 0;
	merge->n_added = merge->n_lists = merge->n_unordered = 0;
	if (rules->strategy != NUMA_ALLOCATION_NONE && !merge->scores) {
		merge->scores = xcalloc(n, sizeof(*merge->scores));
		merge->n_scores = xcalloc(n, sizeof(*merge->n_scores));
	} else if (rules->strategy != NUMA_ALLOCATION_NONE) {
		memset(merge->scores, 0, n * sizeof(*merge->scores));
		memset(merge->n_scores, 0, n * sizeof(*merge->n_scores));
	}
	/* Without a resource, the only permutation is the default affinity. */
	memset(merge->state, AGREED, n);
	merge->state[n - 1] |= REACHED;
}

static size_t table_index(const struct topology_merge *merge, uint64_t mask)
{
	size_t index = 0;

	/* Ids without holes are their own indexes. */
	if (!(merge->reach & (merge->reach + 1)))
		return (size_t)(mask & merge->reach);
	for (mask &= merge->reach; mask; mask &= mask - 1) {
		uint64_t below = (mask & (~mask + 1)) - 1;

		index |= (size_t)1 << node_mask_count(merge->reach & below);
	}
	return index;
}

/* f[m] becomes the sum of f over m's supersets. */
static void sum_over_supersets(uint64_t *f, unsigned bits)
{
	size_t n = (size_t)1 << bits;

	for (size_t bit = 1; bit < n; bit <<= 1)
		for (size_t base = 0; base < n; base += 2 * bit)
			for (size_t i = base; i < base + bit; i++)
				f[i] += f[i + bit];
}

/* The inverse of sum_over_supersets(). */
static void undo_sum_over_supersets(uint64_t *f, unsigned bits)
{
	size_t n = (size_t)1 << bits;

	for (size_t bit = 1; bit < n; bit <<= 1)
		for (size_t base = 0; base < n; base += 2 * bit)
			for (size_t i = base; i < base + bit; i++)
				f[i] -= f[i + bit];
}

/*
 * Replace the REACHED masks by all a AND b, with a reached so far and b offered by this resource. The
 * number of pairs (a, b) above a mask is the product of the two superset sums, at most 2^32.
 */
static void and_with_offered(struct topology_merge *merge)
{
	size_t n = (size_t)1 << merge->bits;

	if (!merge->narrowed) {
		for (size_t i = 0; i < n; i++) {
			merge->state[i] &= (unsigned char)~REACHED;
			if (merge->state[i] & OFFERED)
				merge->state[i] |= REACHED;
		}
		merge->narrowed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		merge->counts[i] = merge->state[i] & REACHED ? 1 : 0;
		merge->counts_b[i] = merge->state[i] & OFFERED ? 1 : 0;
	}
	sum_over_supersets(merge->counts, merge->bits);
	sum_over_supersets(merge->counts_b, merge->bits);
	for (size_t i = 0; i < n; i++)
		merge->counts[i] *= merge->counts_b[i];
	undo_sum_over_supersets(merge->counts, merge->bits);
	for (size_t i = 0; i < n; i++) {
		merge->state[i] &= (unsigned char)~REACHED;
		if (merge->counts[i])
			merge->state[i] |= REACHED;
	}
}

/* Count the score of a resource's hint with the mask of this table index. */
static void add_score(struct topology_merge *merge, size_t index, unsigned char score)
{
	if (!merge->scores || score == 0 || merge->state[index] & OFFERED)
		return;
	merge->scores[index] += score;
	merge->n_scores[index]++;
}

void topology_merge_add(struct topology_merge *merge, const struct topology_hints *hints)
{
	const struct topology_hint indifferent = {.any_node = true, .preferred = hints->no_preference};
	const struct topology_hint *items = hints->items;
	size_t n = (size_t)1 << merge->bits, n_items = hints->n_items, n_kept = 0;
	bool any_node = false, any_preferred = false, has_masks = false;
	unsigned narrowest = 0;

	if (hints->no_preference || hints->n_items == 0) {
		items = &indifferent;
		n_items = 1;
	}
	if (topology_may_panic(&merge->rules))
		topology_panic_add(merge, items, n_items);
	for (size_t i = 0; i < n_items; i++) {
		unsigned count = node_mask_count(items[i].nodes);
		unsigned char *state;
		size_t index;

		if (merge->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE &&
			!topology_single_node_hint(items[i]))
			continue;
		n_kept++;
		if (items[i].any_node) {
			any_node = true;
			any_preferred = any_preferred || items[i].preferred;
			continue;
		}
		if (!has_masks || count < narrowest)
			narrowest = count;
		has_masks = true;
		index = table_index(merge, items[i].nodes);
		add_score(merge, index, items[i].score);
		state = &merge->state[index];
		*state = (unsigned char)(*state | OFFERED | (items[i].preferred ? PREFERRED : 0));
	}
	if (n_kept == 0) /* by policy single-numa-node */
		merge->impossible = true;
	if (narrowest > merge->best_count)
		merge->best_count = narrowest;
	merge->all_indifferent = merge->all_indifferent && any_preferred;
	if (any_node) /* is the default affinity */
		merge->state[n - 1] |= OFFERED;
	if (has_masks) {
		and_with_offered(merge);
		merge->n_with_masks++;
	}
	for (size_t i = 0; i < n; i++) {
		if (merge->state[i] & PREFERRED)
			merge->state[i] |= NAMED;
		else if (!any_preferred)
			merge->state[i] &= (unsigned char)~AGREED;
		merge->state[i] &= (unsigned char)~(OFFERED | PREFERRED);
	}
}

/* Finds the best mask that is not empty and has all of these flags: AGREED | NAMED for preferred masks, otherwise REACHED. */
static bool find_best(const struct topology_merge *merge, unsigned char flags, struct topology_hint *best)
{
	bool preferred = flags != REACHED, found = false;
	size_t n = (size_t)1 << merge->bits;

	for (size_t i = 1; i < n; i++) {
		struct topology_hint candidate = {.nodes = merge->masks[i], .preferred = preferred};

		if ((merge->state[i] & flags) != flags)
			continue;
		if (merge->rules.strategy != NUMA_ALLOCATION_NONE && merge->n_scores[i] > 0)
			candidate.score = (unsigned char)(merge->scores[i] / merge->n_scores[i]);
		if (!topology_hint_replaces(
			    &merge->rules, merge->best_count, found ? best : NULL, &candidate))
			continue;
		*best = candidate;
		found = true;
	}
	return found;
}

/*
 * Chooses the best hint that is not preferred. If several resources have hints with scores, a mask's score depends on the permutation whose
 * AND is the mask. If another reached mask fits equally well, the kubelet's choice therefore depends on the order of the permutations: this
 * sets `undetermined`.
 */
static bool choose_not_preferred(struct topology_merge *merge, struct topology_hint *best)
{
	const struct topology_rules *rules = &merge->rules;
	size_t n = (size_t)1 << merge->bits;

	if (!find_best(merge, REACHED, best))
		return false;
	if (rules->strategy == NUMA_ALLOCATION_NONE || merge->n_with_masks < 2)
		return true;
	for (size_t i = 1; i < n; i++) /* 0 is the empty mask, which is no hint */
		if (merge->state[i] & REACHED && merge->masks[i] != best->nodes &&
			topology_equally_fit(rules, merge->masks[i], best->nodes))
			merge->undetermined = true;
	return true;
}

/* Whether the kubelet panics in this merge. Sets n_walked. */
static enum topology_panic check_panic(struct topology_merge *merge)
{
	const struct topology_masks merged = {
		.masks = merge->masks,
		.state = merge->state,
		.bits = merge->bits,
		.preferred = AGREED | NAMED,
		.reached = REACHED,
	};

	merge->n_walked = 0;
	return topology_may_panic(&merge->rules) ? topology_panic_find(merge, &merged, &merge->n_walked)
						 : TOPOLOGY_PANIC_NONE;
}

bool topology_merge_preferred(struct topology_merge *merge, const struct topology_hints *hints,
	struct topology_hint *ret, bool *ret_admit)
{
	const struct topology_rules *rules = &merge->rules;
	const struct topology_hint *best = NULL;

	if (rules->policy == TOPOLOGY_MANAGER_NONE || topology_may_panic(rules))
		return false;
	for (size_t i = 0; i < hints->n_items; i++)
		if ((rules->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE ||
			    topology_single_node_hint(hints->items[i])) &&
			topology_hint_replaces(rules, 0, best, &hints->items[i]))
			best = &hints->items[i];
	if (!best)
		return false;
	merge->panic = TOPOLOGY_PANIC_NONE;
	*ret = *best;
	if (rules->policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && best->nodes == rules->nodes->all)
		ret->any_node = true;
	*ret_admit = topology_policy_admits(rules->policy, true);
	return true;
}

/* The best preferred hint; else the best hint that is not preferred; else the default affinity: all NUMA nodes, not preferred. */
struct topology_hint topology_merge_finish(struct topology_merge *merge, bool *ret_admit)
{
	uint64_t all = merge->rules.nodes->all;
	struct topology_hint best = {.nodes = all};

	merge->panic = check_panic(merge);
	if (merge->rules.policy == TOPOLOGY_MANAGER_NONE) {
		*ret_admit = true;
		return (struct topology_hint){.any_node = true};
	}
	if (merge->impossible) {
		/* A resource has no hint, so `best` stays the default affinity. */
	} else if (merge->all_indifferent) {
		/* "Any node" everywhere is a preferred permutation with the default affinity. */
		struct topology_hint with_mask;

		best.preferred = true;
		if (find_best(merge, AGREED | NAMED, &with_mask) &&
			topology_hint_replaces(&merge->rules, merge->best_count, &best, &with_mask))
			best = with_mask;
	} else if (!find_best(merge, AGREED | NAMED, &best) && !choose_not_preferred(merge, &best)) {
		best = (struct topology_hint){.nodes = all};
	}
	if (merge->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && best.nodes == all)
		best.any_node = true;
	*ret_admit = topology_policy_admits(merge->rules.policy, best.preferred);
	return best;
}
