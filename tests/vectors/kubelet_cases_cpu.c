/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU manager's sections of kubelet_cases.json. A topology is {cpus: [[cpu, core, socket, numa,
 * uncore]]}.
 */
#include "tests/vectors/kubelet_cases.h"

#include "common/cleanup.h"
#include "scoring/kubelet.h"
#include "tests/lib/peers.h"

static void read_machine(const vj *root, const vj *c, struct machine *m)
{
	const vj *topology = vj_need(vj_need(root, "topologies"), vj_string(vj_need(c, "topology")));

	machine_init(m);
	VJ_FOREACH (row, vj_need(topology, "cpus")) {
		const vj *cpu = vj_first(row), *core = cpu ? vj_next(cpu) : NULL;
		const vj *socket = core ? vj_next(core) : NULL, *numa = socket ? vj_next(socket) : NULL;
		const vj *uncore = numa ? vj_next(numa) : NULL;

		if (!uncore)
			vj_die(row, "not a CPU");
		kv_add_cpu(m, vj_unsigned(cpu), vj_unsigned(core), (int)vj_int(socket), (int)vj_int(numa),
			(int)vj_int(uncore));
	}
}

/* The policy of a case: its topology and options; reserved CPUs by list, or by number where the case says so.
 */
static bool make_policy(const vj *root, const vj *c, struct kv_policy *p, struct err *err)
{
	const vj *list = vj_get(c, "reserved"), *count = vj_get(c, "reserved_count");
	const vj *given = vj_get(c, "reserved_given_as");
	bool picked = given && !strncmp(vj_string(given), "count", 5);
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = list ? vj_cpuset(list) : hwloc_bitmap_alloc();

	read_machine(root, c, &p->machine);
	return kv_policy_init(p,
		vj_get(c, "options") ? kv_cpu_options(vj_get(c, "options")) : (struct cpu_manager_options){0},
		picked ? NULL : reserved, count ? vj_unsigned(count) : cpuset_size(reserved), err);
}

static void need_policy(const vj *root, const vj *c, struct kv_policy *p)
{
	struct err err = {""};

	if (!make_policy(root, c, p, &err))
		vj_die(c, "no such static policy: %s", err.text);
}

static void check_text(struct vectors_run *run, const char *what, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		vectors_differ(run, "%s: '%s', recorded '%s'", what, got, want);
}

/* Compare element positions with recorded ids, in order, or as a sorted list. */
static void check_order(struct vectors_run *run, const struct cpu_elements *e, const unsigned *cpu_ids,
	const uint32_t *list, size_t n, const vj *want, bool in_order)
{
	size_t i = 0;

	if (n != vj_count(want)) {
		vectors_differ(run, "%zu elements, recorded %zu", n, vj_count(want));
		return;
	}
	VJ_FOREACH (id, want) {
		bool found = false;

		for (size_t k = in_order ? i : 0; k < (in_order ? i + 1 : n); k++)
			found = found || (e ? e->ids[list[k]] : (int)cpu_ids[list[k]]) == (int)vj_int(id);
		if (!found)
			vectors_differ(run, "element %zu is not the recorded %d", i, (int)vj_int(id));
		i++;
	}
}

static void check_level(
	struct vectors_run *run, struct kv_policy *p, enum cpu_level level, const vj *c, const char *key)
{
	const vj *ordered = vj_get(c, key);
	const uint32_t *list;
	size_t n = cpu_take_order(p->ws, level, true, p->available, &list);

	check_order(run, &p->topology.levels[level], NULL, list, n,
		ordered ? ordered : vj_need(c, "expected_sorted"), ordered != NULL);
}

static void run_ordering(struct vectors_run *run, const vj *root, const vj *c)
{
	const char *op = vj_string(vj_need(c, "op"));
	struct kv_policy p = {0};
	const uint32_t *list;

	need_policy(root, c, &p);
	kv_read_set(&p.topology, vj_need(c, "available"), p.available);
	if (!strcmp(op, "free_sockets")) {
		check_level(run, &p, CPU_LEVEL_SOCKET, c, "expected_in_order");
	} else if (!strcmp(op, "free_numa_nodes")) {
		check_level(run, &p, CPU_LEVEL_NUMA, c, "expected_in_order");
	} else if (!strcmp(op, "free_cores")) {
		check_level(run, &p, CPU_LEVEL_CORE, c, "expected_in_order");
	} else if (!strcmp(op, "free_sockets_and_numa")) {
		check_level(run, &p, CPU_LEVEL_SOCKET, c, "expected_sockets_in_order");
		check_level(run, &p, CPU_LEVEL_NUMA, c, "expected_numa_in_order");
	} else if (!strcmp(op, "free_cpus_packed_order")) {
		size_t n = cpu_take_cpu_order(p.ws, &p.manager.rules, p.available, &list);

		check_order(run, NULL, p.topology.ids, list, n, vj_need(c, "expected_in_order"), true);
	} else {
		vj_die(c, "unknown op");
	}
	kv_policy_release(&p);
}

/* Take by the case's options; CPUs and error are compared. */
static void check_take(struct vectors_run *run, struct kv_policy *p, const vj *c)
{
	struct cpu_take take;
	char text[160];

	kv_read_set(&p->topology, vj_need(c, "available"), p->available);
	take = cpu_take(p->ws, &p->manager.rules, p->available, vj_unsigned(vj_need(c, "request")), p->taken);
	kv_take_error(take, text, sizeof(text));
	check_text(run, "error", text, vj_string(vj_need(c, "expected_error")));
	kv_check_cpus(run, "taken", &p->topology, p->taken, vj_string(vj_need(c, "expected_cpus")));
}

static void run_take(struct vectors_run *run, const vj *root, const vj *c)
{
	const vj *group = vj_get(c, "cpu_group_size"), *floor = vj_get(c, "also_true_of_floor_variant");
	struct kv_policy p = {0};

	need_policy(root, c, &p);
	if (group)
		p.manager.rules.group = vj_unsigned(group);
	check_take(run, &p, c);
	p.manager.rules.version.uncore_rounds_down = true;
	if (floor && vj_bool(floor))
		check_take(run, &p, c);
	kv_policy_release(&p);
}

static void run_static_allocate(struct vectors_run *run, const vj *root, const vj *c)
{
	const vj *numa = vj_get(c, "topology_hint");
	const struct topology_hint hint = {.any_node = !numa, .nodes = kv_mask(numa)};
	size_t n = vj_unsigned(vj_need(c, "request"));
	struct kv_policy p = {0};
	char text[200];

	need_policy(root, c, &p);
	kv_check_cpus(run, "reserved", &p.topology, p.manager.reserved, vj_string(vj_need(c, "reserved")));
	kv_read_set(&p.topology, vj_need(c, "default_cpuset"), p.shared);
	kv_smt_error(&p, n, text, sizeof(text));
	if (!text[0])
		kv_take_error(
			cpu_manager_allocate(&p.manager, p.ws, p.shared, NULL, n, hint, p.scratch, p.taken),
			text, sizeof(text));
	check_text(run, "error", text, vj_string(vj_need(c, "expected_error")));
	kv_check_cpus(run, "taken", &p.topology, p.taken, vj_string(vj_need(c, "expected_cpus")));
	kv_policy_release(&p);
}

/* Containers one after the other; the uncore caches that all of them together touch are compared. */
static void run_static_uncore(struct vectors_run *run, const vj *root, const vj *c)
{
	const struct topology_hint anywhere = {.any_node = true};
	const vj *first = vj_get(c, "expected_cpus_first_container");
	CLEANUP(cpuset_freep) hwloc_bitmap_t want = vj_ids(vj_need(c, "expected_uncore_ids"));
	CLEANUP(cpuset_freep) hwloc_bitmap_t got = hwloc_bitmap_alloc();
	CLEANUP(freep) char *text = NULL;
	struct kv_policy p = {0};

	need_policy(root, c, &p);
	kv_read_set(&p.topology, vj_need(c, "available_after_reserved"), p.shared);
	for (size_t i = 0; i < p.topology.n_cpus; i++)
		p.shared[i] = p.shared[i] || p.manager.reserved[i];
	VJ_FOREACH (n, vj_need(c, "container_requests")) {
		struct cpu_take take = cpu_manager_allocate(
			&p.manager, p.ws, p.shared, NULL, vj_unsigned(n), anywhere, p.scratch, p.taken);
		const struct cpu_elements *uncores = &p.topology.levels[CPU_LEVEL_UNCORE];

		if (take.status != CPU_TAKE_OK)
			vectors_differ(run, "%u CPUs are not taken", vj_unsigned(n));
		for (size_t i = 0; i < p.topology.n_cpus; i++)
			if (p.taken[i])
				hwloc_bitmap_set(got, (unsigned)uncores->ids[uncores->of[i]]);
		if (first)
			kv_check_cpus(run, "first container", &p.topology, p.taken, vj_string(first));
		first = NULL;
	}
	text = cpuset_print(got);
	if (!hwloc_bitmap_isequal(got, want))
		vectors_differ(run, "uncore caches %s, not the recorded", text);
	kv_policy_release(&p);
}

static void run_static_start(struct vectors_run *run, const vj *root, const vj *c)
{
	const vj *refused = vj_get(c, "new_policy_error"), *error = vj_get(c, "error");
	const vj *want = vj_get(c, "expected_default");
	struct kv_policy p = {0};
	struct allocations a;
	struct err err = {""};

	allocations_init(&a);
	VJ_FOREACH (pod, vj_need(c, "assignments"))
		VJ_FOREACH (container, pod) {
			struct allocation *item = allocations_add(&a);

			free(item->pod_uid);
			free(item->container);
			item->pod_uid = strdup(vj_key(pod));
			item->container = strdup(vj_key(container));
			hwloc_bitmap_free(item->cpus);
			item->cpus = vj_cpuset(container);
		}
	a.shared = vj_cpuset(vj_need(c, "default"));
	if (!make_policy(root, c, &p, &err)) {
		const char *text = refused ? vj_string(refused) : "";

		check_text(run, "new policy", err.text, text + (strncmp(text, "[cpumanager] ", 13) ? 0 : 13));
	} else {
		if (refused)
			vectors_differ(run, "the policy is made, recorded '%s'", vj_string(refused));
		cpu_manager_check_state(&p.manager, &a, p.shared, &err);
		check_text(run, "start", err.text, error ? vj_string(error) : "");
		if (want)
			kv_check_cpus(run, "default", &p.topology, p.shared, vj_string(want));
	}
	allocations_release(&a);
	kv_policy_release(&p);
}

/* A pod of containers with whole CPUs; CONTAINER_SIDECAR where `restartable`. */
static void add_container(struct pod_request *pod, enum container_kind kind, unsigned cpus)
{
	struct container_request *container = pod_request_add(pod, kind, "c");

	resource_list_set(&container->requests, "cpu", quantity_from_units(cpus));
}

/* set[] = the CPUs of the placements first..last-1. */
static void placed_cpus(
	const struct kubelet_verdict *v, const struct cpu_topology *t, size_t first, size_t last, bool *set)
{
	memset(set, 0, t->n_cpus * sizeof(*set));
	for (size_t i = first; i < last; i++)
		for (size_t cpu = 0; cpu < t->n_cpus && v->placements[i].cpus; cpu++)
			set[cpu] = set[cpu] || v->placements[i].cpus[cpu];
}

/* A whole pod through the kubelet's verdict, under Topology Manager policy none; no CPU is reserved. */
static void run_static_reuse(struct vectors_run *run, const vj *root, const vj *c)
{
	const vj *removed = vj_get(c, "default_after_remove");
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = vj_cpuset(vj_need(c, "default_before"));
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = hwloc_bitmap_alloc();
	struct settings settings;
	struct kubelet_node node = {.settings = &settings, .shared = shared};
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct kubelet_verdict verdict;
	struct kv_policy p = {0};
	struct pod_request pod;
	struct kubelet k;

	need_policy(root, c, &p);
	pod_request_init(&pod);
	VJ_FOREACH (init, vj_need(c, "init"))
		add_container(&pod,
			vj_bool(vj_need(init, "restartable")) ? CONTAINER_SIDECAR : CONTAINER_INIT,
			vj_unsigned(vj_need(init, "cpus")));
	VJ_FOREACH (app, vj_need(c, "app"))
		add_container(&pod, CONTAINER_APP, vj_unsigned(app));
	settings_init(&settings);
	settings.cpu_manager = CPU_MANAGER_STATIC;
	settings.memory_manager = MEMORY_MANAGER_NONE;
	settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	node.machine = &p.machine;
	node.reserved = reserved;
	kubelet_init(&k, &node);
	ws = kubelet_workspace_new(&k);
	kubelet_judge(&k, ws, &pod, QOS_GUARANTEED, &verdict);
	if (verdict.answer != KUBELET_ADMITS || verdict.n_placements != pod.n_containers)
		vj_die(c, "not admitted: %s", verdict.reason.text);
	kv_read_set(&p.topology, vj_need(c, "default_before"), p.shared);
	placed_cpus(&verdict, &p.topology, 0, pod.n_containers, p.taken);
	for (size_t i = 0; i < p.topology.n_cpus; i++)
		p.shared[i] = p.shared[i] && !p.taken[i];
	kv_check_cpus(run, "after", &p.topology, p.shared, vj_string(vj_need(c, "default_after_alloc")));
	if (removed) {
		check_text(run, "removed", vj_string(vj_need(c, "then_remove")), "initContainer-0");
		placed_cpus(&verdict, &p.topology, 0, 1, p.taken);
		placed_cpus(&verdict, &p.topology, 1, pod.n_containers, p.available);
		cpu_manager_remove(&p.topology, p.taken, p.available, p.shared);
		kv_check_cpus(run, "removed", &p.topology, p.shared, vj_string(removed));
	}
	kubelet_workspace_freep(&ws);
	kubelet_release(&k);
	settings_release(&settings);
	pod_request_release(&pod);
	kv_policy_release(&p);
}

static void run_static_remove(struct vectors_run *run, const vj *root, const vj *c)
{
	const char *remove = vj_string(vj_need(c, "remove"));
	struct kv_policy p = {0};

	need_policy(root, c, &p);
	kv_read_set(&p.topology, vj_need(c, "default"), p.shared);
	VJ_FOREACH (container, vj_need(c, "assignments")) {
		bool *set = strcmp(vj_key(container), remove) ? p.available : p.taken;

		kv_read_set(&p.topology, container, p.scratch[0]);
		for (size_t i = 0; i < p.topology.n_cpus; i++)
			set[i] = set[i] || p.scratch[0][i];
	}
	cpu_manager_remove(&p.topology, p.taken, p.available, p.shared);
	kv_check_cpus(run, "default", &p.topology, p.shared, vj_string(vj_need(c, "expected_default")));
	kv_policy_release(&p);
}

/* A container without CPU makes its pod Burstable. */
static void run_pod_cpus(struct vectors_run *run, const vj *root, const vj *c)
{
	enum qos_class qos = QOS_GUARANTEED;
	struct pod_request pod;
	size_t n;

	(void)root;
	pod_request_init(&pod);
	VJ_FOREACH (init, vj_need(c, "init")) {
		const vj *cpus = vj_first(init);

		add_container(
			&pod, vj_bool(vj_next(cpus)) ? CONTAINER_SIDECAR : CONTAINER_INIT, vj_unsigned(cpus));
		qos = vj_unsigned(cpus) ? qos : QOS_BURSTABLE;
	}
	VJ_FOREACH (app, vj_need(c, "app")) {
		add_container(&pod, CONTAINER_APP, vj_unsigned(app));
		qos = vj_unsigned(app) ? qos : QOS_BURSTABLE;
	}
	n = kubelet_pod_exclusive_cpus(&pod, qos);
	if (n != vj_unsigned(vj_need(c, "expected")))
		vectors_differ(run, "%zu CPUs, recorded %u", n, vj_unsigned(vj_need(c, "expected")));
	pod_request_release(&pod);
}

static void run_hints(struct vectors_run *run, const vj *root, const vj *c)
{
	const vj *allocated = vj_get(c, "already_allocated");
	size_t n = vj_unsigned(vj_need(c, "request"));
	struct topology_hints hints = {0};
	struct kv_policy p = {0};

	need_policy(root, c, &p);
	topology_hints_init(&hints, (unsigned)p.machine.n_nodes);
	kv_read_set(&p.topology, allocated ? allocated : vj_need(c, "available"), p.available);
	if (allocated)
		cpu_manager_hints_again(&p.manager, p.available, n, &hints);
	else
		cpu_manager_hints(&p.manager, p.available, NULL, n, &hints);
	kv_check_hints(run, "hints", &hints, vj_need(c, "expected_hints"));
	topology_hints_release(&hints);
	kv_policy_release(&p);
}

static void check_counts(struct vectors_run *run, const struct kv_policy *p, const char *what, const vj *want)
{
	const struct cpu_elements *numas = &p->topology.levels[CPU_LEVEL_NUMA];
	size_t x = 0;

	VJ_FOREACH (count, want) {
		unsigned n = 0;

		for (uint32_t k = numas->first[x]; k < numas->first[x + 1]; k++)
			n += p->taken[numas->cpus[k]];
		if (n != vj_unsigned(count))
			vectors_differ(run, "%s: %u CPUs on NUMA node %d, predicted %u", what, n,
				numas->ids[x], vj_unsigned(count));
		x++;
	}
}

/* What keeping references to growing slices does to the distribution. */
static void run_emulation(struct vectors_run *run, const vj *root, const vj *c)
{
	size_t n = vj_unsigned(vj_need(c, "request"));
	const struct cpu_elements *numas;
	struct kv_policy p = {0};
	size_t x = 0;

	need_policy(root, c, &p);
	p.manager.rules.distribute = true;
	p.manager.rules.group = vj_unsigned(vj_need(c, "cpu_group_size"));
	numas = &p.topology.levels[CPU_LEVEL_NUMA];
	VJ_FOREACH (count, vj_need(c, "available_per_numa")) {
		uint32_t half = cpu_element_size(&p.topology, CPU_LEVEL_NUMA, x) / 2;

		/* The first count/2 cores; the second half of a node's CPUs are the siblings. */
		for (uint32_t k = 0; k < vj_unsigned(count) / 2; k++) {
			p.available[numas->cpus[numas->first[x] + k]] = true;
			p.available[numas->cpus[numas->first[x] + half + k]] = true;
		}
		x++;
	}
	cpu_take(p.ws, &p.manager.rules, p.available, n, p.taken);
	check_counts(run, &p, "shared", vj_need(c, "aliasing_counts_per_numa"));
	kv_policy_release(&p);
}

static void run_emulations(struct vectors_run *run, const vj *root, const vj *c)
{
	VJ_FOREACH (each, c)
		run_emulation(run, root, each);
}

const struct kubelet_section kubelet_cpu_sections[] = {
	{"ordering", run_ordering},
	{"take_packed", run_take},
	{"take_distributed", run_take},
	{"static_policy_allocate", run_static_allocate},
	{"static_policy_uncore", run_static_uncore},
	{"static_policy_start", run_static_start},
	{"static_policy_reuse", run_static_reuse},
	{"static_policy_remove", run_static_remove},
	{"pod_guaranteed_cpus", run_pod_cpus},
	{"cpu_topology_hints", run_hints},
	{"emulation_only.cases", run_emulations},
	{"", NULL},
};
