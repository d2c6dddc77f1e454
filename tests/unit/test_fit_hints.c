/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/nodes.h"
#include "tests/lib/synthetic.h"

#define NO_LIMITS                                       \
	{                                               \
		.entries = SIZE_MAX, .work = UINT64_MAX \
	}

static char *print(const struct fit_hints *h, size_t max_size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
	CLEANUP(doc_release) struct doc d = DOC_INIT;

	assert_int_equal(fit_hints_to_doc(h, "0123456789abcdef", max_size, &d, NULL), 0);
	assert_int_equal(json_print_compact(&d, &text), 0);
	return strbuf_detach(&text);
}

/* Two sockets of 32 CPUs, of which the second has a network card and the first some work. */
static void the_whole_document(void **state)
{
	static const char *const zones[] = {"cpu=14 hugepages-1Gi=0 memory=64Gi",
		"cpu=30500m hugepages-1Gi=4Gi memory=64Gi vendor.com/nic=2", NULL};
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 16, .threads = 2};
	CLEANUP(fit_hints_release) struct fit_hints h = {0};
	CLEANUP(settings_release) struct settings settings;
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL, reserved = hwloc_bitmap_alloc();
	CLEANUP(freep) char *text = NULL;
	struct pod_request small, wide, burstable;
	struct request_shape shapes[] = {{"small", &small}, {"wide", &wide}, {"burstable", &burstable}};
	CLEANUP(kubelet_release) struct kubelet kubelet = {0};
	struct kubelet_node known = {.machine = &machine, .settings = &settings};
	struct fit_hints_input input = {.kubelet = &kubelet,
		.shapes = shapes,
		.n_shapes = 3,
		.strategy = STRATEGY_BALANCED_ALLOCATION,
		.limits = NO_LIMITS};
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	node.inv.topology = (struct topology_manager_config){
		TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_POD, 8, true, NUMA_ALLOCATION_NONE};
	synthetic_machine(&two, &machine);
	settings_init(&settings);
	settings.cpu_manager = CPU_MANAGER_STATIC;
	settings.cpu_options.full_pcpus_only = true;
	settings.memory_manager = MEMORY_MANAGER_NONE;
	shared = hwloc_bitmap_dup(machine.online);
	hwloc_bitmap_clr_range(shared, 1, 8);
	hwloc_bitmap_clr_range(shared, 33, 40);
	hwloc_bitmap_set(reserved, 0);
	hwloc_bitmap_set(reserved, 32);
	settings.topology = node.inv.topology;
	known.shared = shared;
	known.reserved = reserved;
	kubelet_init(&kubelet, &known);
	pod_request_init(&small);
	pod_request_init(&wide);
	pod_request_init(&burstable);
	pod_add_from_text(&small, "cpu=4 memory=8Gi vendor.com/nic=1");
	pod_add_from_text(&wide, "cpu=45 memory=8Gi");
	pod_add_from_text(&burstable, "cpu=500m");
	input.inventory = &node.inv;
	assert_int_equal(fit_hints_init(&h, &input), 0);
	text = print(&h, FIT_HINTS_MAX_SIZE);
	test_assert_text("document", text,
		"{\"version\":2,\"nrt\":\"0123456789abcdef\","
		"\"topologyManager\":{\"policy\":\"single-numa-node\",\"scope\":\"pod\",\"maxNUMANodes\":8,"
		"\"preferClosestNUMANodes\":true},"
		"\"resources\":[\"cpu\",\"hugepages-1Gi\",\"memory\",\"vendor.com/nic\"],"
		"\"fits\":[{\"numaNodes\":[0],\"minDistance\":true,\"available\":[14,0,68719476736,null]},"
		"{\"numaNodes\":[1],\"minDistance\":true,\"available\":[30.5,4294967296,68719476736,2]},"
		"{\"numaNodes\":[0,1],\"minDistance\":true,"
		"\"available\":[44.5,4294967296,137438953472,null]}],"
		"\"truncated\":false,"
		"\"exclusiveCPUs\":{\"step\":2,\"ranges\":[[2,32]]}}");
	assert_int_equal(h.n_shapes, 3);
	assert_int_equal(h.shapes[0].score, 78);
	assert_int_equal(h.shapes[1].score, 0);
	assert_int_equal(h.shapes[1].fit.verdict, FIT_NONE);
	assert_int_equal(h.shapes[2].score, 100);
	pod_request_release(&small);
	pod_request_release(&wide);
	pod_request_release(&burstable);
	test_node_release(&node);
}

/* Policy, scope, kubelet, a least distance: null or absent, never a guess. */
static void what_is_not_known(void **state)
{
	static const char *const names[] = {"cpu", "memory", "vendor.com/fpga"};
	static const struct synthetic one = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 2, .threads = 1};
	CLEANUP(fit_hints_release) struct fit_hints h = {0};
	CLEANUP(settings_release) struct settings settings;
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(kubelet_release) struct kubelet kubelet = {0};
	struct kubelet_node known = {.machine = &machine, .settings = &settings};
	struct pod_request pod;
	struct request_shape shape = {"odd", &pod};
	struct fit_hints_input input = {
		.shapes = &shape, .n_shapes = 1, .strategy = STRATEGY_MOST_ALLOCATED, .limits = NO_LIMITS};
	struct test_node node;

	(void)state;
	test_node_shape(&node, 2, names, ARRAY_SIZE(names));
	node.inv.nodes[0].id = node.inv.nodes[1].id = 3;
	test_node_set(&node, 0, "cpu", "4");
	test_node_set(&node, 1, "cpu", "-1");
	node.inv.topology.max_numa_nodes = 8;
	node.inv.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	pod_request_init(&pod);
	pod.qos = QOS_GUARANTEED; /* which the API server would not say of it */
	assert_non_null(pod_request_add(&pod, CONTAINER_APP, "c"));
	input.inventory = &node.inv;
	assert_int_equal(fit_hints_init(&h, &input), 0);
	h.frontier.entries[0].min_distance = FIT_MIN_DISTANCE_UNKNOWN;
	text = print(&h, FIT_HINTS_MAX_SIZE);
	test_assert_text("document", text,
		"{\"version\":2,\"nrt\":\"0123456789abcdef\","
		"\"topologyManager\":{\"policy\":\"single-numa-node\",\"scope\":null,\"maxNUMANodes\":8,"
		"\"preferClosestNUMANodes\":false},\"resources\":[\"cpu\"],"
		"\"fits\":[{\"numaNodes\":[3],\"minDistance\":null,\"available\":[4]}],"
		"\"truncated\":false}");
	assert_int_equal(h.shapes[0].score, SCORE_UNKNOWN);
	fit_hints_release(&h);

	synthetic_machine(&one, &machine);
	settings_init(&settings);
	kubelet_init(&kubelet, &known);
	input.kubelet = &kubelet;
	input.n_shapes = 0;
	input.limits.entries = 0;
	node.inv.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	assert_int_equal(fit_hints_init(&h, &input), 0);
	free(text);
	text = print(&h, FIT_HINTS_MAX_SIZE);
	test_assert_text("document", text,
		"{\"version\":2,\"nrt\":\"0123456789abcdef\","
		"\"topologyManager\":{\"policy\":null,\"scope\":null,\"maxNUMANodes\":8,"
		"\"preferClosestNUMANodes\":false},\"resources\":[\"cpu\"],\"fits\":[],\"truncated\":true,"
		"\"exclusiveCPUs\":{\"step\":1,\"ranges\":null}}");
	pod_request_release(&pod);
	inventory_release(&node.inv);
	test_node_shape(&node, 65, names, ARRAY_SIZE(names));
	assert_int_equal(fit_hints_init(&h, &input), -E2BIG);
	inventory_release(&node.inv);
}

/* Four resources of which 64 NUMA nodes have 20 to 100 each: a pod that needs ten takes longer to place than a change may. */
static void shapes_end_at_their_own_limit(void **state)
{
	static const char *const names[] = {"cpu", "hugepages-1Gi", "memory", "vendor.com/nic"};
	CLEANUP(fit_hints_release) struct fit_hints h = {0};
	struct pod_request small, wide;
	struct request_shape shapes[] = {{"small", &small}, {"wide", &wide}};
	struct fit_hints_input input = {.shapes = shapes,
		.n_shapes = 2,
		.strategy = STRATEGY_LEAST_NUMA_NODES,
		.limits = {.entries = 1, .work = 1}};
	struct distances_kept kept = {0};
	struct test_node node;
	uint64_t random = 42;

	(void)state;
	test_node_shape(&node, 64, names, ARRAY_SIZE(names));
	for (size_t i = 0; i < 64; i++) {
		for (size_t j = 0; j < 64; j++)
			node.inv.costs[i * 64 + j] = i == j ? 10 : i / 8 == j / 8 ? 12 : 32;
		for (size_t r = 0; r < ARRAY_SIZE(names); r++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			*inventory_amount(&node.inv, i, r) = (struct inventory_amount){
				.present = true, .available = (qty_t)(20 + (random >> 33) % 81) * QTY_UNIT};
		}
	}
	node.inv.topology.max_numa_nodes = 64;
	pod_request_init(&small);
	pod_request_init(&wide);
	pod_add_from_text(&small, "cpu=60 hugepages-1Gi=60 memory=60 vendor.com/nic=60");
	pod_add_from_text(&wide, "cpu=700 hugepages-1Gi=700 memory=700 vendor.com/nic=700");
	input.inventory = &node.inv;
	assert_int_equal(fit_hints_init(&h, &input), 0);
	assert_int_equal(h.shapes[0].fit.verdict, FIT_FOUND);
	assert_int_equal(h.shapes[0].score, 99);
	assert_int_equal(h.shapes[1].fit.verdict, FIT_UNKNOWN);
	assert_int_equal(h.shapes[1].score, SCORE_UNKNOWN);
	/* The distances may stay from one call to the next. */
	input.kept = &kept;
	for (int turn = 0; turn < 2; turn++) {
		fit_hints_release(&h);
		assert_int_equal(fit_hints_init(&h, &input), 0);
		assert_int_equal(h.shapes[0].score, 99);
		assert_true(kept.distances.sums_found);
	}
	distances_kept_release(&kept);
	test_node_ready(&node);
	assert_int_equal(fit_required(&node.space, QOS_GUARANTEED, &wide.containers[0].requests).n_nodes, 10);
	pod_request_release(&small);
	pod_request_release(&wide);
	test_node_release(&node);
}

/* Of each size from everything down to nothing: as many entries as there is room for, from the beginning. */
static void entries_go_from_the_end(void **state)
{
	static const char *const zones[] = {
		"cpu=1 vendor.com/nic=9", "cpu=2 vendor.com/nic=8", "cpu=4 vendor.com/nic=7", NULL};
	CLEANUP(fit_hints_release) struct fit_hints h = {0};
	CLEANUP(freep) char *whole = NULL;
	struct fit_hints_input input = {.limits = NO_LIMITS};
	struct test_node node;
	size_t most, n_before = 7;

	(void)state;
	test_node_init(&node, zones);
	node.inv.nodes[0].id = 7; /* positions are not ids */
	input.inventory = &node.inv;
	assert_int_equal(fit_hints_init(&h, &input), 0);
	assert_int_equal(h.frontier.n_entries, n_before);
	whole = print(&h, SIZE_MAX);
	assert_non_null(strstr(whole, "{\"numaNodes\":[1,2,7],"));
	for (most = strlen(whole);; most--) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
		CLEANUP(doc_release) struct doc d = DOC_INIT;
		struct err err = {""};
		int r = fit_hints_to_doc(&h, "0123456789abcdef", most, &d, &err);
		size_t n;

		if (r == -EFBIG) {
			assert_int_equal(n_before, 0);
			assert_non_null(strstr(err.text, "without any fit"));
			assert_int_equal(d.kind, DOC_NULL);
			break;
		}
		assert_int_equal(r, 0);
		assert_int_equal(json_print_compact(&d, &text), 0);
		assert_true(text.len <= most);
		n = doc_get(&d, "fits")->n_items;
		test_assert_text("truncated", doc_get(&d, "truncated")->text, n < 7 ? "true" : "false");
		/* One goes only where the text of before would not have had room. */
		assert_true(n == n_before || n + 1 == n_before);
		if (n < n_before)
			assert_true(text.len < most || n == 0);
		n_before = n;
	}
	test_node_release(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_document),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(shapes_end_at_their_own_limit),
		cmocka_unit_test(entries_go_from_the_end),
	};

	return cmocka_run_group_tests_name("fit_hints", tests, NULL, NULL);
}
