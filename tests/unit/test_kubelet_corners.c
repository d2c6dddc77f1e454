/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verdict cannot be made without, refusals that need a particular state, and the hints of containers
 * that hold their resources already.
 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/peers.h"
#include "tests/lib/pods.h"

#define GIB ((uint64_t)1 << 30)

static const struct synthetic two = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 8 * GIB};

/* Without a memory manager and its state. */
static void init(struct kubelet_fixture *f, const struct synthetic *s)
{
	kubelet_fixture_init(f, s, TOPOLOGY_MANAGER_RESTRICTED);
	f->settings.memory_manager = MEMORY_MANAGER_NONE;
	memory_state_release(&f->memory);
}

/* n nodes with one table of hugepages and one of memory each, all of it free but for most of the pages. */
static void add_memory(struct kubelet_fixture *f, unsigned n, unsigned first_id)
{
	f->settings.memory_manager = MEMORY_MANAGER_STATIC;
	f->memory.nodes = calloc(n, sizeof(*f->memory.nodes));
	assert_non_null(f->memory.nodes);
	for (unsigned i = 0; i < n; i++) {
		struct memory_node *node = &f->memory.nodes[f->memory.n_nodes++];

		node->id = first_id + i;
		node->cells = hwloc_bitmap_alloc();
		assert_non_null(node->cells);
		kubelet_fixture_add_table(node, "hugepages-1Gi", 4 * GIB);
		node->tables[0].free = GIB;
		kubelet_fixture_add_table(node, "memory", 8 * GIB);
	}
}

/* The verdict on one pod; its reason must begin with the text. */
static void assert_verdict(struct kubelet_fixture *f, const char *text, enum qos_class qos,
	enum kubelet_answer answer, enum kubelet_rejection rejection, const char *reason)
{
	CLEANUP(kubelet_workspace_freep) struct kubelet_workspace *ws = NULL;
	struct kubelet_verdict verdict;
	struct pod_request pod;
	struct kubelet k;

	pod_from_text(&pod, text);
	kubelet_init(&k, &f->node);
	ws = kubelet_workspace_new(&k);
	kubelet_judge(&k, ws, &pod, qos, &verdict);
	if (strncmp(verdict.reason.text, reason, strlen(reason)) != 0)
		test_assert_text(text, verdict.reason.text, reason);
	assert_int_equal(verdict.answer, answer);
	assert_int_equal(verdict.rejection, rejection);
	pod_request_release(&pod);
	kubelet_release(&k);
}

static void assert_unknown(struct kubelet_fixture *f, const char *reason)
{
	assert_verdict(
		f, "app cpu=2 memory=1Gi", QOS_GUARANTEED, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED, reason);
}

static void assert_panics(struct kubelet_fixture *f, const char *text, const char *why)
{
	char reason[200];

	snprintf(reason, sizeof(reason), "the kubelet would panic: %s", why);
	assert_verdict(f, text, QOS_GUARANTEED, KUBELET_REJECTS, KUBELET_PANICS, reason);
}

/* With a NUMA node id that a mask cannot hold, the first pod ends the kubelet, whatever the pod requests. */
static void ids_beyond_a_mask(void **state)
{
	static const char why[] = "a NUMA node id exceeds 63, the largest in a kubelet's mask";
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	for (size_t i = 0; i < 2; i++) {
		f.machine.nodes[i].id = 64;
		assert_panics(&f, "app cpu=2 memory=1Gi", why);
		assert_panics(&f, "app", why);
		f.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
		assert_unknown(&f, "the Topology Manager's policy is not known");
		f.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
		f.machine.nodes[i].id = (unsigned)i;
	}
	kubelet_fixture_release(&f);
}

/* 16 CPUs on the NUMA nodes 0 and 8: distances are a list of two, and the kubelet reads the one at position 8. */
static void ids_with_holes(void **state)
{
	static const struct {
		enum topology_manager_policy policy;
		unsigned minor;
		const char *pod;
		enum kubelet_answer answer;
	} cases[] = {
		/* Both NUMA nodes have a preferred hint, so their distances are compared. */
		{TOPOLOGY_MANAGER_RESTRICTED, 37, "app cpu=2 memory=1Gi", KUBELET_REJECTS},
		{TOPOLOGY_MANAGER_RESTRICTED, 38, "app cpu=2 memory=1Gi", KUBELET_REJECTS},
		{TOPOLOGY_MANAGER_BEST_EFFORT, 36, "app cpu=2 memory=1Gi", KUBELET_REJECTS},
		/* One hint: NUMA node 8 alone has as many free CPUs, or both are needed. */
		{TOPOLOGY_MANAGER_RESTRICTED, 37, "app cpu=8 memory=1Gi", KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, 38, "app cpu=12 memory=1Gi", KUBELET_ADMITS},
		/* Nothing is compared. */
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, 37, "app cpu=2 memory=1Gi", KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_NONE, 37, "app cpu=2 memory=1Gi", KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, 37, "app", KUBELET_ADMITS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_fixture f;

		init(&f, &two);
		f.settings.memory_manager = MEMORY_MANAGER_NONE;
		f.settings.topology.policy = cases[i].policy;
		f.settings.topology.prefer_closest_numa_nodes = true;
		f.settings.kubelet_minor = cases[i].minor;
		f.machine.nodes[1].id = 8;
		for (size_t c = 0; c < f.machine.n_cpus; c++)
			f.machine.cpus[c].numa = f.machine.cpus[c].numa == 1 ? 8 : 0;
		if (cases[i].answer == KUBELET_REJECTS)
			assert_panics(&f, cases[i].pod,
				"prefer-closest-numa-nodes does not work with holes in the NUMA node ids");
		else
			assert_verdict(
				&f, cases[i].pod, QOS_GUARANTEED, cases[i].answer, KUBELET_NOT_REJECTED, "");
		kubelet_fixture_release(&f);
	}
}

static void what_is_not_known_of_the_settings(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	f.settings.topology.scope = TOPOLOGY_SCOPE_UNKNOWN;
	assert_unknown(&f, "the Topology Manager's scope is not known");
	f.settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	f.settings.topology.max_numa_nodes = 7;
	assert_unknown(&f,
		"nrtd does not model the running kubelet's settings: max-allowable-numa-nodes 7 is below 8");
	f.settings.topology.max_numa_nodes = 8;
	f.settings.unknown_topology_option = strdup("numa-allocation-strategy");
	assert_unknown(&f, "nrtd does not know the Topology Manager's option 'numa-allocation-strategy'");
	free(TAKE(f.settings.unknown_topology_option));
	f.settings.unknown_feature_gate = strdup("LaterCPUs");
	f.settings.kubelet_minor = KUBELET_MINOR_COMPARED + 1;
	assert_unknown(&f, "nrtd does not know the feature gate 'LaterCPUs' of kubelet 1.39");
	free(TAKE(f.settings.unknown_feature_gate));
	f.settings.unknown_field = strdup("systemPartition");
	assert_unknown(&f, "nrtd does not know the configuration field 'systemPartition' of kubelet 1.39");
	f.settings.kubelet_minor = KUBELET_MINOR_COMPARED - 1; /* it passes over such a field */
	assert_verdict(&f, "app cpu=2 memory=1Gi", QOS_GUARANTEED, KUBELET_ADMITS, KUBELET_NOT_REJECTED, "");
	f.settings.kubelet_minor = 0;
	free(TAKE(f.settings.unknown_field));
	f.settings.unknown_cpu_option = strdup("later");
	assert_unknown(&f, "nrtd does not know the CPU manager's option 'later'");
	free(TAKE(f.settings.unknown_cpu_option));
	f.node.reserved = NULL;
	assert_unknown(&f, "the CPUs reserved for the system are not known");
	f.settings.reserved_known = true;
	assert_unknown(&f, "the kubelet would not start: policy static needs reserved CPUs");
	f.settings.kube_reserved_cpu = QTY_UNIT / 2;
	f.settings.system_reserved_cpu = QTY_UNIT;
	assert_verdict(&f, "app cpu=6 memory=1Gi", QOS_GUARANTEED, KUBELET_ADMITS, KUBELET_NOT_REJECTED, "");
	assert_verdict(
		&f, "app cpu=15 memory=1Gi", QOS_GUARANTEED, KUBELET_REJECTS, KUBELET_TOPOLOGY_AFFINITY, "");
	assert_verdict(&f, "app cpu=1 memory=1Gi", QOS_UNKNOWN, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"the pod's QoS class is not known");
	f.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	assert_verdict(&f, "app cpu=1 memory=1Gi", QOS_UNKNOWN, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"the pod's QoS class is not known");
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	f.settings.memory_manager = MEMORY_MANAGER_UNKNOWN;
	assert_verdict(&f, "app cpu=1 memory=1Gi", QOS_UNKNOWN, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"the pod's QoS class is not known");
	kubelet_fixture_release(&f);
}

static void memory_that_masks_cannot_hold(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	add_memory(&f, 2, 63);
	assert_panics(&f, "app cpu=2 memory=1Gi",
		"a NUMA node id in the memory manager's state exceeds 63, the largest in a kubelet's mask");
	assert_verdict(&f, "app cpu=2", QOS_BURSTABLE, KUBELET_ADMITS, KUBELET_NOT_REJECTED, "");
	kubelet_fixture_release(&f);
	init(&f, &two);
	add_memory(&f, 17, 0);
	assert_unknown(&f, "memory on 17 NUMA nodes has too many combinations (at most 16)");
	kubelet_fixture_release(&f);
}

static void more_cpus_than_a_kubelet_knows(void **state)
{
	static const struct synthetic huge = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 65536, .threads = 1};
	struct kubelet_fixture f;

	(void)state;
	init(&f, &huge);
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	device_inventory_add(&f.devices, "vendor.com/nic", (struct device){.nodes = 1, .healthy = true});
	assert_verdict(&f, "app vendor.com/nic=1", QOS_BEST_EFFORT, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"65536 CPUs are too many");
	kubelet_fixture_release(&f);
}

/* Up to 1.35 the hints of a device name every NUMA node, so all of them are within reach. */
static void older_kubelets_reach_every_node(void **state)
{
	static const struct synthetic wide = {
		.sockets = 17, .numas = 1, .uncores = 1, .cores = 1, .threads = 1, .memory_bytes = GIB};
	struct kubelet_fixture f;

	(void)state;
	init(&f, &wide);
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	f.settings.topology.max_numa_nodes = 17;
	device_inventory_add(&f.devices, "vendor.com/nic", (struct device){.nodes = 2, .healthy = true});
	assert_verdict(&f, "app vendor.com/nic=1", QOS_BEST_EFFORT, KUBELET_ADMITS, KUBELET_NOT_REJECTED, "");
	f.settings.kubelet_minor = 35;
	assert_verdict(&f, "app vendor.com/nic=1", QOS_BEST_EFFORT, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"17 NUMA nodes have too many combinations (at most 16)");
	kubelet_fixture_release(&f);
}

/* Of a node of which much is wrong, the first reason is told. */
static void the_first_reason_stays(void **state)
{
	static const struct synthetic wide = {
		.sockets = 17, .numas = 1, .uncores = 1, .cores = 2, .threads = 1};
	static const struct synthetic huge = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 65536, .threads = 1};
	struct kubelet_fixture f;

	(void)state;
	init(&f, &wide);
	f.settings.started = true;
	f.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	f.settings.topology.scope = TOPOLOGY_SCOPE_UNKNOWN;
	f.settings.topology.max_numa_nodes = 7;
	f.settings.topology.prefer_closest_numa_nodes = true;
	f.settings.cpu_options.full_pcpus_only = f.settings.cpu_options.distribute_cpus_across_cores = true;
	f.settings.reserved_known = true;
	f.machine.distances[1] = 0;
	f.machine.nodes[16].id = 64;
	f.node.reserved = NULL;
	assert_unknown(&f, "the Topology Manager's policy is not known");
	f.settings.reserved_known = false;
	f.node.shared = NULL;
	assert_unknown(&f, "the CPUs reserved for the system are not known");
	kubelet_fixture_release(&f);
	init(&f, &huge);
	f.settings.topology.scope = TOPOLOGY_SCOPE_UNKNOWN;
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	device_inventory_add(&f.devices, "vendor.com/nic", (struct device){.nodes = 1});
	assert_verdict(&f, "app vendor.com/nic=1", QOS_BEST_EFFORT, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"the Topology Manager's scope is not known");
	kubelet_fixture_release(&f);
}

/* A kubelet that would not start admits no pod. One that is seen running has started with these settings. */
static void a_running_kubelet_has_started(void **state)
{
	static const char *const pods[] = {"app cpu=2 memory=1Gi", "app memory=1Gi"};
	static const char reason[] =
		"the kubelet would not start: cpuManagerPolicy none takes no cpuManagerPolicyOptions";
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	f.node.reserved = NULL;
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	f.settings.cpu_options.full_pcpus_only = true;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		enum qos_class qos = i == 0 ? QOS_GUARANTEED : QOS_BURSTABLE;

		f.settings.started = false;
		assert_verdict(&f, pods[i], qos, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED, reason);
		f.settings.started = true;
		assert_verdict(&f, pods[i], qos, KUBELET_ADMITS, KUBELET_NOT_REJECTED, "");
	}
	kubelet_fixture_release(&f);
}

/* Reserved CPUs that are offline now may have been online at the kubelet's start; CPUs that do not exist were not. */
static void hardware_may_have_changed_since_the_start(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	f.node.reserved = NULL;
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	assert_int_equal(cpuset_parse("0,900", &f.settings.reserved_system_cpus, NULL), 0);
	assert_verdict(&f, "app memory=1Gi", QOS_BURSTABLE, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"the kubelet would not start: reservedSystemCPUs names CPUs 900, which are not online on this machine");
	hwloc_bitmap_free(f.machine.offline);
	assert_int_equal(cpuset_parse("900", &f.machine.offline, NULL), 0);
	assert_verdict(&f, "app memory=1Gi", QOS_BURSTABLE, KUBELET_ADMITS, KUBELET_NOT_REJECTED, "");
	kubelet_fixture_release(&f);
}

/* The gate counts by its whole name and value. */
static void pod_level_managers_are_a_gate(void **state)
{
	static const struct {
		const char *gates;
		bool on;
	} cases[] = {
		{"PodLevelResourceManagers=true", true},
		{"A=true,PodLevelResourceManagers=true", true},
		{"A=true,PodLevelResourceManagers=true,Z=true", true},
		{"XPodLevelResourceManagers=true", false},
		{"PodLevelResourceManagers=trueish", false},
		{"XPodLevelResourceManagers=true,PodLevelResourceManagers=true", true},
		{"PodLevelResourceManagers=false", false},
		{"AllAlpha=true", true},
		{"AllBeta=true,Z=true", true},
		{"AllAlpha=true,PodLevelResourceManagers=false", false},
		{"AllAlpha=false,AllBeta=false", false},
	};
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet k;

		free(f.settings.feature_gates_text);
		f.settings.feature_gates_text = strdup(cases[i].gates);
		kubelet_init(&k, &f.node);
		if (k.pod_level_managers != cases[i].on)
			fail_msg("%s", cases[i].gates);
		kubelet_release(&k);
	}
	kubelet_fixture_release(&f);
}

static void refusals_that_managers_make(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, &two);
	f.settings.topology.policy = TOPOLOGY_MANAGER_BEST_EFFORT;
	device_inventory_add(&f.devices, "vendor.com/nic", (struct device){.nodes = 1});
	assert_verdict(&f, "app vendor.com/nic=1", QOS_BEST_EFFORT, KUBELET_REJECTS,
		KUBELET_UNEXPECTED_ADMISSION, "vendor.com/nic: no device is healthy");

	/* The pod's hint counts no hugepages, for no app container wants any. The init container gets two
	 * only from both nodes, though either has room for four. */
	f.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	f.settings.topology.scope = TOPOLOGY_SCOPE_POD;
	add_memory(&f, 2, 0);
	assert_verdict(&f, "init cpu=1 memory=1Gi hugepages-1Gi=2Gi; app cpu=1 memory=1Gi", QOS_GUARANTEED,
		KUBELET_REJECTS, KUBELET_UNEXPECTED_ADMISSION,
		"enough memory is free only on more NUMA nodes than the request needs by size");
	/* The kubelet does not survive looking up a type that a node does not have, even of 0. */
	f.settings.topology.policy = TOPOLOGY_MANAGER_BEST_EFFORT;
	assert_panics(&f, "app cpu=1 memory=1Gi hugepages-2Mi=0",
		"the pod requests hugepages-2Mi, and NUMA node 0 has no hugepages-2Mi");
	f.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	assert_panics(&f, "app cpu=1 memory=1Gi hugepages-2Mi=2Mi",
		"the pod requests hugepages-2Mi, and NUMA node 0 has no hugepages-2Mi");
	/* The type of an init container alone is looked up on the hint's nodes, up to 1.37. */
	f.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	assert_panics(&f, "init cpu=1 memory=1Gi hugepages-2Mi=2Mi; app cpu=1 memory=1Gi",
		"the pod requests hugepages-2Mi, and NUMA node 0 has no hugepages-2Mi");
	/* No whole number of bytes, in the pod's sum. */
	assert_verdict(&f, "app cpu=1 memory=1500m", QOS_GUARANTEED, KUBELET_REJECTS,
		KUBELET_UNEXPECTED_ADMISSION, "an amount of memory is not a whole number of bytes");
	kubelet_fixture_release(&f);
}

static void assert_hints(const struct topology_hints *hints, bool no_preference, uint64_t first, size_t n)
{
	assert_true(hints->no_preference == no_preference);
	assert_int_equal(hints->n_items, n);
	if (n == 0)
		return;
	assert_true(hints->items[0].nodes == first);
	assert_true(hints->items[0].preferred);
}

static void devices_that_are_held(void **state)
{
	static const bool none[3] = {false, false, false}, one[3] = {false, true, false},
			  both[3] = {true, true, false}, far[3] = {false, false, true};
	const struct kubelet_version version = kubelet_version_of(36);
	struct device_inventory inventory;
	struct device_manager dm;
	struct device_books books;
	struct topology_hints hints;

	(void)state;
	inventory = (struct device_inventory){0};
	for (unsigned i = 0; i < 3; i++)
		device_inventory_add(&inventory, "vendor.com/nic",
			(struct device){
				.nodes = i < 2 ? UINT64_C(1) << i : 0, .healthy = true, .allocated = true});
	device_manager_init(&dm, &inventory, 3, &version);
	device_books_init(&books, &dm);
	device_books_reset(&books, &dm);
	topology_hints_init(&hints, 2);
	device_manager_hints_again(&dm, &books, 0, one, 1, &hints);
	assert_hints(&hints, false, 2, 2);
	device_manager_hints_again(&dm, &books, 0, both, 2, &hints);
	assert_hints(&hints, false, 3, 1);
	device_manager_hints_again(&dm, &books, 0, both, 1, &hints); /* holds another number */
	assert_hints(&hints, false, 0, 0);
	device_manager_hints_again(&dm, &books, 0, none, 1, &hints);
	assert_int_equal(hints.n_items, 0);
	device_manager_hints_again(&dm, &books, 0, far, 1, &hints); /* near to no NUMA node */
	assert_int_equal(hints.n_items, 0);
	topology_hints_release(&hints);
	device_books_release(&books);
	device_manager_release(&dm);
	device_inventory_release(&inventory);
}

static void memory_that_is_held(void **state)
{
	char memory[] = "memory", pages[] = "hugepages-1Gi";
	struct memory_need items[] = {{.name = memory, .bytes = 8}, {.name = pages, .bytes = 4}};
	struct memory_needs needs = {.items = items, .n_items = 2};
	struct memory_block blocks[] = {{.type = pages, .bytes = 4}, {.type = memory, .bytes = 8}};
	struct topology_hints hints;

	(void)state;
	blocks[0].nodes = hwloc_bitmap_alloc();
	blocks[1].nodes = hwloc_bitmap_alloc();
	assert_true(blocks[0].nodes && blocks[1].nodes);
	hwloc_bitmap_set(blocks[0].nodes, 1);
	hwloc_bitmap_set_range(blocks[1].nodes, 0, 1);
	topology_hints_init(&hints, 2);
	memory_manager_hints_again(blocks, 2, &needs, 0, &hints);
	assert_hints(&hints, false, 3, 1);
	memory_manager_hints_again(blocks, 2, &needs, 1, &hints);
	assert_hints(&hints, false, 2, 1);
	memory_manager_hints_again(blocks, 1, &needs, 0, &hints);
	assert_hints(&hints, true, 0, 0);
	blocks[0].bytes = 5;
	memory_manager_hints_again(blocks, 2, &needs, 0, &hints);
	assert_hints(&hints, true, 0, 0);
	blocks[0].bytes = 4;
	hwloc_bitmap_set(blocks[1].nodes, 64);
	memory_manager_hints_again(blocks, 2, &needs, 0, &hints);
	assert_hints(&hints, true, 0, 0);
	topology_hints_release(&hints);
	hwloc_bitmap_free(blocks[0].nodes);
	hwloc_bitmap_free(blocks[1].nodes);
}

/* A machine whose CPUs are taken without a kubelet around them. */
struct taker {
	struct machine machine;
	struct cpu_topology topology;
	struct cpu_workspace *ws;
};

static void taker_init(struct taker *t, const struct synthetic *s)
{
	*t = (struct taker){0};
	synthetic_machine(s, &t->machine);
	assert_int_equal(cpu_topology_init(&t->topology, &t->machine), 0);
	t->ws = cpu_workspace_new(&t->topology);
	assert_non_null(t->ws);
}

static void taker_release(struct taker *t)
{
	cpu_workspace_freep(&t->ws);
	cpu_topology_release(&t->topology);
	machine_release(&t->machine);
}

static void cpus_go_back_unless_a_sibling_holds_them(void **state)
{
	static const bool released[16] = {false, true, true, true}, held[16] = {false, false, true};
	bool shared[16] = {true};
	struct taker t;

	(void)state;
	taker_init(&t, &two);
	assert_int_equal(t.topology.n_cpus, 16);
	cpu_manager_remove(&t.topology, released, held, shared);
	for (size_t i = 0; i < 16; i++)
		assert_true(shared[i] == (i == 0 || i == 1 || i == 3));
	taker_release(&t);
}

/* Cores with the fewest free CPUs first: with one thread of core 0 taken, its sibling leads. */
static void single_cpus_have_an_order(void **state)
{
	const struct cpu_take_rules rules = {.group = 1};
	const uint32_t *list;
	bool available[16];
	struct taker t;

	(void)state;
	taker_init(&t, &two);
	memset(available, true, sizeof(available));
	available[0] = false;
	assert_int_equal(cpu_take_cpu_order(t.ws, &rules, available, &list), 15);
	assert_int_equal(list[0], 8); /* the sibling of CPU 0 */
	assert_int_equal(list[1], 1);
	assert_int_equal(list[2], 9);
	taker_release(&t);
}

/* 24 NUMA nodes give 24 CPUs each and 8 more, of which the first has 9 left and each other one: no way is better than all 8
 * from the first, and it comes after 16 million others. */
static void too_many_ways_for_the_rest(void **state)
{
	static const struct synthetic wide = {
		.sockets = 24, .numas = 1, .uncores = 1, .cores = 33, .threads = 1};
	const struct cpu_take_rules rules = {.distribute = true, .group = 1};
	bool available[24 * 33], taken[24 * 33];
	struct taker t;

	(void)state;
	taker_init(&t, &wide);
	for (size_t i = 0; i < ARRAY_SIZE(available); i++)
		available[i] = i < 33 || i % 33 < 25;
	assert_int_equal(cpu_take(t.ws, &rules, available, 24 * 24 + 8, taken).status, CPU_TAKE_UNKNOWN);
	assert_int_equal(cpu_set_size(&t.topology, taken), 0);
	taker_release(&t);
}

/* 16 of 32 NUMA nodes give 3 CPUs each and 15 more: 601 million combinations. Where 16 NUMA nodes have 12870, with 255
 * ways for the rest of most, no more than the best are looked at. */
static void too_many_ways_to_distribute(void **state)
{
	static const struct synthetic wide = {
		.sockets = 32, .numas = 1, .uncores = 1, .cores = 4, .threads = 1};
	const struct cpu_take_rules rules = {.distribute = true, .group = 1};
	bool available[128], taken[128];
	struct kubelet_fixture f;
	struct taker t;

	(void)state;
	taker_init(&t, &wide);
	memset(available, true, sizeof(available));
	assert_int_equal(cpu_take(t.ws, &rules, available, 63, taken).status, CPU_TAKE_UNKNOWN);
	assert_int_equal(cpu_set_size(&t.topology, taken), 0);
	memset(available + 64, false, 64);
	assert_int_equal(cpu_take(t.ws, &rules, available, 31, taken).status, CPU_TAKE_OK);
	assert_int_equal(cpu_set_size(&t.topology, taken), 31);
	taker_release(&t);
	init(&f, &wide);
	f.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	f.settings.cpu_options.distribute_cpus_across_numa = true;
	assert_verdict(&f, "app cpu=63 memory=1Gi", QOS_GUARANTEED, KUBELET_UNKNOWN, KUBELET_NOT_REJECTED,
		"distributing 63 CPUs over NUMA nodes takes too many steps");
	kubelet_fixture_release(&f);
}

/* These two are alpha in every release, so AllBeta does not turn them on. */
static void resizing_is_a_gate_of_each_manager(void **state)
{
	static const struct {
		const char *gates;
		bool cpus, memory;
	} cases[] = {
		{NULL, false, false},
		{"InPlacePodVerticalScalingExclusiveCPUs=true", true, false},
		{"InPlacePodVerticalScalingExclusiveMemory=true,A=false", false, true},
		{"AllAlpha=true,InPlacePodVerticalScalingExclusiveCPUs=false", false, true},
		{"AllBeta=true,InPlacePodVerticalScaling=true", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings s = {0};

		s.feature_gates_text = cases[i].gates ? strdup(cases[i].gates) : NULL;
		assert_int_equal(kubelet_gate_on(&s, KUBELET_RESIZE_CPUS), cases[i].cpus);
		assert_int_equal(kubelet_gate_on(&s, KUBELET_RESIZE_MEMORY), cases[i].memory);
		free(s.feature_gates_text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_known_of_the_settings),
		cmocka_unit_test(memory_that_masks_cannot_hold),
		cmocka_unit_test(more_cpus_than_a_kubelet_knows),
		cmocka_unit_test(older_kubelets_reach_every_node),
		cmocka_unit_test(the_first_reason_stays),
		cmocka_unit_test(a_running_kubelet_has_started),
		cmocka_unit_test(hardware_may_have_changed_since_the_start),
		cmocka_unit_test(pod_level_managers_are_a_gate),
		cmocka_unit_test(resizing_is_a_gate_of_each_manager),
		cmocka_unit_test(ids_beyond_a_mask),
		cmocka_unit_test(ids_with_holes),
		cmocka_unit_test(refusals_that_managers_make),
		cmocka_unit_test(devices_that_are_held),
		cmocka_unit_test(memory_that_is_held),
		cmocka_unit_test(cpus_go_back_unless_a_sibling_holds_them),
		cmocka_unit_test(single_cpus_have_an_order),
		cmocka_unit_test(too_many_ways_for_the_rest),
		cmocka_unit_test(too_many_ways_to_distribute),
	};

	return cmocka_run_group_tests_name("kubelet_corners", tests, NULL, NULL);
}
