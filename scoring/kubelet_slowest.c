/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_slowest.h"

static uint64_t saturate(double x)
{
	return x < 1e18 ? (uint64_t)x : UINT64_MAX;
}

/* Add every type of memory that some NUMA node has; without the manager's state, memory on each NUMA node. */
static size_t add_memory_types(struct kubelet_merge *m, const struct kubelet *k)
{
	const struct memory_manager *mm = &k->memory;
	size_t n = 0;

	if (mm->n_types == 0) {
		kubelet_merge_add_all(m, k->rules.policy, k->nodes.all);
		return 1;
	}
	for (size_t type = 0; type < mm->n_types; type++) {
		if (memory_manager_sum(mm, &mm->now, type, mm->nodes).allocatable == 0)
			continue;
		kubelet_merge_add_all(m, k->rules.policy, mm->nodes);
		n++;
	}
	kubelet_merge_make(m, mm->nodes, n * mm->n_nodes);
	return n;
}

/* Add every device resource of which some device has a NUMA node. */
static size_t add_device_hints(struct kubelet_merge *m, const struct kubelet *k)
{
	const struct device_manager *dm = &k->devices;
	size_t n = 0;

	for (size_t r = 0; r < dm->inventory->n_resources; r++) {
		uint64_t nodes = device_manager_hint_nodes(dm, r);

		if (nodes == 0)
			continue;
		kubelet_merge_add_all(m, k->rules.policy, nodes);
		kubelet_merge_make(m, nodes, dm->inventory->resources[r].n_devices);
		n++;
	}
	return n;
}

static void add_cpu_hints(struct kubelet_merge *m, const struct kubelet *k)
{
	kubelet_merge_make(m, k->cpu_nodes, k->topology.n_cpus);
	kubelet_merge_add_all(m, k->rules.policy, k->cpu_nodes);
}

/* Without a Topology Manager nothing merges hints, and only the memory manager makes hints, for itself. */
static bool merges_hints(const struct kubelet *k)
{
	return k->rules.policy != TOPOLOGY_MANAGER_NONE;
}

struct kubelet_time kubelet_find_fastest(const struct kubelet *k)
{
	struct kubelet_merge merge = KUBELET_MERGE_INIT(k->hints_have_scores);

	if (k->cpu_static && merges_hints(k))
		add_cpu_hints(&merge, k);
	if (k->memory_static) {
		kubelet_merge_make(&merge, k->memory.nodes, k->memory.n_nodes);
		kubelet_merge_add_all(&merge, k->rules.policy, k->memory.nodes);
	}
	/* With few pods on the node, CPUs and memory have common preferred hints. */
	return kubelet_merge_time(&merge, merges_hints(k) && !k->preferred_hints_first);
}

struct kubelet_slowest kubelet_find_slowest(const struct kubelet *k)
{
	struct kubelet_slowest slowest = {.known = k->rules.policy != TOPOLOGY_MANAGER_UNKNOWN};
	struct kubelet_merge merge = KUBELET_MERGE_INIT(k->hints_have_scores);

	if (!slowest.known)
		return slowest;
	slowest.cpus = k->cpu_static && merges_hints(k);
	if (slowest.cpus)
		add_cpu_hints(&merge, k);
	if (k->memory_static)
		slowest.n_memory = add_memory_types(&merge, k);
	if (merges_hints(k))
		slowest.n_devices = add_device_hints(&merge, k);
	slowest.time = kubelet_merge_time(&merge, merges_hints(k));
	slowest.hints = merge.hints;
	return slowest;
}

struct kubelet_time kubelet_find_slowest_distribution(const struct kubelet *k)
{
	const unsigned n = (unsigned)k->topology.levels[CPU_LEVEL_NUMA].n;
	struct kubelet_time slowest = {0};
	double combinations = 1, subsets = 1;

	if (!k->cpu.topology || !k->cpu.rules.distribute)
		return slowest;
	for (unsigned size = 1; size <= n; size++) {
		struct kubelet_distribution d = {.n_cpus = k->topology.n_cpus, .n_nodes = n};
		struct kubelet_time time;

		combinations *= (double)(n - size + 1) / size; /* of `size` of n NUMA nodes */
		subsets *= 2;
		d.combinations = saturate(combinations);
		d.lookups = saturate(combinations * (double)kubelet_distribution_lookups(&d, size, true));
		d.subsets = saturate(combinations * (subsets - 1));
		time = kubelet_distribution_time(&d);
		slowest = time.ns > slowest.ns ? time : slowest;
	}
	return slowest;
}
