/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/cpu_counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/settings_table.h"
#include "common/xalloc.h"

static bool has_native_names(const struct resource_list *list)
{
	for (size_t i = 0; i < list->n_items; i++)
		if (!resource_name_is_native(list->items[i].name))
			return false;
	return true;
}

bool cpu_counts_is_pod_of_cpus(const struct pod_request *pod)
{
	return pod->n_containers == 1 && !pod->has_pod_resources && !pod->has_claims &&
	       has_native_names(&pod->containers[0].requests) && has_native_names(&pod->containers[0].limits);
}

static_assert(POLICY_OPTION_COUNT == 9, "do the numbers of free CPUs decide with the new option?");

/* Whether the kubelet takes any free CPUs of the first NUMA node that has enough, and rejects a pod for which no NUMA node has enough although its
 * CPUs would suffice. */
static bool numbers_decide(const struct kubelet *k)
{
	const struct topology_rules *rules = &k->rules;
	const struct cpu_manager_options *options = &k->cpu.options;
	const struct err *problems[] = {&k->unknown, &k->cpu_unknown, &k->memory_unknown, &k->too_many_sets,
		&k->start, &k->panics, &k->memory_panics};

	for (size_t i = 0; i < ARRAY_SIZE(problems); i++)
		if (problems[i]->text[0])
			return false;
	if (!k->cpu_static || k->memory_static)
		return false;
	if (rules->policy != TOPOLOGY_MANAGER_RESTRICTED &&
		rules->policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		return false; /* pods that no NUMA nodes fit are admitted */
	if (rules->prefer_closest || rules->strategy != NUMA_ALLOCATION_NONE)
		return false; /* the first NUMA node that has enough may not be taken */
	if (options->align_by_socket || options->full_pcpus_only || options->distribute_cpus_across_numa)
		return false; /* sockets, whole cores or equal parts decide, too */
	if (!k->cpu.rules.version.whole_by_average)
		return true;
	/* Where sizes differ, a kubelet up to 1.37 may take busy CPUs (DEFECTS.md, K21). */
	return cpu_topology_is_uniform(&k->topology, CPU_LEVEL_CORE) &&
	       cpu_topology_is_uniform(&k->topology, CPU_LEVEL_SOCKET);
}

static int by_number_descending(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x < y) - (x > y);
}

bool cpu_counts_init(const struct kubelet *k, hwloc_const_bitmap_t shared, struct cpu_counts *ret)
{
	const struct cpu_topology *t = &k->topology;
	const struct cpu_elements *numas = &t->levels[CPU_LEVEL_NUMA];
	CLEANUP(freep) bool *set = NULL;

	if (!shared || numas->n > NODE_MASK_WALK_MAX || !numbers_decide(k))
		return false;
	*ret = (struct cpu_counts){
		.n = numas->n, .single = k->rules.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};
	set = xcalloc(t->n_cpus + 1, sizeof(*set));
	cpu_set_from_bitmap(t, shared, set);
	for (size_t i = 0; i < t->n_cpus; i++)
		ret->free[numas->of[i]] += set[i] && !k->cpu.reserved[i];
	for (size_t i = 0; i < numas->n; i++)
		ret->all[i] = cpu_element_size(t, CPU_LEVEL_NUMA, i);
	qsort(ret->all, ret->n, sizeof(*ret->all), by_number_descending);
	return true;
}

size_t cpu_counts_nodes(const struct cpu_counts *c, size_t cpus)
{
	size_t sum = 0, max_nodes = c->single ? 1 : c->n;

	for (size_t i = 0; i < max_nodes; i++) {
		sum += c->all[i];
		if (sum >= cpus)
			return i + 1;
	}
	return 0;
}

bool cpu_counts_take(struct cpu_counts *c, size_t cpus)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->free[i] < cpus)
			continue;
		c->free[i] -= cpus;
		return true;
	}
	return false;
}

/*
 * Forms disjoint sets of NUMA nodes, each large enough for the pod. The pod does not fit a set only if the other pods take more CPUs from
 * the set than the pod would leave there. So it fits if `others`, the CPUs of the other pods, do not suffice for all sets.
 */
bool cpu_counts_admit_after(const struct cpu_counts *c, size_t cpus, size_t others)
{
	size_t free[NODE_MASK_WALK_MAX], size = cpu_counts_nodes(c, cpus), needed = 0;

	memcpy(free, c->free, sizeof(free));
	qsort(free, c->n, sizeof(*free), by_number_descending);
	for (size_t first = 0; size > 0 && first + size <= c->n; first += size) {
		size_t sum = 0;

		for (size_t i = first; i < first + size; i++)
			sum += free[i];
		needed += sum >= cpus ? sum - cpus + 1 : 0;
	}
	return needed > others;
}
