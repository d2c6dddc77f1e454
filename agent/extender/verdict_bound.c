/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/verdict_bound.h"

#include <stdint.h>
#include <string.h>

#include "agent/extender/project_node.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "scoring/combinations.h"
#include "scoring/kubelet.h"

#define WORDS    8u
#define SUM_BITS (64u * WORDS) /* sums of free CPUs from 0 on */

/* The CPUs per NUMA node that the kubelet can assign, and their sum. False if they are not known. */
static bool find_free(const struct node_state *state, size_t *free, size_t *ret_sum)
{
	hwloc_const_bitmap_t shared = node_shared_cpus(state), reserved = state->reserved.cpus;
	CLEANUP(cpuset_freep) hwloc_bitmap_t assignable = cpuset_new();
	CLEANUP(cpuset_freep) hwloc_bitmap_t of_node = cpuset_new();

	if (!shared || !reserved || state->machine.n_nodes > COMBINATION_MAX_NODES)
		return false;
	cpuset_andnot(assignable, shared, reserved);
	*ret_sum = 0;
	for (size_t i = 0; i < state->machine.n_nodes; i++) {
		cpuset_and(of_node, assignable, state->machine.nodes[i].cpus);
		free[i] = cpuset_size(of_node);
		*ret_sum += free[i];
	}
	return true;
}

/* The smallest number of NUMA nodes whose free CPUs suffice together; n + 1 = none. Sorts free[], largest first. */
static unsigned count_nodes(size_t *free, size_t n, size_t cpus)
{
	size_t sum = 0;

	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && free[k - 1] < free[k]; k--) {
			size_t smaller = free[k - 1];

			free[k - 1] = free[k];
			free[k] = smaller;
		}
	for (size_t i = 0; i < n; i++) {
		sum += free[i];
		if (sum >= cpus)
			return (unsigned)(i + 1);
	}
	return (unsigned)(n + 1);
}

/* to |= from << n */
static void add_shifted(uint64_t *to, const uint64_t *from, size_t n)
{
	size_t words = n / 64, bits = n % 64;

	for (size_t i = WORDS; i-- > words;) {
		to[i] |= from[i - words] << bits;
		if (bits > 0 && i > words)
			to[i] |= from[i - words - 1] >> (64 - bits);
	}
}

/* The smallest sum of free CPUs of exactly `count` NUMA nodes that is at least `cpus`; `cpus` if there is none below SUM_BITS. */
static size_t find_smallest_sum(const size_t *free, size_t n, unsigned count, size_t cpus)
{
	uint64_t sums[COMBINATION_MAX_NODES + 1][WORDS]; /* by number of NUMA nodes: the sums that occur */

	memset(sums, 0, (count + 1) * sizeof(sums[0]));
	sums[0][0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = count; k-- > 0 && free[i] < SUM_BITS;)
			add_shifted(sums[k + 1], sums[k], free[i]);
	for (size_t sum = cpus; sum < SUM_BITS; sum++)
		if (sums[count][sum / 64] >> sum % 64 & 1)
			return sum;
	return cpus;
}

/* The CPUs of all containers. The kubelet assigns at most this number: init containers can leave CPUs to later containers. */
static size_t count_cpus(const struct pod_class *class)
{
	size_t n = 0;

	for (size_t i = 0; i < class->pod.n_containers; i++)
		n += kubelet_exclusive_cpus(&class->pod.containers[i], class->qos);
	return n > class->cpus ? n : class->cpus;
}

bool verdict_bound_find(
	const struct node_info *node, const struct pod_class *class, struct verdict_bound *ret)
{
	const struct node_state *state = &node->object.state;
	size_t free[COMBINATION_MAX_NODES], n = state->machine.n_nodes, sum, n_cpus, used;

	if (class->cpus == 0 || class->too_large || !node->has_object ||
		node->object.basis != CLUSTER_EXACT || state->settings.cpu_manager != CPU_MANAGER_STATIC ||
		!project_node_changes_nothing(node) || !find_free(state, free, &sum))
		return false;
	n_cpus = count_cpus(class);
	*ret = (struct verdict_bound){.numa_nodes = count_nodes(free, n, class->cpus),
		.free_on_node = sum > n_cpus ? sum - n_cpus : 0};
	if (ret->numa_nodes > n)
		return false;
	used = find_smallest_sum(free, n, ret->numa_nodes, class->cpus);
	ret->free_on_numa_nodes = used > n_cpus ? used - n_cpus : 0;
	return true;
}
