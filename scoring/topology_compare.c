/* SPDX-License-Identifier: Apache-2.0 */
/* Compares merged topology hints as the topology manager does: CompareNUMAAffinityMasks() and HintMerger.compare() of policy.go. */
#include "scoring/topology_manager.h"

uint64_t topology_distance_sum(const struct topology_nodes *nodes, uint64_t mask)
{
	uint64_t sum = 0;

	for (uint64_t a = mask; a; a &= a - 1)
		for (uint64_t b = mask; b; b &= b - 1)
			sum += nodes->distance[__builtin_ctzll(a)][__builtin_ctzll(b)];
	return sum;
}

bool topology_closer(const struct topology_nodes *nodes, uint64_t current, uint64_t candidate)
{
	uint64_t d_current, d_candidate;

	if (node_mask_count(current) != node_mask_count(candidate))
		return node_mask_narrower(candidate, current);
	d_current = topology_distance_sum(nodes, current);
	d_candidate = topology_distance_sum(nodes, candidate);
	return d_current == d_candidate ? candidate < current : d_candidate < d_current;
}

bool topology_prefers_closest(const struct topology_rules *rules)
{
	return rules->prefer_closest && rules->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
}

/* Whether only the ids make a difference between two masks. */
bool topology_equally_fit(const struct topology_rules *rules, uint64_t a, uint64_t b)
{
	return node_mask_count(a) == node_mask_count(b) &&
	       (!topology_prefers_closest(rules) ||
		       topology_distance_sum(rules->nodes, a) == topology_distance_sum(rules->nodes, b));
}

/* CompareNUMAAffinityMasks(): whether the candidate's mask is better. */
static bool is_better_mask(const struct topology_rules *rules, const struct topology_hint *current,
	const struct topology_hint *candidate)
{
	if (current->nodes == candidate->nodes)
		return false;
	/* Scores decide only between masks that otherwise nothing but their ids tells apart. */
	if (rules->strategy != NUMA_ALLOCATION_NONE && current->score > 0 && candidate->score > 0 &&
		current->score != candidate->score &&
		topology_equally_fit(rules, current->nodes, candidate->nodes))
		return (candidate->score > current->score) == (rules->strategy == NUMA_ALLOCATION_MOST);
	if (topology_prefers_closest(rules))
		return topology_closer(rules->nodes, current->nodes, candidate->nodes);
	return node_mask_narrower(candidate->nodes, current->nodes);
}

bool topology_hint_replaces(const struct topology_rules *rules, unsigned best_count,
	const struct topology_hint *current, const struct topology_hint *candidate)
{
	unsigned n_current, n_candidate = node_mask_count(candidate->nodes);

	if (n_candidate == 0)
		return false;
	if (!current)
		return true;
	if (current->preferred != candidate->preferred)
		return candidate->preferred;
	if (current->preferred)
		return is_better_mask(rules, current, candidate);
	/* Neither is preferred: as close to best_count nodes as possible, below rather than above. */
	n_current = node_mask_count(current->nodes);
	if (n_current > best_count)
		return is_better_mask(rules, current, candidate);
	if (n_current == best_count)
		return n_candidate == best_count && is_better_mask(rules, current, candidate);
	if (n_candidate > best_count)
		return false;
	if (n_candidate != n_current)
		return n_candidate > n_current;
	return is_better_mask(rules, current, candidate);
}
