/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/verdict_bound.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/project_node.h"
#include "common/xalloc.h"
#include "scoring/combinations.h"
#include "scoring/kubelet.h"
#include "scoring/node_mask.h"

#define WORDS    8u
#define SUM_BITS (64u * WORDS) /* sums of free CPUs from 0 on */

#define BITS_PER_LONG (8 * sizeof(unsigned long))

/* Sets free[] to the CPUs per NUMA node that the kubelet can assign. False if they are not known. Works on words: this is called for every node
 * of the cluster, and a bitmap for each result costs several times as much. */
static bool count_free(const struct node_state *state, size_t *free)
{
	hwloc_const_bitmap_t shared = node_shared_cpus(state), reserved = state->reserved.cpus;
	unsigned n_words;

	if (!shared || !reserved || state->machine.n_nodes > COMBINATION_MAX_NODES)
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

static void update_free_cpus(const struct node_info *node, struct free_cpus *f)
{
	const struct node_state *state = &node->object.state;

	free_cpus_release(f);
	f->version = node->version;
	if (!node->has_object || node->object.basis != CLUSTER_EXACT ||
		state->settings.cpu_manager != CPU_MANAGER_STATIC || !project_node_changes_nothing(node))
		return;
	f->n = state->machine.n_nodes;
	f->numa_nodes = xcalloc(f->n + 1, sizeof(*f->numa_nodes));
	f->known = count_free(state, f->numa_nodes);
	sort_descending(f->numa_nodes, f->n);
	for (size_t i = 0; i < f->n; i++)
		f->sum += f->numa_nodes[i];
}

void free_cpus_release(struct free_cpus *f)
{
	free(f->numa_nodes);
	*f = (struct free_cpus){0};
}

/* The smallest number of NUMA nodes whose free CPUs suffice together; 0 = all together do not. */
static unsigned count_nodes(const struct free_cpus *f, size_t cpus)
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
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = count; k-- > 0 && f->numa_nodes[i] < SUM_BITS;)
			add_shifted(sums[k + 1], sums[k], f->numa_nodes[i]);
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

bool verdict_bound_find(const struct node_info *node, const struct pod_class *class, struct free_cpus *f,
	struct verdict_bound *ret)
{
	size_t n_cpus, used;

	if (class->cpus == 0 || class->too_large)
		return false;
	if (f->version != node->version)
		update_free_cpus(node, f);
	if (!f->known)
		return false;
	n_cpus = count_cpus(class);
	*ret = (struct verdict_bound){.numa_nodes = count_nodes(f, class->cpus),
		.free_on_node = f->sum > n_cpus ? f->sum - n_cpus : 0};
	if (ret->numa_nodes == 0)
		return true;
	used = find_smallest_sum(f, ret->numa_nodes, class->cpus);
	ret->free_on_numa_nodes = used > n_cpus ? used - n_cpus : 0;
	return true;
}
