/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_hazards.h"

#include "common/text.h"
#include "scoring/kubelet_slowest.h"

/* K1: NUMA nodes whose allocatable CPUs are no whole cores, together at least a core. */
static bool has_parts_of_cores(const struct kubelet *k)
{
	const struct cpu_elements *numas = &k->topology.levels[CPU_LEVEL_NUMA];
	const struct cpu_take_rules *rules = &k->cpu.rules;
	uint32_t parts = 0;

	/* Without the static policy there is no cpu.topology. */
	if (!k->cpu.topology || !rules->distribute || rules->group <= 1 ||
		!rules->version.remainder_counts_cpus)
		return false;
	for (size_t x = 0; x < numas->n; x++) {
		uint32_t n = 0;

		for (uint32_t i = numas->first[x]; i < numas->first[x + 1]; i++)
			n += !k->cpu.reserved[numas->cpus[i]];
		parts += n % rules->group;
	}
	return parts >= rules->group;
}

/* K8: a type of memory that one NUMA node has and another lacks. Returns its name, or NULL. */
static const char *find_partial_type(const struct kubelet *k, unsigned *ret_node)
{
	const struct memory_manager *mm = &k->memory;

	if (!k->memory_static || k->memory_unknown.text[0] || k->memory_panics.text[0])
		return NULL;
	for (size_t type = 0; type < mm->n_types; type++) {
		uint64_t without = mm->nodes & ~mm->nodes_with[type];

		if (!without)
			continue;
		*ret_node = (unsigned)__builtin_ctzll(without);
		return mm->types[type];
	}
	return NULL;
}

/* K4 and K5. False: no container takes the kubelet longer than KUBELET_TIME_MAX. */
static bool find_slow(const struct kubelet *k, struct kubelet_hazard *ret)
{
	const struct kubelet_slowest slowest = kubelet_find_slowest(k);
	char time[40] = "", resources[100] = "", cause[80] = "";
	const char *memory = slowest.n_memory > 1 ? "memory and hugepages" : "memory";

	if (!slowest.known || slowest.time.ns <= KUBELET_TIME_MAX)
		return false;
	kubelet_time_print(slowest.time, time, sizeof(time));
	if (slowest.cpus)
		text_addf(resources, sizeof(resources), "exclusive CPUs");
	if (slowest.n_memory > 0)
		text_addf(resources, sizeof(resources), "%s%s", *resources ? ", " : "", memory);
	if (slowest.n_devices > 0)
		text_addf(resources, sizeof(resources), "%s%zu device resource%s", *resources ? ", " : "",
			slowest.n_devices, slowest.n_devices == 1 ? "" : "s");
	kubelet_time_print_cause(slowest.time, cause, sizeof(cause));
	err_set(&ret->what, 0,
		"the kubelet needs up to about %s for a container that requests %s, and admits no other pod meanwhile: it %s",
		time, resources, cause);
	if (slowest.hints.ns > KUBELET_TIME_MAX)
		ret->remedy =
			"let the firmware and the drivers make fewer NUMA nodes (NPS, SNC, memory of devices), or set memoryManagerPolicy None if only memory is on so many NUMA nodes";
	else if (k->preferred_hints_first)
		ret->remedy =
			"set topologyManagerPolicy single-numa-node, or let the firmware make fewer NUMA nodes (NPS, SNC), or let no container request so many device resources";
	else
		ret->remedy =
			"set topologyManagerPolicy single-numa-node, or let the firmware make fewer NUMA nodes (NPS, SNC), or let no container request so many device resources, or upgrade to Kubernetes 1.38, which is fast if the resources are free on common NUMA nodes";
	return true;
}

/* K3. False: no distribution takes the kubelet longer than KUBELET_TIME_MAX. */
static bool find_slow_distribution(const struct kubelet *k, struct kubelet_hazard *ret)
{
	const struct kubelet_time slowest = kubelet_find_slowest_distribution(k);
	char time[40] = "";

	if (slowest.ns <= KUBELET_TIME_MAX)
		return false;
	kubelet_time_print(slowest, time, sizeof(time));
	err_set(&ret->what, 0,
		"the kubelet needs up to about %s to distribute some numbers of exclusive CPUs over %zu NUMA nodes, and admits no other pod meanwhile",
		time, k->topology.levels[CPU_LEVEL_NUMA].n);
	ret->remedy =
		"unset distribute-cpus-across-numa, or let the firmware make fewer NUMA nodes (NPS, SNC)";
	return true;
}

size_t kubelet_find_hazards(const struct kubelet *k, struct kubelet_hazard ret[KUBELET_HAZARDS_MAX])
{
	const char *type;
	unsigned node;
	size_t n = 0;

	if (k->unknown.text[0])
		return 0;
	if (k->panics.text[0]) {
		ret[n].remedy = "set topologyManagerPolicy none";
		err_set(&ret[n++].what, 0, "the kubelet panics for every pod: %s", k->panics.text);
	}
	if (k->memory_panics.text[0]) {
		ret[n].remedy = "set memoryManagerPolicy None";
		err_set(&ret[n++].what, 0, "the kubelet panics for every Guaranteed pod: %s",
			k->memory_panics.text);
	}
	if (has_parts_of_cores(k)) {
		ret[n].remedy =
			"reserve whole cores (all threads of a core), or unset distribute-cpus-across-numa or full-pcpus-only, or upgrade to Kubernetes 1.38";
		err_set(&ret[n++].what, 0,
			"the kubelet hangs when it distributes some numbers of exclusive CPUs over NUMA nodes: distribute-cpus-across-numa and full-pcpus-only, with parts of cores on several NUMA nodes (kubernetes #140730, fixed in 1.38)");
	}
	if (topology_may_panic(&k->rules)) {
		ret[n].remedy = "unset prefer-closest-numa-nodes";
		err_set(&ret[n++].what, 0,
			"the kubelet panics for pods that fit several NUMA nodes equally well: prefer-closest-numa-nodes does not work with holes in the NUMA node ids");
	}
	n += find_slow(k, &ret[n]);
	n += find_slow_distribution(k, &ret[n]);
	type = find_partial_type(k, &node);
	if (type) {
		ret[n].remedy =
			"set memoryManagerPolicy None, or let no Guaranteed pod request this type on this node";
		err_set(&ret[n++].what, 0,
			"the kubelet panics for Guaranteed pods that request %.60s: NUMA node %u has no %.60s",
			type, node, type);
	}
	return n;
}
