/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler plugin's rules: what its objects say, its filter, and its scores. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/nrt_match.h"
#include "tests/lib/nodes.h"
#include "tests/lib/peers.h"

#define MAX_PARTS 5
#define SINGLE    TOPOLOGY_MANAGER_SINGLE_NUMA_NODE

/* ---- pods and policies */

struct planned_pod {
	struct pod_request request;
	struct request_plan plan;
};

/* `qos` QOS_UNKNOWN: as its requests say. */
static void plan_pod(struct planned_pod *p, const char *text, enum qos_class qos)
{
	pod_from_text(&p->request, text);
	p->request.qos = qos;
	request_plan_init(&p->plan, &p->request);
}

static void planned_pod_release(struct planned_pod *p)
{
	request_plan_release(&p->plan);
	pod_request_release(&p->request);
}

static struct topology_manager_config topology_of(enum topology_manager_policy policy, bool pod_scope)
{
	return (struct topology_manager_config){.policy = policy,
		.scope = pod_scope ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.max_numa_nodes = 8};
}

/* ---- what the objects say */

static void zone_names(void **state)
{
	static const struct {
		const char *name;
		int want;
	} cases[] = {{"node-0", 0}, {"node-63", 63}, {"node-007", 7}, {"node-+1", 1}, {"node--0", 0},
		{"node-64", -1}, {"node-65", -1}, {"node--3", -1}, {"node-", -1}, {"node-+", -1},
		{"node-1a", -1}, {"node- 1", -1}, {"numa-2", -1}, {"Node-1", -1}, {"", -1},
		{"node-99999999999999999999", -1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (nrt_zone_id(cases[i].name) != cases[i].want)
			fail_msg("'%s': %d, want %d", cases[i].name, nrt_zone_id(cases[i].name),
				cases[i].want);
}

static void check_topology(const char *what, struct topology_manager_config got,
	enum topology_manager_policy policy, enum topology_manager_scope scope, unsigned max)
{
	test_assert_text(
		what, topology_manager_policy_names[got.policy], topology_manager_policy_names[policy]);
	test_assert_text(what, topology_manager_scope_names[got.scope], topology_manager_scope_names[scope]);
	assert_int_equal(got.max_numa_nodes, max);
}

static void deprecated_policies(void **state)
{
	static const struct {
		const char *text;
		enum topology_manager_policy policy;
		enum topology_manager_scope scope;
	} cases[] = {
		{"SingleNUMANodePodLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_POD},
		{"SingleNUMANodeContainerLevel", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_SCOPE_CONTAINER},
		{"BestEffortPodLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_POD},
		{"BestEffortContainerLevel", TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER},
		{"RestrictedPodLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_POD},
		{"RestrictedContainerLevel", TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_SCOPE_CONTAINER},
		{"Restricted", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
		{"None", TOPOLOGY_MANAGER_NONE, TOPOLOGY_SCOPE_CONTAINER},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *list[] = {cases[i].text, "SingleNUMANodePodLevel"};

		check_topology(cases[i].text, nrt_topology_manager(list, 2, NULL, 0), cases[i].policy,
			cases[i].scope, 8);
	}
	check_topology("none", nrt_topology_manager(NULL, 0, NULL, 0), TOPOLOGY_MANAGER_NONE,
		TOPOLOGY_SCOPE_CONTAINER, 8);
}

static void last_valid_attribute_wins(void **state)
{
	static const char *const policies[] = {"SingleNUMANodePodLevel"};
	static const struct nrt_attribute attributes[] = {{"topologyManagerPolicy", "restricted"},
		{"topologyManagerPolicy", "best-effort"}, {"topologyManagerPolicy", "Restricted"},
		{"topologyManagerPolicy", "unknown"}, {"topologyManagerScope", "container"},
		{"topologyManagerScope", "unknown"}, {"topologyManagerScope", "Pod"},
		{"topologymanagerscope", "pod"}, {"topologyManagerMaxNUMANodes", "16"}};

	(void)state;
	check_topology("all", nrt_topology_manager(policies, 1, attributes, ARRAY_SIZE(attributes)),
		TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_SCOPE_CONTAINER, 16);
	check_topology("first", nrt_topology_manager(policies, 1, attributes, 1), TOPOLOGY_MANAGER_RESTRICTED,
		TOPOLOGY_SCOPE_POD, 8);
}

static void numbers_of_numa_nodes(void **state)
{
	static const struct {
		const char *text;
		unsigned want;
	} cases[] = {{"2", 2}, {"+16", 16}, {"0016", 16}, {"1024", 1024}, {"65535", 1024},
		{"99999999999", 1024}, {"99999999999999999999", 8}, {"1", 8}, {"0", 8}, {"-2", 8}, {" 8", 8},
		{"8 ", 8}, {"0x10", 8}, {"", 8}, {"x", 8}, {"+", 8}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nrt_attribute a = {"topologyManagerMaxNUMANodes", cases[i].text};
		unsigned got = nrt_topology_manager(NULL, 0, &a, 1).max_numa_nodes;

		if (got != cases[i].want)
			fail_msg("'%s': %u, want %u", cases[i].text, got, cases[i].want);
	}
}

static void fingerprints(void **state)
{
	static const struct nrt_attribute all[] = {{"other", "x"}, {"nodeTopologyPodsFingerprint", "first"},
		{"nodeTopologyPodsFingerprint", "second"},
		{"nodeTopologyPodsFingerprintMethod", "with-exclusive-resources"}};
	static const struct nrt_attribute annotation = {"topology.node.k8s.io/fingerprint", "annotated"};
	bool exclusive;

	(void)state;
	test_assert_text("attribute", nrt_fingerprint(all, 4, &annotation, 1, &exclusive), "first");
	assert_true(exclusive);
	test_assert_text("no method", nrt_fingerprint(all, 3, &annotation, 1, &exclusive), "first");
	assert_false(exclusive);
	/* The annotation is always over all pods. */
	test_assert_text("annotation", nrt_fingerprint(all + 3, 1, &annotation, 1, &exclusive), "annotated");
	assert_false(exclusive);
	assert_null(nrt_fingerprint(all, 1, NULL, 0, &exclusive));
}

/* ---- the filter */

struct filter_case {
	const char *name;
	const char *zones[MAX_PARTS];
	const char *pod;         /* tests/lib/pods.h */
	const char *allocatable; /* NULL = not told */
	enum qos_class qos;
	enum topology_manager_policy policy;
	bool pod_scope;
	const char *reason;
	const char *detail;
};

static const struct filter_case filter_cases[] = {
	{"fits", {"cpu=4 memory=8Gi", "cpu=4 memory=8Gi"}, "app cpu=4 memory=1Gi; app cpu=4 memory=1Gi", NULL,
		QOS_GUARANTEED, SINGLE, false, "", ""},
	{"pod scope adds up", {"cpu=4 memory=8Gi", "cpu=4 memory=8Gi"},
		"app cpu=4 memory=1Gi; app cpu=4 memory=1Gi", NULL, QOS_GUARANTEED, SINGLE, true,
		"cannot align pod",
		"the pod needs cpu 8, memory 2Gi on one NUMA node; node 0 has cpu 4; node 1 has cpu 4"},
	{"pod scope that fits", {"cpu=4 memory=8Gi", "cpu=8 memory=8Gi"},
		"app cpu=4 memory=1Gi; app cpu=4 memory=1Gi", NULL, QOS_GUARANTEED, SINGLE, true, "", ""},
	{"device of the host is no obstacle", {"cpu=4 memory=8Gi"}, "app a.io/d=1 cpu=5", "a.io/d=1 cpu=4",
		QOS_GUARANTEED, SINGLE, false, "cannot align container",
		"container 'app' needs a.io/d 1, cpu 5 on one NUMA node; node 0 has cpu 4"},
	{"third container", {"cpu=4 memory=8Gi", "cpu=4 memory=8Gi"},
		"app cpu=4 memory=1Gi; app cpu=3 memory=1Gi; app cpu=2 memory=1Gi", NULL, QOS_GUARANTEED,
		SINGLE, false, "cannot align container",
		"container 'app' needs cpu 2, memory 1Gi on one NUMA node; node 0 has cpu 0; node 1 has cpu 1"},
	{"other policies pass", {"cpu=1"}, "app cpu=4", NULL, QOS_GUARANTEED, TOPOLOGY_MANAGER_RESTRICTED,
		false, "", ""},
	{"best effort without devices", {"cpu=1"}, "app cpu=0", NULL, QOS_BEST_EFFORT, SINGLE, false, "", ""},
	{"best effort with a device", {"v.io/d=1"}, "app v.io/d=2", "v.io/d=2", QOS_BEST_EFFORT, SINGLE,
		false, "cannot align container",
		"container 'app' needs v.io/d 2 on one NUMA node; node 0 has v.io/d 1"},
	{"init containers leave nothing taken", {"cpu=4 memory=8Gi"},
		"init cpu=4 memory=1Gi; init cpu=4 memory=1Gi; app cpu=4 memory=1Gi", NULL, QOS_GUARANTEED,
		SINGLE, false, "", ""},
	{"init container too large", {"cpu=4 memory=8Gi"}, "init cpu=5 memory=1Gi", NULL, QOS_GUARANTEED,
		SINGLE, false, "cannot align init container",
		"container 'init' needs cpu 5, memory 1Gi on one NUMA node; node 0 has cpu 4"},
	{"sidecar too large", {"cpu=4 memory=8Gi"}, "sidecar cpu=5 memory=1Gi", NULL, QOS_GUARANTEED, SINGLE,
		false, "cannot align sidecar container",
		"container 'sidecar' needs cpu 5, memory 1Gi on one NUMA node; node 0 has cpu 4"},
	{"burstable counts devices alone", {"cpu=1 memory=1Gi v.io/d=1"}, "app cpu=9 memory=9Gi v.io/d=1",
		"v.io/d=1", QOS_BURSTABLE, SINGLE, false, "", ""},
	{"burstable wants the key", {"memory=8Gi v.io/d=1", "cpu=4 memory=8Gi v.io/d=0"},
		"app cpu=1 memory=1Gi v.io/d=1", "v.io/d=1", QOS_BURSTABLE, SINGLE, false,
		"cannot align container",
		"container 'app' needs cpu 1, memory 1Gi, v.io/d 1 on one NUMA node; node 0 has no cpu; "
		"node 1 has v.io/d 0"},
	{"memory in no zone", {"cpu=8"}, "app cpu=1 memory=1Gi", NULL, QOS_GUARANTEED, SINGLE, false,
		"cannot align container",
		"container 'app' needs cpu 1, memory 1Gi on one NUMA node; node 0 has no memory"},
	{"device of the host", {"cpu=8 memory=8Gi"}, "app cpu=1 memory=1Gi v.io/d=1", "v.io/d=1",
		QOS_GUARANTEED, SINGLE, false, "", ""},
	{"device the machine lacks", {"cpu=8 memory=8Gi"}, "app cpu=1 memory=1Gi v.io/d=1", "cpu=8",
		QOS_GUARANTEED, SINGLE, false, "cannot align container",
		"container 'app' needs cpu 1, memory 1Gi, v.io/d 1 on one NUMA node; the machine has no "
		"v.io/d"},
	{"none of a device the machine lacks", {"cpu=8 memory=8Gi"}, "app cpu=1 memory=1Gi v.io/d=0", "cpu=8",
		QOS_GUARANTEED, SINGLE, false, "", ""},
	{"storage exists on no node", {"cpu=8 memory=8Gi"}, "app cpu=1 memory=1Gi storage=1", "storage=9",
		QOS_GUARANTEED, SINGLE, false, "cannot align container",
		"container 'app' needs cpu 1, memory 1Gi, storage 1 on one NUMA node; the machine has no "
		"storage"},
	{"ephemeral storage always does", {"cpu=8 memory=8Gi"}, "app cpu=1 ephemeral-storage=1 memory=1Gi",
		"cpu=8", QOS_GUARANTEED, SINGLE, false, "", ""},
	{"no zones", {NULL}, "app cpu=1 memory=1Gi", NULL, QOS_GUARANTEED, SINGLE, false,
		"cannot align container", "container 'app' needs cpu 1, memory 1Gi on one NUMA node"},
	{"no zones, host device", {NULL}, "app v.io/d=1", "v.io/d=1", QOS_BEST_EFFORT, SINGLE, false, "", ""},
};

static struct filter_result run_filter(const struct filter_case *c, struct test_node *node)
{
	const struct topology_manager_config topology = topology_of(c->policy, c->pod_scope);
	CLEANUP(resource_list_release)
	struct resource_list allocatable = resources_from_text(c->allocatable ? c->allocatable : "");
	CLEANUP(planned_pod_release) struct planned_pod pod;

	plan_pod(&pod, c->pod, c->qos);
	return filter_pod(&node->space, &pod.plan, &topology, c->allocatable ? &allocatable : NULL);
}

static void verdicts_and_reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++) {
		struct filter_result result;
		struct test_node node;

		test_node_init(&node, filter_cases[i].zones);
		for (int twice = 0; twice < 2; twice++) {
			result = run_filter(&filter_cases[i], &node);
			test_assert_text(filter_cases[i].name, result.reason, filter_cases[i].reason);
			test_assert_text(filter_cases[i].name, result.detail, filter_cases[i].detail);
			assert_int_equal(
				result.verdict, *filter_cases[i].reason ? FILTER_UNSCHEDULABLE : FILTER_PASS);
		}
		test_node_release(&node);
	}
}

/* After a change of the zones' ids. */
static void use_ids(struct test_node *node)
{
	fit_space_release(&node->space);
	assert_int_equal(fit_space_init(&node->space, &node->inv, &node->distances), 0);
}

/* The lowest id is taken, wherever it stands in the list. */
static void lowest_id_first(void **state)
{
	static const struct filter_case c = {.zones = {"cpu=4 memory=8Gi", "cpu=4 memory=8Gi"},
		.pod = "app cpu=1 memory=1Gi",
		.qos = QOS_GUARANTEED,
		.policy = SINGLE};
	struct test_node node;

	(void)state;
	test_node_init(&node, c.zones);
	node.inv.nodes[0].id = 7;
	node.inv.nodes[1].id = 2;
	use_ids(&node);
	assert_int_equal(run_filter(&c, &node).verdict, FILTER_PASS);
	assert_true(*fit_available(&node.space, 0, 0) == 4 * QTY_UNIT);
	assert_true(*fit_available(&node.space, 0, 1) == 3 * QTY_UNIT);
	test_node_release(&node);
}

/* One id twice: a request that only one of the two can give is an error, as in the plugin. */
static void one_id_twice(void **state)
{
	static const struct filter_case c = {.zones = {"cpu=2 memory=8Gi", "cpu=6 memory=8Gi"},
		.pod = "app cpu=4 memory=1Gi",
		.qos = QOS_GUARANTEED,
		.policy = SINGLE};
	struct filter_result result;
	struct test_node node;

	(void)state;
	test_node_init(&node, c.zones);
	node.inv.nodes[1].id = 0;
	use_ids(&node);
	result = run_filter(&c, &node);
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
	struct filter_case c = {.pod = "app cpu=4 memory=1Gi", .qos = QOS_GUARANTEED, .policy = SINGLE};
	struct filter_result result;
	struct test_node node;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		zones[i] = "cpu=1 memory=1Gi";
	test_node_init(&node, zones);
	result = run_filter(&c, &node);
	test_assert_text("reason", result.reason, "cannot align container");
	assert_int_equal(strlen(result.detail), FILTER_DETAIL_MAX - 1);
	test_node_release(&node);
}

/* ---- the scores */

static int score_of(struct test_node *node, const char *text, bool pod_scope, unsigned max_numa_nodes,
	enum strategy strategy, const struct resource_weights *weights)
{
	struct topology_manager_config topology = topology_of(SINGLE, pod_scope);
	CLEANUP(planned_pod_release) struct planned_pod pod;

	topology.max_numa_nodes = max_numa_nodes;
	plan_pod(&pod, text, QOS_GUARANTEED);
	return strategy_score(&node->space, &pod.plan, &topology, strategy, weights);
}

/* The enhancement proposal's two nodes and pod of 3 + 3 CPUs, at several sizes of the scale. */
static void proposals_examples(void **state)
{
	static const char pod[] = "cpu=3; cpu=3";
	static const char *const zones[2][3] = {{"cpu=2", "cpu=4", NULL}, {"cpu=8", "cpu=8", NULL}};
	static const struct {
		unsigned max;
		int want[2];
	} cases[] = {{8, {82, 94}}, {2, {25, 75}}, {4, {62, 87}}, {9, {83, 94}}, {16, {91, 97}}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t n = 0; n < 2; n++) {
			struct test_node node;
			int got;

			test_node_init(&node, zones[n]);
			got = score_of(&node, pod, false, cases[i].max, STRATEGY_LEAST_NUMA_NODES, NULL);
			if (got != cases[i].want[n])
				fail_msg("node %zu of at most %u: %d, want %d", n + 1, cases[i].max, got,
					cases[i].want[n]);
			test_node_release(&node);
		}
	}
}

static void shares_of_the_scale(void **state)
{
	static const struct {
		unsigned n, max;
		int far, near;
	} cases[] = {{2, 8, 76, 82}, {1, 8, 88, 94}, {8, 8, 4, 10}, {1, 2, 50, 75}, {2, 2, 0, 25},
		{1, 16, 94, 97}, {4, 3, 0, 0}, {4, 51, 96, 96}, {4, 100, 96, 96}, {4, 101, 100, 100},
		{64, 8, 0, 0}, {1, UINT32_MAX, 100, 100}, {1, (unsigned)INT32_MAX + 1, 100, 100},
		{2, 0, 0, 0}, {0, 8, 100, 100}, {UINT32_MAX, 1, 0, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(strategy_normalize(cases[i].n, false, cases[i].max), cases[i].far);
		assert_int_equal(strategy_normalize(cases[i].n, true, cases[i].max), cases[i].near);
	}
}

struct score_case {
	const char *name;
	const char *zones[MAX_PARTS], *pod;
	bool pod_scope;
	int want[STRATEGY_COUNT]; /* most, least, balanced, least NUMA nodes */
};

static const struct score_case score_cases[] = {
	{"half of each", {"cpu=4 memory=4Gi"}, "cpu=2 memory=2Gi", false, {50, 50, 100, 94}},
	{"rounded up to whole CPUs", {"cpu=3500m memory=4Gi"}, "cpu=1500m memory=1Gi", false,
		{37, 62, 96, 94}},
	{"least of the nodes above 0", {"cpu=4 memory=8Gi", "cpu=8 memory=8Gi"}, "cpu=4 memory=4Gi", false,
		{50, 25, 87, 94}},
	{"a half-fitting node counts", {"cpu=2 memory=2Gi", "cpu=8 memory=2Gi"}, "cpu=4 memory=1Gi", false,
		{25, 25, 100, 94}},
	{"fits nowhere", {"cpu=2 memory=2Gi"}, "cpu=4 memory=4Gi", false, {0, 0, 0, 0}},
	{"mean of containers", {"cpu=4 memory=4Gi"}, "cpu=1 memory=1Gi; cpu=2 memory=2Gi", false,
		{37, 62, 100, 94}},
	{"pod scope adds up", {"cpu=4 memory=4Gi"}, "cpu=1 memory=1Gi; cpu=2 memory=2Gi", true,
		{75, 25, 100, 94}},
	{"containers are subtracted", {"cpu=4 memory=9Gi", "cpu=4 memory=9Gi"},
		"cpu=3 memory=1Gi; cpu=3 memory=1Gi; cpu=2 memory=1Gi", false, {38, 60, 83, 82}},
	{"missing key counts as full", {"cpu=8"}, "cpu=2 memory=1Gi", false, {12, 37, 71, 0}},
	{"no resource", {"cpu=8"}, "app", false, {SCORE_UNKNOWN, SCORE_UNKNOWN, SCORE_UNKNOWN, 100}},
	{"one resource", {"cpu=8"}, "cpu=2", false, {25, 75, SCORE_UNKNOWN, 94}},
	{"one resource too large", {"cpu=8"}, "cpu=9", false, {0, 0, 0, 0}},
	{"no zones", {NULL}, "cpu=8 memory=1", false, {0, 0, 0, 100}},
	{"nothing of NUMA", {"cpu=8 memory=8Gi"}, "v.io/d=1 v.io/e=1", false, {0, 0, 100, 100}},
};

static void scores_of_all_strategies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(score_cases); i++) {
		const struct score_case *c = &score_cases[i];
		struct test_node node;

		test_node_init(&node, c->zones);
		for (enum strategy s = STRATEGY_MOST_ALLOCATED; s < STRATEGY_COUNT; s++) {
			int got = score_of(&node, c->pod, c->pod_scope, 8, s, NULL);

			if (got != c->want[s])
				fail_msg("%s, %s: %d, want %d", c->name, strategy_names[s], got, c->want[s]);
		}
		test_node_release(&node);
	}
}

static void weights_count(void **state)
{
	static const struct resource_weight items[] = {{"cpu", 3}, {"memory", 0}};
	static const struct resource_weights weights = {items, 2};
	static const char *const zones[] = {"cpu=4 memory=4Gi", NULL};
	static const char pod[] = "cpu=2 memory=1Gi";
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	assert_int_equal(score_of(&node, pod, false, 8, STRATEGY_MOST_ALLOCATED, &weights), 43);
	assert_int_equal(score_of(&node, pod, false, 8, STRATEGY_LEAST_ALLOCATED, &weights), 56);
	assert_int_equal(score_of(&node, pod, false, 8, STRATEGY_BALANCED_ALLOCATION, &weights), 96);
	test_node_release(&node);
}

/* Some exporters write amounts below 0. The plugin's own score is then anything (scoring/DEFECTS.md, D10). */
static void amounts_below_0(void **state)
{
	static const char *const zones[] = {"cpu=4 memory=4Gi", "cpu=4 memory=4Gi", NULL};
	static const char pod[] = "cpu=2 memory=2Gi";
	static const char *const amounts[] = {"-1n", "-1m", "-1", "-3Gi", "-9E"};
	struct test_node node;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		test_node_init(&node, zones);
		for (size_t zone = 0; zone < 2; zone++)
			test_node_set(&node, zone, "cpu", amounts[i]);
		for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
			for (int scope = 0; scope < 2; scope++) {
				int score = score_of(&node, pod, scope, 8, s, NULL);

				if (score < 0 || score > 100)
					fail_msg("%s, %s: %d", amounts[i], strategy_names[s], score);
			}
		test_node_release(&node);
	}
}

/* 5000 containers are scored on few NUMA nodes; on 64 it would take as long as 100 ordinary pods on 500 nodes. */
static void pods_of_too_many_containers_have_no_score(void **state)
{
	const struct topology_manager_config topology = topology_of(SINGLE, false);
	static const char *const names[] = {"cpu", "memory"};
	struct request_plan plan;
	struct pod_request pod;

	(void)state;
	pod_request_init(&pod);
	for (size_t i = 0; i < 5000; i++)
		pod_add_from_text(&pod, "cpu=2 memory=2Gi");
	request_plan_init(&plan, &pod);
	for (size_t n = 4; n <= 64; n *= 16) {
		struct test_node node;

		test_node_shape(&node, n, names, 2);
		for (size_t i = 0; i < n; i++) {
			test_node_set(&node, i, "cpu", "4");
			test_node_set(&node, i, "memory", "4Gi");
		}
		test_node_ready(&node);
		for (enum strategy s = 0; s < STRATEGY_LEAST_NUMA_NODES; s++)
			assert_int_equal(strategy_score(&node.space, &plan, &topology, s, NULL),
				n > 4                               ? SCORE_UNKNOWN
				: s == STRATEGY_BALANCED_ALLOCATION ? 100
								    : 50);
		test_node_release(&node);
	}
	request_plan_release(&plan);
	pod_request_release(&pod);
}

static void policy_and_qos_decide_first(void **state)
{
	static const char *const zones[] = {"cpu=4 memory=4Gi", NULL};
	const struct topology_manager_config topology = {.max_numa_nodes = 8};
	CLEANUP(planned_pod_release) struct planned_pod pod;
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	plan_pod(&pod, "cpu=2 memory=2Gi", QOS_UNKNOWN);
	assert_int_equal(pod.plan.qos, QOS_GUARANTEED);
	for (enum strategy s = STRATEGY_MOST_ALLOCATED; s < STRATEGY_LEAST_NUMA_NODES; s++)
		assert_int_equal(strategy_score(&node.space, &pod.plan, &topology, s, NULL), 0);
	assert_int_equal(
		strategy_score(&node.space, &pod.plan, &topology, STRATEGY_LEAST_NUMA_NODES, NULL), 94);
	pod.plan.qos = QOS_BURSTABLE;
	for (enum strategy s = STRATEGY_MOST_ALLOCATED; s < STRATEGY_COUNT; s++)
		assert_int_equal(strategy_score(&node.space, &pod.plan, &topology, s, NULL), 100);
	test_node_release(&node);
}

/* What the fit cannot tell, the score does not either. */
static void unknown_fits_give_unknown_scores(void **state)
{
	static const char *const zones[] = {
		"cpu=4 memory=1", "cpu=1 memory=4", "cpu=4 memory=1", "cpu=1 memory=4", NULL};
	static const char pod[] = "cpu=5 memory=5";
	struct test_node node;

	(void)state;
	test_node_init(&node, zones);
	assert_int_equal(score_of(&node, pod, true, 8, STRATEGY_LEAST_NUMA_NODES, NULL), 82);
	node.space.work_limit = 0;
	assert_int_equal(score_of(&node, pod, true, 8, STRATEGY_LEAST_NUMA_NODES, NULL), SCORE_UNKNOWN);
	node.space.work_limit = FIT_WORK_LIMIT;
	node.distances.low[2] = 50;
	assert_int_equal(score_of(&node, pod, true, 8, STRATEGY_LEAST_NUMA_NODES, NULL), SCORE_UNKNOWN);
	test_node_release(&node);
}

static void names_of_strategies(void **state)
{
	(void)state;
	for (int s = 0; s < STRATEGY_COUNT; s++)
		assert_int_equal(strategy_by_name(strategy_names[s]), s);
	assert_int_equal(strategy_by_name("mostAllocated"), -1);
}

/* One container on one node, one on two; the least sums of either size are made known or not. */
static void one_request_off_the_least_distance_settles_it(void **state)
{
	static const char *const zones[] = {"cpu=4 memory=4", "cpu=4 memory=4", "vendor.com/nic=1", NULL};
	static const struct {
		uint64_t low[2], high[2];
		enum fit_min_distance want;
	} cases[] = {
		{{10, 60}, {10, 60}, FIT_MIN_DISTANCE_YES},
		{{9, 60}, {10, 60}, FIT_MIN_DISTANCE_UNKNOWN},
		{{10, 59}, {10, 60}, FIT_MIN_DISTANCE_UNKNOWN},
		{{9, 59}, {10, 60}, FIT_MIN_DISTANCE_UNKNOWN},
		{{9, 58}, {10, 59}, FIT_MIN_DISTANCE_NO},
		{{8, 60}, {9, 60}, FIT_MIN_DISTANCE_NO},
		{{8, 59}, {9, 60}, FIT_MIN_DISTANCE_NO},
	};
	const struct topology_manager_config config = {.max_numa_nodes = 8};
	CLEANUP(planned_pod_release) struct planned_pod pod;
	struct test_node node;

	(void)state;
	plan_pod(&pod, "cpu=1 memory=1; cpu=5 memory=1", QOS_UNKNOWN);
	test_node_init(&node, zones);
	distances_find_sums(&node.distances);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pod_fit fit;
		int score;

		for (size_t size = 0; size < 2; size++) {
			node.distances.low[size + 1] = cases[i].low[size];
			node.distances.high[size + 1] = cases[i].high[size];
		}
		fit = strategy_pod_fit(&node.space, &pod.plan, TOPOLOGY_SCOPE_CONTAINER);
		assert_int_equal(fit.verdict, FIT_FOUND);
		assert_int_equal(fit.n_nodes, 2);
		assert_int_equal(fit.min_distance, cases[i].want);
		score = strategy_score(&node.space, &pod.plan, &config, STRATEGY_LEAST_NUMA_NODES, NULL);
		assert_int_equal(score, cases[i].want == FIT_MIN_DISTANCE_UNKNOWN ? SCORE_UNKNOWN
					: cases[i].want == FIT_MIN_DISTANCE_YES   ? 82
										  : 76);
	}
	test_node_release(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zone_names),
		cmocka_unit_test(deprecated_policies),
		cmocka_unit_test(last_valid_attribute_wins),
		cmocka_unit_test(numbers_of_numa_nodes),
		cmocka_unit_test(fingerprints),
		cmocka_unit_test(verdicts_and_reasons),
		cmocka_unit_test(lowest_id_first),
		cmocka_unit_test(one_id_twice),
		cmocka_unit_test(long_details_are_cut),
		cmocka_unit_test(one_request_off_the_least_distance_settles_it),
		cmocka_unit_test(proposals_examples),
		cmocka_unit_test(shares_of_the_scale),
		cmocka_unit_test(scores_of_all_strategies),
		cmocka_unit_test(weights_count),
		cmocka_unit_test(amounts_below_0),
		cmocka_unit_test(pods_of_too_many_containers_have_no_score),
		cmocka_unit_test(policy_and_qos_decide_first),
		cmocka_unit_test(unknown_fits_give_unknown_scores),
		cmocka_unit_test(names_of_strategies),
	};

	return cmocka_run_group_tests_name("nrt_match", tests, NULL, NULL);
}
