/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole pods through a kubelet's managers, one case a line: {id, cpus, core, socket, numa, l3, nodes,
 * distances, topologyManager: {policy, scope, preferClosestNUMANodes}, cpuManager: {policy, options,
 * reserved, defaultCpuSet}, memoryManager: {policy, machineState}, devices: {NAME: [{numa, healthy,
 * allocated}]}, pod: {qos, containers: [{kind, requests, limits}]}, expect: {admit, reason, message,
 * containers: [{numa, preferred, cpus, memory}]} or {panic} or {hang}}.
 */
#include "tests/vectors/kubelet_support.h"

#include "common/cleanup.h"
#include "scoring/kubelet.h"

static bool recognise(const struct vj_file *file)
{
	const vj *c = vj_first_case(file);

	return vj_is_map(c) && vj_get(c, "topologyManager") && vj_get(c, "pod") && vj_get(c, "expect");
}

/* A case's inputs. */
struct input {
	struct machine machine;
	struct settings settings;
	struct memory_state memory;
	struct device_inventory devices;
	struct pod_request pod;
	enum qos_class qos;
	hwloc_bitmap_t shared, reserved;
	struct kubelet_node node;
};

static void read_machine(const vj *c, struct machine *m)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = vj_cpuset(vj_need(c, "cpus"));
	const vj *core = vj_first(vj_need(c, "core")), *socket = vj_first(vj_need(c, "socket"));
	const vj *numa = vj_first(vj_need(c, "numa")), *l3 = vj_first(vj_need(c, "l3"));

	machine_init(m);
	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		if (!core || !socket || !numa || !l3)
			vj_die(c, "fewer places than CPUs");
		kv_add_cpu(m, (unsigned)id, vj_unsigned(core), (int)vj_int(socket), (int)vj_int(numa),
			(int)vj_int(l3));
		core = vj_next(core);
		socket = vj_next(socket);
		numa = vj_next(numa);
		l3 = vj_next(l3);
	}
	VJ_FOREACH (node, vj_need(c, "nodes"))
		kv_add_node(m, vj_unsigned(node), MACHINE_NONE);
	kv_set_distances(m, vj_need(c, "distances"));
}

static int read_name(const vj *v, const char *const *names, size_t n)
{
	int i = settings_name_index(names, n, vj_string(v));

	if (i < 0)
		vj_die(v, "unknown name");
	return i;
}

static void read_settings(const vj *c, struct settings *s)
{
	const vj *tm = vj_need(c, "topologyManager"), *cm = vj_need(c, "cpuManager");
	const vj *mm = vj_need(c, "memoryManager");

	settings_init(s);
	s->topology.policy = (enum topology_manager_policy)read_name(
		vj_need(tm, "policy"), topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT);
	s->topology.scope = (enum topology_manager_scope)read_name(
		vj_need(tm, "scope"), topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT);
	s->topology.prefer_closest_numa_nodes = vj_bool(vj_need(tm, "preferClosestNUMANodes"));
	s->topology.max_numa_nodes = NODE_MASK_WALK_MAX;
	s->cpu_manager = (enum cpu_manager_policy)read_name(
		vj_need(cm, "policy"), cpu_manager_policy_names, CPU_MANAGER_POLICY_COUNT);
	s->cpu_options = kv_cpu_options(vj_need(cm, "options"));
	s->memory_manager = (enum memory_manager_policy)read_name(
		vj_need(mm, "policy"), memory_manager_policy_names, MEMORY_MANAGER_POLICY_COUNT);
}

static void read_devices(const vj *devices, struct device_inventory *ret)
{
	*ret = (struct device_inventory){0};
	VJ_FOREACH (resource, devices)
		VJ_FOREACH (item, resource) {
			const struct device device = {.nodes = kv_mask(vj_need(item, "numa")),
				.healthy = vj_bool(vj_need(item, "healthy")),
				.allocated = vj_bool(vj_need(item, "allocated"))};

			device_inventory_add(ret, vj_key(resource), device);
		}
}

static void read_list(const vj *map, struct resource_list *ret)
{
	VJ_FOREACH (amount, map)
		resource_list_set(ret, vj_key(amount), vj_quantity(amount));
}

static void read_pod(const vj *pod, struct pod_request *ret, enum qos_class *ret_qos)
{
	static const char *const kinds[CONTAINER_KIND_COUNT] = {"init", "sidecar", "app"};

	*ret_qos = (enum qos_class)read_name(vj_need(pod, "qos"), qos_class_names, QOS_COUNT);
	pod_request_init(ret);
	VJ_FOREACH (item, vj_need(pod, "containers")) {
		const char *text = vj_string(vj_need(item, "kind"));
		struct container_request *container;
		size_t kind = 0;

		while (kind < CONTAINER_KIND_COUNT && strcmp(kinds[kind], text) != 0)
			kind++;
		container = kind < CONTAINER_KIND_COUNT
				    ? pod_request_add(ret, (enum container_kind)kind, "container")
				    : NULL;
		if (!container)
			vj_die(item, "no such kind of container");
		read_list(vj_need(item, "requests"), &container->requests);
		read_list(vj_need(item, "limits"), &container->limits);
	}
}

static void read_input(const vj *c, struct input *in)
{
	const vj *cm = vj_need(c, "cpuManager");

	memset(in, 0, sizeof(*in));
	read_machine(c, &in->machine);
	read_settings(c, &in->settings);
	kv_memory_state(vj_need(vj_need(c, "memoryManager"), "machineState"), &in->memory);
	read_devices(vj_need(c, "devices"), &in->devices);
	read_pod(vj_need(c, "pod"), &in->pod, &in->qos);
	in->shared = vj_cpuset(vj_need(cm, "defaultCpuSet"));
	in->reserved = vj_cpuset(vj_need(cm, "reserved"));
	in->node = (struct kubelet_node){.machine = &in->machine,
		.settings = &in->settings,
		.shared = in->shared,
		.reserved = in->reserved,
		.memory = &in->memory,
		.devices = &in->devices};
}

static void release_input(struct input *in)
{
	machine_release(&in->machine);
	settings_release(&in->settings);
	memory_state_release(&in->memory);
	device_inventory_release(&in->devices);
	pod_request_release(&in->pod);
	hwloc_bitmap_free(in->shared);
	hwloc_bitmap_free(in->reserved);
}

static void check_placement(struct vectors_run *run, const struct kubelet *k, size_t i,
	const struct kubelet_placement *got, const vj *want)
{
	const vj *cpus = vj_get(want, "cpus"), *memory = vj_get(want, "memory");
	char what[32], got_nodes[NODE_MASK_TEXT_MAX], want_nodes[NODE_MASK_TEXT_MAX];

	snprintf(what, sizeof(what), "container %zu", i);
	kv_check_hint(run, what, got->hint, vj_get(want, "numa"), vj_bool(vj_need(want, "preferred")));
	if (!cpus != !got->cpus)
		vectors_differ(run, "%s: exclusive CPUs %d, recorded %d", what, !!got->cpus, !!cpus);
	else if (cpus)
		kv_check_cpus(run, what, &k->topology, got->cpus, vj_string(cpus));
	if (got->memory_nodes == kv_mask(memory))
		return;
	node_mask_print(got->memory_nodes, got_nodes);
	node_mask_print(kv_mask(memory), want_nodes);
	vectors_differ(run, "%s: memory on {%s}, recorded {%s}", what, got_nodes, want_nodes);
}

static void check_verdict(struct vectors_run *run, const struct kubelet *k,
	const struct kubelet_verdict *verdict, const vj *want)
{
	enum kubelet_answer answer = vj_bool(vj_need(want, "admit")) ? KUBELET_ADMITS : KUBELET_REJECTS;
	const char *reason = vj_string(vj_need(want, "reason"));
	size_t i = 0;

	if (verdict->answer != answer || strcmp(kubelet_rejection_names[verdict->rejection], reason) != 0) {
		vectors_differ(run, "answer %d %s (%s), recorded %d %s (%s)", (int)verdict->answer,
			kubelet_rejection_names[verdict->rejection], verdict->reason.text, (int)answer,
			reason, vj_string(vj_need(want, "message")));
		return;
	}
	if (verdict->answer == KUBELET_REJECTS && verdict->reason.text[0] == '\0')
		vectors_differ(run, "rejected without a reason");
	if (verdict->answer != KUBELET_ADMITS)
		return;
	if (verdict->n_placements != vj_count(vj_need(want, "containers"))) {
		vectors_differ(run, "%zu containers are placed", verdict->n_placements);
		return;
	}
	VJ_FOREACH (placement, vj_need(want, "containers")) {
		check_placement(run, k, i, &verdict->placements[i], placement);
		i++;
	}
}

static void run_case(struct vectors_run *run, const vj *c)
{
	const vj *want = vj_need(c, "expect");
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	static struct kubelet k;
	struct kubelet_verdict verdict;
	struct input in;

	read_input(c, &in);
	kubelet_init(&k, &in.node);
	ws = kubelet_workspace_new(&k);
	kubelet_judge(&k, ws, &in.pod, in.qos, &verdict);
	check_verdict(run, &k, &verdict, want);
	kubelet_workspace_freep(&ws);
	kubelet_release(&k);
	release_input(&in);
}

static void run(struct vectors_run *r, const struct vj_file *file)
{
	VJ_FOREACH_CASE (c, file) {
		vectors_begin(r, vj_string(vj_need(c, "id")));
		run_case(r, c);
		vectors_end(r);
	}
}

const struct vectors_format kubelet_pods_format = {"kubelet pods", recognise, run};
