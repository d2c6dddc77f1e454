/* SPDX-License-Identifier: Apache-2.0 */
/* kubelet_judge(): the managers asked container by container, and what they then hold. */
#include "scoring/kubelet_workspace.h"

#include <errno.h>
#include <string.h>

#include "common/vec.h"

/* Put the managers into the state of the node as it is, or go on with the one that the last pod left; what
 * its finished init containers may leave is that pod's alone. */
static void begin(const struct judgement *j, bool from_start)
{
	size_t n = j->k->topology.n_cpus;
	struct kubelet_workspace *ws = j->ws;

	ws->work.steps = 0;
	memset(ws->reusable, 0, n * sizeof(*ws->reusable));
	if (!from_start) {
		device_books_begin_pod(&ws->devices, &j->k->devices);
		memory_books_begin_pod(&ws->memory);
		return;
	}
	if (n > 0) /* without CPUs, or with too many, there is no set to copy */
		memcpy(ws->shared, j->k->shared, n * sizeof(*ws->shared));
	device_books_reset(&ws->devices, &j->k->devices);
	memory_books_reset(&ws->memory, &j->k->memory);
}

/* Count the steps of what comes next. False: they are too many, which is the verdict. */
static bool afford(struct judgement *j, uint64_t steps)
{
	if (work_add(&j->ws->work, steps))
		return true;
	j->verdict->answer = KUBELET_UNKNOWN;
	j->verdict->beyond_limit = true;
	err_set(&j->verdict->reason, 0, "the pod asks for more than is judged: %zu container%s on this node",
		j->pod->n_containers, j->pod->n_containers == 1 ? "" : "s");
	return false;
}

/* Room for the placements, and a set of CPUs for each container that may get CPUs for itself. 0; the verdict
 * is made when they are too many. */
static void make_room(struct judgement *j, bool *ret_afforded)
{
	struct kubelet_workspace *ws = j->ws;
	size_t n = j->pod->n_containers, n_sets = 0, bytes;

	for (size_t i = 0; i < n && j->cpu; i++)
		n_sets += kubelet_exclusive_cpus(&j->pod->containers[i], j->qos) > 0;
	bytes = n_sets * j->k->topology.n_cpus;
	*ret_afforded = afford(j, bytes);
	if (!*ret_afforded)
		return;
	vec_grow(&ws->placements, &ws->placements_size, n + 1, sizeof(*ws->placements));
	vec_grow(&ws->cpus, &ws->cpus_size, bytes + 1, sizeof(*ws->cpus));
}

static void reject(struct judgement *j, enum kubelet_rejection rejection)
{
	j->verdict->answer = KUBELET_REJECTS;
	j->verdict->rejection = rejection;
}

/* What is demanded by a container, or by the pod when it is NULL. */
static void make_demand(
	const struct judgement *j, const struct container_request *container, struct demand *ret)
{
	const struct memory_manager *mm = &j->k->memory;
	*ret = (struct demand){.container = container};
	kubelet_demand_devices(j, container);
	if (j->cpu)
		ret->cpus = container ? kubelet_exclusive_cpus(container, j->qos)
				      : kubelet_pod_exclusive_cpus(j->pod, j->qos);
	if (j->memory)
		ret->memory = (container ? memory_needs_of_container(mm, container, &j->ws->needs)
					 : memory_needs_of_pod(mm, j->pod, &j->ws->needs)) == 0;
	if (ret->memory)
		memory_books_room(&j->ws->memory, j->ws->needs.n_items);
}

/*
 * What the preferred hints of the CPUs alone decide: that the managers agree on one of them, or that they cannot agree
 * on any preferred hint. False: all hints are needed.
 */
static bool merge_preferred(
	const struct judgement *j, const struct demand *demand, struct topology_hint *ret, bool *ret_admit)
{
	const struct kubelet *k = j->k;
	struct kubelet_workspace *ws = j->ws;
	int some;

	cpu_manager_available(&k->cpu, ws->shared, ws->available);
	some = cpu_manager_preferred_hints(&k->cpu, ws->available, ws->reusable, demand->cpus, &ws->hints);
	if (some == 0 && !topology_policy_admits(k->rules.policy, false)) {
		*ret = (struct topology_hint){.any_node = true};
		*ret_admit = false;
		return true;
	}
	if (some <= 0 || demand->memory || ws->n_demands > 0)
		return false;
	topology_merge_add(&ws->merge, &ws->hints);
	*ret = topology_merge_finish(&ws->merge, ret_admit);
	return true;
}

/* Gather the hints in the kubelet's order of providers and merge them. A hint that is not admitted means nothing. */
static struct topology_hint merge(const struct judgement *j, const struct demand *demand, bool *ret_admit)
{
	const struct kubelet *k = j->k;
	struct kubelet_workspace *ws = j->ws;
	struct topology_hint hint;

	topology_merge_start(&ws->merge, &k->rules);
	if (demand->cpus > 0 && merge_preferred(j, demand, &hint, ret_admit))
		return hint;
	for (size_t i = 0; i < ws->n_demands; i++) {
		device_manager_hints(
			&k->devices, &ws->devices, ws->demands[i].resource, ws->demands[i].n, &ws->hints);
		topology_merge_add(&ws->merge, &ws->hints);
	}
	if (demand->cpus > 0) {
		cpu_manager_hints(&k->cpu, ws->available, ws->reusable, demand->cpus, &ws->hints);
		topology_merge_add(&ws->merge, &ws->hints);
	}
	if (demand->memory) {
		memory_manager_hints(&k->memory, &ws->memory, &ws->needs, &ws->hints);
		for (size_t i = 0; i < kubelet_memory_merges(j); i++)
			topology_merge_add(&ws->merge, &ws->hints);
	}
	return topology_merge_finish(&ws->merge, ret_admit);
}

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
		case DEVICE_TAKE_STATUS_COUNT:
			continue;
		case DEVICE_TAKE_NOT_ENOUGH:
			err_set(&j->verdict->reason, 0, "%s: %zu wanted, %zu free", name, n, available);
			break;
		case DEVICE_TAKE_NONE_HEALTHY:
			err_set(&j->verdict->reason, 0, "%s: no device is healthy", name);
			break;
		}
		reject(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	}
	return true;
}

static bool check_smt(struct judgement *j, size_t n)
{
	const struct cpu_manager *cm = &j->k->cpu;
	size_t physical;

	switch (cpu_manager_check_smt(cm, j->ws->shared, n, &physical)) {
	case CPU_SMT_ALIGNED:
	case CPU_SMT_STATUS_COUNT:
		return true;
	case CPU_SMT_NOT_MULTIPLE:
		err_set(&j->verdict->reason, 0,
			"full-pcpus-only: %zu CPUs are not a multiple of the %u CPUs per core", n,
			cm->cpus_per_core);
		break;
	case CPU_SMT_NOT_ENOUGH_CORES:
		err_set(&j->verdict->reason, 0,
			"full-pcpus-only: %zu CPUs wanted, %zu free on cores without reserved CPUs", n,
			physical);
		break;
	}
	reject(j, KUBELET_SMT_ALIGNMENT);
	return false;
}

static bool allocate_cpus(
	struct judgement *j, const struct demand *demand, struct kubelet_placement *placement, bool *cpus)
{
	struct kubelet_workspace *ws = j->ws;
	struct cpu_take take;

	if (demand->cpus == 0)
		return true;
	if (!check_smt(j, demand->cpus))
		return false;
	take = (ws->counting ? cpu_manager_try : cpu_manager_allocate)(&j->k->cpu, ws->cpu, ws->shared,
		ws->reusable, demand->cpus, placement->hint, ws->scratch, cpus);
	switch (take.status) {
	case CPU_TAKE_OK:
		break;
	case CPU_TAKE_NOT_ENOUGH:
		cpu_manager_available(&j->k->cpu, ws->shared, ws->available);
		err_set(&j->verdict->reason, 0, "%zu exclusive CPUs wanted, %zu available", demand->cpus,
			cpu_set_size(&j->k->topology, ws->available));
		reject(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	case CPU_TAKE_MISCOUNTED:
		err_set(&j->verdict->reason, 0,
			"the kubelet fails to distribute %zu CPUs over NUMA nodes (accounting error, %ld remaining)",
			demand->cpus, take.remaining);
		reject(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	case CPU_TAKE_UNKNOWN:
	case CPU_TAKE_STATUS_COUNT:
		if (!afford(j, 0) && !j->k->cpu.rules.distribute)
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

static bool allocate_memory(
	struct judgement *j, const struct demand *demand, struct kubelet_placement *placement)
{
	struct kubelet_workspace *ws = j->ws;

	if (!demand->memory)
		return true;
	if (!memory_manager_suffices(&j->k->memory, &ws->memory, &ws->needs, placement->hint) &&
		!afford(j, kubelet_memory_hint_steps(j)))
		return false;
	switch (memory_manager_allocate(&j->k->memory, &ws->memory, &ws->needs, placement->hint,
		demand->container->kind, &ws->hints, &placement->memory_nodes)) {
	case MEMORY_TAKE_OK:
	case MEMORY_TAKE_STATUS_COUNT:
		return true;
	case MEMORY_TAKE_NO_NODES:
		err_set(&j->verdict->reason, 0,
			"no NUMA nodes that may be used together have enough memory free");
		break;
	case MEMORY_TAKE_NOT_PREFERRED:
		err_set(&j->verdict->reason, 0,
			"the memory lies only on more NUMA nodes than it needs by size");
		break;
	case MEMORY_TAKE_GROUPED:
		err_set(&j->verdict->reason, 0,
			"the memory of the chosen NUMA nodes is used in other groups of nodes");
		break;
	}
	reject(j, KUBELET_UNEXPECTED_ADMISSION);
	return false;
}

/* Allocate one container under its hint, its CPUs in a set of `cpus`. False: the verdict is made. */
static bool place(
	struct judgement *j, size_t i, const struct demand *demand, struct topology_hint hint, bool *cpus)
{
	struct kubelet_placement *placement = &j->ws->placements[i];

	*placement = (struct kubelet_placement){.hint = hint};
	if (!afford(j, kubelet_place_steps(j, demand)) || !allocate_devices(j, demand, placement) ||
		!allocate_cpus(j, demand, placement, cpus))
		return false;
	if (j->memory && !demand->memory) {
		err_set(&j->verdict->reason, 0, "an amount of memory is not a whole number of bytes");
		reject(j, KUBELET_UNEXPECTED_ADMISSION);
		return false;
	}
	return allocate_memory(j, demand, placement);
}

static bool asked_per_pod(const struct kubelet *k)
{
	return k->scope == TOPOLOGY_SCOPE_POD && k->rules.policy != TOPOLOGY_MANAGER_NONE;
}

/* The containers one after the other. 0; the verdict is made when something is rejected, or too much. */
static void judge_containers(struct judgement *j)
{
	bool per_pod = asked_per_pod(j->k),
	     per_container = !per_pod && j->k->rules.policy != TOPOLOGY_MANAGER_NONE;
	struct topology_hint hint = {.any_node = true};
	bool *cpus = j->ws->cpus;
	struct demand demand;
	bool admit = true;

	if (per_pod) {
		make_demand(j, NULL, &demand);
		if (!afford(j, kubelet_merge_steps(j, &demand)))
			return;
		hint = merge(j, &demand, &admit);
	}
	for (size_t i = 0; i < j->pod->n_containers && admit; i++) {
		j->verdict->container = i;
		make_demand(j, &j->pod->containers[i], &demand);
		if (per_container && !afford(j, kubelet_merge_steps(j, &demand)))
			return;
		if (per_container)
			hint = merge(j, &demand, &admit);
		if (!admit)
			break;
		if (!place(j, i, &demand, hint, cpus))
			return;
		if (demand.cpus > 0)
			cpus += j->k->topology.n_cpus;
		j->verdict->n_placements = i + 1;
	}
	j->verdict->answer = KUBELET_ADMITS;
	if (!admit) {
		reject(j, KUBELET_TOPOLOGY_AFFINITY);
		kubelet_explain_affinity(j, &demand);
	}
}

/* With PodLevelResourceManagers the managers place a pod with pod-level resources as a whole: scope_pod.go's
 * admitUsingPodResources(), where the device manager's AllocatePod() gives it nothing, and the static policies. */
static bool is_placed_as_a_whole(const struct judgement *j, bool devices)
{
	bool by_policy = j->qos == QOS_GUARANTEED && (j->k->cpu_static || j->k->memory_static);

	return j->pod->has_pod_resources && j->k->pod_level_managers &&
	       (by_policy || (devices && asked_per_pod(j->k)));
}

/* Does the pod ask for something the managers align? And if so, is enough known? False: the verdict is made.
 */
static bool can_judge(struct judgement *j)
{
	const struct err *unknown = NULL;
	bool devices, cpus = false;

	kubelet_demand_devices(j, NULL);
	devices = j->ws->n_demands > 0;
	for (size_t i = 0; i < j->pod->n_containers; i++)
		cpus = cpus || kubelet_exclusive_cpus(&j->pod->containers[i], j->qos) > 0;
	j->verdict->answer = KUBELET_UNKNOWN;
	if (j->qos == QOS_UNKNOWN && (j->k->cpu_static || j->k->memory_static || j->k->cpu_unknown.text[0] ||
					     j->k->memory_unknown.text[0])) {
		err_set(&j->verdict->reason, 0, "the pod's QoS class is not known");
		return false;
	}
	if (is_placed_as_a_whole(j, devices)) {
		err_set(&j->verdict->reason, 0,
			"PodLevelResourceManagers places pods with pod-level resources in a way that is not modelled");
		return false;
	}
	/* Without that feature gate the CPU and memory managers leave such pods alone. */
	j->cpu = cpus && !j->pod->has_pod_resources && j->k->cpu_static;
	j->memory = j->qos == QOS_GUARANTEED && !j->pod->has_pod_resources && j->k->memory_static;
	if (cpus && !j->pod->has_pod_resources && j->k->cpu_unknown.text[0])
		unknown = &j->k->cpu_unknown;
	else if (j->qos == QOS_GUARANTEED && !j->pod->has_pod_resources && j->k->memory_unknown.text[0])
		unknown = &j->k->memory_unknown;
	else if ((j->cpu || j->memory || devices) && j->k->unknown.text[0])
		unknown = &j->k->unknown;
	if (unknown) {
		j->verdict->reason = *unknown;
		return false;
	}
	if (j->k->unknown.text[0]) {
		/* Nothing is asked for that could be refused. */
		j->verdict->answer = KUBELET_ADMITS;
		return false;
	}
	return true;
}

static void judge(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, bool from_start, struct kubelet_verdict *ret)
{
	struct kubelet_verdict verdict = {.answer = KUBELET_UNKNOWN};
	struct judgement j = {.k = k, .ws = ws, .pod = pod, .qos = qos, .verdict = &verdict};
	bool afforded = false;

	begin(&j, from_start);
	if (afford(&j, kubelet_reading_steps(&j)) && can_judge(&j))
		make_room(&j, &afforded);
	if (afforded)
		judge_containers(&j);
	verdict.placements = ws->placements;
	*ret = verdict;
}

void kubelet_judge(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret)
{
	judge(k, ws, pod, qos, true, ret);
}

void kubelet_judge_next(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret)
{
	judge(k, ws, pod, qos, false, ret);
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
