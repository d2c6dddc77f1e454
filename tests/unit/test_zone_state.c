/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "scoring/node/node_admission.h"
#include "scoring/nrt_match.h"
#include "tests/lib/nodes.h"
#include "tests/lib/pods.h"

/* "cpu 16 14 8": a resource's capacity, allocatable and available. */
struct amounts {
	const char *name;
	uint64_t capacity, allocatable, available;
};

#define GIB ((uint64_t)1 << 30)

/* Zones node-ID that all have the same amounts, names sorted; distances 10 and 20. */
static void make_zones(
	const unsigned *ids, size_t n, const struct amounts *amounts, size_t n_amounts, struct inventory *ret)
{
	const char *names[8];

	inventory_init(ret);
	for (size_t r = 0; r < n_amounts; r++)
		names[r] = amounts[r].name;
	inventory_shape(ret, n, names, n_amounts);
	for (size_t i = 0; i < n; i++) {
		ret->nodes[i].id = ids[i];
		for (size_t r = 0; r < n_amounts; r++)
			*inventory_amount(ret, i, r) =
				(struct inventory_amount){true, (qty_t)amounts[r].capacity * QTY_UNIT,
					(qty_t)amounts[r].allocatable * QTY_UNIT,
					(qty_t)amounts[r].available * QTY_UNIT};
		for (size_t j = 0; j < n; j++)
			ret->costs[i * n + j] = i == j ? 10 : 20;
	}
	ret->topology = nrt_topology_manager(NULL, 0, NULL, 0);
}

static void assert_answer(const struct node_state *state, const char *text, enum kubelet_answer want)
{
	struct node_admission admission;
	struct pod_request pod;
	struct kubelet_verdict v;

	pod_from_text(&pod, text);
	node_admission_init(&admission, state);
	node_admission_judge(&admission, &pod, &v);
	if (v.answer != want)
		fail_msg("%s: answer %d, not %d: %s", text, v.answer, want, v.reason.text);
	node_admission_release(&admission);
	pod_request_release(&pod);
}

static const unsigned two[] = {0, 1};
static const struct amounts cpus_only[] = {{"cpu", 16, 15, 8}};

/* By the old topologyPolicies (v1alpha1) and by attributes, each policy decides in its own way. */
static void each_policy_decides(void **state)
{
	static const struct {
		const char *policy;                   /* of topologyPolicies, NULL = none */
		enum kubelet_answer nine, two_of_six; /* 9 CPUs; two containers of 6 CPUs */
	} cases[] = {
		{NULL, KUBELET_ADMITS, KUBELET_ADMITS},
		{"BestEffortContainerLevel", KUBELET_ADMITS, KUBELET_ADMITS},
		{"BestEffortPodLevel", KUBELET_ADMITS, KUBELET_ADMITS},
		{"RestrictedContainerLevel", KUBELET_REJECTS, KUBELET_ADMITS},
		{"RestrictedPodLevel", KUBELET_REJECTS, KUBELET_REJECTS},
		{"SingleNUMANodeContainerLevel", KUBELET_REJECTS, KUBELET_ADMITS},
		{"SingleNUMANodePodLevel", KUBELET_REJECTS, KUBELET_REJECTS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(node_state_release) struct node_state s;
		struct inventory zones;
		const struct zone_facts facts = {.inventory = &zones};

		make_zones(two, 2, cpus_only, 1, &zones);
		zones.topology = nrt_topology_manager(&cases[i].policy, cases[i].policy ? 1 : 0, NULL, 0);
		assert_int_equal(zone_state_make("n", &facts, &s, NULL), 0);
		assert_int_equal(zones.n_nodes, 0); /* it has moved */
		assert_string_equal(s.node_name, "n");
		assert_int_equal(hwloc_bitmap_first(s.machine.nodes[0].cpus), 0);
		assert_int_equal(hwloc_bitmap_last(s.machine.nodes[1].cpus), 31);
		assert_answer(&s, "app cpu=8 memory=1Gi", KUBELET_ADMITS);
		assert_answer(&s, "app cpu=9 memory=1Gi", cases[i].nine);
		assert_answer(&s, "app cpu=6 memory=1Gi; app cpu=6 memory=1Gi", cases[i].two_of_six);
		assert_answer(&s, "init cpu=17 memory=1Gi; app cpu=1 memory=1Gi", KUBELET_REJECTS);
	}
}

/* Zones that fill gaps are no NUMA nodes; the order of the zones does not matter. */
static void holes_and_order(void **state)
{
	static const unsigned ids[] = {4, 2, 1, 0};
	CLEANUP(node_state_release) struct node_state s;
	struct inventory zones;
	const struct zone_facts facts = {.inventory = &zones};

	(void)state;
	make_zones(ids, 4, cpus_only, 1, &zones);
	inventory_amount(&zones, 1, 0)->present = inventory_amount(&zones, 2, 0)->present = false;
	zones.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	zones.costs[0 * 4 + 3] = 31;
	assert_int_equal(zone_state_make("n", &facts, &s, NULL), 0);
	assert_int_equal(s.machine.n_nodes, 2);
	assert_int_equal(s.machine.nodes[0].id, 0);
	assert_int_equal(s.machine.nodes[1].id, 4);
	assert_int_equal(machine_distance(&s.machine, 1, 0), 31);
	assert_int_equal(machine_distance(&s.machine, 0, 1), 20);
	assert_answer(&s, "app cpu=8 memory=1Gi; app cpu=8 memory=1Gi", KUBELET_ADMITS);
	assert_answer(&s, "app cpu=9 memory=1Gi", KUBELET_REJECTS);
}

/* A kubelet that runs with more NUMA nodes than the default allows has been set up so. */
static void many_numa_nodes(void **state)
{
	CLEANUP(node_state_release) struct node_state s;
	unsigned ids[12];
	struct inventory zones;
	const struct zone_facts facts = {.inventory = &zones};

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		ids[i] = i;
	make_zones(ids, 12, cpus_only, 1, &zones);
	zones.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	assert_int_equal(zone_state_make("n", &facts, &s, NULL), 0);
	assert_answer(&s, "app cpu=8 memory=1Gi", KUBELET_ADMITS);
}

/* The memory manager is taken for Static where memory is not available; else memory is the node's as a whole. */
static void memory_counts_by_numa_node_where_it_is_held(void **state)
{
	static const struct {
		uint64_t allocatable, available;
		enum memory_manager_policy said;
		enum kubelet_answer twenty; /* 20Gi, with 15Gi or 16Gi on each NUMA node */
	} cases[] = {
		{16, 16, MEMORY_MANAGER_UNKNOWN, KUBELET_ADMITS},
		{15, 15, MEMORY_MANAGER_UNKNOWN, KUBELET_REJECTS},
		{16, 15, MEMORY_MANAGER_UNKNOWN, KUBELET_REJECTS},
		{16, 16, MEMORY_MANAGER_STATIC, KUBELET_REJECTS},
		{15, 15, MEMORY_MANAGER_NONE, KUBELET_ADMITS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* 4Gi of the capacity are hugepages. */
		const struct amounts amounts[] = {{"cpu", 16, 16, 16},
			{"hugepages-1Gi", 4 * GIB, 4 * GIB, 4 * GIB},
			{"memory", 20 * GIB, cases[i].allocatable * GIB, cases[i].available * GIB}};
		CLEANUP(node_state_release) struct node_state s;
		struct inventory zones;
		const struct zone_facts facts = {.inventory = &zones, .memory_manager = cases[i].said};

		make_zones(two, 2, amounts, ARRAY_SIZE(amounts), &zones);
		zones.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
		assert_int_equal(zone_state_make("n", &facts, &s, NULL), 0);
		assert_answer(&s, "app cpu=2 memory=15Gi", KUBELET_ADMITS);
		assert_answer(&s, "app cpu=2 memory=20Gi", cases[i].twenty);
		assert_answer(&s, "app cpu=2 memory=33Gi", KUBELET_REJECTS);
		assert_answer(&s, "app cpu=2 memory=1Gi hugepages-1Gi=9Gi", KUBELET_REJECTS);
		assert_answer(&s, "app cpu=2 memory=1Gi hugepages-2Mi=2Mi", KUBELET_REJECTS);
	}
}

static void devices_are_near_their_zone(void **state)
{
	static const struct amounts amounts[] = {{"cpu", 16, 16, 16}, {"vendor.com/nic", 4, 3, 2}};
	CLEANUP(node_state_release) struct node_state s;
	struct inventory zones;
	const struct zone_facts facts = {.inventory = &zones};

	(void)state;
	make_zones(two, 2, amounts, ARRAY_SIZE(amounts), &zones);
	zones.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	assert_int_equal(zone_state_make("n", &facts, &s, NULL), 0);
	assert_int_equal(s.allocations.n_registered, 2);
	assert_answer(&s, "app cpu=1 memory=1Gi vendor.com/nic=2", KUBELET_ADMITS);
	assert_answer(&s, "app cpu=1 memory=1Gi vendor.com/nic=3", KUBELET_REJECTS);
}

/* Whatever an object says, there is one line or a state that answers. */
static void odd_zones(void **state)
{
	static const unsigned same[] = {1, 1};
	static const struct {
		const unsigned *ids;
		struct amounts amounts;
		const char *want;
	} cases[] = {
		{same, {"cpu", 4, 4, 4}, "NUMA node 1 appears twice"},
		{two, {"cpu", 4097, 1, 1}, "8194 CPUs, at most 8192 are supported"},
		{two, {"cpu", UINT64_MAX, 1, 1}, "9007199254740991 CPUs, at most 8192 are supported"},
		{two, {"a.b/c", 40000, 40000, 1}, "a.b/c: 80000 devices, at most 65536 are supported"},
		{two, {"cpu", 1, 4, 2}, NULL},
		{two, {"cpu", 1, 2, 4}, NULL},
		{two, {"cpu", 0, 0, 0}, NULL},
		{two, {"memory", UINT64_MAX, 0, UINT64_MAX}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(node_state_release) struct node_state s;
		struct inventory zones;
		const struct zone_facts facts = {.inventory = &zones};
		struct err err = {""};

		node_state_init(&s);
		make_zones(cases[i].ids, 2, &cases[i].amounts, 1, &zones);
		assert_int_equal(zone_state_make("n", &facts, &s, &err) < 0, cases[i].want != NULL);
		test_assert_text("error", err.text, cases[i].want ? cases[i].want : "");
		if (!cases[i].want)
			assert_answer(&s, "app cpu=9 memory=1Gi", KUBELET_REJECTS);
		inventory_release(&zones);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_policy_decides),
		cmocka_unit_test(holes_and_order),
		cmocka_unit_test(many_numa_nodes),
		cmocka_unit_test(memory_counts_by_numa_node_where_it_is_held),
		cmocka_unit_test(devices_are_near_their_zone),
		cmocka_unit_test(odd_zones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
