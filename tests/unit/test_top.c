/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/top.h"

#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

/* Two NUMA nodes of 8 cores with two threads each. CPU 0 is reserved, its sibling 16 therefore of no use under
 * full-pcpus-only; a pod holds two cores of each node. Free are 11 CPUs and 12. */
static void observe_node(struct observation *ret)
{
	static const struct holding held = {
		.uid = "u", .container = "c", .cpus = "1-4,17-20", .nodes = "0", .memory = 1 << 20};

	observation_of_kubelet("seed-2s-32cpu", "0", &held, 1, ret);
}

static void row_of(const struct observation *o, const char *shape, struct top_row *ret)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(pod_request_release) struct pod_request pod;

	pod_request_init(&pod);
	if (shape)
		pod_from_text(&pod, shape);
	node_admission_init(&admission, &o->node);
	*ret = (struct top_row){0};
	top_row_fill(ret, &admission, shape ? &pod : NULL);
}

static void what_is_there(void **state)
{
	CLEANUP(top_row_release) struct top_row row = {0};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	row_of(&o, NULL, &row);
	assert_int_equal(row.policy, TOPOLOGY_MANAGER_RESTRICTED);
	assert_int_equal(row.scope, TOPOLOGY_SCOPE_CONTAINER);
	assert_int_equal(row.n_numa, 2);
	assert_int_equal(row.numa[0].free, 11);
	assert_int_equal(row.numa[0].allocatable, 15);
	assert_int_equal(row.numa[1].free, 12);
	assert_int_equal(row.numa[1].allocatable, 16);
	assert_int_equal(row.free, 23);
	assert_int_equal(row.allocatable, 31);
	assert_int_equal(row.n_devices, 0);
	test_assert_text("known", row.unknown, "");
}

static void cpus_that_are_apart(void **state)
{
	CLEANUP(top_row_release) struct top_row row = {0};
	CLEANUP(observation_release) struct observation o;
	struct machine *m = &o.node.machine;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	top_row_fill_cpus(&row, &o.node);
	test_assert_text("reserved", row.reserved, "0");
	test_assert_text("shared", row.shared, "0,5-16,21-31");
	assert_null(row.isolated);
	assert_null(row.isolation);
	assert_int_equal(cpuset_parse("1-4", &m->isolated, NULL), 0);
	top_row_release(&row);
	top_row_fill_cpus(&row, &o.node);
	test_assert_text("isolated", row.isolated, "1-4");
	assert_null(row.isolation);
	cpuset_set(m->isolated, 5);
	top_row_release(&row);
	top_row_fill_cpus(&row, &o.node);
	test_assert_text("in the shared pool", row.isolation,
		"isolated CPUs are in the shared pool: 5; the kernel does not distribute threads over them");
}

/* A zone that says nothing of CPUs has none that are free. */
static void a_numa_node_without_cpus(void **state)
{
	CLEANUP(top_row_release) struct top_row row = {0};
	CLEANUP(observation_release) struct observation o;
	struct inventory_amount *amount;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	amount = inventory_amount(&o.node.inventory, 1, (size_t)inventory_resource(&o.node.inventory, "cpu"));
	amount->present = false;
	row_of(&o, NULL, &row);
	assert_true(row.numa[0].has_cpus);
	assert_false(row.numa[1].has_cpus);
	assert_int_equal(row.numa[1].id, 1);
	assert_int_equal(row.free, 11);
	assert_int_equal(row.allocatable, 15);
}

static void the_largest_pods(void **state)
{
	static const struct {
		enum topology_manager_policy policy;
		bool whole_cores;
		size_t one, two;
	} cases[] = {{TOPOLOGY_MANAGER_RESTRICTED, true, 12, 22},
		{TOPOLOGY_MANAGER_RESTRICTED, false, 12, 23},
		{TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, true, 12, 12},
		{TOPOLOGY_MANAGER_BEST_EFFORT, true, 12, 22}, {TOPOLOGY_MANAGER_NONE, false, 12, 23}};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(top_row_release) struct top_row row = {0};

		o.node.settings.topology.policy = cases[i].policy;
		o.node.settings.cpu_options.full_pcpus_only = cases[i].whole_cores;
		row_of(&o, NULL, &row);
		assert_true(row.largest[0].known && row.largest[1].known);
		assert_int_equal(row.largest[0].n, cases[i].one);
		assert_int_equal(row.largest[1].n, cases[i].two);
	}
}

/* Counted by hand: pods of 4 CPUs go twice into the five whole cores of node 0, three times into the six of node 1. */
static void what_is_stranded(void **state)
{
	static const struct {
		const char *shape; /* NULL = none */
		bool whole_cores;
		size_t n;
	} cases[] = {
		{NULL, true, 1}, /* the reserved CPU's sibling */
		{NULL, false, 0},
		{"app cpu=4 memory=1Mi", true, 23 - (2 + 3) * 4},
		{"app cpu=6 memory=1Mi", true, 23 - (1 + 2) * 6},
		{"app cpu=12 memory=1Mi", true, 23 - 12},
		{"app cpu=14 memory=1Mi", true, 23}, /* one NUMA node could hold it, and neither does */
		{"app cpu=5 memory=1Mi", true, 23},  /* no whole cores */
		{"app cpu=5 memory=1Mi", false, 23 - (2 + 2) * 5},
		{"app cpu=4 memory=1Mi; app cpu=6 memory=1Mi", true, 23 - 20},
		{"app cpu=2 memory=1Mi vendor.com/none=1", true, 23},
	};
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_init(&o);
	observe_node(&o);
	o.node.allocations.registered_known = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(top_row_release) struct top_row row = {0};

		o.node.settings.cpu_options.full_pcpus_only = cases[i].whole_cores;
		row_of(&o, cases[i].shape, &row);
		if (!row.stranded.known || row.stranded.n != cases[i].n)
			fail_msg("case %zu: %s %zu", i, row.stranded.known ? "known" : "not known",
				row.stranded.n);
	}
}

static void what_is_not_known(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(top_row_release) struct top_row row = {0};

	(void)state;
	observation_init(&o);
	observe_node(&o);
	row_of(&o, "app memory=1Mi", &row);
	assert_false(row.stranded.known); /* nothing is said of CPUs */
	assert_true(row.largest[0].known);
	top_row_release(&row);

	o.node.settings.cpu_manager = CPU_MANAGER_NONE;
	o.node.settings.cpu_options = (struct cpu_manager_options){false};
	free(TAKE(o.node.settings.cpu_options_text));
	row_of(&o, NULL, &row);
	assert_false(row.stranded.known || row.largest[0].known || row.largest[1].known);
	assert_int_equal(row.free, 23);
	test_assert_text(
		"why", row.unknown, "the CPU manager's policy is none: no container gets exclusive CPUs");
}

static void devices_and_totals(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(top_totals_release) struct top_totals totals = {0};
	struct top_row rows[2];

	(void)state;
	observation_init(&o);
	observation_of_picture(&o);
	row_of(&o, NULL, &rows[0]);
	assert_int_equal(rows[0].n_numa, 8);
	assert_int_equal(rows[0].n_devices, 2);
	test_assert_text("first", rows[0].devices[0].resource, "vendor.com/gpu");
	test_assert_text("second", rows[0].devices[1].resource, "vendor.com/nic");
	observation_release(&o);
	observation_init(&o);
	observe_node(&o);
	row_of(&o, NULL, &rows[1]);
	rows[1].basis = CLUSTER_ESTIMATED;
	top_totals(rows, 2, &totals);
	assert_int_equal(totals.n_nodes, 2);
	assert_int_equal(totals.n_estimated, 1);
	assert_int_equal(totals.sum.free, rows[0].free + 23);
	assert_int_equal(totals.sum.allocatable, rows[0].allocatable + 31);
	assert_int_equal(totals.sum.largest[0].n, 12);
	assert_int_equal(totals.sum.largest[1].n, rows[0].largest[1].n);
	assert_int_equal(totals.sum.stranded.n, rows[0].stranded.n + 1);
	assert_int_equal(totals.sum.n_devices, 2);
	assert_int_equal(totals.sum.devices[1].free, rows[0].devices[1].free);
	top_row_release(&rows[0]);
	top_row_release(&rows[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there),
		cmocka_unit_test(cpus_that_are_apart),
		cmocka_unit_test(a_numa_node_without_cpus),
		cmocka_unit_test(the_largest_pods),
		cmocka_unit_test(what_is_stranded),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(devices_and_totals),
	};

	return cmocka_run_group_tests_name("top_row", tests, NULL, NULL);
}
