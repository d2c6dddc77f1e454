/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kubelet's managers container by container. */
#include "scoring/kubelet.h"

#include <inttypes.h>
#include <string.h>

#include "common/text.h"
#include "common/vec.h"
#include "scoring/kubelet_explain.h"
#include "scoring/kubelet_held.h"
#include "scoring/kubelet_steps.h"
#include "scoring/request.h"

static bool holds_cpus_already(const struct judgement *j)
{
	return j->held && j->held->cpus;
}

static bool holds_memory(const struct judgement *j)
{
	return j->held && j->held->memory;
}

/* ---- demands: what the pod requests of the managers */

static void add_demand(struct kubelet_workspace *ws, size_t resource, qty_t amount)
{
	int64_t n = qty_value(amount);

	ws->demands[ws->n_demands++] = (struct device_demand){resource, n > 0 ? (size_t)n : 0};
}

/* The position of a device resource in the node's inventory; false when the node does not have the resource. */
static bool find_device_resource(const struct judgement *j, const char *name, size_t *ret)
{
	const struct device_inventory *inventory = j->k->devices.inventory;
	const struct device_resource *resource = device_inventory_find(inventory, name);

	if (!resource)
		return false;
	*ret = (size_t)(resource - inventory->resources);
	return true;
}

static void add_pod_demands(const struct judgement *j)
{
	struct kubelet_workspace *ws = j->ws;
	size_t n = j->k->devices.inventory->n_resources, r;

	for (r = 0; r < n; r++) {
		ws->peaks[r] = (struct request_peak){0};
		ws->requested[r] = false;
	}
	for (size_t i = 0; i < j->pod->n_containers; i++) {
		const struct container_request *c = &j->pod->containers[i];

		for (size_t k = 0; k < c->limits.n_items; k++) {
			if (!find_device_resource(j, c->limits.items[k].name, &r))
				continue;
			request_peak_add(&ws->peaks[r], c->kind, c->limits.items[k].quantity.nano);
			ws->requested[r] = true;
		}
	}
	for (r = 0; r < n; r++)
		if (ws->requested[r])
			add_demand(ws, r, request_peak(&ws->peaks[r]));
}

/* Fill ws->demands: the devices that a container requests, or the pod as a whole when `container` is NULL. */
static void list_device_demands(const struct judgement *j, const struct container_request *container)
{
	j->ws->n_demands = 0;
	if (j->k->devices.inventory->n_resources == 0)
		return;
	if (!container) {
		add_pod_demands(j);
		return;
	}
	/* Limits and the inventory are both sorted by name, so the demands are sorted too. */
	for (size_t k = 0; k < container->limits.n_items; k++) {
		size_t r;

		if (find_device_resource(j, container->limits.items[k].name, &r))
			add_demand(j->ws, r, container->limits.items[k].quantity.nano);
	}
}

/* ---- the work limit and the hints */

/* Count the steps of the next task. False: beyond the limit, and the verdict is set. */
static bool spend_steps(struct judgement *j, uint64_t steps)
{
	if (work_add(&j->ws->work, steps))
		return true;
	j->verdict->answer = KUBELET_UNKNOWN;
	j->verdict->beyond_limit = true;
	err_set(&j->verdict->reason, 0, "the verdict takes too many steps: %zu container%s on this node",
		j->pod->n_containers, j->pod->n_containers == 1 ? "" : "s");
	return false;
}

/*
 * Allocate memory for the placements, and a CPU set for each container that may get exclusive CPUs. False: beyond the
 * limit, and the verdict is set.
 */
static bool reserve_placements(struct judgement *j)
{
	struct kubelet_workspace *ws = j->ws;
	size_t n = j->pod->n_containers, n_sets = 0, bytes;

	for (size_t i = 0; i < n && j->uses_cpu_manager; i++)
		n_sets += kubelet_exclusive_cpus(&j->pod->containers[i], j->qos) > 0;
	bytes = n_sets * j->k->topology.n_cpus;
	if (!spend_steps(j, bytes))
		return false;
	vec_grow(&ws->placements, &ws->placements_size, n + 1, sizeof(*ws->placements));
	vec_grow(&ws->cpus, &ws->cpus_size, bytes + 1, sizeof(*ws->cpus));
	return true;
}

static void set_rejection(struct judgement *j, enum kubelet_rejection rejection)
{
	j->verdict->answer = KUBELET_REJECTS;
	j->verdict->rejection = rejection;
}

/* Sets *ret to what a container requests of the managers, or the pod when `container` is NULL: the devices in ws->demands, and the memory in
 * ws->needs. */
static void fill_demand(
	const struct judgement *j, const struct container_request *container, struct demand *ret)
{
	const struct memory_manager *mm = &j->k->memory;
	const struct container_request *of_memory = container;

	*ret = (struct demand){.container = container};
	/* For the memory of a whole running pod the kubelet looks at the first container alone. */
	if (!container && holds_memory(j) && mm->version.held_memory_per_container)
		of_memory = &j->pod->containers[0];
	list_device_demands(j, container);
	if (j->uses_cpu_manager)
		ret->cpus = container ? kubelet_exclusive_cpus(container, j->qos)
				      : kubelet_pod_exclusive_cpus(j->pod, j->qos);
	/* Without whole bytes there is no demand for memory, and allocate_container() rejects the pod. */
	if (j->uses_memory_manager && of_memory)
		ret->memory = memory_needs_of_container(mm, of_memory, &j->ws->needs) == 0;
	else if (j->uses_memory_manager)
		ret->memory = memory_needs_of_pod(mm, j->pod, &j->ws->needs) == 0;
	if (ret->memory)
		memory_books_reserve(&j->ws->memory, j->ws->needs.n_items);
}

/* Whether hints have scores, as KEP-6007 proposes. Hints of resources that a running pod holds leave no choice. */
static bool uses_scores(const struct judgement *j)
{
	return j->k->rules.strategy != NUMA_ALLOCATION_NONE;
}

/*
 * Merge the preferred CPU hints alone, where they decide: the managers agree on one of them, or cannot agree on any
 * preferred hint. False: undecided, or the kubelet is `slow` to reject; all hints are needed.
 */
static bool merge_preferred_cpu_hints(const struct judgement *j, const struct demand *demand, bool slow,
	struct topology_hint *ret, bool *ret_admit)
{
	const struct kubelet *k = j->k;
	struct kubelet_workspace *ws = j->ws;
	int has_preferred;

	cpu_manager_available(&k->cpu, ws->shared, ws->available);
	has_preferred =
		cpu_manager_preferred_hints(&k->cpu, ws->available, ws->reusable, demand->cpus, &ws->hints);
	if (has_preferred == 0 && !slow && !topology_policy_admits(k->rules.policy, false)) {
		*ret = (struct topology_hint){.any_node = true};
		*ret_admit = false;
		return true;
	}
	/* Other resources have hints, too, with which the preferred CPU hints may not agree. */
	if (has_preferred <= 0 || demand->memory || ws->n_demands > 0)
		return false;
	if (!uses_scores(j) && topology_merge_preferred(&ws->merge, &ws->hints, ret, ret_admit))
		return true;
	if (uses_scores(j))
		cpu_manager_score(&k->cpu, ws->available, &ws->hints);
	topology_merge_add(&ws->merge, &ws->hints);
	*ret = topology_merge_finish(&ws->merge, ret_admit);
	return true;
}

/* The index of the demand's container in the pod; for a demand of the whole pod, the number of containers. */
static size_t container_index(const struct judgement *j, const struct demand *demand)
{
	return demand->container ? (size_t)(demand->container - j->pod->containers) : j->pod->n_containers;
}

/* Merges the hints for the devices in ws->demands. `demand` only names the container. */
static void merge_device_hints(
	const struct judgement *j, const struct demand *demand, struct kubelet_merge *merge)
{
	struct kubelet_workspace *ws = j->ws;

	/* After the kubelet's restart, a device manager has no preference until its plugins have returned. */
	if (j->held && !j->plugins_return)
		return;
	for (size_t i = 0; i < ws->n_demands; i++) {
		size_t r = ws->demands[i].resource, n = ws->demands[i].n;

		if (j->held)
			kubelet_held_device_hints(
				j->k, ws, j->held, j->pod, container_index(j, demand), r, n);
		else
			device_manager_hints(&j->k->devices, &ws->devices, r, n, &ws->hints);
		if (!j->held && uses_scores(j))
			device_manager_score(&j->k->devices, &ws->devices, r, &ws->hints);
		judgement_merge_resource(j, merge);
	}
}

/* Merge the hints in the kubelet's order of hint providers, and replace `merge`, an upper bound, by their numbers. */
static struct topology_hint merge_hints(
	const struct judgement *j, const struct demand *demand, struct kubelet_merge *merge, bool *ret_admit)
{
	bool slow = kubelet_merge_time(merge, true).ns > KUBELET_TIME_SHORT;
	const struct kubelet *k = j->k;
	struct kubelet_workspace *ws = j->ws;
	struct topology_hint hint;

	topology_merge_start(&ws->merge, &k->rules);
	if (demand->cpus > 0 && !holds_cpus_already(j) && !topology_may_panic(&k->rules) &&
		merge_preferred_cpu_hints(j, demand, slow, &hint, ret_admit))
		return hint;
	merge->permutations = 1;
	merge->n_resources = 0;
	merge_device_hints(j, demand, merge);
	ws->merge.n_unordered = ws->merge.n_lists; /* the device resources come first */
	if (demand->cpus > 0 && holds_cpus_already(j)) {
		kubelet_held_cpu_hints(k, ws, j->held, j->pod, container_index(j, demand), demand->cpus);
		judgement_merge_resource(j, merge);
	} else if (demand->cpus > 0) {
		cpu_manager_available(&k->cpu, ws->shared, ws->available);
		cpu_manager_hints(&k->cpu, ws->available, ws->reusable, demand->cpus, &ws->hints);
		if (uses_scores(j))
			cpu_manager_score(&k->cpu, ws->available, &ws->hints);
		judgement_merge_resource(j, merge);
	}
	for (size_t i = 0; demand->memory && holds_memory(j) && i < ws->needs.n_items; i++) {
		kubelet_held_memory_hints(
			ws, j->held, j->pod, container_index(j, demand), &ws->needs.items[i]);
		judgement_merge_resource(j, merge);
	}
	if (demand->memory && !holds_memory(j)) {
		memory_manager_hints(&k->memory, &ws->memory, &ws->needs, &ws->hints);
		for (size_t i = 0; i < judgement_memory_merges(j); i++) {
			if (uses_scores(j))
				memory_manager_score(
					&k->memory, &ws->memory, ws->needs.items[i].type, &ws->hints);
			topology_merge_add(&ws->merge, &ws->hints);
		}
		kubelet_merge_add(merge, k->rules.policy, &ws->hints, ws->needs.n_items);
	}
	return topology_merge_finish(&ws->merge, ret_admit);
}

/* ---- a kubelet that crashes */

static void reject_panic(struct judgement *j, const char *what)
{
	err_set(&j->verdict->reason, 0, "the kubelet would panic: %s", what);
	set_rejection(j, KUBELET_PANICS);
}

/* Whether the kubelet survives the last merge; otherwise the verdict is set. */
static bool survives_merge(struct judgement *j)
{
	if (!spend_steps(j, 20 * (uint64_t)j->ws->merge.n_walked)) /* 20 per permutation */
		return false;
	if (j->ws->merge.panic == TOPOLOGY_PANIC_NONE)
		return true;
	reject_panic(j, j->ws->merge.panic == TOPOLOGY_PANIC_CERTAIN
				? "prefer-closest-numa-nodes does not work with holes in the NUMA node ids"
				: "prefer-closest-numa-nodes may not work with holes in the NUMA node ids");
	return false;
}

/*
 * Whether the kubelet survives the memory manager's look-up; otherwise the verdict is set. The memory manager dereferences the requested
 * types of memory on every node of the hint, also types that the node does not have (K8 in scoring/DEFECTS.md). A pod that holds its memory
 * already is not looked up.
 */
static bool survives_memory(struct judgement *j, const struct demand *demand, uint64_t nodes)
{
	char what[160] = "";
	const char *missing;
	unsigned node;

	if (!demand->memory || holds_memory(j))
		return true;
	if (j->k->memory_panics.text[0]) {
		reject_panic(j, j->k->memory_panics.text);
		return false;
	}
	missing = memory_manager_missing(&j->k->memory, &j->ws->needs, nodes, &node);
	if (!missing)
		return true;
	text_addf(what, sizeof(what), "the pod requests %.60s, and NUMA node %u has no %.60s", missing, node,
		missing);
	reject_panic(j, what);
	return false;
}

/*
 * The Topology Manager's decision on the demand: the merged hint, which has no meaning unless the policy admits. Counts the kubelet's time.
 * False: the verdict is set.
 */
static bool find_hint(
	struct judgement *j, const struct demand *demand, struct topology_hint *ret_hint, bool *ret_admit)
{
	struct kubelet_merge merge;

	if (!survives_memory(j, demand, UINT64_MAX) || !spend_steps(j, judgement_demand_steps(j, demand)))
		return false;
	merge = judgement_bound_merge(j, demand);
	*ret_hint = merge_hints(j, demand, &merge, ret_admit);
	kubelet_time_add(&j->verdict->time,
		kubelet_merge_time(&merge, !j->k->preferred_hints_first || !ret_hint->preferred));
	return survives_merge(j);
}

/* ---- allocation */

/* Allocates the devices that fill_demand() has listed in the workspace. False: the verdict is set, and the books are unfinished. */
static bool allocate_devices(
	struct judgement *j, const struct demand *demand, const struct kubelet_placement *placement)
{
	const struct device_manager *dm = &j->k->devices;

	for (size_t i = 0; i < j->ws->n_demands; i++) {
		size_t r = j->ws->demands[i].resource, n = j->ws->demands[i].n, available;
		const char *name = dm->inventory->resources[r].name;

		switch (device_manager_allocate(
			dm, &j->ws->devices, r, n, placement->hint, demand->container->kind, &available)) {
		case DEVICE_TAKE_OK:
			continue;
		case DEVICE_TAKE_NOT_ENOUGH:
			err_set(&j->verdict->reason, 0, "%s: %zu wanted, %zu free", name, n, available);
			j->verdict->none_left = available == 0;
			break;
		case DEVICE_TAKE_NONE_HEALTHY:
			err_set(&j->verdict->reason, 0, "%s: no device is healthy", name);
			break;
		}
		set_rejection(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	}
	return true;
}

static bool check_smt_alignment(struct judgement *j, size_t n)
{
	const struct cpu_manager *cm = &j->k->cpu;
	size_t physical;

	switch (cpu_manager_check_smt(cm, j->ws->shared, n, &physical)) {
	case CPU_SMT_ALIGNED:
		return true;
	case CPU_SMT_NOT_MULTIPLE:
		err_set(&j->verdict->reason, 0,
			"full-pcpus-only: %zu CPU%s not a multiple of the %u CPUs per core", n,
			n == 1 ? " is" : "s are", cm->cpus_per_core);
		break;
	case CPU_SMT_NOT_ENOUGH_CORES:
		err_set(&j->verdict->reason, 0,
			"full-pcpus-only: %zu CPUs wanted, %zu free on cores without reserved CPUs", n,
			physical);
		break;
	}
	set_rejection(j, KUBELET_SMT_ALIGNMENT);
	return false;
}

/* Allocates the exclusive CPUs in cpus[], or only tries to if the workspace counts. False: the verdict is set. */
static bool allocate_cpus(
	struct judgement *j, const struct demand *demand, struct kubelet_placement *placement, bool *cpus)
{
	struct kubelet_workspace *ws = j->ws;
	struct cpu_take take;
	size_t available;

	if (demand->cpus == 0)
		return true;
	/* Nothing is assigned to a pod that holds its CPUs, but up to 1.36 the SMT check can still reject the pod. */
	if (holds_cpus_already(j))
		return !j->k->cpu.rules.version.smt_check_ignores_state ||
		       check_smt_alignment(j, demand->cpus);
	if (!check_smt_alignment(j, demand->cpus))
		return false;
	take = (ws->counting ? cpu_manager_allocate_counted : cpu_manager_allocate)(&j->k->cpu, ws->cpu,
		ws->shared, ws->reusable, demand->cpus, placement->hint, ws->scratch, cpus);
	kubelet_time_add(&j->verdict->time, take.time);
	switch (take.status) {
	case CPU_TAKE_OK:
		break;
	case CPU_TAKE_NOT_ENOUGH:
		cpu_manager_available(&j->k->cpu, ws->shared, ws->available);
		available = cpu_set_size(&j->k->topology, ws->available);
		err_set(&j->verdict->reason, 0, "%zu exclusive CPUs wanted, %zu available", demand->cpus,
			available);
		j->verdict->none_left = available == 0;
		set_rejection(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	case CPU_TAKE_MISCOUNTED:
		err_set(&j->verdict->reason, 0,
			"the kubelet fails to distribute %zu CPUs over NUMA nodes (accounting error, %ld remaining)",
			demand->cpus, take.remaining);
		set_rejection(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	case CPU_TAKE_ENDLESS:
		err_set(&j->verdict->reason, 0,
			"the kubelet would hang: distributing %zu CPUs over NUMA nodes would never end (kubernetes #140730, fixed in 1.38)",
			demand->cpus);
		set_rejection(j, KUBELET_HANGS);
		return false;
	case CPU_TAKE_UNKNOWN:
		/* The reason names the work limit, unless a distribution has spent the steps. */
		if (!spend_steps(j, 0) && !j->k->cpu.rules.distribute)
			return false;
		err_set(&j->verdict->reason, 0, "distributing %zu CPUs over NUMA nodes takes too many steps",
			demand->cpus);
		j->verdict->answer = KUBELET_UNKNOWN;
		return false;
	}
	placement->exclusive_cpus = demand->cpus;
	if (ws->counting)
		return true;
	placement->cpus = cpus;
	for (size_t i = 0; i < j->k->topology.n_cpus; i++)
		if (cpus[i])
			ws->reusable[i] = demand->container->kind == CONTAINER_INIT;
	return true;
}

/*
 * Allocates the memory. If the hint's nodes do not suffice, the kubelet makes the hints of all nodes again
 * (extendTopologyManagerHint()), which it may not survive either. False: the verdict is set.
 */
static bool allocate_memory(
	struct judgement *j, const struct demand *demand, struct kubelet_placement *placement)
{
	struct kubelet_workspace *ws = j->ws;

	if (!demand->memory || holds_memory(j))
		return true;
	if (!survives_memory(j, demand, placement->hint.any_node ? UINT64_MAX : placement->hint.nodes))
		return false;
	if (!memory_manager_suffices(&j->k->memory, &ws->memory, &ws->needs, placement->hint) &&
		(!survives_memory(j, demand, UINT64_MAX) || !spend_steps(j, judgement_memory_hint_steps(j))))
		return false;
	switch (memory_manager_allocate(&j->k->memory, &ws->memory, &ws->needs, placement->hint,
		demand->container->kind, &ws->hints, &placement->memory_nodes)) {
	case MEMORY_TAKE_OK:
		return true;
	case MEMORY_TAKE_NO_NODES:
		kubelet_explain_memory(j);
		break;
	case MEMORY_TAKE_NOT_PREFERRED:
		err_set(&j->verdict->reason, 0,
			"enough memory is free only on more NUMA nodes than the request needs by size");
		break;
	case MEMORY_TAKE_GROUPED:
		err_set(&j->verdict->reason, 0, "the chosen NUMA nodes belong to other memory groups");
		break;
	}
	set_rejection(j, KUBELET_UNEXPECTED_ADMISSION);
	return false;
}

/* Allocate one container under its hint; cpus[] becomes its CPUs. A running pod keeps its devices. False: the verdict is set. */
static bool allocate_container(
	struct judgement *j, size_t i, const struct demand *demand, struct topology_hint hint, bool *cpus)
{
	struct kubelet_placement *placement = &j->ws->placements[i];

	*placement = (struct kubelet_placement){.hint = hint};
	if (!spend_steps(j, judgement_allocation_steps(j, demand)) ||
		(!j->held && !allocate_devices(j, demand, placement)) ||
		!allocate_cpus(j, demand, placement, cpus))
		return false;
	if (j->uses_memory_manager && !demand->memory) {
		err_set(&j->verdict->reason, 0, "an amount of memory is not a whole number of bytes");
		set_rejection(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	}
	return allocate_memory(j, demand, placement);
}

/* False if the last merge has several results: the verdict stays unknown, with the reason. */
static bool require_determined(struct judgement *j)
{
	if (!j->ws->merge.undetermined)
		return true;
	err_set(&j->verdict->reason, 0,
		"numa-allocation-strategy %s: which of several NUMA nodes that are not preferred the kubelet chooses is not determined",
		numa_allocation_names[j->k->rules.strategy]);
	return false;
}

static bool merges_per_pod(const struct kubelet *k)
{
	return k->scope == TOPOLOGY_SCOPE_POD && k->rules.policy != TOPOLOGY_MANAGER_NONE;
}

/* Allocate the containers one after the other, and set the verdict. */
static void judge_containers(struct judgement *j)
{
	bool per_pod = merges_per_pod(j->k),
	     per_container = !per_pod && j->k->rules.policy != TOPOLOGY_MANAGER_NONE;
	struct topology_hint hint = {.any_node = true};
	bool *cpus = j->ws->cpus;
	struct demand demand;
	bool admit = true; /* by the Topology Manager's policy */

	if (per_pod) {
		fill_demand(j, NULL, &demand);
		if (!find_hint(j, &demand, &hint, &admit))
			return;
	}
	for (size_t i = 0; i < j->pod->n_containers && admit; i++) {
		j->verdict->container = i;
		fill_demand(j, &j->pod->containers[i], &demand);
		if (per_container && !find_hint(j, &demand, &hint, &admit))
			return;
		if (!admit)
			break;
		if (!require_determined(j) || !allocate_container(j, i, &demand, hint, cpus))
			return;
		if (demand.cpus > 0)
			cpus += j->k->topology.n_cpus;
		j->verdict->n_placements = i + 1;
	}
	j->verdict->answer = KUBELET_ADMITS;
	if (!admit) {
		set_rejection(j, KUBELET_TOPOLOGY_AFFINITY);
		if (!j->held || !kubelet_held_explain(j->k, j->held, j->pod, &j->verdict->reason))
			kubelet_explain_affinity(j, &demand);
	}
}

/*
 * Whether the managers place the pod as a whole: with PodLevelResourceManagers, a pod with pod-level
 * resources. Then scope_pod.go's admitUsingPodResources() and the static policies place it, and the device
 * manager's AllocatePod() gives it no device.
 */
static bool is_placed_as_pod(const struct judgement *j, bool devices)
{
	bool by_policy = j->qos == QOS_GUARANTEED && (j->k->cpu_static || j->k->memory_static);

	return j->pod->has_pod_resources && j->k->pod_level_managers &&
	       (by_policy || (devices && merges_per_pod(j->k)));
}

/* Count the kubelet's time to make the hints of a pod, which are too many for a verdict. */
static void count_hints(struct judgement *j)
{
	size_t n = merges_per_pod(j->k) ? 1 : j->pod->n_containers;

	if (j->held) /* few hints: of what the pod holds */
		return;
	for (size_t i = 0; i < n; i++) {
		struct kubelet_merge merge;
		struct demand demand;

		fill_demand(j, merges_per_pod(j->k) ? NULL : &j->pod->containers[i], &demand);
		merge = judgement_bound_merge(j, &demand);
		kubelet_time_add(&j->verdict->time, merge.hints);
	}
}

/* What is not known of the managers that decide on the pod; NULL = enough is known. `cpus`, `devices`: what the pod requests. */
static const struct err *find_unknown(const struct judgement *j, bool cpus, bool devices)
{
	const struct kubelet *k = j->k;
	bool aligns = k->rules.policy != TOPOLOGY_MANAGER_NONE;
	bool uses_managers = j->uses_cpu_manager || j->uses_memory_manager || devices;

	if (k->start.text[0])
		return &k->start;
	if (cpus && !j->pod->has_pod_resources && k->cpu_unknown.text[0])
		return &k->cpu_unknown;
	if (j->qos == QOS_GUARANTEED && !j->pod->has_pod_resources && k->memory_unknown.text[0])
		return &k->memory_unknown;
	if (uses_managers && k->unknown.text[0])
		return &k->unknown;
	/* The memory manager combines NUMA nodes also where nothing is aligned. */
	if (k->too_many_sets.text[0] && (j->uses_memory_manager || (uses_managers && aligns)))
		return &k->too_many_sets;
	return NULL;
}

/*
 * Whether the managers decide on the pod, and enough is known for it. False: the verdict is set, because the pod requests
 * nothing that is aligned, or because too little is known.
 */
static bool needs_managers(struct judgement *j)
{
	bool devices, cpus = false, aligns = j->k->rules.policy != TOPOLOGY_MANAGER_NONE;
	const struct err *unknown;

	if (kubelet_panics_for_every_pod(j->k)) {
		reject_panic(j, j->k->panics.text);
		return false;
	}
	list_device_demands(j, NULL);
	devices = j->ws->n_demands > 0;
	for (size_t i = 0; i < j->pod->n_containers; i++)
		cpus = cpus || kubelet_exclusive_cpus(&j->pod->containers[i], j->qos) > 0;
	j->verdict->answer = KUBELET_UNKNOWN;
	if (j->qos == QOS_UNKNOWN && (j->k->cpu_static || j->k->memory_static || j->k->cpu_unknown.text[0] ||
					     j->k->memory_unknown.text[0])) {
		err_set(&j->verdict->reason, 0, "the pod's QoS class is not known");
		return false;
	}
	if (j->pod->has_pod_resources && !j->k->pod_level_resources &&
		(j->k->cpu_static || j->k->memory_static)) {
		err_set(&j->verdict->reason, 0,
			"the pod has pod-level resources, and the kubelet's feature gate PodLevelResources is off: nrtd does not model this");
		return false;
	}
	if (is_placed_as_pod(j, devices)) {
		err_set(&j->verdict->reason, 0,
			"nrtd does not model how PodLevelResourceManagers places pods with pod-level resources");
		return false;
	}
	/* Without PodLevelResourceManagers the CPU and memory managers ignore pods with pod-level resources. */
	j->uses_cpu_manager = cpus && !j->pod->has_pod_resources && j->k->cpu_static;
	j->uses_memory_manager =
		j->qos == QOS_GUARANTEED && !j->pod->has_pod_resources && j->k->memory_static;
	unknown = find_unknown(j, cpus, devices);
	if (unknown) {
		j->verdict->reason = *unknown;
		if (unknown == &j->k->too_many_sets)
			count_hints(j);
		return false;
	}
	if (!j->k->unknown.text[0] && !(aligns && j->k->too_many_sets.text[0]))
		return true;
	/* Too little is known for a merge, but the pod requests nothing that could be rejected. */
	j->verdict->answer = KUBELET_ADMITS;
	return false;
}

/* Whether the verdict of a restarted kubelet on a running pod follows from the state files. Otherwise sets the reason, and the
 * verdict stays unknown. */
static bool is_readmission_known(struct judgement *j)
{
	const struct kubelet *k = j->k;
	bool anew = (j->uses_cpu_manager && !j->held->cpus) || (j->uses_memory_manager && !j->held->memory);
	bool aligns = k->rules.policy != TOPOLOGY_MANAGER_NONE;

	if (!kubelet_held_is_known(k, j->ws, j->held, j->pod, j->qos, j->uses_cpu_manager,
		    j->uses_memory_manager, &j->verdict->reason))
		return false;
	list_device_demands(j, NULL);
	for (size_t i = 0; i < j->ws->n_demands; i++)
		if (j->ws->demands[i].n > 0 && !kubelet_held_knows_devices(k, j->held, j->pod,
						       j->ws->demands[i].resource, &j->verdict->reason))
			return false;
	if (!anew || !aligns || j->ws->n_demands == 0)
		return true;
	err_set(&j->verdict->reason, 0,
		"where the pod goes depends on whether device plugins register before the kubelet admits pods");
	return false;
}

/* Judge the pod on the state in the workspace. */
static void judge_pod(struct judgement *j, struct kubelet_verdict *ret)
{
	struct kubelet_workspace *ws = j->ws;

	*ret = (struct kubelet_verdict){.answer = KUBELET_UNKNOWN};
	j->verdict = ret;
	ws->work.steps = 0;
	memset(ws->reusable, 0, j->k->topology.n_cpus * sizeof(*ws->reusable));
	if (spend_steps(j, judgement_reading_steps(j)) && needs_managers(j) &&
		(!j->held || is_readmission_known(j)) && reserve_placements(j))
		judge_containers(j);
	ret->placements = ws->placements;
}

/* Set the workspace to the kubelet's state. */
static void reset_workspace(const struct kubelet *k, struct kubelet_workspace *ws)
{
	size_t n = k->topology.n_cpus;

	if (n > 0) /* without CPUs, or with too many, there is no set to copy */
		memcpy(ws->shared, k->shared, n * sizeof(*ws->shared));
	device_books_reset(&ws->devices, &k->devices);
	memory_books_reset(&ws->memory, &k->memory);
}

void kubelet_judge(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret)
{
	struct judgement j = {.k = k, .ws = ws, .pod = pod, .qos = qos};

	reset_workspace(k, ws);
	judge_pod(&j, ret);
}

void kubelet_judge_next(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret)
{
	struct judgement j = {.k = k, .ws = ws, .pod = pod, .qos = qos};

	device_books_begin_pod(&ws->devices, &k->devices);
	memory_books_begin_pod(&ws->memory);
	judge_pod(&j, ret);
}

void kubelet_judge_again(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, const struct kubelet_held *held, struct kubelet_verdict *ret)
{
	struct judgement j = {.k = k, .ws = ws, .pod = pod, .qos = qos, .held = held, .plugins_return = true};

	reset_workspace(k, ws);
	judge_pod(&j, ret);
	if (ret->answer != KUBELET_REJECTS)
		return;
	/* Fewer hints never make the Topology Manager reject: only the device hints may be the reason. */
	j.plugins_return = false;
	reset_workspace(k, ws);
	judge_pod(&j, ret);
	if (ret->answer != KUBELET_ADMITS) /* rejected whether or not the plugins have returned */
		return;
	ret->answer = KUBELET_UNKNOWN;
	err_set(&ret->reason, 0,
		"the pod is rejected if its device plugins register before the kubelet admits pods");
}

void kubelet_free_cpus(const struct kubelet *k, struct kubelet_workspace *ws, size_t *ret)
{
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];

	for (size_t i = 0; i < numa->n; i++)
		ret[i] = 0;
	if (!k->cpu_static || k->cpu_unknown.text[0] || k->unknown.text[0])
		return;
	cpu_manager_available(&k->cpu, ws->shared, ws->available);
	for (size_t c = 0; c < k->topology.n_cpus; c++)
		ret[numa->of[c]] += ws->available[c];
}

bool kubelet_device_taken(
	const struct kubelet *k, const struct kubelet_workspace *ws, size_t r, size_t device)
{
	return ws->devices.allocated[k->devices.first[r] + device];
}
