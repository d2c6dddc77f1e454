/* SPDX-License-Identifier: Apache-2.0 */
/* The annotations that Koordinator's scheduler reads, and the zones beside them. */
#include "agent/render/render.h"

#include <stdlib.h>
#include <string.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"
#include "tests/lib/claims.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"

static int begin(void **state)
{
	struct node_sim *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	node_sim_init(sim, &node_sim_threads);
	text_set(&sim->state.node_name, "node-a");
	*state = sim;
	return 0;
}

static int end(void **state)
{
	node_sim_release(*state);
	free(*state);
	return 0;
}

/* Compare one annotation; want NULL = it is absent. */
static void check(const struct node_state *node, const char *key, const char *want)
{
	CLEANUP(doc_release) struct doc map = DOC_INIT;
	const char *got;

	koordinator_render(node, &map, NULL);
	got = doc_string(doc_get(&map, key));
	if (want)
		test_assert_text(key, got, want);
	else
		assert_null(got);
}

/* All are left out, for this reason. */
static void check_none(const struct node_state *node, const char *why)
{
	CLEANUP(strbuf_release) struct strbuf noted = STRBUF_INIT(1 << 10), want = STRBUF_INIT(1 << 10);
	CLEANUP(doc_release) struct doc map = DOC_INIT;
	CLEANUP(notes_release) struct notes notes;

	notes = (struct notes){0};
	koordinator_render(node, &map, &notes);
	assert_int_equal(map.n_items, 0);
	test_notes_text(&notes, &noted);
	strbuf_addf(&want, "Koordinator's annotations are omitted: %s", why);
	assert_string_equal(noted.text, want.text);
}

#define CPU(id, core, node) "{\"id\":" id ",\"core\":" core ",\"socket\":" node ",\"node\":" node "}"

/* By their order, not by the kernel's numbers. */
static void sockets_and_cores_are_numbered_as_lscpu_does(void **state)
{
	struct node_sim *sim = *state;
	struct machine *m = &sim->state.machine;

	check(&sim->state, KOORDINATOR_CPU_TOPOLOGY,
		"{\"detail\":[" CPU("0", "0", "0") "," CPU("1", "1", "0") "," CPU("2", "2", "1") "," CPU(
			"3", "3", "1") "," CPU("4", "0", "0") "," CPU("5", "1", "0") "," CPU("6", "2",
			"1") "," CPU("7", "3", "1") "]}");
	for (size_t i = 0; i < m->n_cpus; i++)
		m->cpus[i].socket = m->cpus[i].socket ? 3 : 36;
	check(&sim->state, KOORDINATOR_CPU_TOPOLOGY,
		"{\"detail\":[" CPU("0", "0", "0") "," CPU("1", "1", "0") "," CPU("2", "2", "1") "," CPU(
			"3", "3", "1") "," CPU("4", "0", "0") "," CPU("5", "1", "0") "," CPU("6", "2",
			"1") "," CPU("7", "3", "1") "]}");
}

/* They have a number nevertheless: lscpu counts them too. */
static void cpus_of_no_numa_node_are_left_out(void **state)
{
	struct node_sim *sim = *state;
	struct machine *m = &sim->state.machine;

	for (size_t i = 0; i < m->n_cpus; i++)
		if (i != 3 && i != 6)
			m->cpus[i].numa = MACHINE_NONE;
	check(&sim->state, KOORDINATOR_CPU_TOPOLOGY,
		"{\"detail\":[" CPU("3", "3", "1") "," CPU("6", "2", "1") "]}");
}

static void the_kubelets_policy_and_reserved_cpus(void **state)
{
	struct node_sim *sim = *state;
	struct settings *s = &sim->state.settings;

	check(&sim->state, KOORDINATOR_CPU_MANAGER_POLICY,
		"{\"policy\":\"static\",\"reservedCPUs\":\"0,4\"}");
	text_set(&s->cpu_options_text, "align-by-socket=false,full-pcpus-only=true");
	check(&sim->state, KOORDINATOR_CPU_MANAGER_POLICY,
		"{\"policy\":\"static\",\"options\":{\"align-by-socket\":\"false\",\"full-pcpus-only\":\"true\"},"
		"\"reservedCPUs\":\"0,4\"}");
	/* Under other policies the kubelet keeps no CPUs for itself. */
	s->cpu_manager = CPU_MANAGER_NONE;
	free(TAKE(s->cpu_options_text));
	check(&sim->state, KOORDINATOR_CPU_MANAGER_POLICY, "{\"policy\":\"none\"}");
	s->cpu_manager = CPU_MANAGER_UNKNOWN;
	check(&sim->state, KOORDINATOR_CPU_MANAGER_POLICY, NULL);
}

/* A pod has the CPUs of all its containers. The plugin passes over a pod without UID. */
static void pods_with_exclusive_cpus(void **state)
{
	struct node_sim *sim = *state;
	struct allocation *first;

	check(&sim->state, KOORDINATOR_POD_CPU_ALLOCS, "[]");
	assert_true(node_sim_begin(sim, "app cpu=1 memory=1Mi; app cpu=1 memory=1Mi"));
	assert_true(node_sim_begin(sim, "app memory=1Mi"));
	check(&sim->state, KOORDINATOR_POD_CPU_ALLOCS,
		"[{\"namespace\":\"default\",\"name\":\"p0\",\"uid\":\"p0\",\"cpuset\":\"1,5\",\"managedByKubelet\":true}]");
	first = &sim->state.allocations.items[0];
	for (size_t i = 0; i < 2; i++)
		text_set(&first[i].pod_uid, "");
	check(&sim->state, KOORDINATOR_POD_CPU_ALLOCS,
		"[{\"namespace\":\"default\",\"name\":\"p0\",\"uid\":\"default/p0\",\"cpuset\":\"1,5\",\"managedByKubelet\":true}]");
	for (size_t i = 0; i < 2; i++) {
		text_set(&first[i].pod_uid, "u");
		first[i].named_by_logs = true;
	}
	check(&sim->state, KOORDINATOR_POD_CPU_ALLOCS,
		"[{\"uid\":\"u\",\"cpuset\":\"1,5\",\"managedByKubelet\":true}]");
}

/* The reserved CPUs are in them, and a NUMA node without a free CPU is not. */
static void pools_have_what_no_pod_holds(void **state)
{
	static const char whole[] = "[{\"socket\":0,\"node\":0,\"cpuset\":\"0-1,4-5\"},"
				    "{\"socket\":1,\"node\":1,\"cpuset\":\"2-3,6-7\"}]",
			  less[] = "[{\"socket\":0,\"node\":0,\"cpuset\":\"0-1,4-5\"}]";
	struct node_sim *sim = *state;

	check(&sim->state, KOORDINATOR_SHARED_POOLS, whole);
	test_add_claim(&sim->state.claims, "dra.cpu", "u", "2-3,6-7", NULL, 0, 0);
	check(&sim->state, KOORDINATOR_SHARED_POOLS, less);
	claims_release(&sim->state.claims);
	assert_true(node_sim_begin(sim, "app cpu=4 memory=1Mi"));
	check(&sim->state, KOORDINATOR_SHARED_POOLS, less);
	check(&sim->state, KOORDINATOR_BE_SHARED_POOLS, less);
}

/* First by socket, whose number is that of the node's first CPU. */
static void pools_are_in_order(void **state)
{
	struct node_sim *sim = *state;
	struct machine *m = &sim->state.machine;

	for (size_t i = 0; i < m->n_cpus; i++)
		m->cpus[i].numa = !m->cpus[i].numa;
	hwloc_bitmap_t swapped = m->nodes[0].cpus;
	m->nodes[0].cpus = m->nodes[1].cpus;
	m->nodes[1].cpus = swapped;
	check(&sim->state, KOORDINATOR_SHARED_POOLS,
		"[{\"socket\":0,\"node\":1,\"cpuset\":\"0-1,4-5\"},{\"socket\":1,\"node\":0,\"cpuset\":\"2-3,6-7\"}]");
}

/* The plugin would bind pods to the CPUs of others. */
static void what_is_not_known_leaves_all_out(void **state)
{
	struct node_sim *sim = *state;

	sim->state.allocations.cpus_known = false;
	check_none(&sim->state, "the pods that hold CPUs are unknown");
	sim->state.settings.cpu_manager = CPU_MANAGER_NONE;
	check(&sim->state, KOORDINATOR_POD_CPU_ALLOCS, "[]");
	sim->state.settings.cpu_manager = CPU_MANAGER_STATIC;
	sim->state.allocations.cpus_known = true;
	reserved_cpus_release(&sim->state.reserved);
	sim->state.reserved = (struct reserved_cpus){.cpus = NULL};
	check_none(&sim->state, "the reserved CPUs are unknown");
}

/* The API server takes no more than 256 KiB. */
static void a_machine_may_be_too_large(void **state)
{
	static const struct node_sim_setup large = {.machine = {.sockets = 8,
							    .numas = 1,
							    .uncores = 1,
							    .cores = 512,
							    .threads = 2,
							    .memory_bytes = 1 << 30},
		.policy = TOPOLOGY_MANAGER_NONE,
		.scope = TOPOLOGY_SCOPE_POD};
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &large);
	check_none(&sim.state, "they exceed the API server's limit for annotations");
	node_sim_release(&sim);
}

static const char *cpu_amount(const struct doc *object, const char *amount)
{
	const struct doc *zone = &doc_get(object, "zones")->items[0];
	const struct doc *resource = &doc_get(zone, "resources")->items[0];

	assert_string_equal(doc_string(doc_get(resource, "name")), "cpu");
	return doc_string(doc_get(resource, amount));
}

/* The plugin takes the reserved CPUs, which it reads from an annotation, away from the allocatable ones. */
static void reserved_cpus_are_allocatable_beside_the_annotations(void **state)
{
	struct node_sim *sim = *state;
	struct nrt_config config = {.koordinator = false};

	for (unsigned known = 0; known < 2; known++) {
		CLEANUP(doc_release) struct doc plain = DOC_INIT, with = DOC_INIT;

		sim->state.allocations.cpus_known = known;
		config.koordinator = false;
		nrt_render(&sim->state, &config, &plain, NULL);
		config.koordinator = true;
		nrt_render(&sim->state, &config, &with, NULL);
		assert_null(doc_get(doc_get(&plain, "metadata"), "annotations"));
		assert_string_equal(cpu_amount(&plain, "allocatable"), "2");
		assert_string_equal(cpu_amount(&with, "allocatable"), known ? "4" : "2");
		assert_string_equal(cpu_amount(&with, "available"), "2");
		assert_string_equal(cpu_amount(&with, "capacity"), "4");
		assert_int_equal(doc_get(doc_get(&with, "metadata"), "annotations") != NULL, known);
	}
}

/* koord-manager takes every zone for a NUMA node. */
static void all_zones_are_numa_nodes_beside_the_annotations(void **state)
{
	struct node_sim *sim = *state;
	const struct nrt_config config = {.koordinator = true};

	for (unsigned known = 0; known < 2; known++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		const struct doc *zones;
		size_t others = 0, parents = 0;

		sim->state.allocations.cpus_known = known;
		nrt_render(&sim->state, &config, &object, NULL);
		zones = doc_get(&object, "zones");
		for (size_t i = 0; i < zones->n_items; i++) {
			others += strcmp(doc_string(doc_get(&zones->items[i], "type")), "Node") != 0;
			parents += doc_get(&zones->items[i], "parent") != NULL;
		}
		assert_int_equal(others > 0, !known);
		assert_int_equal(parents > 0, !known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sockets_and_cores_are_numbered_as_lscpu_does, begin, end),
		cmocka_unit_test_setup_teardown(all_zones_are_numa_nodes_beside_the_annotations, begin, end),
		cmocka_unit_test_setup_teardown(cpus_of_no_numa_node_are_left_out, begin, end),
		cmocka_unit_test_setup_teardown(the_kubelets_policy_and_reserved_cpus, begin, end),
		cmocka_unit_test_setup_teardown(pods_with_exclusive_cpus, begin, end),
		cmocka_unit_test_setup_teardown(pools_have_what_no_pod_holds, begin, end),
		cmocka_unit_test_setup_teardown(pools_are_in_order, begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_known_leaves_all_out, begin, end),
		cmocka_unit_test(a_machine_may_be_too_large),
		cmocka_unit_test_setup_teardown(
			reserved_cpus_are_allocatable_beside_the_annotations, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
