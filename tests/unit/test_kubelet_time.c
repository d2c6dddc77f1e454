/* SPDX-License-Identifier: Apache-2.0 */
/* The time that the kubelet needs for a pod: the number of permutations of hints, the limit, and the slowest container. */
#include "tests/lib/test.h"

#include <inttypes.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "scoring/admit.h"
#include "scoring/exclusive_cpus.h"
#include "scoring/kubelet_slowest.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/pods.h"

#define GIB ((uint64_t)1 << 30)

/* 2 sockets with so many NUMA nodes each, of 4 CPUs; a NIC and a GPU on each NUMA node. */
static void init(struct kubelet_fixture *f, unsigned numas, enum topology_manager_policy policy)
{
	const struct synthetic machine = {.sockets = 2,
		.numas = numas,
		.uncores = 1,
		.cores = 2,
		.threads = 2,
		.memory_bytes = 64 * GIB};

	kubelet_fixture_init(f, &machine, policy);
	f->settings.topology.max_numa_nodes = 64;
	for (unsigned id = 0; id < 2 * numas; id++) {
		struct device device = {.nodes = UINT64_C(1) << id, .healthy = true};

		device_inventory_add(&f->devices, "vendor.com/gpu", device);
		device_inventory_add(&f->devices, "vendor.com/nic", device);
	}
}

/* The time of the kubelet's verdict, without a limit. */
static struct kubelet_time judge(struct kubelet_fixture *f, const char *text, enum kubelet_answer want)
{
	struct pod_request pod;

	pod_from_text(&pod, text);
	kubelet_judge(&f->k, f->ws, &pod, QOS_GUARANTEED, &f->verdict);
	if (f->verdict.answer != want)
		fail_msg("%s: %d, not %d: %s", text, f->verdict.answer, want, f->verdict.reason.text);
	pod_request_release(&pod);
	return f->verdict.time;
}

#define ALL "cpu=1 memory=1Gi vendor.com/gpu=1 vendor.com/nic=1"

/* 8 NUMA nodes have 255 sets. Each resource has a hint for every set that has enough. */
static void permutations_are_the_product_of_the_hints(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, 4, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app " ALL, KUBELET_ADMITS).permutations, UINT64_C(255) * 255 * 255 * 255);
	/* 2 GPUs: the 247 sets of at least 2 NUMA nodes. */
	assert_int_equal(judge(&f, "app cpu=1 memory=1Gi vendor.com/gpu=2 vendor.com/nic=1", KUBELET_REJECTS)
				 .permutations,
		UINT64_C(255) * 255 * 247 * 255);
	/* Without enough NICs their list has one hint, "any node". */
	assert_int_equal(judge(&f, "app cpu=1 memory=1Gi vendor.com/gpu=1 vendor.com/nic=9", KUBELET_REJECTS)
				 .permutations,
		UINT64_C(255) * 255 * 255);
	/*
	 * Each container is merged for itself. NUMA node 0 then has no GPU and no NIC left, and its memory cannot be used together with
	 * that of others.
	 */
	assert_int_equal(judge(&f, "app " ALL "; app " ALL, KUBELET_ADMITS).permutations,
		UINT64_C(255) * 255 * 255 * 255 + UINT64_C(255) * 128 * 254 * 254);
	f.k.scope = TOPOLOGY_SCOPE_POD;
	assert_int_equal(judge(&f, "init " ALL "; app " ALL, KUBELET_ADMITS).permutations,
		UINT64_C(255) * 255 * 255 * 255);
	kubelet_fixture_release(&f);
}

/* Without a preferred hint of the CPUs the verdict needs no other hint, but the kubelet's time depends on all. */
static void rejections_take_as_long(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, 4, TOPOLOGY_MANAGER_RESTRICTED);
	for (size_t i = 0; i < f.machine.n_nodes; i++)
		hwloc_bitmap_clr(f.shared, (unsigned)hwloc_bitmap_first(f.machine.nodes[i].cpus));
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app cpu=4 memory=1Gi vendor.com/gpu=1 vendor.com/nic=1", KUBELET_REJECTS)
				 .permutations,
		UINT64_C(247) * 255 * 255 * 255);
	kubelet_fixture_release(&f);
}

static void single_numa_node_merges_few_hints(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, 4, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app " ALL, KUBELET_ADMITS).permutations, 8 * 8 * 8 * 8);
	assert_true(f.verdict.time.ns < KUBELET_TIME_NOTICE);
	kubelet_fixture_release(&f);
	init(&f, 4, TOPOLOGY_MANAGER_NONE);
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app " ALL, KUBELET_ADMITS).ns, 0);
	kubelet_fixture_release(&f);
}

/* 1.38 merges all hints only if the preferred hints have no common NUMA nodes. */
static void preferred_hints_come_first_since_1_38(void **state)
{
	static const char apart[] = "app cpu=1 memory=1Gi vendor.com/gpu=2 vendor.com/nic=1";
	struct kubelet_fixture f;
	uint64_t scored;

	(void)state;
	init(&f, 4, TOPOLOGY_MANAGER_BEST_EFFORT);
	f.settings.kubelet_minor = 38;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app " ALL, KUBELET_ADMITS).permutations, 0);
	assert_true(f.verdict.time.ns < KUBELET_TIME_NOTICE);
	assert_int_equal(judge(&f, apart, KUBELET_ADMITS).permutations, UINT64_C(255) * 255 * 247 * 255);
	scored = f.verdict.time.ns;
	kubelet_fixture_release(&f);
	init(&f, 4, TOPOLOGY_MANAGER_BEST_EFFORT);
	f.settings.kubelet_minor = 37;
	kubelet_fixture_ready(&f);
	assert_int_equal(judge(&f, "app " ALL, KUBELET_ADMITS).permutations, UINT64_C(255) * 255 * 255 * 255);
	/* A permutation takes longer where hints have scores. */
	assert_true(judge(&f, apart, KUBELET_ADMITS).ns < scored / 2);
	kubelet_fixture_release(&f);
}

/* A pod that takes too long is rejected, with the time and the limit. */
static void admissions_have_a_limit(void **state)
{
	static const struct resource_list free = {0};
	struct admit_copies copies;
	struct kubelet_fixture f;
	struct pod_request pod;
	struct kubelet_verdict a;

	(void)state;
	init(&f, 4, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_ready(&f);
	pod_from_text(&pod, "app " ALL);

	struct admit_handlers handlers = {
		.kubelet = &f.k, .ws = f.ws, .free = &free, .max_kubelet_ns = KUBELET_TIME_MAX};

	admit_judge(&handlers, &pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_REJECTS);
	assert_int_equal(a.rejection, KUBELET_TOO_SLOW);
	test_assert_text("reason", a.reason.text,
		"the kubelet needs about 20 min for this pod, because it merges 4.23 billion permutations of topology hints; the limit is 10 s");
	admit_copies(&handlers, &pod, QOS_GUARANTEED, &copies);
	assert_int_equal(copies.n, 0);
	handlers.max_kubelet_ns = 3600 * KUBELET_TIME_SECOND;
	admit_judge(&handlers, &pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_ADMITS);
	handlers.max_kubelet_ns = 0;
	admit_judge(&handlers, &pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_ADMITS);
	pod_request_release(&pod);
	kubelet_fixture_release(&f);
}

/* Whether the kubelet takes longer than its limit; the verdict without the limit has this answer. */
static bool takes_too_long(struct kubelet_fixture *f, const char *text, enum kubelet_answer without)
{
	judge(f, text, without);
	kubelet_limit_time(&f->verdict, KUBELET_TIME_MAX);
	return f->verdict.answer == KUBELET_REJECTS && f->verdict.rejection == KUBELET_TOO_SLOW;
}

/* With more NUMA nodes than a verdict can walk, the time to make the hints alone may decide. */
static void hints_of_many_nodes_take_too_long(void **state)
{
	struct kubelet_fixture f;

	(void)state;
	init(&f, 12, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_ready(&f);
	assert_true(takes_too_long(&f, "app cpu=1 memory=1Gi", KUBELET_UNKNOWN));
	test_assert_text("reason", f.verdict.reason.text,
		"the kubelet needs about 7 min for this pod, because it tries 33.6 million sets of NUMA nodes; the limit is 10 s");
	kubelet_fixture_release(&f);

	/* 262143 sets of 18 NUMA nodes and 72 CPUs are 4 s. */
	init(&f, 9, TOPOLOGY_MANAGER_RESTRICTED);
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	kubelet_fixture_ready(&f);
	assert_false(takes_too_long(&f, "app cpu=1", KUBELET_UNKNOWN));
	test_assert_text(
		"unknown", f.verdict.reason.text, "18 NUMA nodes have too many combinations (at most 16)");
	kubelet_fixture_release(&f);

	/* Without a Topology Manager the memory manager makes its hints, and nobody else. */
	init(&f, 12, TOPOLOGY_MANAGER_NONE);
	kubelet_fixture_ready(&f);
	assert_true(takes_too_long(&f, "app cpu=1 memory=1Gi", KUBELET_UNKNOWN));
	kubelet_fixture_release(&f);
	init(&f, 12, TOPOLOGY_MANAGER_NONE);
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	kubelet_fixture_ready(&f);
	assert_false(takes_too_long(&f, "app cpu=1 memory=1Gi vendor.com/gpu=1", KUBELET_ADMITS));
	assert_int_equal(f.verdict.time.ns, 0);
	kubelet_fixture_release(&f);
}

/*
 * Measured with takeByTopologyNUMADistributed() of 1.36.5: so many NUMA nodes, of which node i has i % (busy + 1) busy CPUs, and
 * the milliseconds for n CPUs.
 */
static void distributions_are_estimated(void **state)
{
	static const struct {
		unsigned nodes, cpus, busy, n, measured_ms;
	} cases[] = {{8, 8, 0, 30, 2}, {10, 8, 0, 37, 18}, {12, 4, 0, 19, 35}, {12, 16, 3, 67, 78},
		{13, 16, 1, 107, 237}, {16, 8, 6, 67, 357}, {16, 16, 9, 131, 899}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct synthetic machine = {.sockets = 2,
			.numas = cases[i].nodes / 2 + cases[i].nodes % 2,
			.uncores = 1,
			.cores = cases[i].cpus,
			.threads = 1,
			.memory_bytes = GIB};
		struct kubelet_fixture f;
		char text[40];
		uint64_t ms;

		kubelet_fixture_init(&f, &machine, TOPOLOGY_MANAGER_NONE);
		f.settings.memory_manager = MEMORY_MANAGER_NONE;
		f.settings.cpu_options.distribute_cpus_across_numa = true;
		f.settings.kubelet_minor = 36;
		for (size_t c = 0; c < f.machine.n_cpus; c++) {
			unsigned node = (unsigned)f.machine.cpus[c].numa, at = (unsigned)c % cases[i].cpus;

			if (node >= cases[i].nodes || at < node % (cases[i].busy + 1))
				hwloc_bitmap_clr(f.shared, f.machine.cpus[c].id);
		}
		hwloc_bitmap_set(f.shared, 0);
		kubelet_fixture_ready(&f);
		snprintf(text, sizeof(text), "app cpu=%u memory=1Gi", cases[i].n);
		ms = judge(&f, text, KUBELET_ADMITS).ns / 1000000;
		if (ms * 3 < cases[i].measured_ms || ms > 3 * cases[i].measured_ms + 3)
			fail_msg("%u NUMA nodes, %u CPUs: %" PRIu64 " ms, measured %u", cases[i].nodes,
				cases[i].n, ms, cases[i].measured_ms);
		kubelet_fixture_release(&f);
	}
}

/* Combinations beyond the limit of a verdict take the kubelet too long. */
static void distributions_take_too_long(void **state)
{
	static const struct synthetic wide = {
		.sockets = 32, .numas = 1, .uncores = 1, .cores = 4, .threads = 1};
	struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &wide, TOPOLOGY_MANAGER_NONE);
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	f.settings.cpu_options.distribute_cpus_across_numa = true;
	kubelet_fixture_ready(&f);
	assert_true(takes_too_long(&f, "app cpu=63 memory=1Gi", KUBELET_UNKNOWN));
	assert_false(takes_too_long(&f, "app cpu=4 memory=1Gi", KUBELET_ADMITS));
	kubelet_fixture_release(&f);
}

/* The machine and the settings alone: nothing has to be free. */
static void the_slowest_container_requests_everything(void **state)
{
	struct kubelet_slowest slowest;
	struct kubelet_fixture f;

	(void)state;
	init(&f, 4, TOPOLOGY_MANAGER_RESTRICTED);
	kubelet_fixture_add_table(&f.memory.nodes[0], "hugepages-1Gi", GIB);
	kubelet_fixture_add_table(&f.memory.nodes[0], "hugepages-2Mi", 0);
	device_inventory_add(&f.devices, "vendor.com/none", (struct device){.healthy = true});
	kubelet_fixture_ready(&f);
	slowest = kubelet_find_slowest(&f.k);
	assert_true(slowest.known && slowest.cpus);
	assert_int_equal(slowest.n_memory, 2);
	assert_int_equal(slowest.n_devices, 2);
	assert_int_equal(slowest.time.permutations, UINT64_C(255) * 255 * 255 * 255 * 255);
	kubelet_fixture_release(&f);

	init(&f, 4, TOPOLOGY_MANAGER_UNKNOWN);
	kubelet_fixture_ready(&f);
	assert_false(kubelet_find_slowest(&f.k).known);
	kubelet_fixture_release(&f);

	/* Without the memory manager's state, and with more NUMA nodes than a verdict can walk. */
	init(&f, 32, TOPOLOGY_MANAGER_RESTRICTED);
	f.node.memory = NULL;
	kubelet_fixture_ready(&f);
	slowest = kubelet_find_slowest(&f.k);
	assert_int_equal(slowest.n_memory, 1);
	assert_int_equal(slowest.time.ns, UINT64_MAX);
	kubelet_fixture_release(&f);
}

/* A real pod with exclusive CPUs requests memory too, for which this kubelet needs half an hour. */
static void exclusive_cpus_are_not_offered(void **state)
{
	struct exclusive_cpus_admitted admitted;
	struct kubelet_fixture f;

	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		init(&f, 8, fast ? TOPOLOGY_MANAGER_SINGLE_NUMA_NODE : TOPOLOGY_MANAGER_BEST_EFFORT);
		kubelet_fixture_ready(&f);
		exclusive_cpus_find(&f.k, &admitted);
		test_assert_text("unknown", admitted.unknown.text, "");
		assert_int_equal(admitted.n_ranges, fast);
		exclusive_cpus_admitted_release(&admitted);
		kubelet_fixture_release(&f);
	}
}

static void times_are_printed_for_people(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {{0, "0 s"}, {119, "119 s"}, {120, "2 min"}, {7199, "119 min"}, {7200, "2 h"},
		{172800, "2 days"}, {730 * 86400, "2 years"}};
	char text[40] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text[0] = '\0';
		text_add_duration(text, sizeof(text), cases[i].seconds);
		test_assert_text("duration", text, cases[i].text);
	}
	text[0] = '\0';
	kubelet_time_print((struct kubelet_time){.ns = UINT64_MAX}, text, sizeof(text));
	test_assert_text("saturated", text, "584 years");
	text[0] = '\0';
	kubelet_time_print((struct kubelet_time){.ns = 1500000000}, text, sizeof(text));
	test_assert_text("rounded", text, "2 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutations_are_the_product_of_the_hints),
		cmocka_unit_test(rejections_take_as_long),
		cmocka_unit_test(single_numa_node_merges_few_hints),
		cmocka_unit_test(preferred_hints_come_first_since_1_38),
		cmocka_unit_test(admissions_have_a_limit),
		cmocka_unit_test(hints_of_many_nodes_take_too_long),
		cmocka_unit_test(distributions_are_estimated),
		cmocka_unit_test(distributions_take_too_long),
		cmocka_unit_test(the_slowest_container_requests_everything),
		cmocka_unit_test(exclusive_cpus_are_not_offered),
		cmocka_unit_test(times_are_printed_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
