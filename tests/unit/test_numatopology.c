/* SPDX-License-Identifier: Apache-2.0 */
/* The object that Volcano's scheduler reads. */
#include "agent/render/render.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"
#include "tests/lib/claims.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"

/* 2 sockets of one NUMA node with 2 cores of 2 threads: CPUs 0-1,4-5 and 2-3,6-7, of which 0 and 4 are reserved. */
static const struct node_sim_setup setup = {
	.machine =
		{.sockets = 2, .numas = 1, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = 1 << 30},
	.policy = TOPOLOGY_MANAGER_RESTRICTED,
	.scope = TOPOLOGY_SCOPE_POD};

static void begin(struct node_sim *sim)
{
	node_sim_init(sim, &setup);
	text_set(&sim->state.node_name, "node-a");
}

static void check(const struct node_state *node, const char *want, const char *want_notes)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 16), noted = STRBUF_INIT(1 << 10);
	CLEANUP(notes_release) struct notes notes;

	notes = (struct notes){0};
	numatopology_render(node, &doc, &notes);
	numatopology_remove_pods(&doc);
	assert_int_equal(json_print_compact(doc_get(&doc, "spec"), &text), 0);
	assert_string_equal(text.text, want);
	test_notes_text(&notes, &noted);
	assert_string_equal(noted.text, want_notes);
	assert_string_equal(doc_string(doc_get(&doc, "apiVersion")), "nodeinfo.volcano.sh/v1alpha1");
	assert_string_equal(doc_string(doc_get(&doc, "kind")), "Numatopology");
	assert_string_equal(doc_string(doc_get(doc_get(&doc, "metadata"), "name")), "node-a");
}

#define CPU(id, numa, core) "\"" id "\":{\"numa\":" numa ",\"socket\":" numa ",\"core\":" core "}"
#define DETAIL                                                                                      \
	"\"cpuDetail\":{" CPU("0", "0", "0") "," CPU("1", "0", "1") "," CPU("2", "1", "2") "," CPU( \
		"3", "1", "3") "," CPU("4", "0", "0") "," CPU("5", "0", "1") "," CPU("6", "1",      \
		"2") "," CPU("7", "1", "3") "}"
#define POLICIES  "\"policies\":{\"CPUManagerPolicy\":\"static\",\"TopologyManagerPolicy\":\"restricted\"}"
#define RESERVED  ",\"resReserved\":{\"cpu\":\"0\"}"
#define FREE(set) ",\"numares\":{\"cpu\":{\"allocatable\":\"" set "\",\"capacity\":8}}"

/* Cores have names of their own on the machine, and reserved and held CPUs are not free. */
static void what_is_free_is_named(void **state)
{
	struct node_sim sim;

	(void)state;
	begin(&sim);
	check(&sim.state, "{" POLICIES RESERVED "," DETAIL FREE("1-3,5-7") "}", "");
	test_add_claim(&sim.state.claims, "dra.cpu", "u", "2,6", NULL, 0, 0);
	check(&sim.state, "{" POLICIES RESERVED "," DETAIL FREE("1,3,5,7") "}", "");
	claims_release(&sim.state.claims);
	assert_true(node_sim_begin(&sim, "app cpu=3 memory=1Mi"));
	check(&sim.state, "{" POLICIES RESERVED "," DETAIL FREE("1,5,7") "}", "");
	node_sim_release(&sim);
}

/* Volcano's scheduler ends with a panic when numares disappears from an object: it stays, without CPUs. */
static void what_is_not_known_is_not_free(void **state)
{
	struct node_sim sim;

	(void)state;
	begin(&sim);
	reserved_cpus_release(&sim.state.reserved);
	sim.state.reserved = (struct reserved_cpus){.cpus = NULL};
	sim.state.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	check(&sim.state, "{\"policies\":{\"CPUManagerPolicy\":\"static\"}" RESERVED "," DETAIL FREE("") "}",
		"numares has no free CPU: the free CPUs are unknown");
	node_sim_release(&sim);
}

/* A CPU of no NUMA node is no CPU for the kubelet, and a socket without a number is the first. */
static void other_cpus_do_not_count(void **state)
{
	struct node_sim sim;

	(void)state;
	begin(&sim);
	for (size_t i = 0; i < sim.state.machine.n_cpus; i++) {
		sim.state.machine.cpus[i].numa = i < 4 ? 0 : MACHINE_NONE;
		sim.state.machine.cpus[i].socket = MACHINE_NONE;
	}
	hwloc_bitmap_zero(sim.state.machine.nodes[1].cpus);
	check(&sim.state,
		"{" POLICIES RESERVED
		",\"cpuDetail\":{" CPU("0", "0", "0") "," CPU("1", "0", "1") "," CPU("2", "0", "2") "," CPU(
			"3", "0", "3") "},\"numares\":{\"cpu\":{\"allocatable\":\"1-3\",\"capacity\":4}}}",
		"");
	node_sim_release(&sim);
}

/* The CPUs of each container, with what is known of the pod. */
static void pods_with_cpus_are_listed(void **state)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 16);
	struct node_sim sim;
	struct allocation *items;

	(void)state;
	begin(&sim);
	assert_true(node_sim_begin(&sim, "app cpu=1 memory=1Mi; app cpu=1 memory=1Mi"));
	assert_true(node_sim_begin(&sim, "app memory=1Mi"));
	assert_true(node_sim_begin(&sim, "app cpu=1 memory=1Mi"));
	items = sim.state.allocations.items;
	for (size_t i = 0; i < sim.state.allocations.n_items; i++)
		items[i].named_by_logs = !strcmp(items[i].pod, "p2");
	numatopology_render(&sim.state, &doc, NULL);
	assert_int_equal(json_print_compact(doc_get(doc_get(&doc, "spec"), NUMATOPOLOGY_PODS), &text), 0);
	test_assert_text("pods", text.text,
		"[{\"uid\":\"p0\",\"name\":\"p0\",\"namespace\":\"default\",\"containerAllocations\":["
		"{\"name\":\"app\",\"allocations\":{\"cpu\":\"1\"}},{\"name\":\"app\",\"allocations\":{\"cpu\":\"5\"}}]},"
		"{\"uid\":\"p2\",\"containerAllocations\":[{\"name\":\"app\",\"allocations\":{\"cpu\":\"2\"}}]}]");
	node_sim_release(&sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_free_is_named),
		cmocka_unit_test(what_is_not_known_is_not_free),
		cmocka_unit_test(other_cpus_do_not_count),
		cmocka_unit_test(pods_with_cpus_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
