/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/known_machine.h"

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/node_derive.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

#define GIB (1ull << 30)

/* Two NUMA nodes of 4 CPUs and 8 GiB each. */
static const struct synthetic two_nodes = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 1, .memory_bytes = 8 * GIB};

/* One NUMA node of 4 cores of 2 threads. */
static const struct synthetic one_node_of_threads = {
	.sockets = 1, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 8 * GIB};

static hwloc_bitmap_t set_of(const char *list)
{
	hwloc_bitmap_t set = NULL;

	assert_int_equal(cpuset_parse(list, &set, NULL), 0);
	return set;
}

static void assert_set(const char *what, hwloc_const_bitmap_t set, const char *want)
{
	CLEANUP(freep) char *text = cpuset_print(set);

	test_assert_text(what, text, want);
}

/* A kubelet with the static policy, its shared pool, and 1 CPU reserved by number. */
static void init_node(struct node_state *node, const struct synthetic *shape, const char *shared)
{
	node_state_init(node);
	synthetic_machine(shape, &node->machine);
	for (size_t i = 0; i < node->machine.n_nodes; i++)
		node->machine.memory_bytes += node->machine.memory_bytes ? 0 : shape->memory_bytes;
	node->settings.cpu_manager = CPU_MANAGER_STATIC;
	node->settings.memory_manager = MEMORY_MANAGER_NONE;
	node->settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	node->settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	node->settings.topology.max_numa_nodes = 8;
	node->settings.reserved_known = true;
	node->settings.kube_reserved_cpu = QTY_UNIT;
	node->allocations.cpus_known = true;
	node->allocations.shared = set_of(shared);
}

static void hold(struct node_state *node, const char *cpus)
{
	struct allocation *item = allocations_add_container(&node->allocations, "uid", cpus);

	hwloc_bitmap_free(item->cpus);
	item->cpus = set_of(cpus);
}

static void reserve(struct node_state *node, const char *cpus)
{
	node->settings.reserved_system_cpus = set_of(cpus);
	text_set(&node->settings.from[SETTING_RESERVED_SYSTEM_CPUS], "a file");
}

/* Remove CPUs, as when they go offline. */
static void remove_cpus(struct machine *m, const char *list)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t gone = set_of(list);
	size_t kept = 0;

	for (size_t i = 0; i < m->n_cpus; i++)
		if (!hwloc_bitmap_isset(gone, m->cpus[i].id))
			m->cpus[kept++] = m->cpus[i];
	m->n_cpus = kept;
	cpuset_andnot(m->online, m->online, gone);
	for (size_t i = 0; i < m->n_nodes; i++)
		cpuset_andnot(m->nodes[i].cpus, m->nodes[i].cpus, gone);
	for (size_t i = 0; i < m->n_sockets; i++)
		cpuset_andnot(m->sockets[i].cpus, m->sockets[i].cpus, gone);
}

/* A NUMA node of the memory manager's state, with this much memory, all of it free. */
static void know_node(struct node_state *node, unsigned id, uint64_t bytes)
{
	struct memory_state *m = &node->allocations.memory;
	struct memory_node *memory = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*memory));
	struct memory_table *table =
		vec_push(&memory->tables, &memory->n_tables, &memory->tables_size, sizeof(*table));

	node->allocations.memory_known = true;
	node->settings.memory_manager = MEMORY_MANAGER_STATIC;
	memory->id = id;
	memory->cells = cpuset_new();
	cpuset_set(memory->cells, id);
	table->type = strdup("memory");
	table->total = table->allocatable = table->free = bytes;
}

static enum kubelet_answer judge(const struct node_state *node, const char *text)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct kubelet_verdict v;

	node_admission_init(&admission, node);
	pod_from_text(&pod, text);
	node_admission_judge(&admission, &pod, &v);
	return v.answer;
}

static uint64_t available(const struct node_state *node, size_t at, const char *name)
{
	int resource = inventory_resource(&node->inventory, name);

	assert_true(resource >= 0);
	return (uint64_t)(inventory_amount(&node->inventory, at, (size_t)resource)->available / QTY_UNIT);
}

static void derive(struct node_state *node, struct notes *notes)
{
	const struct derive_config config = {0};
	struct err err = {""};

	if (node_derive(&config, node, notes, &err) < 0)
		fail_msg("%s", err.text);
}

static bool noted(const struct notes *notes, const char *text)
{
	for (size_t i = 0; i < notes->lines.n_items; i++)
		if (strstr(notes->lines.items[i], text))
			return true;
	return false;
}

static void the_hardware_is_the_kubelet_s_machine(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};
	struct machine machine;

	(void)state;
	init_node(&node, &two_nodes, "0-3,6-7");
	hold(&node, "4-5");
	assert_false(known_machine_differs(&node, &machine));
	know_node(&node, 0, 8 * GIB);
	know_node(&node, 1, 8 * GIB);
	assert_false(known_machine_differs(&node, &machine));
	known_machine_note(&node, &notes);
	assert_int_equal(notes.lines.n_items, 0);
	/* The kubelet fills in its state when it starts. */
	hwloc_bitmap_zero(node.allocations.items[0].cpus);
	hwloc_bitmap_zero(node.allocations.shared);
	assert_null(known_machine_cpus(&node));
	assert_false(known_machine_differs(&node, &machine));
	/* Policy none keeps no state. */
	node.settings.cpu_manager = CPU_MANAGER_NONE;
	assert_null(known_machine_cpus(&node));
	assert_false(known_machine_differs(&node, &machine));
}

/* NUMA node 2 with CPUs, memory, hugepages and a device that appeared after the kubelet's start, known by the memory manager's state or
 * by the CPU manager's. */
static void what_appeared_is_not_available(void **state)
{
	(void)state;
	for (int by_memory = 0; by_memory < 2; by_memory++) {
		CLEANUP(node_state_release) struct node_state node;
		CLEANUP(notes_release) struct notes notes = {0};
		CLEANUP(machine_release) struct machine machine;
		CLEANUP(cpuset_freep) hwloc_bitmap_t near = set_of("1-2");
		CLEANUP(cpuset_freep) hwloc_bitmap_t far = set_of("2");
		struct allocations *a = &node.allocations;
		struct hugepage_pool *pool;

		machine_init(&machine);
		init_node(&node,
			&(struct synthetic){.sockets = 3,
				.numas = 1,
				.uncores = 1,
				.cores = 4,
				.threads = 1,
				.memory_bytes = 8 * GIB},
			"0-7");
		node.machine.memory_bytes = 24 * GIB;
		pool = vec_push(&node.machine.nodes[2].pools, &node.machine.nodes[2].n_pools,
			&node.machine.nodes[2].pools_size, sizeof(*pool));
		*pool = (struct hugepage_pool){.page_bytes = GIB, .pages = 2};
		if (by_memory) {
			know_node(&node, 0, 8 * GIB);
			know_node(&node, 1, 8 * GIB);
		}
		a->registered_known = a->devices_known = true;
		device_blocks_add(
			&a->registered, &a->n_registered, &a->registered_size, "v/nic", near, false, "a");
		device_blocks_add(
			&a->registered, &a->n_registered, &a->registered_size, "v/nic", far, false, "b");
		derive(&node, &notes);
		assert_int_equal(available(&node, 2, "cpu"), 0);
		assert_int_equal(available(&node, 2, "memory"), 0);
		assert_int_equal(available(&node, 2, "hugepages-1Gi"), 0);
		assert_int_equal(available(&node, 2, "v/nic"), 0);
		assert_int_equal(available(&node, 1, "v/nic"), 1);
		assert_int_equal(available(&node, 1, "memory"), 8 * GIB);
		assert_true(noted(
			&notes, "NUMA node 2: none of its CPUs, memory, hugepages and devices is available"));
		assert_true(noted(&notes,
			"to use it, drain the node, stop the kubelet, remove cpu_manager_state and memory_manager_state"));
		assert_false(noted(&notes, "CPUs 8"));
		assert_true(known_machine_differs(&node, &machine));
		assert_set("CPUs", machine.online, "0-7");
		assert_int_equal(machine.n_nodes, 2);
		assert_int_equal(machine_distance(&machine, 0, 1), machine_distance(&node.machine, 0, 1));
		assert_int_equal(known_machine_memory(&node).bytes, 16 * GIB);
		/* The whole node's amounts are the kubelet's too. */
		assert_int_equal(judge(&node, "app cpu=7 memory=15Gi | memory=99Gi"), KUBELET_ADMITS);
		assert_int_equal(judge(&node, "app cpu=8 memory=1Gi | memory=99Gi"), KUBELET_REJECTS);
		assert_int_equal(judge(&node, "app cpu=1 memory=17Gi | memory=99Gi"), KUBELET_REJECTS);
	}
}

/* A damaged memory_manager_state lacks NUMA node 1, whose CPUs the CPU manager has. */
static void a_node_is_known_by_its_cpus(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	init_node(&node, &two_nodes, "0-7");
	know_node(&node, 0, 8 * GIB);
	derive(&node, &notes);
	assert_int_equal(available(&node, 1, "cpu"), 4);
	assert_int_equal(available(&node, 1, "memory"), 0);
	assert_false(noted(&notes, "NUMA node 1"));
}

static void cpus_and_memory_that_appeared_are_noted(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	init_node(&node, &two_nodes, "0-5");
	know_node(&node, 0, 8 * GIB);
	know_node(&node, 1, 4 * GIB);
	derive(&node, &notes);
	assert_int_equal(available(&node, 1, "cpu"), 2);
	assert_int_equal(available(&node, 1, "memory"), 4 * GIB);
	assert_true(noted(&notes, "CPUs 6-7 are not available"));
	assert_true(noted(&notes, "NUMA node 1: 4294967296 bytes of memory are not available"));
	assert_false(noted(&notes, "NUMA node 0"));
	assert_int_equal(judge(&node, "app cpu=5 memory=1Gi | memory=99Gi"), KUBELET_ADMITS);
	assert_int_equal(judge(&node, "app cpu=6 memory=1Gi | memory=99Gi"), KUBELET_REJECTS);
}

/* NUMA node 1 without CPUs appeared; only the pod-resources API is read, which names nodes with allocatable memory. */
static void a_node_that_the_api_does_not_name_is_not_available(void **state)
{
	static const struct synthetic one_node = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 4, .threads = 1, .memory_bytes = 8 * GIB};
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(cpuset_freep) hwloc_bitmap_t near = set_of("1");
	struct allocations *a = &node.allocations;
	char type[] = "memory";
	struct memory_block block = {.type = type, .bytes = 7 * GIB, .nodes = set_of("0")};

	(void)state;
	init_node(&node, &one_node, "0-3");
	hwloc_bitmap_free(TAKE(a->shared));
	node.allocatable_cpus = set_of("1-3");
	machine_add_node(&node.machine, 1, MACHINE_NONE, "", 8 * GIB);
	free(TAKE(node.machine.distances));
	memory_state_from_blocks(&node.machine, &block, 1, a, &a->memory);
	a->memory_known = a->registered_known = a->devices_known = true;
	node.settings.memory_manager = MEMORY_MANAGER_STATIC;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, "v/nic", near, false, "a");
	derive(&node, &notes);
	assert_int_equal(available(&node, 0, "memory"), 7 * GIB);
	assert_int_equal(available(&node, 0, "cpu"), 3);
	assert_int_equal(available(&node, 1, "memory"), 0);
	assert_int_equal(available(&node, 1, "v/nic"), 0);
	assert_true(noted(&notes, "NUMA node 1: none of its CPUs"));
	hwloc_bitmap_free(block.nodes);
}

/* CPUs between the kubelet's two writes are in no set of its state, but the API reports them as allocatable. */
static void cpus_in_flight_are_not_new(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	init_node(&node, &two_nodes, "0-3");
	node.allocatable_cpus = set_of("1-7");
	derive(&node, &notes);
	assert_int_equal(available(&node, 1, "cpu"), 0);
	assert_int_equal(available(&node, 1, "memory"), 8 * GIB);
	assert_int_equal(notes.lines.n_items, 0);
	assert_set("reserved", node.reserved.cpus, "0");
}

/* Strictly reserved CPUs are in no set of the state either. */
static void strictly_reserved_cpus_are_known(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};
	struct machine machine;

	(void)state;
	init_node(&node, &two_nodes, "4-7");
	node.settings.cpu_options.strict_cpu_reservation = true;
	reserve(&node, "0-3");
	derive(&node, &notes);
	assert_int_equal(notes.lines.n_items, 0);
	assert_int_equal(available(&node, 0, "memory"), 8 * GIB);
	assert_false(known_machine_differs(&node, &machine));
}

/* The kubelet reserved CPU 0, the first of equal sockets. Without CPU 7 the second socket would be the fuller one. */
static void reserved_cpus_are_those_of_the_kubelet_s_start(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	init_node(&node, &two_nodes, "0,3-7");
	hold(&node, "1-2");
	remove_cpus(&node.machine, "7");
	derive(&node, &notes);
	assert_set("reserved", node.reserved.cpus, "0");
	assert_int_equal(available(&node, 0, "cpu"), 1);
	assert_int_equal(available(&node, 1, "cpu"), 3);
}

static void a_listed_reserved_cpu_may_vanish(void **state)
{
	(void)state;
	for (int strict = 0; strict < 2; strict++) {
		CLEANUP(node_state_release) struct node_state node;
		CLEANUP(notes_release) struct notes notes = {0};

		init_node(&node, &two_nodes, strict ? "1-6" : "0-7");
		node.settings.cpu_options.strict_cpu_reservation = strict;
		reserve(&node, "0,7");
		remove_cpus(&node.machine, "7");
		derive(&node, &notes);
		assert_set("reserved", node.reserved.cpus, "0");
		assert_int_equal(available(&node, 0, "cpu"), 3);
		assert_int_equal(available(&node, 1, "cpu"), 3);
		assert_int_equal(judge(&node, "app cpu=3 memory=1Gi"), KUBELET_ADMITS);
	}
}

/* The kubelet counts 4 CPUs on each NUMA node: a pod with 4 CPUs must get them from one node. */
static void a_numa_node_is_as_large_as_at_the_kubelet_s_start(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	init_node(&node, &two_nodes, "0-3,5-7");
	hold(&node, "4");
	remove_cpus(&node.machine, "3,7");
	derive(&node, &notes);
	assert_int_equal(judge(&node, "app cpu=4 memory=1Gi"), KUBELET_REJECTS);
	assert_int_equal(judge(&node, "app cpu=2 memory=1Gi"), KUBELET_ADMITS);
}

/* Simultaneous multithreading was turned off after the kubelet's start, which still counts two threads per core. */
static void cores_are_as_large_as_at_the_kubelet_s_start(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	machine_init(&machine);
	init_node(&node, &one_node_of_threads, "0-7");
	node.settings.cpu_options.full_pcpus_only = true;
	remove_cpus(&node.machine, "4-7");
	derive(&node, &notes);
	assert_true(known_machine_differs(&node, &machine));
	assert_set("CPUs", machine.online, "0-7");
	assert_int_equal(machine_cpu(&machine, 4)->core, 0);
	assert_int_equal(machine_cpu(&machine, 7)->core, 3);
	assert_int_equal(judge(&node, "app cpu=1 memory=1Gi"), KUBELET_REJECTS);
	assert_true(hwloc_bitmap_isincluded(node.reserved.cpus, node.machine.online));
	assert_true(available(&node, 0, "cpu") <= 3);
}

/* CPUs 0 and 4, a core, are reserved strictly by number. CPU 4 is gone, of which no state has the id, and CPU 5, which is held. */
static void strictly_reserved_cpus_may_vanish(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	machine_init(&machine);
	init_node(&node, &one_node_of_threads, "2-3,6-7");
	hold(&node, "1,5");
	node.settings.cpu_options.full_pcpus_only = node.settings.cpu_options.strict_cpu_reservation = true;
	node.settings.kube_reserved_cpu = 2 * QTY_UNIT;
	remove_cpus(&node.machine, "4-5");
	derive(&node, &notes);
	assert_true(known_machine_differs(&node, &machine));
	assert_set("CPUs", machine.online, "0-7");
	assert_int_equal(machine_cpu(&machine, 4)->core, 0);
	assert_int_equal(machine_cpu(&machine, 5)->core, 1);
	assert_int_equal(available(&node, 0, "cpu"), 4);
	assert_int_equal(judge(&node, "app cpu=1 memory=1Gi"), KUBELET_REJECTS);
	assert_int_equal(judge(&node, "app cpu=4 memory=1Gi"), KUBELET_ADMITS);
}

/*
 * Cores of one and of two CPUs. The kubelet reserved CPU 3 strictly, and a container holds it with CPU 2: kubelets up to 1.37 do that, and
 * no CPU is missing. If the machine has one CPU less, the state proves nothing, and more CPUs rather than fewer count as reserved.
 */
static void a_reserved_cpu_may_be_given_away(void **state)
{
	(void)state;
	for (unsigned minor = 37; minor <= 38; minor++) {
		CLEANUP(node_state_release) struct node_state node;
		CLEANUP(machine_release) struct machine machine;
		CLEANUP(notes_release) struct notes notes = {0};

		machine_init(&machine);
		init_node(&node, &one_node_of_threads, "0-1,4-6");
		remove_cpus(&node.machine, "7");
		hold(&node, "2-3");
		node.settings.cpu_options.strict_cpu_reservation = true;
		node.settings.kubelet_minor = minor;
		derive(&node, &notes);
		assert_int_equal(known_machine_differs(&node, &machine), minor > 37);
		if (minor == 37)
			assert_set("reserved", node.reserved.cpus, "3");
	}
}

/* The state of another machine does not make a machine. */
static void too_many_missing_cpus_are_ignored(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(machine_release) struct machine machine;

	(void)state;
	machine_init(&machine);
	init_node(&node, &two_nodes, "0-8191");
	assert_true(known_machine_differs(&node, &machine));
	assert_int_equal(machine.n_cpus, 8);
}

/* NUMA node 1 lists CPUs that belong to node 0. The node state has only to which node a CPU belongs, and gives the same verdicts. */
static void a_vanished_cpu_was_where_own_cpus_are_missing(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(cpuset_freep) hwloc_bitmap_t others = set_of("0-1");

	(void)state;
	init_node(&node, &two_nodes, "0-7");
	remove_cpus(&node.machine, "5");
	cpuset_or(node.machine.nodes[1].cpus, node.machine.nodes[1].cpus, others);
	assert_true(known_machine_differs(&node, &machine));
	assert_int_equal(machine_cpu(&machine, 5)->numa, 1);
}

/* A NUMA node without CPUs has vanished. Pods cannot run there, and its memory is not on offer. */
static void memory_of_a_vanished_node_is_not_given(void **state)
{
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(notes_release) struct notes notes = {0};

	(void)state;
	init_node(&node, &two_nodes, "0-7");
	node.machine.memory_bytes = 16 * GIB;
	know_node(&node, 0, 8 * GIB);
	know_node(&node, 1, 8 * GIB);
	know_node(&node, 2, 64 * GIB);
	node.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	derive(&node, &notes);
	assert_int_equal(judge(&node, "app cpu=1 memory=8Gi"), KUBELET_ADMITS);
	node.allocations.memory.nodes[0].tables[0].free = node.allocations.memory.nodes[1].tables[0].free =
		GIB;
	assert_int_equal(judge(&node, "app cpu=1 memory=3Gi"), KUBELET_REJECTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hardware_is_the_kubelet_s_machine),
		cmocka_unit_test(what_appeared_is_not_available),
		cmocka_unit_test(a_node_is_known_by_its_cpus),
		cmocka_unit_test(cpus_and_memory_that_appeared_are_noted),
		cmocka_unit_test(a_node_that_the_api_does_not_name_is_not_available),
		cmocka_unit_test(cpus_in_flight_are_not_new),
		cmocka_unit_test(strictly_reserved_cpus_are_known),
		cmocka_unit_test(reserved_cpus_are_those_of_the_kubelet_s_start),
		cmocka_unit_test(a_listed_reserved_cpu_may_vanish),
		cmocka_unit_test(a_numa_node_is_as_large_as_at_the_kubelet_s_start),
		cmocka_unit_test(cores_are_as_large_as_at_the_kubelet_s_start),
		cmocka_unit_test(strictly_reserved_cpus_may_vanish),
		cmocka_unit_test(a_reserved_cpu_may_be_given_away),
		cmocka_unit_test(too_many_missing_cpus_are_ignored),
		cmocka_unit_test(a_vanished_cpu_was_where_own_cpus_are_missing),
		cmocka_unit_test(memory_of_a_vanished_node_is_not_given),
	};

	return cmocka_run_group_tests_name("known_machine", tests, NULL, NULL);
}
