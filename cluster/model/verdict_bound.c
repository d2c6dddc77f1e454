/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/verdict_bound.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/project_node.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/xalloc.h"
#include "scoring/combinations.h"
#include "scoring/cpu_counts.h"
#include "scoring/kubelet.h"
#include "scoring/node_mask.h"

#define WORDS    8u
#define SUM_BITS (64u * WORDS) /* sums of free CPUs from 0 on */

#define BITS_PER_LONG (8 * sizeof(unsigned long))

/* Counts in free[], which is 0, the CPUs per NUMA node that the kubelet can assign of these shared CPUs. False if they are not known.
 * Works on words: this is called for every node of the cluster, and a bitmap for each result costs several times as much. */
static bool count_free(const struct node_state *state, hwloc_const_bitmap_t shared, size_t *free)
{
	hwloc_const_bitmap_t reserved = state->reserved.cpus;
	unsigned n_words;

	if (!reserved || state->machine.n_nodes > COMBINATION_MAX_NODES)
		return false;
	n_words = (unsigned)(((size_t)(hwloc_bitmap_last(shared) + 1) + BITS_PER_LONG - 1) / BITS_PER_LONG);
	for (unsigned w = 0; w < n_words; w++) {
		unsigned long assignable =
			hwloc_bitmap_to_ith_ulong(shared, w) & ~hwloc_bitmap_to_ith_ulong(reserved, w);

		for (size_t i = 0; i < state->machine.n_nodes && assignable; i++)
			free[i] += node_mask_count(
				assignable & hwloc_bitmap_to_ith_ulong(state->machine.nodes[i].cpus, w));
	}
	return true;
}

static void sort_descending(size_t *free, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && free[k - 1] < free[k]; k--) {
			size_t smaller = free[k - 1];

			free[k - 1] = free[k];
			free[k] = smaller;
		}
}

/* Whether the NUMA nodes are in the order of their ids, which are all in the kubelet's masks. */
static bool is_in_order(const struct machine *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].id > NODE_MASK_MAX_ID || (i > 0 && m->nodes[i - 1].id >= m->nodes[i].id))
			return false;
	return true;
}

static void update_free_cpus(const struct node_info *node, struct free_cpus *f)
{
	const struct node_state *state = &node->object.state;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	free_cpus_release(f);
	f->version = node->version;
	if (!node->has_object || node->object.basis != CLUSTER_EXACT ||
		state->settings.cpu_manager != CPU_MANAGER_STATIC || !project_node_shared_cpus(node, &shared))
		return;
	f->n = state->machine.n_nodes;
	f->numa_nodes = xcalloc(f->n + 1, sizeof(*f->numa_nodes));
	f->known = count_free(state, shared, f->numa_nodes);
	if (f->known && is_in_order(&state->machine)) {
		f->by_index = xcalloc(f->n + 1, sizeof(*f->by_index));
		memcpy(f->by_index, f->numa_nodes, f->n * sizeof(*f->by_index));
	}
	sort_descending(f->numa_nodes, f->n);
	for (size_t i = 0; i < f->n; i++)
		f->sum += f->numa_nodes[i];
}

void free_cpus_release(struct free_cpus *f)
{
	free(f->numa_nodes);
	free(f->by_index);
	*f = (struct free_cpus){0};
}

/* The smallest number of NUMA nodes whose free CPUs suffice together; 0 = all together do not. numa_nodes[] begins with the
 * largest number. */
static unsigned fewest_numa_nodes(const struct free_cpus *f, size_t cpus)
{
	size_t sum = 0;

	for (size_t i = 0; i < f->n; i++) {
		sum += f->numa_nodes[i];
		if (sum >= cpus)
			return (unsigned)(i + 1);
	}
	return 0;
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
static size_t find_smallest_sum(const struct free_cpus *f, unsigned count, size_t cpus)
{
	uint64_t sums[COMBINATION_MAX_NODES + 1][WORDS]; /* by number of NUMA nodes: the sums that occur */

	memset(sums, 0, (count + 1) * sizeof(sums[0]));
	sums[0][0] = 1;
	for (size_t i = 0; i < f->n; i++) {
		if (f->numa_nodes[i] >= SUM_BITS)
			continue;
		for (size_t k = count; k-- > 0;) /* downwards: sums[k] does not include this NUMA node yet */
			add_shifted(sums[k + 1], sums[k], f->numa_nodes[i]);
	}
	for (size_t sum = cpus; sum < SUM_BITS; sum++)
		if (sums[count][sum / 64] >> sum % 64 & 1)
			return sum;
	return cpus;
}

/* Whether the kubelet chooses for a pod of CPUs (cpu_counts.h), of all sets of equally many NUMA nodes with enough CPUs, the set with the lowest
 * ids. If fewer NUMA nodes would have enough CPUs without other pods, the kubelet rejects the pod. */
static bool prefers_lowest_ids(const struct settings *settings)
{
	const struct topology_manager_config *t = &settings->topology;

	return settings->memory_manager == MEMORY_MANAGER_NONE &&
	       (t->policy == TOPOLOGY_MANAGER_RESTRICTED || t->policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE) &&
	       !t->prefer_closest_numa_nodes && t->numa_allocation == NUMA_ALLOCATION_NONE &&
	       !settings->cpu_options.align_by_socket;
}

#define CHOICES_MAX 128u /* sets of NUMA nodes that are tried */

/* The free CPUs of the `count` NUMA nodes that the kubelet chooses: the first set, in the order of the masks, that has enough. 0 = not found. */
static size_t find_first_sum(const struct free_cpus *f, unsigned count, size_t cpus)
{
	uint64_t mask, lowest, next;

	if (f->n >= 64) /* bits of a mask: shifts by 64 are undefined */
		return 0;
	mask = (UINT64_C(1) << count) - 1;
	for (unsigned i = 0; i < CHOICES_MAX && mask >> f->n == 0; i++) {
		size_t sum = 0;

		for (uint64_t left = mask; left; left &= left - 1)
			sum += f->by_index[__builtin_ctzll(left)];
		if (sum >= cpus)
			return sum;
		lowest = mask & (~mask + 1); /* Gosper's hack: the next mask with as many bits */
		next = mask + lowest;
		mask = next | ((mask ^ next) / lowest >> 2);
	}
	return 0;
}

/* The free CPUs, before the pod, of the `count` NUMA nodes that the kubelet assigns; at least these, if the kubelet's choice is not known. */
static size_t find_sum(const struct node_state *state, const struct pod_class *class,
	const struct free_cpus *f, unsigned count)
{
	size_t sum = 0;

	if (f->by_index && prefers_lowest_ids(&state->settings) && cpu_counts_is_pod_of_cpus(&class->pod))
		sum = find_first_sum(f, count, class->cpus);
	return sum > 0 ? sum : find_smallest_sum(f, count, class->cpus);
}

/* The CPUs of all containers. The kubelet assigns at most this number: init containers can leave CPUs to later containers. */
static size_t count_cpus(const struct pod_class *class)
{
	size_t n = 0;

	for (size_t i = 0; i < class->pod.n_containers; i++)
		n += kubelet_exclusive_cpus(&class->pod.containers[i], class->qos);
	return n > class->cpus ? n : class->cpus;
}

bool verdict_bound_find(const struct node_info *node, const struct pod_class *class, struct free_cpus *f,
	struct verdict_bound *ret)
{
	size_t n_cpus, sum;

	if (class->cpus == 0 || class->too_large)
		return false;
	if (f->version != node->version)
		update_free_cpus(node, f);
	if (!f->known)
		return false;
	n_cpus = count_cpus(class);
	*ret = (struct verdict_bound){.numa_nodes = fewest_numa_nodes(f, class->cpus),
		.free_on_node = f->sum > n_cpus ? f->sum - n_cpus : 0};
	if (ret->numa_nodes == 0)
		return true;
	sum = find_sum(&node->object.state, class, f, ret->numa_nodes);
	ret->free_on_numa_nodes = sum > n_cpus ? sum - n_cpus : 0;
	return true;
}
