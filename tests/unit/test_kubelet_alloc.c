/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging a pod allocates nothing once the workspace has seen a pod as large.
 */
#include "tests/lib/test.h"

#include "scoring/kubelet.h"
#include "tests/lib/count_allocations.h"
#include "tests/lib/pods.h"
#include "tests/lib/synthetic.h"

/* Sanitizers and valgrind put their own allocator in place. */
static void skip_unless_counted(void)
{
	if (!allocations_are_counted())
		test_skip("allocations are not counted under a sanitizer or valgrind");
}

static void counting_counts(void **state)
{
	unsigned long before;
	char *volatile p;

	(void)state;
	skip_unless_counted();
	before = n_allocations;
	p = strdup("counted");
	free(p);
	assert_int_equal(n_allocations, before + 1);
}

/* A node with all managers at work, every option that allocates differently, and pods that fit and do not. */
static void judging_allocates_nothing(void **state)
{
	static const struct synthetic machine = {
		.sockets = 2, .numas = 4, .uncores = 2, .cores = 8, .threads = 2, .memory_bytes = 1u << 30};
	static const struct cpu_manager_options ways[] = {{0}, {.full_pcpus_only = true},
		{.distribute_cpus_across_numa = true}, {.distribute_cpus_across_cores = true},
		{.align_by_socket = true}, {.prefer_align_cpus_by_uncorecache = true}};
	static const char *const texts[] = {
		"app cpu=6 memory=1Mi vendor.com/nic=1",
		"init cpu=20 memory=1Mi; sidecar cpu=2 memory=1Mi; app cpu=44 memory=900Mi",
		"app cpu=300 memory=1Mi",
		"app cpu=2 memory=900Gi; app cpu=500m memory=1Mi",
	};
	struct device_inventory devices;
	struct memory_node nodes[8];
	struct memory_state memory = {.nodes = nodes, .n_nodes = 8};
	struct memory_table tables[8];
	char memory_name[] = "memory";
	struct settings settings;
	struct machine m;
	hwloc_bitmap_t reserved;

	(void)state;
	skip_unless_counted();
	reserved = hwloc_bitmap_alloc();
	assert_non_null(reserved);
	hwloc_bitmap_set(reserved, 0);
	synthetic_machine(&machine, &m);
	settings_init(&settings);
	settings.cpu_manager = CPU_MANAGER_STATIC;
	settings.memory_manager = MEMORY_MANAGER_STATIC;
	devices = (struct device_inventory){0};
	for (unsigned id = 0; id < 8; id++) {
		tables[id] = (struct memory_table){.type = memory_name,
			.allocatable = machine.memory_bytes,
			.free = machine.memory_bytes};
		nodes[id] = (struct memory_node){.id = id, .tables = &tables[id], .n_tables = 1};
		device_inventory_add(&devices, "vendor.com/nic",
			(struct device){.nodes = node_mask_of(id), .healthy = true});
	}
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		for (int policy = TOPOLOGY_MANAGER_NONE; policy < TOPOLOGY_MANAGER_POLICY_COUNT; policy++) {
			const struct kubelet_node node = {.machine = &m,
				.settings = &settings,
				.shared = m.online,
				.reserved = reserved,
				.memory = &memory,
				.devices = &devices};
			static struct kubelet k;
			struct kubelet_workspace *ws;
			struct kubelet_verdict verdict;
			struct pod_request pods[4];

			settings.cpu_options = ways[way];
			settings.topology.policy = (enum topology_manager_policy)policy;
			settings.topology.scope = way % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER;
			settings.topology.prefer_closest_numa_nodes = true;
			kubelet_init(&k, &node);
			ws = kubelet_workspace_new(&k);
			for (size_t i = 0; i < 4; i++)
				pod_from_text(&pods[i], texts[i]);
			kubelet_judge(&k, ws, &pods[1], QOS_GUARANTEED, &verdict);
			for (size_t i = 0; i < 8; i++) {
				unsigned long before = n_allocations;
				int r = 0;

				kubelet_judge(&k, ws, &pods[i % 4], QOS_GUARANTEED, &verdict);
				assert_int_equal(n_allocations, before);
				assert_int_equal(r, 0);
			}
			for (size_t i = 0; i < 4; i++)
				pod_request_release(&pods[i]);
			kubelet_workspace_freep(&ws);
			kubelet_release(&k);
		}
	device_inventory_release(&devices);
	settings_release(&settings);
	machine_release(&m);
	hwloc_bitmap_free(reserved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_counts),
		cmocka_unit_test(judging_allocates_nothing),
	};

	return cmocka_run_group_tests_name("kubelet_alloc", tests, NULL, NULL);
}
