/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"
#include "scoring/kubelet_start.h"
#include "scoring/request.h"

const char *const kubelet_rejection_names[] = {"", "TopologyAffinityError", "SMTAlignmentError",
	"UnexpectedAdmissionError", "KubeletHangs", "KubeletPanics", "KubeletTooSlow"};

static_assert(sizeof(kubelet_rejection_names) / sizeof(*kubelet_rejection_names) == KUBELET_REJECTION_COUNT,
	"a name for each rejection");

/* Set a reason, unless there is one. */
#define SET_UNLESS_SET(err, ...)                             \
	do {                                                 \
		if ((err)->text[0] == '\0')                  \
			err_set(err, -ENODATA, __VA_ARGS__); \
	} while (0)

/* With policy none the Topology Manager needs nothing else. */
static void init_topology(struct kubelet *k, const struct kubelet_node *node)
{
	const struct topology_manager_config *config = &node->settings->topology;
	bool in_range = topology_nodes_from_machine(node->machine, &k->nodes);

	k->rules = (struct topology_rules){.nodes = &k->nodes,
		.policy = config->policy,
		.prefer_closest = config->prefer_closest_numa_nodes,
		.preferred_first = kubelet_version_of(node->settings->kubelet_minor).preferred_hints_first,
		.strategy = config->numa_allocation};
	k->scope = config->scope;
	if (config->policy == TOPOLOGY_MANAGER_UNKNOWN)
		SET_UNLESS_SET(&k->unknown, "the Topology Manager's policy is not known");
	if (config->policy == TOPOLOGY_MANAGER_NONE)
		return;
	if (node->settings->unknown_topology_option)
		SET_UNLESS_SET(&k->unknown, "nrtd does not know the Topology Manager's option '%.60s'",
			node->settings->unknown_topology_option);
	if (config->scope == TOPOLOGY_SCOPE_UNKNOWN)
		SET_UNLESS_SET(&k->unknown, "the Topology Manager's scope is not known");
	if (!in_range && config->policy == TOPOLOGY_MANAGER_UNKNOWN)
		SET_UNLESS_SET(&k->unknown, "a NUMA node id exceeds %d", NODE_MASK_MAX_ID);
	else if (!in_range)
		SET_UNLESS_SET(&k->panics, "a NUMA node id exceeds %d, the largest in a kubelet's mask",
			NODE_MASK_MAX_ID);
	if (config->prefer_closest_numa_nodes && !k->nodes.distances_known)
		SET_UNLESS_SET(&k->unknown,
			"prefer-closest-numa-nodes is set and the NUMA distances are not all known");
}

/*
 * A kubelet that is seen running has started: then only settings with which its managers cannot be modelled are a reason. A kubelet that
 * reports its reserved CPUs is seen running.
 */
static void check_start(struct kubelet *k, const struct kubelet_node *node)
{
	const struct kubelet_start start = {.machine = node->machine,
		.topology = k->topology.n_cpus > 0 ? &k->topology : NULL,
		.settings = node->settings,
		.reserved = node->reserved,
		.eviction_known = node->eviction_known,
		.eviction = node->eviction};
	bool started = node->settings->started || node->reserved;
	struct kubelet_start_problems problems;

	kubelet_start_find(&start, &problems);
	for (size_t i = 0; i < problems.n; i++) {
		const struct kubelet_start_problem *p = &problems.items[i];
		bool prevents_start = !started && !p->doubtful;

		if (prevents_start)
			SET_UNLESS_SET(&k->start, "the kubelet would not start: %.460s", p->what.text);
		if (p->no_model || prevents_start)
			SET_UNLESS_SET(&k->unknown, "%s: %.400s",
				started ? "nrtd does not model the running kubelet's settings"
					: "the kubelet would not start",
				p->what.text);
	}
}

/* The configured reserved CPUs: a set, or (*ret_set empty or NULL) only their number. False: unknown. */
static bool get_reserved_cpus(const struct kubelet_node *node, hwloc_const_bitmap_t *ret_set, size_t *ret_n)
{
	const struct settings *s = node->settings;

	*ret_set = node->reserved ? node->reserved : s->reserved_system_cpus;
	if (node->reserved || (*ret_set && !hwloc_bitmap_iszero(*ret_set))) {
		*ret_n = cpuset_size(*ret_set);
		return true;
	}
	*ret_n = cpu_manager_reserved_count(s->kube_reserved_cpu + s->system_reserved_cpu);
	return s->reserved_known;
}

static void init_cpu(struct kubelet *k, const struct kubelet_node *node)
{
	const struct kubelet_version version = kubelet_version_of(node->settings->kubelet_minor);
	hwloc_const_bitmap_t reserved;
	struct err err = {""};
	size_t n_reserved;
	int r;

	k->cpu_static = node->settings->cpu_manager == CPU_MANAGER_STATIC;
	if (node->settings->cpu_manager == CPU_MANAGER_UNKNOWN)
		SET_UNLESS_SET(&k->cpu_unknown, "the CPU manager's policy is not known");
	k->shared = xcalloc(k->topology.n_cpus + 1, sizeof(*k->shared));
	if (!k->cpu_static)
		return;
	if (node->settings->unknown_cpu_option)
		SET_UNLESS_SET(&k->cpu_unknown, "nrtd does not know the CPU manager's option '%.60s'",
			node->settings->unknown_cpu_option);
	if (!get_reserved_cpus(node, &reserved, &n_reserved))
		SET_UNLESS_SET(&k->cpu_unknown, "the CPUs reserved for the system are not known");
	if (k->cpu_unknown.text[0])
		return;
	if (!node->shared)
		SET_UNLESS_SET(&k->cpu_unknown, "the CPU manager's shared pool is not known");
	r = cpu_manager_init(&k->cpu, &k->topology, &node->settings->cpu_options, k->rules.policy, &version,
		reserved, n_reserved, &err);
	if (r == -E2BIG)
		SET_UNLESS_SET(&k->cpu_unknown, "%s", err.text);
	else if (r < 0)
		SET_UNLESS_SET(&k->unknown, "the kubelet would not start: %s", err.text);
	if (r < 0 || !node->shared)
		return;
	/* Without CPUs that the kubelet still counts and that have vanished: no container could run on them. */
	cpu_set_from_bitmap(&k->topology, node->shared, k->shared);
	for (size_t i = 0; node->present && i < k->topology.n_cpus; i++)
		k->shared[i] = k->shared[i] && hwloc_bitmap_isset(node->present->online, k->topology.ids[i]);
}

/* The kubelet may still count a NUMA node that has vanished. A pod could not run there: nothing of the node is free. */
static void hold_absent_nodes(struct kubelet *k, const struct kubelet_node *node)
{
	const struct machine *present = node->present ? node->present : node->machine;

	for (size_t i = 0; i < node->memory->n_nodes; i++)
		for (size_t t = 0; t < k->memory.n_types; t++)
			if (machine_node_index(present, node->memory->nodes[i].id) < 0)
				k->memory.now.amounts[i * k->memory.n_types + t].free = 0;
}

static void init_memory(struct kubelet *k, const struct kubelet_node *node)
{
	const struct kubelet_version version = kubelet_version_of(node->settings->kubelet_minor);

	k->memory_static = node->settings->memory_manager == MEMORY_MANAGER_STATIC;
	if (node->settings->memory_manager == MEMORY_MANAGER_UNKNOWN)
		SET_UNLESS_SET(&k->memory_unknown, "the memory manager's policy is not known");
	else if (k->memory_static && (!node->memory || node->memory->n_nodes == 0))
		SET_UNLESS_SET(&k->memory_unknown, "the memory manager's state is not known");
	if (!k->memory_static || k->memory_unknown.text[0])
		return;
	if (memory_manager_init(&k->memory, node->memory, &version) < 0)
		SET_UNLESS_SET(&k->memory_panics,
			"a NUMA node id in the memory manager's state exceeds %d, the largest in a kubelet's mask",
			NODE_MASK_MAX_ID);
	else if (k->memory.n_nodes > NODE_MASK_WALK_MAX)
		SET_UNLESS_SET(&k->too_many_sets,
			"memory on %zu NUMA nodes has too many combinations (at most %d)", k->memory.n_nodes,
			NODE_MASK_WALK_MAX);
	else
		hold_absent_nodes(k, node);
}

/* Find the NUMA nodes that hints can name, and check that their combinations are few enough to walk. */
static void init_reach(struct kubelet *k)
{
	const struct cpu_elements *numas = &k->topology.levels[CPU_LEVEL_NUMA];

	if (k->rules.policy == TOPOLOGY_MANAGER_NONE)
		return;
	for (size_t i = 0; i < numas->n; i++)
		k->cpu_nodes |= node_mask_of((unsigned)numas->ids[i]);
	if (k->cpu_static)
		k->reach |= k->cpu_nodes;
	for (size_t r = 0; r < k->devices.inventory->n_resources; r++)
		for (size_t i = 0; i < k->devices.inventory->resources[r].n_devices; i++)
			k->reach |= k->devices.inventory->resources[r].devices[i].nodes;
	k->reach |= k->memory.nodes;
	if (k->devices.hints_on_every_node && k->devices.n_devices > 0)
		k->reach = k->nodes.all;
	k->reach &= k->nodes.all;
	/* A merge counts all NUMA nodes that no hint names as one node (topology_merge_init()). */
	if (node_mask_count(k->reach) + (k->reach != k->nodes.all ? 1 : 0) > NODE_MASK_WALK_MAX)
		SET_UNLESS_SET(&k->too_many_sets, "%u NUMA nodes have too many combinations (at most %d)",
			node_mask_count(k->reach), NODE_MASK_WALK_MAX);
}

void kubelet_init(struct kubelet *k, const struct kubelet_node *node)
{
	const struct kubelet_version version = kubelet_version_of(node->settings->kubelet_minor);
	struct err err = {""};
	bool unknown = kubelet_explain_unknown(node->settings, &err), too_many_cpus;

	memset(k, 0, sizeof(*k));
	k->pod_level_resources = kubelet_gate_on(node->settings, KUBELET_POD_LEVEL_RESOURCES);
	k->pod_level_managers = kubelet_gate_on(node->settings, KUBELET_POD_LEVEL_MANAGERS);
	if (unknown)
		SET_UNLESS_SET(&k->unknown, "%s", err.text);
	k->hints_have_scores = version.hints_have_scores;
	k->preferred_hints_first = version.preferred_hints_first &&
				   node->settings->topology.policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	too_many_cpus = cpu_topology_init(&k->topology, node->machine) < 0;
	init_topology(k, node);
	check_start(k, node);
	if (too_many_cpus)
		SET_UNLESS_SET(&k->unknown, "%zu CPUs are too many", node->machine->n_cpus);
	else
		init_cpu(k, node);
	init_memory(k, node);
	device_manager_init(
		&k->devices, node->devices ? node->devices : &k->no_devices, k->nodes.all, &version);
	init_reach(k);
}

void kubelet_release(struct kubelet *k)
{
	topology_nodes_release(&k->nodes);
	cpu_manager_release(&k->cpu);
	cpu_topology_release(&k->topology);
	memory_manager_release(&k->memory);
	device_manager_release(&k->devices);
	free(k->shared);
	memset(k, 0, sizeof(*k));
}

bool kubelet_panics_for_every_pod(const struct kubelet *k)
{
	return k->panics.text[0] && !k->unknown.text[0];
}

void kubelet_workspace_freep(struct kubelet_workspace **pointer)
{
	struct kubelet_workspace *ws = *pointer;

	if (!ws)
		return;
	cpu_workspace_freep(&ws->cpu);
	free(ws->sets);
	memory_books_release(&ws->memory);
	memory_needs_release(&ws->needs);
	device_books_release(&ws->devices);
	free(ws->demands);
	free(ws->peaks);
	free(ws->requested);
	topology_hints_release(&ws->hints);
	topology_merge_release(&ws->merge);
	free(ws->placements);
	free(ws->cpus);
	free(ws);
	*pointer = NULL;
}

struct kubelet_workspace *kubelet_workspace_new(const struct kubelet *k)
{
	struct kubelet_workspace *ws = xcalloc(1, sizeof(*ws));
	size_t n = k->topology.n_cpus + 1, n_resources = k->devices.inventory->n_resources + 1;

	ws->work.limit = KUBELET_WORK_MAX;
	ws->cpu = cpu_workspace_new(&k->topology);
	ws->sets = xcalloc(5 * n, sizeof(*ws->sets));
	ws->demands = xcalloc(n_resources, sizeof(*ws->demands));
	ws->peaks = xcalloc(n_resources, sizeof(*ws->peaks));
	ws->requested = xcalloc(n_resources, sizeof(*ws->requested));
	ws->cpu->work = &ws->work;
	ws->shared = ws->sets;
	ws->reusable = ws->sets + n;
	ws->available = ws->sets + 2 * n;
	ws->scratch[0] = ws->sets + 3 * n;
	ws->scratch[1] = ws->sets + 4 * n;
	memory_books_init(&ws->memory, &k->memory);
	device_books_init(&ws->devices, &k->devices);
	topology_hints_init(&ws->hints, node_mask_count(k->reach | k->memory.nodes));
	if (k->unknown.text[0] == '\0' && k->too_many_sets.text[0] == '\0')
		(void)topology_merge_init(
			&ws->merge, k->nodes.all, k->reach); /* not -E2BIG: see too_many_sets */
	return ws;
}

void kubelet_limit_time(struct kubelet_verdict *verdict, uint64_t max_ns)
{
	const struct kubelet_time max = {.ns = max_ns};
	char time[40] = "", limit[40] = "", cause[80] = "";

	if (verdict->answer == KUBELET_REJECTS || max_ns == 0 || verdict->time.ns <= max_ns)
		return;
	kubelet_time_print(verdict->time, time, sizeof(time));
	kubelet_time_print(max, limit, sizeof(limit));
	kubelet_time_print_cause(verdict->time, cause, sizeof(cause));
	verdict->answer = KUBELET_REJECTS;
	verdict->rejection = KUBELET_TOO_SLOW;
	verdict->container = SIZE_MAX;
	verdict->beyond_limit = false;
	err_set(&verdict->reason, 0,
		"the kubelet needs about %s for this pod, because it %s; the limit is %s", time, cause,
		limit);
}

uint64_t kubelet_assigned_nodes(
	const struct kubelet *k, const struct pod_request *pod, const struct kubelet_verdict *v)
{
	const struct cpu_elements *numa = &k->topology.levels[CPU_LEVEL_NUMA];
	uint64_t nodes = 0, hinted = 0;

	for (size_t i = 0; i < v->n_placements; i++) {
		const struct kubelet_placement *p = &v->placements[i];

		for (size_t c = 0; p->cpus && c < k->topology.n_cpus; c++)
			if (p->cpus[c])
				nodes |= node_mask_of((unsigned)numa->ids[numa->of[c]]);
		nodes |= p->memory_nodes;
		hinted |= p->hint.any_node ? 0 : p->hint.nodes;
	}
	if (nodes == 0 && request_has_non_native(pod)) /* devices alone */
		return hinted;
	return nodes;
}

size_t kubelet_exclusive_cpus(const struct container_request *container, enum qos_class qos)
{
	const struct resource_quantity *q = resource_list_find(&container->requests, "cpu");

	return qos == QOS_GUARANTEED && q ? (size_t)request_whole_cpus(q->quantity.nano) : 0;
}

size_t kubelet_pod_exclusive_cpus(const struct pod_request *pod, enum qos_class qos)
{
	struct request_peak peak = {0};

	for (size_t i = 0; i < pod->n_containers; i++)
		request_peak_add(&peak, pod->containers[i].kind,
			(qty_t)kubelet_exclusive_cpus(&pod->containers[i], qos));
	return (size_t)request_peak(&peak);
}
