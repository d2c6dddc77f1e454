/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the kubelet panics while it merges topology hints: with prefer-closest-numa-nodes and NUMA ids that have holes it
 * looks up distances beyond the end of a list (DEFECTS.md, K7). Which sets of NUMA nodes it compares depends on
 * the order of its permutations, so this module walks them as HintMerger.Merge() does (topologymanager/policy.go).
 */
#include <string.h>

#include "common/vec.h"
#include "scoring/topology_manager.h"

/* The most resources of one manager whose every order is walked. */
#define PANIC_UNORDERED_MAX 3u

bool topology_may_panic(const struct topology_rules *rules)
{
	return rules->policy != TOPOLOGY_MANAGER_NONE && topology_prefers_closest(rules) &&
	       rules->nodes->beyond != 0;
}

void topology_panic_add(struct topology_merge *merge, const struct topology_hint *items, size_t n_items)
{
	size_t *end;

	vec_grow(&merge->added, &merge->added_size, merge->n_added + n_items, sizeof(*merge->added));
	memcpy(merge->added + merge->n_added, items, n_items * sizeof(*items));
	merge->n_added += n_items;
	end = vec_push(&merge->list_ends, &merge->n_lists, &merge->list_ends_size, sizeof(*end));
	*end = merge->n_added;
}

/* Whether compare() sums the distances of these two merged hints, and one has a node beyond the list. */
static bool panics_on(
	const struct topology_rules *rules, struct topology_hint current, struct topology_hint candidate)
{
	return current.preferred == candidate.preferred && current.nodes != candidate.nodes &&
	       node_mask_count(current.nodes) == node_mask_count(candidate.nodes) &&
	       (current.nodes | candidate.nodes) & rules->nodes->beyond;
}

/* The permutations of the hints in one order of the resources. */
struct permutations {
	const struct topology_merge *merge;
	size_t order[NODE_MASK_WALK_MAX], n; /* the lists, outermost first */
	size_t at[NODE_MASK_WALK_MAX];       /* the position in each */
	size_t n_walked;
};

static const struct topology_hint *list_of(const struct topology_merge *merge, size_t list, size_t *ret_n)
{
	size_t first = list > 0 ? merge->list_ends[list - 1] : 0;

	*ret_n = merge->list_ends[list] - first;
	return merge->added + first;
}

/* mergePermutation() */
static struct topology_hint merge_permutation(const struct permutations *p)
{
	struct topology_hint merged = {.nodes = p->merge->rules.nodes->all, .preferred = true};
	uint64_t first = 0;

	for (size_t i = 0; i < p->n; i++) {
		size_t n;
		struct topology_hint hint = list_of(p->merge, p->order[i], &n)[p->at[i]];

		merged.preferred = merged.preferred && hint.preferred;
		if (hint.any_node)
			continue;
		merged.preferred = merged.preferred && (first == 0 || hint.nodes == first);
		first = first ? first : hint.nodes;
		merged.nodes &= hint.nodes;
	}
	return merged;
}

/* The next permutation, the kubelet's word for one hint of each list, the innermost list first. False after the last one. */
static bool next_permutation(struct permutations *p)
{
	for (size_t i = p->n; i > 0; i--) {
		size_t n;

		list_of(p->merge, p->order[i - 1], &n);
		p->at[i - 1]++;
		if (p->at[i - 1] < n)
			return true;
		p->at[i - 1] = 0;
	}
	return false;
}

/* Walk all permutations in one order, keeping the best hint as the kubelet does. */
static bool panics_in_order(struct permutations *p)
{
	const struct topology_merge *merge = p->merge;
	struct topology_hint best;
	bool found = false;

	memset(p->at, 0, sizeof(p->at));
	do {
		struct topology_hint candidate = merge_permutation(p);

		p->n_walked++;
		if (found && candidate.nodes && panics_on(&merge->rules, best, candidate))
			return true;
		if (topology_hint_replaces(
			    &merge->rules, merge->best_count, found ? &best : NULL, &candidate)) {
			best = candidate;
			found = true;
		}
	} while (next_permutation(p));
	return false;
}

/* Count the orders of the first resources, from position `from` on, and the orders in which the kubelet panics. */
static void count_list_orders(struct permutations *p, size_t from, size_t *n_panics, size_t *n_orders)
{
	if (from + 1 >= p->merge->n_unordered) {
		*n_panics += panics_in_order(p);
		++*n_orders;
		return;
	}
	for (size_t i = from; i < p->merge->n_unordered; i++) {
		size_t kept = p->order[from];

		p->order[from] = p->order[i];
		p->order[i] = kept;
		count_list_orders(p, from + 1, n_panics, n_orders);
		p->order[i] = p->order[from];
		p->order[from] = kept;
	}
}

/*
 * Whether the kubelet may compare two of the merged masks that have all flags of `wanted`: it compares different masks of the same
 * size, of which one has a node beyond the list. `narrowest`: only masks of the smallest size count.
 */
static bool has_pair(const struct topology_merge *merge, const struct topology_masks *merged,
	unsigned char wanted, bool narrowest)
{
	size_t n = (size_t)1 << merged->bits;
	unsigned char n_masks[NODE_MASK_MAX_ID + 2] = {0}; /* by the number of nodes; 2 = several */
	bool beyond[NODE_MASK_MAX_ID + 2] = {false};

	for (size_t i = 1; i < n; i++) {
		unsigned count = node_mask_count(merged->masks[i]);

		if ((merged->state[i] & wanted) != wanted)
			continue;
		n_masks[count] = n_masks[count] < 2 ? n_masks[count] + 1 : 2;
		beyond[count] = beyond[count] || merged->masks[i] & merge->rules.nodes->beyond;
	}
	for (unsigned count = 1; count <= NODE_MASK_MAX_ID + 1; count++) {
		if (n_masks[count] > 1 && beyond[count])
			return true;
		if (narrowest && n_masks[count] > 0)
			return false;
	}
	return false;
}

static bool has_mask(const struct topology_masks *merged, unsigned char wanted)
{
	for (size_t i = 1; i < (size_t)1 << merged->bits; i++)
		if ((merged->state[i] & wanted) == wanted)
			return true;
	return false;
}

/* Whether the permutations are few enough to walk. */
static bool can_walk(const struct topology_merge *merge)
{
	size_t n_permutations = 1;

	if (merge->n_lists > NODE_MASK_WALK_MAX || merge->n_unordered > PANIC_UNORDERED_MAX)
		return false;
	for (size_t i = 2; i <= merge->n_unordered; i++)
		n_permutations *= i; /* orders */
	for (size_t list = 0; list < merge->n_lists; list++) {
		size_t n;

		list_of(merge, list, &n);
		n_permutations *= n;
		if (n_permutations > TOPOLOGY_PANIC_WALK_MAX)
			return false;
	}
	return true;
}

enum topology_panic topology_panic_find(
	const struct topology_merge *merge, const struct topology_masks *merged, size_t *ret_walked)
{
	struct permutations p = {.merge = merge, .n = merge->n_lists};
	size_t n_panics = 0, n_orders = 0;

	*ret_walked = 0;
	/* In every order of the resources the kubelet compares the narrowest preferred masks: preferred hints come by size. */
	if (has_pair(merge, merged, merged->preferred, true))
		return TOPOLOGY_PANIC_CERTAIN;
	if (merge->rules.preferred_first && has_mask(merged, merged->preferred)) /* no other hint is merged */
		return TOPOLOGY_PANIC_NONE;
	if (!has_pair(merge, merged, merged->reached, false))
		return TOPOLOGY_PANIC_NONE;
	if (!can_walk(merge))
		return TOPOLOGY_PANIC_POSSIBLE;
	for (size_t i = 0; i < p.n; i++)
		p.order[i] = i;
	count_list_orders(&p, 0, &n_panics, &n_orders);
	*ret_walked = p.n_walked;
	if (n_panics == 0)
		return TOPOLOGY_PANIC_NONE;
	return n_panics == n_orders ? TOPOLOGY_PANIC_CERTAIN : TOPOLOGY_PANIC_POSSIBLE;
}
