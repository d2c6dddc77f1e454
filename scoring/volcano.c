/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/volcano.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "scoring/combinations.h"
#include "scoring/request.h"

#define MAX_NODES COMBINATION_MAX_NODES
#define SCORE_MAX 100

/* The best hint for one container. */
struct hint {
	uint64_t numa;
	bool preferred;
};

/* The sum of the `count` largest of the first n values. */
static uint64_t largest_sum(const unsigned *values, size_t n, size_t count)
{
	unsigned sorted[MAX_NODES];
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at > 0 && sorted[at - 1] < values[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = values[i];
	}
	for (size_t i = 0; i < count && i < n; i++)
		sum += sorted[i];
	return sum;
}

/*
 * The smallest number of NUMA nodes, from `min` on, whose values together reach `wanted`; n + 1 if none do.
 */
static size_t find_fewest(const unsigned *values, size_t n, uint64_t wanted, size_t min)
{
	size_t size = min;

	while (size <= n && largest_sum(values, n, size) < wanted)
		size++;
	return size;
}

/*
 * The set of this size that reaches `wanted` and is smallest as an integer: high positions are left out
 * first.
 */
static uint64_t find_lowest_set(const unsigned *values, size_t n, size_t size, uint64_t wanted)
{
	uint64_t set = 0, have = 0;

	for (size_t i = n; i-- > 0 && size > 0;) {
		if (i >= size && have + largest_sum(values, i, size) >= wanted)
			continue;
		set |= UINT64_C(1) << i;
		have += values[i];
		size--;
	}
	return set;
}

/*
 * The merged hint of the only provider. A set is a hint when its free CPUs reach the request, and preferred
 * when no smaller set has enough CPUs in total. Without hints the result is all NUMA nodes, not preferred.
 */
static struct hint merge_cpu_hint(const struct volcano_node *node, const unsigned *free_cpus, uint64_t wanted,
	enum topology_manager_policy policy)
{
	unsigned totals[MAX_NODES];
	size_t n = node->n_numa, narrowest, size;

	for (size_t i = 0; i < n; i++)
		totals[i] = node->numa[i].total;
	narrowest = find_fewest(totals, n, wanted, 1);
	if (narrowest > n)
		narrowest = n; /* no set is large enough, and the plugin's minimum stays at all of them */
	size = find_fewest(free_cpus, n, wanted, 1);
	if (size > n || (policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && (size > 1 || narrowest > 1)))
		return (struct hint){.numa = combination_first((unsigned)n)};
	return (struct hint){
		.numa = find_lowest_set(free_cpus, n, size, wanted), .preferred = size == narrowest};
}

/* The whole CPUs that the container requests, 0 for a fraction. */
static uint64_t whole_cpus(const struct container_request *c)
{
	const struct resource_quantity *q = resource_list_find(&c->requests, "cpu");

	return q ? (uint64_t)request_whole_cpus(q->quantity.nano) : 0;
}

/*
 * Subtracts CPUs from free_cpus[]: first of the preferred NUMA nodes (a mask of positions), the lowest first, then of the other NUMA nodes.
 * Nothing if all together do not suffice. Returns the NUMA nodes that CPUs were taken from.
 */
static uint64_t take_cpus(unsigned *free_cpus, size_t n, uint64_t preferred, uint64_t wanted)
{
	uint64_t used = 0;

	if (largest_sum(free_cpus, n, n) < wanted)
		return 0;
	for (size_t pass = 0; pass < 2; pass++) {
		uint64_t from = pass == 0 ? preferred : ~preferred;

		for (size_t i = 0; i < n && wanted > 0; i++) {
			uint64_t taken = free_cpus[i] < wanted ? free_cpus[i] : wanted;

			if (!(from & UINT64_C(1) << i) || taken == 0)
				continue;
			free_cpus[i] -= (unsigned)taken;
			wanted -= taken;
			used |= UINT64_C(1) << i;
		}
	}
	return used;
}

static bool admits_hint(enum topology_manager_policy policy, bool preferred)
{
	return preferred || policy == TOPOLOGY_MANAGER_BEST_EFFORT || policy == TOPOLOGY_MANAGER_NONE;
}

/* Make the result a rejection; returns the buffer for its reason. */
static char *reject_pod(struct volcano_result *result)
{
	*result = (struct volcano_result){.admitted = false};
	return result->reason;
}

static bool has_policy(enum topology_manager_policy policy)
{
	return policy != TOPOLOGY_MANAGER_UNKNOWN && policy != TOPOLOGY_MANAGER_NONE;
}

/* Reject a node that is unsuitable before any CPU is counted; false if it is not. */
static bool reject_unsuitable(const struct volcano_node *node, enum topology_manager_policy pod_policy,
	struct volcano_result *result)
{
	const char *const *names = topology_manager_policy_names;

	if (!node->known)
		text_addf(reject_pod(result), VOLCANO_REASON_MAX, "the node's NUMA topology is not known");
	else if (!node->cpu_static)
		text_addf(reject_pod(result), VOLCANO_REASON_MAX,
			"the node's CPU manager policy is not static");
	else if (has_policy(pod_policy) && node->policy != pod_policy)
		text_addf(reject_pod(result), VOLCANO_REASON_MAX,
			"the node's Topology Manager policy is %s, the pod wants %s", names[node->policy],
			names[pod_policy]);
	else
		return false;
	return true;
}

int volcano_predicate(const struct volcano_node *node, const struct pod_request *pod, enum qos_class qos,
	enum topology_manager_policy pod_policy, struct volcano_result *ret)
{
	unsigned free_cpus[MAX_NODES];
	uint64_t used = 0;
	bool node_decides = node->known && node->cpu_static && has_policy(node->policy);

	if (node->n_numa > MAX_NODES)
		return -E2BIG;
	if (qos != QOS_GUARANTEED || (!has_policy(pod_policy) && !node_decides)) {
		*ret = (struct volcano_result){.admitted = true};
		return 0;
	}
	if (reject_unsuitable(node, pod_policy, ret))
		return 0;
	for (size_t i = 0; i < node->n_numa; i++)
		free_cpus[i] = node->numa[i].free;
	if (has_policy(pod_policy) && largest_sum(free_cpus, node->n_numa, node->n_numa) == 0) {
		text_addf(reject_pod(ret), VOLCANO_REASON_MAX, "the node has no free CPU");
		return 0;
	}
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];
		uint64_t wanted = whole_cpus(c);
		struct hint hint;

		if (c->kind != CONTAINER_APP || wanted == 0)
			continue;
		hint = merge_cpu_hint(node, free_cpus, wanted, node->policy);
		if (!admits_hint(node->policy, hint.preferred)) {
			text_addf(reject_pod(ret), VOLCANO_REASON_MAX,
				"container %.60s cannot be assigned by numa", c->name);
			return 0;
		}
		used |= take_cpus(free_cpus, node->n_numa, hint.numa, wanted);
	}
	*ret = (struct volcano_result){.admitted = true, .numa = used};
	return 0;
}

bool volcano_scores_pod(enum qos_class qos, enum topology_manager_policy pod_policy)
{
	return qos == QOS_GUARANTEED && has_policy(pod_policy);
}

void volcano_scores(const unsigned *n_used, size_t n, int64_t weight, int64_t *ret_scores)
{
	unsigned largest = 0;

	for (size_t i = 0; i < n; i++)
		largest = n_used[i] > largest ? n_used[i] : largest;
	for (size_t i = 0; i < n; i++)
		ret_scores[i] =
			weight * (SCORE_MAX - (largest ? (int64_t)n_used[i] * SCORE_MAX / largest : 0));
}
