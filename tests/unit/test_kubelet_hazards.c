/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/kubelet_hazards.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/pods.h"

/* 2 sockets with 2 NUMA nodes each of 3 cores: CPU i and i + 12 are siblings. */
static const struct synthetic four = {
	.sockets = 2, .numas = 2, .uncores = 1, .cores = 3, .threads = 2, .memory_bytes = 8ull << 30};

/* The settings of a case of K1, with these reserved CPUs. */
static void init(struct kubelet_fixture *f, const char *reserved, unsigned minor)
{
	kubelet_fixture_init(f, &four, TOPOLOGY_MANAGER_RESTRICTED);
	f->settings.memory_manager = MEMORY_MANAGER_NONE;
	f->settings.cpu_options.full_pcpus_only = f->settings.cpu_options.distribute_cpus_across_numa = true;
	f->settings.kubelet_minor = minor;
	hwloc_bitmap_list_sscanf(f->reserved, reserved);
}

/* The hazards begin with these texts, separated by ";". */
static void assert_hazards(struct kubelet_fixture *f, const char *want)
{
	struct kubelet_hazard hazards[KUBELET_HAZARDS_MAX];
	CLEANUP(freep) char *copy = strdup(want);
	char *rest = copy, *text;
	size_t n, i = 0;

	kubelet_init(&f->k, &f->node);
	n = kubelet_find_hazards(&f->k, hazards);
	for (; (text = strsep(&rest, ";")) && *text; i++) {
		assert_true(i < n);
		if (strncmp(hazards[i].what.text, text, strlen(text)) != 0)
			test_assert_text(want, hazards[i].what.text, text);
		assert_true(strlen(hazards[i].remedy) > 0);
	}
	assert_int_equal(i, n);
	kubelet_release(&f->k);
	memset(&f->k, 0, sizeof(f->k));
}

static void parts_of_cores_can_hang(void **state)
{
	static const struct {
		const char *reserved;
		unsigned minor;
		bool full_pcpus_only, hangs;
	} cases[] = {
		{"0,3,6,9", 37, true, true}, /* a thread of a core on each NUMA node */
		{"0,3", 34, true, true},
		{"0,3,6,9", 38, true, false},
		{"0,3,6,9", 37, false, false},
		{"0", 37, true, false}, /* a part of one core cannot be taken for a whole one */
		{"0,12,3,15", 37, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;

		init(&f, cases[i].reserved, cases[i].minor);
		f.settings.cpu_options.full_pcpus_only = cases[i].full_pcpus_only;
		assert_hazards(&f, cases[i].hangs ? "the kubelet hangs when it distributes" : "");
	}
}

/* If some number of CPUs hangs the kubelet, the hazard is found. */
static void hazards_are_what_pods_do(void **state)
{
	static const char *const reserved[] = {"0,3,6,9", "0,12,3,15", "0", "0-11", "0,3", "0,3,6"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		for (unsigned minor = 37; minor <= 38; minor++) {
			struct kubelet_hazard hazards[KUBELET_HAZARDS_MAX];
			CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;
			bool hangs = false;

			init(&f, reserved[i], minor);
			f.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
			kubelet_fixture_ready(&f);
			for (unsigned n = 2; n < 24; n += 2) {
				struct pod_request pod;
				char text[32];

				snprintf(text, sizeof(text), "app cpu=%u memory=1Gi", n);
				pod_from_text(&pod, text);
				kubelet_judge(&f.k, f.ws, &pod, QOS_GUARANTEED, &f.verdict);
				hangs = hangs || (f.verdict.answer == KUBELET_REJECTS &&
							 f.verdict.rejection == KUBELET_HANGS);
				pod_request_release(&pod);
			}
			if (hangs)
				assert_int_equal(kubelet_find_hazards(&f.k, hazards), 1);
			if (!strcmp(reserved[i], "0,3,6,9"))
				assert_int_equal(hangs, minor == 37);
		}
}

static void panics_have_their_remedies(void **state)
{
	CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;

	(void)state;
	init(&f, "0,12", 38);
	f.settings.topology.prefer_closest_numa_nodes = true;
	assert_hazards(&f, "");
	f.machine.nodes[3].id = 8;
	for (size_t i = 0; i < f.machine.n_cpus; i++)
		f.machine.cpus[i].numa = f.machine.cpus[i].numa == 3 ? 8 : f.machine.cpus[i].numa;
	assert_hazards(&f, "the kubelet panics for pods that fit several NUMA nodes equally well");
	f.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	assert_hazards(&f, "");
	f.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	f.settings.topology.prefer_closest_numa_nodes = false;
	f.settings.memory_manager = MEMORY_MANAGER_STATIC;
	kubelet_fixture_add_table(&f.memory.nodes[0], "hugepages-1Gi", 4ull << 30);
	assert_hazards(&f,
		"the kubelet panics for Guaranteed pods that request hugepages-1Gi: NUMA node 1 has no hugepages-1Gi");
	f.machine.nodes[3].id = 64;
	assert_hazards(&f,
		"the kubelet panics for every pod: a NUMA node id exceeds 63;the kubelet panics for Guaranteed pods");
	f.settings.memory_manager = MEMORY_MANAGER_STATIC;
	f.memory.nodes[3].id = 64;
	assert_hazards(&f,
		"the kubelet panics for every pod: a NUMA node id exceeds 63;the kubelet panics for every Guaranteed pod");
	/* What is not known is no hazard, and neither is a kubelet that does not start. */
	f.settings.topology.max_numa_nodes = 2;
	assert_hazards(&f, "");
}

/* Two device resources on each of 8 NUMA nodes, which some container could request together. */
static void slow_merges_have_their_remedies(void **state)
{
	static const struct synthetic eight = {
		.sockets = 2, .numas = 4, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = 8ull << 30};
	static const char *const names[] = {"vendor.com/gpu", "vendor.com/nic"};
	CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &eight, TOPOLOGY_MANAGER_BEST_EFFORT);
	assert_hazards(&f, "");
	for (unsigned i = 0; i < 16; i++)
		device_inventory_add(
			&f.devices, names[i % 2], (struct device){.nodes = 1u << i / 2, .healthy = true});
	assert_hazards(&f,
		"the kubelet needs up to about 20 min for a container that requests exclusive CPUs, memory, 2 device resources, and admits no other pod meanwhile: it merges 4.23 billion permutations of topology hints");
	f.settings.topology.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	assert_hazards(&f, "");
}

/* Sets of NUMA nodes that no policy avoids. */
static void many_numa_nodes_have_their_remedies(void **state)
{
	static const struct synthetic many = {.sockets = 2,
		.numas = 12,
		.uncores = 1,
		.cores = 2,
		.threads = 1,
		.memory_bytes = 8ull << 30};
	struct kubelet_hazard hazards[KUBELET_HAZARDS_MAX];
	CLEANUP(kubelet_fixture_release) struct kubelet_fixture f;

	(void)state;
	kubelet_fixture_init(&f, &many, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	f.settings.topology.max_numa_nodes = 64;
	assert_hazards(&f,
		"the kubelet needs up to about 4 min for a container that requests exclusive CPUs, memory");
	kubelet_init(&f.k, &f.node);
	assert_int_equal(kubelet_find_hazards(&f.k, hazards), 1);
	assert_non_null(strstr(hazards[0].remedy, "make fewer NUMA nodes"));
	assert_null(strstr(hazards[0].remedy, "topologyManagerPolicy"));
	kubelet_release(&f.k);
	f.settings.topology.policy = TOPOLOGY_MANAGER_NONE;
	assert_hazards(&f, "the kubelet needs up to about 97 s for a container that requests memory");
	f.settings.memory_manager = MEMORY_MANAGER_NONE;
	assert_hazards(&f, "");
	f.settings.cpu_options.distribute_cpus_across_numa = true;
	assert_hazards(&f, "the kubelet needs up to about ");
	kubelet_init(&f.k, &f.node);
	assert_int_equal(kubelet_find_hazards(&f.k, hazards), 1);
	assert_non_null(strstr(hazards[0].remedy, "distribute-cpus-across-numa"));
	kubelet_release(&f.k);
	memset(&f.k, 0, sizeof(f.k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_cores_can_hang),
		cmocka_unit_test(hazards_are_what_pods_do),
		cmocka_unit_test(panics_have_their_remedies),
		cmocka_unit_test(slow_merges_have_their_remedies),
		cmocka_unit_test(many_numa_nodes_have_their_remedies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
