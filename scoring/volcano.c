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

/* The fewest NUMA nodes whose values together reach `wanted`, from `least` on; n + 1 when none do. */
static size_t fewest(const unsigned *values, size_t n, uint64_t wanted, size_t least)
{
	size_t size = least;

	while (size <= n && largest_sum(values, n, size) < wanted)
		size++;
	return size;
}

/* Of the sets of this size that reach `wanted` the smallest as an integer: high positions are left out first.
 */
static uint64_t lowest_set(const unsigned *values, size_t n, size_t size, uint64_t wanted)
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
 * The merged hint of the one provider there is. A set is a hint when its free CPUs reach the request,
 * preferred when it is as small as the total CPUs would allow. Without any hint the result is all NUMA nodes,
 * not preferred.
 */
static struct hint best_hint(const struct volcano_node *node, const unsigned *free_cpus, uint64_t wanted,
	enum topology_manager_policy policy)
{
	unsigned totals[MAX_NODES];
	size_t n = node->n_numa, narrowest, size;

	for (size_t i = 0; i < n; i++)
		totals[i] = node->numa[i].total;
	narrowest = fewest(totals, n, wanted, 1);
	if (narrowest > n)
		narrowest = n; /* no set is large enough, and the plugin's minimum stays at all of them */
	size = fewest(free_cpus, n, wanted, 1);
	if (size > n || (policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && (size > 1 || narrowest > 1)))
		return (struct hint){.numa = combination_first((unsigned)n)};
	return (struct hint){.numa = lowest_set(free_cpus, n, size, wanted), .preferred = size == narrowest};
}

/* Whole CPUs the container asks for, 0 for a fraction. */
static uint64_t whole_cpus(const struct container_request *c)
{
	const struct resource_quantity *q = resource_list_find(&c->requests, "cpu");

	return q ? (uint64_t)request_whole_cpus(q->quantity.nano) : 0;
}

/* Take the CPUs from the set, the lowest first, then from the rest; nothing when all together do not suffice.
 */
static uint64_t take(unsigned *free_cpus, size_t n, uint64_t set, uint64_t wanted)
{
	uint64_t used = 0;

	if (largest_sum(free_cpus, n, n) < wanted)
		return 0;
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n && wanted > 0; i++) {
			bool inside = set & UINT64_C(1) << i;
			uint64_t taken = free_cpus[i] < wanted ? free_cpus[i] : wanted;

			if (inside != (pass == 0) || taken == 0)
				continue;
			free_cpus[i] -= (unsigned)taken;
			wanted -= taken;
			used |= UINT64_C(1) << i;
		}
	}
	return used;
}

static bool admits(enum topology_manager_policy policy, bool preferred)
{
	return preferred || policy == TOPOLOGY_MANAGER_BEST_EFFORT || policy == TOPOLOGY_MANAGER_NONE;
}

/* Make the result a rejection; the place for its reason. */
static char *reject(struct volcano_result *result)
{
	*result = (struct volcano_result){.admitted = false};
	return result->reason;
}

static bool has_policy(enum topology_manager_policy policy)
{
	return policy != TOPOLOGY_MANAGER_UNKNOWN && policy != TOPOLOGY_MANAGER_NONE;
}

/* What excludes the node before any CPU is counted; false when nothing does. */
static bool is_unsuitable(const struct volcano_node *node, enum topology_manager_policy pod_policy,
	struct volcano_result *result)
{
	const char *const *names = topology_manager_policy_names;

	if (!node->known)
		text_addf(reject(result), VOLCANO_REASON_MAX, "the node's NUMA topology is not known");
	else if (!node->cpu_static)
		text_addf(reject(result), VOLCANO_REASON_MAX, "the node's CPU manager policy is not static");
	else if (has_policy(pod_policy) && node->policy != pod_policy)
		text_addf(reject(result), VOLCANO_REASON_MAX,
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
	bool usable = node->known && node->cpu_static && has_policy(node->policy);

	if (node->n_numa > MAX_NODES)
		return -E2BIG;
	if (qos != QOS_GUARANTEED || (!has_policy(pod_policy) && !usable)) {
		*ret = (struct volcano_result){.admitted = true};
		return 0;
	}
	if (is_unsuitable(node, pod_policy, ret))
		return 0;
	for (size_t i = 0; i < node->n_numa; i++)
		free_cpus[i] = node->numa[i].free;
	if (has_policy(pod_policy) && largest_sum(free_cpus, node->n_numa, node->n_numa) == 0) {
		text_addf(reject(ret), VOLCANO_REASON_MAX, "the node has no free CPU");
		return 0;
	}
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];
		uint64_t wanted = whole_cpus(c);
		struct hint hint;

		if (c->kind != CONTAINER_APP || wanted == 0)
			continue;
		hint = best_hint(node, free_cpus, wanted, node->policy);
		if (!admits(node->policy, hint.preferred)) {
			text_addf(reject(ret), VOLCANO_REASON_MAX,
				"container %.60s cannot be assigned by numa", c->name);
			return 0;
		}
		used |= take(free_cpus, node->n_numa, hint.numa, wanted);
	}
	*ret = (struct volcano_result){.admitted = true, .numa = used};
	return 0;
}

bool volcano_scores_pod(enum qos_class qos, enum topology_manager_policy pod_policy)
{
	return qos == QOS_GUARANTEED && pod_policy != TOPOLOGY_MANAGER_UNKNOWN &&
	       pod_policy != TOPOLOGY_MANAGER_NONE;
}

static unsigned largest_of(const unsigned *n_used, size_t n)
{
	unsigned largest = 0;

	for (size_t i = 0; i < n; i++)
		largest = n_used[i] > largest ? n_used[i] : largest;
	return largest;
}

void volcano_scores(const unsigned *n_used, size_t n, int64_t weight, int64_t *ret_scores)
{
	unsigned largest = largest_of(n_used, n);

	for (size_t i = 0; i < n; i++)
		ret_scores[i] =
			weight * (SCORE_MAX - (largest ? (int64_t)n_used[i] * SCORE_MAX / largest : 0));
}
