/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/pods.h"

#define GIB ((uint64_t)1 << 30)

/* 2 sockets of one NUMA node with 8 cores of 2 threads; CPU i and i + 16 are siblings. */
static const struct synthetic two_nodes = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 2, .memory_bytes = 64 * GIB};

static enum kubelet_answer judge(struct kubelet_fixture *f, const char *text, enum qos_class qos)
{
	struct pod_request pod;

	pod_from_text(&pod, text);
	kubelet_judge(&f->k, f->ws, &pod, qos, &f->verdict);
	pod_request_release(&pod);
	return f->verdict.answer;
}

/* The placement's CPUs as a list. */
static void assert_cpus(const struct kubelet_fixture *f, size_t i, const char *want)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = hwloc_bitmap_alloc();
	CLEANUP(freep) char *text = NULL;

	assert_true(i < f->verdict.n_placements);
	assert_non_null(f->verdict.placements[i].cpus);
	assert_non_null(set);
	cpu_set_to_bitmap(&f->k.topology, f->verdict.placements[i].cpus, set);
	text = cpuset_print(set);
	test_assert_text("CPUs", text, want);
}

static void a_pod_is_placed_container_by_container(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=14 memory=8Gi; app cpu=14 memory=8Gi; app cpu=500m memory=1Gi",
				 QOS_GUARANTEED),
		KUBELET_ADMITS);
	assert_int_equal(f.verdict.n_placements, 3);
	assert_cpus(&f, 0, "1-7,17-23");
	assert_cpus(&f, 1, "8-14,24-30");
	assert_int_equal(f.verdict.placements[0].hint.nodes, 1);
	assert_int_equal(f.verdict.placements[1].hint.nodes, 2);
	assert_int_equal(f.verdict.placements[1].memory_nodes, 2);
	assert_null(f.verdict.placements[2].cpus);
	test_assert_text("reason", f.verdict.reason.text, "");
	/* The third does not fit any more; the state is as before for the next pod. */
	assert_int_equal(judge(&f, "app cpu=14 memory=8Gi; app cpu=14 memory=8Gi; app cpu=4 memory=1Gi",
				 QOS_GUARANTEED),
		KUBELET_REJECTS);
	assert_int_equal(f.verdict.container, 2);
	assert_int_equal(f.verdict.rejection, KUBELET_TOPOLOGY_AFFINITY);
	assert_int_equal(judge(&f, "app cpu=14 memory=8Gi", QOS_GUARANTEED), KUBELET_ADMITS);
	kubelet_fixture_release(&f);
}

static void what_remains_is_counted_by_numa_node(void **state)
{
	struct kubelet_fixture f;
	size_t left[2];

	(void)state;
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_ready(&f);
	assert_int_equal(
		judge(&f, "app cpu=14 memory=8Gi; app cpu=4 memory=8Gi", QOS_GUARANTEED), KUBELET_ADMITS);
	kubelet_free_cpus(&f.k, f.ws, left);
	assert_int_equal(left[0], 1); /* CPU 0 is reserved */
	assert_int_equal(left[1], 12);
	kubelet_fixture_release(&f);
	/* Nobody counts where CPUs are shared. */
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	f.settings.cpu_manager = CPU_MANAGER_NONE;
	kubelet_fixture_ready(&f);
	judge(&f, "app cpu=14 memory=8Gi", QOS_GUARANTEED);
	kubelet_free_cpus(&f.k, f.ws, left);
	assert_int_equal(left[0] + left[1], 0);
	kubelet_fixture_release(&f);
	/* Nor where nothing is known of a kubelet that would not start: a node's object may say so. */
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	f.settings.cpu_options.align_by_socket = true;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app memory=1Gi", QOS_BURSTABLE), KUBELET_ADMITS);
	left[0] = left[1] = 9;
	kubelet_free_cpus(&f.k, f.ws, left);
	assert_int_equal(left[0] + left[1], 0);
	kubelet_fixture_release(&f);
}

static void reasons_have_the_numbers(void **state)
{
	static const struct {
		enum topology_manager_policy policy;
		const char *pod, *shared;
		enum kubelet_rejection rejection;
		const char *reason;
	} cases[] = {
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=11 memory=1Gi", "0-4,8-12,16-20,24-28",
			KUBELET_TOPOLOGY_AFFINITY,
			"restricted: 11 CPUs fit one NUMA node by size (16), but the freest has 10"},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "app cpu=20 memory=1Gi", "0-31",
			KUBELET_TOPOLOGY_AFFINITY, "single-numa-node: 20 CPUs need 2 NUMA nodes by size"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=32 memory=1Gi", "0-31", KUBELET_TOPOLOGY_AFFINITY,
			"restricted: 32 CPUs wanted, 31 available"},
		{TOPOLOGY_MANAGER_BEST_EFFORT, "app cpu=32 memory=1Gi", "0-31", KUBELET_UNEXPECTED_ADMISSION,
			"32 exclusive CPUs wanted, 31 available"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=20 memory=1Gi vendor.com/nic=1", "0-31",
			KUBELET_TOPOLOGY_AFFINITY,
			"restricted: not the same NUMA nodes: 20 CPUs would go to {0-1}, 1 vendor.com/nic to "
			"{1}"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 memory=1Gi vendor.com/nic=3", "0-31",
			KUBELET_TOPOLOGY_AFFINITY, "restricted: 3 vendor.com/nic wanted, 2 available"},
		{TOPOLOGY_MANAGER_RESTRICTED, "app cpu=1 memory=200Gi", "0-31", KUBELET_UNEXPECTED_ADMISSION,
			"memory: 200Gi wanted, 128Gi free"},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "app cpu=1 memory=100Gi", "0-31",
			KUBELET_TOPOLOGY_AFFINITY,
			"single-numa-node: 100Gi memory need 2 NUMA nodes by size"},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "init cpu=1 memory=1Gi; app cpu=16 memory=1Gi", "0-31",
			KUBELET_TOPOLOGY_AFFINITY,
			"single-numa-node: 16 CPUs fit one NUMA node, but this container must reuse the CPUs of an init "
			"container, which are on NUMA nodes {0}"},
		{TOPOLOGY_MANAGER_NONE, "app cpu=1 memory=1500m", "0-31", KUBELET_UNEXPECTED_ADMISSION,
			"an amount of memory is not a whole number of bytes"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_fixture f;

		kubelet_fixture_init(&f, &two_nodes, cases[i].policy);
		hwloc_bitmap_free(f.shared);
		f.shared = NULL;
		assert_int_equal(cpuset_parse(cases[i].shared, &f.shared, NULL), 0);
		f.node.shared = f.shared;
		for (int n = 0; n < 2; n++)
			device_inventory_add(
				&f.devices, "vendor.com/nic", (struct device){.nodes = 2, .healthy = true});
		kubelet_fixture_ready(&f);
		assert_int_equal(judge(&f, cases[i].pod, QOS_GUARANTEED), KUBELET_REJECTS);
		test_assert_text(cases[i].pod, f.verdict.reason.text, cases[i].reason);
		assert_int_equal(f.verdict.rejection, cases[i].rejection);
		kubelet_fixture_release(&f);
	}
}

/* The remedies that the reason names. */
static void init_containers_need_not_pin_a_pod(void **state)
{
	(void)state;
	for (int scope_pod = 0; scope_pod < 2; scope_pod++) {
		struct kubelet_fixture f;

		kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
		if (scope_pod)
			f.settings.topology.scope = TOPOLOGY_SCOPE_POD;
		kubelet_fixture_ready(&f);
		assert_int_equal(judge(&f,
					 scope_pod ? "init cpu=1 memory=1Gi; app cpu=16 memory=1Gi"
						   : "init cpu=500m memory=1Gi; app cpu=16 memory=1Gi",
					 QOS_GUARANTEED),
			KUBELET_ADMITS);
		kubelet_fixture_release(&f);
	}
}

static void smt_alignment_is_a_reason_of_its_own(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_NONE);
	f.settings.cpu_options.full_pcpus_only = true;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=3 memory=1Gi", QOS_GUARANTEED), KUBELET_REJECTS);
	assert_int_equal(f.verdict.rejection, KUBELET_SMT_ALIGNMENT);
	test_assert_text("multiple", f.verdict.reason.text,
		"full-pcpus-only: 3 CPUs are not a multiple of the 2 CPUs per core");
	/* CPU 0 is reserved, so its sibling 16 does not count. */
	assert_int_equal(judge(&f, "app cpu=32 memory=1Gi", QOS_GUARANTEED), KUBELET_REJECTS);
	test_assert_text("cores", f.verdict.reason.text,
		"full-pcpus-only: 32 CPUs wanted, 30 free on cores without reserved CPUs");
	/* CPUs that an init container leaves do not count either: the kubelet's check forgets them. */
	assert_int_equal(
		judge(&f, "init cpu=30 memory=1Gi; app cpu=2 memory=1Gi", QOS_GUARANTEED), KUBELET_REJECTS);
	assert_int_equal(f.verdict.rejection, KUBELET_SMT_ALIGNMENT);
	assert_int_equal(f.verdict.container, 1);
	kubelet_fixture_release(&f);
}

static void only_guaranteed_whole_cpus_are_exclusive(void **state)
{
	static const struct {
		const char *pod;
		enum qos_class qos;
		size_t cpus;
	} cases[] = {
		{"app cpu=2 memory=1Gi", QOS_GUARANTEED, 2},
		{"app cpu=2 memory=1Gi", QOS_BURSTABLE, 0},
		{"app cpu=2500m memory=1Gi", QOS_GUARANTEED, 0},
		{"app cpu=2000m memory=1Gi", QOS_GUARANTEED, 2},
		{"app cpu=1999999999n memory=1Gi", QOS_GUARANTEED, 2},
		{"app memory=1Gi", QOS_GUARANTEED, 0},
		{"app cpu=0 memory=1Gi", QOS_GUARANTEED, 0},
		{"init cpu=5; sidecar cpu=1; init cpu=6; app cpu=2; app cpu=3", QOS_GUARANTEED, 7},
		{"sidecar cpu=1; init cpu=2; app cpu=2; app cpu=1500m; app cpu=3", QOS_GUARANTEED, 6},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_request pod;

		pod_from_text(&pod, cases[i].pod);
		if (kubelet_pod_exclusive_cpus(&pod, cases[i].qos) != cases[i].cpus)
			fail_msg("'%s': %zu CPUs", cases[i].pod,
				kubelet_pod_exclusive_cpus(&pod, cases[i].qos));
		pod_request_release(&pod);
	}
}

static void scope_pod_gives_all_containers_one_place(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	f.settings.topology.scope = TOPOLOGY_SCOPE_POD;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "init cpu=16 memory=1Gi; app cpu=8 memory=1Gi; app cpu=8 memory=1Gi",
				 QOS_GUARANTEED),
		KUBELET_ADMITS);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(f.verdict.placements[i].hint.nodes, 2);
	/* The apps use the init container's CPUs again. */
	assert_cpus(&f, 1, "8-11,24-27");
	assert_cpus(&f, 2, "12-15,28-31");
	/* Each container fits one node, the pod does not. */
	assert_int_equal(
		judge(&f, "app cpu=10 memory=1Gi; app cpu=10 memory=1Gi", QOS_GUARANTEED), KUBELET_REJECTS);
	test_assert_text("pod", f.verdict.reason.text, "single-numa-node: 20 CPUs need 2 NUMA nodes by size");
	kubelet_fixture_release(&f);
}

/* What is not known is said, and only where it matters. */
static void unknown_is_not_a_guess(void **state)
{
	const char *const pinned = "app cpu=2 memory=1Gi", *const fractional = "app cpu=500m memory=1Gi";
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_UNKNOWN);
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, pinned, QOS_GUARANTEED), KUBELET_UNKNOWN);
	assert_non_null(strstr(f.verdict.reason.text, "Topology Manager"));
	assert_int_equal(judge(&f, pinned, QOS_BURSTABLE), KUBELET_ADMITS);
	assert_int_equal(f.verdict.n_placements, 0);
	kubelet_fixture_release(&f);

	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	f.node.shared = NULL;
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, pinned, QOS_GUARANTEED), KUBELET_UNKNOWN);
	assert_non_null(strstr(f.verdict.reason.text, "shared pool"));
	assert_int_equal(judge(&f, fractional, QOS_GUARANTEED), KUBELET_ADMITS);
	assert_int_equal(judge(&f, pinned, QOS_UNKNOWN), KUBELET_UNKNOWN);
	kubelet_fixture_release(&f);

	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	f.node.memory = NULL;
	f.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, pinned, QOS_GUARANTEED), KUBELET_UNKNOWN);
	assert_non_null(strstr(f.verdict.reason.text, "CPU manager's policy"));
	assert_int_equal(judge(&f, fractional, QOS_GUARANTEED), KUBELET_UNKNOWN);
	assert_non_null(strstr(f.verdict.reason.text, "memory manager's state"));
	kubelet_fixture_release(&f);
}

/* Each change makes a kubelet that would not start, or a node beyond the limits: no verdict, and why. */
static void nodes_that_cannot_be_judged(void **state)
{
	static const struct synthetic nine = {
		.sockets = 9, .numas = 1, .uncores = 1, .cores = 2, .threads = 1, .memory_bytes = 8 * GIB};
	static const struct synthetic many = {
		.sockets = 8, .numas = 8, .uncores = 1, .cores = 64, .threads = 2, .memory_bytes = 8 * GIB};
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &nine, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=1 memory=1Gi", QOS_GUARANTEED), KUBELET_UNKNOWN);
	test_assert_text("nine", f.verdict.reason.text,
		"nrtd does not model the running kubelet's settings: 9 NUMA nodes, max-allowable-numa-nodes is 8");
	kubelet_fixture_release(&f);

	kubelet_fixture_init(&f, &many, TOPOLOGY_MANAGER_RESTRICTED);
	f.settings.topology.max_numa_nodes = 64;
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=1 memory=1Gi", QOS_GUARANTEED), KUBELET_UNKNOWN);
	test_assert_text(
		"64", f.verdict.reason.text, "64 NUMA nodes have too many combinations (at most 16)");
	kubelet_fixture_release(&f);

	/* Without hints to merge, 64 nodes and 8192 CPUs are no problem. */
	kubelet_fixture_init(&f, &many, TOPOLOGY_MANAGER_NONE);
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=1000 memory=1Gi", QOS_GUARANTEED), KUBELET_ADMITS);
	assert_int_equal(f.verdict.placements[0].exclusive_cpus, 1000);
	kubelet_fixture_release(&f);

	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	f.settings.cpu_options.align_by_socket = true;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=1 memory=1Gi", QOS_GUARANTEED), KUBELET_UNKNOWN);
	assert_non_null(strstr(f.verdict.reason.text, "nrtd does not model the running"));
	kubelet_fixture_release(&f);

	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	f.settings.topology.prefer_closest_numa_nodes = true;
	free(f.machine.distances);
	f.machine.distances = NULL;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=1 memory=1Gi", QOS_GUARANTEED), KUBELET_UNKNOWN);
	assert_non_null(strstr(f.verdict.reason.text, "distances"));
	kubelet_fixture_release(&f);
}

/* 36 NUMA nodes of which two have CPUs and four have devices: only those can be named. */
static void many_memory_nodes_are_walked_where_it_matters(void **state)
{
	struct numa_node *nodes;
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	f.settings.topology.max_numa_nodes = 36;
	nodes = realloc(f.machine.nodes, 36 * sizeof(*nodes));
	assert_non_null(nodes);
	f.machine.nodes = nodes;
	for (; f.machine.n_nodes < 36; f.machine.n_nodes++)
		nodes[f.machine.n_nodes] =
			(struct numa_node){.id = (unsigned)f.machine.n_nodes, .socket = MACHINE_NONE};
	free(f.machine.distances);
	f.machine.distances = NULL;
	for (unsigned id = 4; id < 8; id++)
		device_inventory_add(&f.devices, "vendor.com/gpu",
			(struct device){.nodes = node_mask_of(id), .healthy = true});
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=4 memory=1Gi", QOS_GUARANTEED), KUBELET_ADMITS);
	assert_int_equal(f.verdict.placements[0].hint.nodes, 1);
	assert_int_equal(judge(&f, "app cpu=4 memory=1Gi vendor.com/gpu=1", QOS_GUARANTEED), KUBELET_REJECTS);
	assert_int_equal(
		judge(&f, "app cpu=500m memory=1Gi vendor.com/gpu=1", QOS_GUARANTEED), KUBELET_ADMITS);
	assert_int_equal(f.verdict.placements[0].hint.nodes, 16);
	kubelet_fixture_release(&f);
}

static void pod_level_resources_are_left_alone(void **state)
{
	struct pod_request pod;
	struct kubelet_fixture f;

	(void)state;
	for (int gate = 0; gate < 2; gate++) {
		kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
		if (gate)
			f.settings.feature_gates_text = strdup("A=true,PodLevelResourceManagers=true");
		kubelet_fixture_ready(&f);
		pod_from_text(&pod, "app cpu=40 memory=1Gi");
		pod.has_pod_resources = true;
		kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
		assert_int_equal(f.verdict.answer, gate ? KUBELET_UNKNOWN : KUBELET_ADMITS);
		pod_request_release(&pod);
		kubelet_fixture_release(&f);
	}
}

/* Off by default until 1.33. The API server of a newer cluster may have it on. */
static void kubelets_without_pod_level_resources_are_not_modelled(void **state)
{
	static const struct {
		const char *gates;
		unsigned minor;
		bool known;
	} cases[] = {{NULL, 31, false}, {"PodLevelResources=true", 31, false}, {NULL, 33, false},
		{"PodLevelResources=true", 33, true}, {NULL, 34, true},
		{"PodLevelResources=false", 38, false}, {NULL, 0, true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_request pod;
		struct kubelet_fixture f;

		kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
		f.settings.feature_gates_text = cases[i].gates ? strdup(cases[i].gates) : NULL;
		f.settings.kubelet_minor = cases[i].minor;
		kubelet_fixture_ready(&f);
		pod_from_text(&pod, "app cpu=40 memory=1Gi");
		pod.has_pod_resources = true;
		kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
		if ((f.verdict.answer == KUBELET_ADMITS) != cases[i].known)
			fail_msg("%zu: %s", i, f.verdict.reason.text);
		pod_request_release(&pod);
		kubelet_fixture_release(&f);
	}
}

/* The managers place the pod as a whole, and the device manager then gives it nothing: whatever the other policies. */
static void devices_of_pods_with_pod_level_resources(void **state)
{
	static const struct {
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
		const char *pod;
		enum kubelet_answer answer;
	} cases[] = {
		{TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD, "app cpu=1 vendor.com/nic=3",
			KUBELET_UNKNOWN},
		{TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD, "app cpu=1", KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER, "app cpu=1 vendor.com/nic=3",
			KUBELET_REJECTS},
		{TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_POD, "app cpu=1 vendor.com/nic=3", KUBELET_REJECTS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_request pod;
		struct kubelet_fixture f;

		kubelet_fixture_init(&f, &two_nodes, cases[i].policy);
		f.settings.topology.scope = cases[i].scope;
		f.settings.cpu_manager = CPU_MANAGER_NONE;
		f.settings.memory_manager = MEMORY_MANAGER_NONE;
		f.settings.feature_gates_text = strdup("PodLevelResourceManagers=true");
		device_inventory_add(&f.devices, "vendor.com/nic", (struct device){.nodes = 1});
		kubelet_fixture_ready(&f);
		pod_from_text(&pod, cases[i].pod);
		pod.has_pod_resources = true;
		kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
		if (f.verdict.answer != cases[i].answer)
			fail_msg("%zu: %s", i, f.verdict.reason.text);
		pod_request_release(&pod);
		kubelet_fixture_release(&f);
	}
}

/* Of two NUMA nodes that differ in one resource, the option numa-allocation-strategy chooses by its score. */
static void the_strategy_chooses_by_each_resource(void **state)
{
	enum { CPUS, MEMORY, DEVICES, CPUS_ALONE };

	(void)state;
	for (unsigned turn = 0; turn < 4 * 2 * NUMA_ALLOCATION_COUNT; turn++) {
		unsigned differs = turn % 4;
		unsigned fuller = turn / 4 % 2;
		uint64_t fuller_node = node_mask_of(fuller), other_node = node_mask_of(1 - fuller), want;
		struct kubelet_fixture f;

		kubelet_fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_RESTRICTED);
		f.settings.topology.numa_allocation = (enum numa_allocation_strategy)(turn / 8);
		if (differs == CPUS_ALONE)
			f.settings.memory_manager = MEMORY_MANAGER_NONE;
		if (differs == CPUS || differs == CPUS_ALONE)
			hwloc_bitmap_clr_range(f.shared, 8 * fuller + 2, (int)(8 * fuller + 6));
		if (differs == MEMORY)
			f.memory.nodes[fuller].tables[0].free = 16 * GIB;
		for (unsigned i = 0; i < 4; i++)
			device_inventory_add(&f.devices, "vendor.com/nic",
				(struct device){.nodes = node_mask_of(i % 2),
					.healthy = true,
					.allocated = differs == DEVICES && i == fuller});
		kubelet_fixture_ready(&f);
		assert_int_equal(judge(&f,
					 differs == CPUS_ALONE ? "app cpu=2 memory=1Gi"
							       : "app cpu=2 memory=1Gi vendor.com/nic=1",
					 QOS_GUARANTEED),
			KUBELET_ADMITS);
		want = f.settings.topology.numa_allocation == NUMA_ALLOCATION_NONE   ? 1
		       : f.settings.topology.numa_allocation == NUMA_ALLOCATION_MOST ? fuller_node
										     : other_node;
		if (f.verdict.placements[0].hint.nodes != want)
			fail_msg("turn %u: %llx", turn,
				(unsigned long long)f.verdict.placements[0].hint.nodes);
		kubelet_fixture_release(&f);
	}
}

/* Six CPUs fit one of four NUMA nodes by size, and each has four left: with the memory's hints, each pair has several scores. */
static void the_strategy_may_leave_the_choice_open(void **state)
{
	static const struct synthetic four = {
		.sockets = 4, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 64 * GIB};
	static const struct {
		enum topology_manager_policy policy;
		enum numa_allocation_strategy strategy;
		bool memory_manager;
		enum kubelet_answer answer;
	} cases[] = {
		{TOPOLOGY_MANAGER_BEST_EFFORT, NUMA_ALLOCATION_MOST, true, KUBELET_UNKNOWN},
		{TOPOLOGY_MANAGER_BEST_EFFORT, NUMA_ALLOCATION_MOST, false, KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_BEST_EFFORT, NUMA_ALLOCATION_NONE, true, KUBELET_ADMITS},
		{TOPOLOGY_MANAGER_RESTRICTED, NUMA_ALLOCATION_MOST, true, KUBELET_REJECTS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_fixture f;

		kubelet_fixture_init(&f, &four, cases[i].policy);
		f.settings.topology.numa_allocation = cases[i].strategy;
		if (!cases[i].memory_manager)
			f.settings.memory_manager = MEMORY_MANAGER_NONE;
		for (unsigned node = 0; node < 4; node++)
			hwloc_bitmap_clr_range(f.shared, 8 * node + 4, (int)(8 * node + 7));
		kubelet_fixture_ready(&f);
		if (judge(&f, "app cpu=6 memory=1Gi", QOS_GUARANTEED) != cases[i].answer)
			fail_msg("%zu: %s", i, f.verdict.reason.text);
		if (cases[i].answer == KUBELET_UNKNOWN)
			test_assert_text("reason", f.verdict.reason.text,
				"numa-allocation-strategy most-allocated: which of several NUMA nodes that are not preferred the kubelet chooses is not determined");
		kubelet_fixture_release(&f);
	}
}

/* A random pod of up to three containers. */
static void random_pod(uint64_t *random, char *text, size_t size)
{
	static const char *const kinds[] = {"init", "sidecar", "app"};
	size_t len = 0, n = 1 + test_random(random) % 3;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s cpu=%u memory=%uGi%s", i ? "; " : "",
			i + 1 < n ? kinds[test_random(random) % 2] : "app",
			1 + (unsigned)(test_random(random) % 12), 1 + (unsigned)(test_random(random) % 40),
			test_random(random) % 3 ? "" : " vendor.com/nic=1");
}

/* An admitted pod has exactly its CPUs, on what was free, no CPU twice but for init containers'. */
static void admitted_pods_are_placed(void **state)
{
	uint64_t random = test_seed(20261128);
	unsigned n_admitted = 0;

	(void)state;
	for (int turn = 0; turn < 1500; turn++) {
		int policy = TOPOLOGY_MANAGER_NONE + turn % 4;
		struct pod_request pod;
		struct kubelet_fixture f;
		char text[256];
		unsigned held[32] = {0};

		kubelet_fixture_init(&f, &two_nodes, (enum topology_manager_policy)policy);
		f.settings.topology.scope =
			test_random(&random) % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER;
		for (unsigned cpu = 1; cpu < 32; cpu++)
			if (test_random(&random) % 4 == 0)
				hwloc_bitmap_clr(f.shared, cpu);
		device_inventory_add(
			&f.devices, "vendor.com/nic", (struct device){.nodes = 1, .healthy = true});
		kubelet_fixture_ready(&f);
		random_pod(&random, text, sizeof(text));
		pod_from_text(&pod, text);
		kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
		assert_int_not_equal(f.verdict.answer, KUBELET_UNKNOWN);
		assert_int_equal(f.verdict.answer == KUBELET_ADMITS, f.verdict.reason.text[0] == '\0');
		if (f.verdict.answer == KUBELET_ADMITS)
			assert_int_equal(f.verdict.n_placements, pod.n_containers);
		n_admitted += f.verdict.answer == KUBELET_ADMITS;
		for (size_t i = 0; i < f.verdict.n_placements; i++) {
			const struct kubelet_placement *p = &f.verdict.placements[i];

			assert_non_null(p->cpus);
			assert_int_equal(cpu_set_size(&f.k.topology, p->cpus), p->exclusive_cpus);
			assert_int_equal(p->exclusive_cpus,
				kubelet_exclusive_cpus(&pod.containers[i], QOS_GUARANTEED));
			assert_int_not_equal(p->memory_nodes, 0);
			if (f.settings.topology.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
				assert_int_equal(node_mask_count(p->hint.nodes), 1);
			for (unsigned cpu = 0; cpu < 32; cpu++) {
				if (!p->cpus[cpu])
					continue;
				assert_true(cpu != 0 && hwloc_bitmap_isset(f.shared, cpu));
				held[cpu] += pod.containers[i].kind != CONTAINER_INIT;
				assert_true(held[cpu] <= 1);
			}
		}
		pod_request_release(&pod);
		kubelet_fixture_release(&f);
	}
	assert_true(n_admitted > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_is_placed_container_by_container),
		cmocka_unit_test(what_remains_is_counted_by_numa_node),
		cmocka_unit_test(reasons_have_the_numbers),
		cmocka_unit_test(init_containers_need_not_pin_a_pod),
		cmocka_unit_test(smt_alignment_is_a_reason_of_its_own),
		cmocka_unit_test(only_guaranteed_whole_cpus_are_exclusive),
		cmocka_unit_test(scope_pod_gives_all_containers_one_place),
		cmocka_unit_test(unknown_is_not_a_guess),
		cmocka_unit_test(nodes_that_cannot_be_judged),
		cmocka_unit_test(many_memory_nodes_are_walked_where_it_matters),
		cmocka_unit_test(pod_level_resources_are_left_alone),
		cmocka_unit_test(kubelets_without_pod_level_resources_are_not_modelled),
		cmocka_unit_test(devices_of_pods_with_pod_level_resources),
		cmocka_unit_test(the_strategy_chooses_by_each_resource),
		cmocka_unit_test(the_strategy_may_leave_the_choice_open),
		cmocka_unit_test(admitted_pods_are_placed),
	};

	return cmocka_run_group_tests_name("kubelet", tests, NULL, NULL);
}
