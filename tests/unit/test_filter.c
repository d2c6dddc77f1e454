/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/nrt_match.h"
#include "tests/lib/nodes.h"

#define MAX_PARTS 5

struct filter_case {
	const char *name;
	const char *zones[MAX_PARTS];
	const char *containers[MAX_PARTS]; /* "a cpu=1": i, s, a for init container, sidecar, app container */
	const char *allocatable;           /* NULL = not told */
	enum qos_class qos;
	enum topology_manager_policy policy;
	bool pod_scope;
	const char *reason;
	const char *detail;
};

#define SINGLE TOPOLOGY_MANAGER_SINGLE_NUMA_NODE

static const struct filter_case cases[] = {
	{"fits", {"cpu=4,memory=8Gi", "cpu=4,memory=8Gi"}, {"a cpu=4,memory=1Gi", "a cpu=4,memory=1Gi"}, NULL,
		QOS_GUARANTEED, SINGLE, false, "", ""},
	{"pod scope adds up", {"cpu=4,memory=8Gi", "cpu=4,memory=8Gi"},
		{"a cpu=4,memory=1Gi", "a cpu=4,memory=1Gi"}, NULL, QOS_GUARANTEED, SINGLE, true,
		"cannot align pod",
		"the pod needs cpu 8, memory 2Gi on one NUMA node; node 0 has cpu 4; node 1 has cpu 4"},
	{"pod scope that fits", {"cpu=4,memory=8Gi", "cpu=8,memory=8Gi"},
		{"a cpu=4,memory=1Gi", "a cpu=4,memory=1Gi"}, NULL, QOS_GUARANTEED, SINGLE, true, "", ""},
	{"device of the host is no obstacle", {"cpu=4,memory=8Gi"}, {"a a.io/d=1,cpu=5"}, "a.io/d=1,cpu=4",
		QOS_GUARANTEED, SINGLE, false, "cannot align container",
		"container 'c' needs a.io/d 1, cpu 5 on one NUMA node; node 0 has cpu 4"},
	{"third container", {"cpu=4,memory=8Gi", "cpu=4,memory=8Gi"},
		{"a cpu=4,memory=1Gi", "a cpu=3,memory=1Gi", "a cpu=2,memory=1Gi"}, NULL, QOS_GUARANTEED,
		SINGLE, false, "cannot align container",
		"container 'c' needs cpu 2, memory 1Gi on one NUMA node; node 0 has cpu 0; node 1 has cpu 1"},
	{"other policies pass", {"cpu=1"}, {"a cpu=4"}, NULL, QOS_GUARANTEED, TOPOLOGY_MANAGER_RESTRICTED,
		false, "", ""},
	{"best effort without devices", {"cpu=1"}, {"a cpu=0"}, NULL, QOS_BEST_EFFORT, SINGLE, false, "", ""},
	{"best effort with a device", {"v.io/d=1"}, {"a v.io/d=2"}, "v.io/d=2", QOS_BEST_EFFORT, SINGLE,
		false, "cannot align container",
		"container 'c' needs v.io/d 2 on one NUMA node; node 0 has v.io/d 1"},
	{"init containers leave nothing taken", {"cpu=4,memory=8Gi"},
		{"i cpu=4,memory=1Gi", "i cpu=4,memory=1Gi", "a cpu=4,memory=1Gi"}, NULL, QOS_GUARANTEED,
		SINGLE, false, "", ""},
	{"init container too large", {"cpu=4,memory=8Gi"}, {"i cpu=5,memory=1Gi"}, NULL, QOS_GUARANTEED,
		SINGLE, false, "cannot align init container",
		"container 'c' needs cpu 5, memory 1Gi on one NUMA node; node 0 has cpu 4"},
	{"sidecar too large", {"cpu=4,memory=8Gi"}, {"s cpu=5,memory=1Gi"}, NULL, QOS_GUARANTEED, SINGLE,
		false, "cannot align sidecar container",
		"container 'c' needs cpu 5, memory 1Gi on one NUMA node; node 0 has cpu 4"},
	{"burstable counts devices alone", {"cpu=1,memory=1Gi,v.io/d=1"}, {"a cpu=9,memory=9Gi,v.io/d=1"},
		"v.io/d=1", QOS_BURSTABLE, SINGLE, false, "", ""},
	{"burstable wants the key", {"memory=8Gi,v.io/d=1", "cpu=4,memory=8Gi,v.io/d=0"},
		{"a cpu=1,memory=1Gi,v.io/d=1"}, "v.io/d=1", QOS_BURSTABLE, SINGLE, false,
		"cannot align container",
		"container 'c' needs cpu 1, memory 1Gi, v.io/d 1 on one NUMA node; node 0 has no cpu; "
		"node 1 has v.io/d 0"},
	{"memory in no zone", {"cpu=8"}, {"a cpu=1,memory=1Gi"}, NULL, QOS_GUARANTEED, SINGLE, false,
		"cannot align container",
		"container 'c' needs cpu 1, memory 1Gi on one NUMA node; node 0 has no memory"},
	{"device of the host", {"cpu=8,memory=8Gi"}, {"a cpu=1,memory=1Gi,v.io/d=1"}, "v.io/d=1",
		QOS_GUARANTEED, SINGLE, false, "", ""},
	{"device the machine lacks", {"cpu=8,memory=8Gi"}, {"a cpu=1,memory=1Gi,v.io/d=1"}, "cpu=8",
		QOS_GUARANTEED, SINGLE, false, "cannot align container",
		"container 'c' needs cpu 1, memory 1Gi, v.io/d 1 on one NUMA node; the machine has no "
		"v.io/d"},
	{"none of a device the machine lacks", {"cpu=8,memory=8Gi"}, {"a cpu=1,memory=1Gi,v.io/d=0"}, "cpu=8",
		QOS_GUARANTEED, SINGLE, false, "", ""},
	{"storage exists on no node", {"cpu=8,memory=8Gi"}, {"a cpu=1,memory=1Gi,storage=1"}, "storage=9",
		QOS_GUARANTEED, SINGLE, false, "cannot align container",
		"container 'c' needs cpu 1, memory 1Gi, storage 1 on one NUMA node; the machine has no "
		"storage"},
	{"ephemeral storage always does", {"cpu=8,memory=8Gi"}, {"a cpu=1,ephemeral-storage=1,memory=1Gi"},
		"cpu=8", QOS_GUARANTEED, SINGLE, false, "", ""},
	{"no zones", {NULL}, {"a cpu=1,memory=1Gi"}, NULL, QOS_GUARANTEED, SINGLE, false,
		"cannot align container", "container 'c' needs cpu 1, memory 1Gi on one NUMA node"},
	{"no zones, host device", {NULL}, {"a v.io/d=1"}, "v.io/d=1", QOS_BEST_EFFORT, SINGLE, false, "", ""},
};

static struct filter_result run_case(const struct filter_case *c, struct test_node *node)
{
	static const char kinds[] = "isa";
	const struct topology_manager_config topology = {
		.policy = c->policy,
		.scope = c->pod_scope ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.max_numa_nodes = 8,
	};
	struct resource_list allocatable = test_list(c->allocatable ? c->allocatable : "");
	struct pod_request pod;
	struct request_plan plan;
	struct filter_result result;

	pod_request_init(&pod);
	pod.qos = c->qos;
	for (size_t i = 0; i < MAX_PARTS && c->containers[i]; i++)
		test_pod_add(&pod, (enum container_kind)(strchr(kinds, c->containers[i][0]) - kinds),
			c->containers[i] + 2);
	request_plan_init(&plan, &pod);
	result = filter_pod(&node->space, &plan, &topology, c->allocatable ? &allocatable : NULL);
	request_plan_release(&plan);
	pod_request_release(&pod);
	resource_list_release(&allocatable);
	return result;
}

static void verdicts_and_reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_result result;
		struct test_node node;

		test_node_init(&node, cases[i].zones);
		for (int twice = 0; twice < 2; twice++) {
			result = run_case(&cases[i], &node);
			test_assert_text(cases[i].name, result.reason, cases[i].reason);
			test_assert_text(cases[i].name, result.detail, cases[i].detail);
			assert_int_equal(
				result.verdict, *cases[i].reason ? FILTER_UNSCHEDULABLE : FILTER_PASS);
		}
		test_node_release(&node);
	}
}

/* The lowest id is taken, wherever it stands in the list. */
static void lowest_id_first(void **state)
{
	static const struct filter_case c = {.zones = {"cpu=4,memory=8Gi", "cpu=4,memory=8Gi"},
		.containers = {"a cpu=1,memory=1Gi"},
		.qos = QOS_GUARANTEED,
		.policy = SINGLE};
	struct test_node node;

	(void)state;
	test_node_init(&node, c.zones);
	node.inv.nodes[0].id = 7;
	node.inv.nodes[1].id = 2;
	fit_space_release(&node.space);
	assert_int_equal(fit_space_init(&node.space, &node.inv, &node.distances), 0);
	assert_int_equal(run_case(&c, &node).verdict, FILTER_PASS);
	assert_true(*fit_available(&node.space, 0, 0) == 4 * QTY_UNIT);
	assert_true(*fit_available(&node.space, 0, 1) == 3 * QTY_UNIT);
	test_node_release(&node);
}

/* One id twice: a request that only one of the two can give is an error, as in the plugin. */
static void one_id_twice(void **state)
{
	static const struct filter_case c = {.zones = {"cpu=2,memory=8Gi", "cpu=6,memory=8Gi"},
		.containers = {"a cpu=4,memory=1Gi"},
		.qos = QOS_GUARANTEED,
		.policy = SINGLE};
	struct filter_result result;
	struct test_node node;

	(void)state;
	test_node_init(&node, c.zones);
	node.inv.nodes[1].id = 0;
	fit_space_release(&node.space);
	assert_int_equal(fit_space_init(&node.space, &node.inv, &node.distances), 0);
	result = run_case(&c, &node);
	assert_int_equal(result.verdict, FILTER_ERROR);
	test_assert_text("reason", result.reason,
		"inconsistent resource accounting, resource \"cpu\" request 4 exceeds NUMA 0 availability 2");
	test_assert_text("detail", result.detail,
		"NUMA node 0 is listed twice: resource \"cpu\" request 4 exceeds NUMA 0 availability 2");
	test_node_release(&node);
}

/* The detail is cut where the room ends. */
static void long_details_are_cut(void **state)
{
	const char *zones[65] = {NULL};
	struct filter_case c = {
		.containers = {"a cpu=4,memory=1Gi"}, .qos = QOS_GUARANTEED, .policy = SINGLE};
	struct filter_result result;
	struct test_node node;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		zones[i] = "cpu=1,memory=1Gi";
	test_node_init(&node, zones);
	result = run_case(&c, &node);
	test_assert_text("reason", result.reason, "cannot align container");
	assert_int_equal(strlen(result.detail), FILTER_DETAIL_MAX - 1);
	test_node_release(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_and_reasons),
		cmocka_unit_test(lowest_id_first),
		cmocka_unit_test(one_id_twice),
		cmocka_unit_test(long_details_are_cut),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
