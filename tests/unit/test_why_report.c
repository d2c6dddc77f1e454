/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `kubectl numa why` reports as data: the nodes' own answers, what keeps the pod away from them, its node first, and
 * where a pod that runs lies.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/report/fit_report.h"
#include "cli/report/why_report.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/node_sim.h"

#define N_NODES 5

/* ---- five nodes: w0 is empty, each next one has a pod more; pods are default/p0, p1, ... */

static struct cluster_node nodes[N_NODES];

/* As a reader of the published object has it. */
static void publish(const struct node_state *from, const char *name, struct cluster_node *ret)
{
	static const struct derive_config config = {.reserved_named = false};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	struct err err = {""};

	assert_int_equal(node_state_print(from, &text), 0);
	*ret = (struct cluster_node){.basis = CLUSTER_EXACT, .exporter = strdup("nrtd")};
	assert_int_equal(node_state_parse(text.text, &ret->state, NULL), 0);
	if (node_derive(&config, &ret->state, NULL, &err) < 0)
		fail_msg("%s", err.text);
	ret->state.node_name = strdup(name);
	assert_non_null(ret->state.node_name);
}

static int setup(void **state)
{
	const struct node_sim_setup one = {
		.machine = {.sockets = 2,
			.numas = 1,
			.uncores = 1,
			.cores = 8,
			.threads = 1,
			.memory_bytes = (uint64_t)32 << 30},
		.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = TOPOLOGY_SCOPE_CONTAINER,
	};

	(void)state;
	for (size_t i = 0; i < N_NODES; i++) {
		struct node_sim sim;
		char name[16];

		node_sim_init(&sim, &one);
		for (size_t pod = 0; pod < i; pod++)
			assert_true(node_sim_begin(&sim, "app cpu=3 memory=1Gi"));
		snprintf(name, sizeof(name), "w%zu", i);
		publish(&sim.state, name, &nodes[i]);
		node_sim_release(&sim);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_NODES; i++)
		cluster_node_release(&nodes[i]);
	return 0;
}

/* ---- a pod and its report */

#define APP "containers: [{name: app, resources: {limits: {cpu: 5, memory: 1Gi}}}]"

static int init(struct why_report *report, const char *text)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	int r = yaml_parse(text, strlen(text), &pod, NULL);

	return r < 0 ? r : why_report_init(report, &pod, NULL);
}

static void begin(struct why_report *report, const char *name, const char *spec, const char *status)
{
	char text[1024];

	snprintf(text, sizeof(text), "{kind: Pod, metadata: {name: %s}, spec: {%s}, status: {%s}}", name,
		spec, status);
	if (init(report, text) < 0)
		fail_msg("%s", text);
}

static void add_node(struct why_report *report, const char *text)
{
	CLEANUP(doc_release) struct doc node = DOC_INIT;

	assert_int_equal(yaml_parse(text, strlen(text), &node, NULL), 0);
	assert_int_equal(why_report_add_object(report, OBJECT_NODE, &node, NULL), 0);
}

static void ask(struct why_report *report)
{
	why_report_end_objects(report);
	for (size_t i = 0; i < N_NODES; i++) {
		struct cluster_node object; /* moves */

		publish(&nodes[i].state, nodes[i].state.node_name, &object);
		why_report_add_node(report, &object);
	}
	why_report_finish(report);
}

static void print(const struct why_report *report, struct strbuf *out)
{
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, "text", true, out);
	why_write(&w, report);
	assert_int_equal(writer_finish(&w), 0);
}

static void assert_order(const struct why_report *report, const char *const want[N_NODES])
{
	assert_int_equal(report->pods.n_nodes, N_NODES);
	for (size_t i = 0; i < N_NODES; i++)
		assert_string_equal(report->pods.nodes[i].name, want[i]);
}

/* Each node's row is what the node itself answers. */
static size_t assert_answers(const struct why_report *report)
{
	size_t admit = 0;

	for (size_t i = 0; i < N_NODES; i++) {
		const struct node_report *row = &report->pods.nodes[i];
		CLEANUP(pod_report_release) struct pod_report own;
		CLEANUP(node_report_release) struct node_report want;

		pod_report_init(&own, report->pods.pod);
		node_report_make(&own, &nodes[row->name[1] - '0'].state, REPORT_ALL, NULL, &want);
		assert_int_equal(row->answer, want.answer);
		test_assert_text(row->name, row->rejection, want.rejection);
		admit += want.answer == KUBELET_ADMITS;
	}
	return admit;
}

/* ---- tests */

static void a_pod_that_waits(void **state)
{
	static const char *const order[N_NODES] = {"w0", "w1", "w2", "w3", "w4"};
	CLEANUP(why_report_release) struct why_report report = {0};
	CLEANUP(strbuf_release) struct strbuf nearest = STRBUF_INIT(300);

	(void)state;
	begin(&report, "p", APP, "phase: Pending");
	assert_true(why_report_asks(&report));
	ask(&report);
	assert_order(&report, order);
	assert_int_equal(report.takes, assert_answers(&report));
	assert_true(report.takes > 0 && report.takes < N_NODES);
	assert_string_equal(report.pods.nodes[4].rejection, "TopologyAffinityError");
	fit_add_nearest(&report.pods, &report.pods.nodes[4], &nearest);
	assert_string_equal(nearest.text, "2 CPUs instead of 5");
	assert_string_equal(report.pods.alignment.text,
		"the Topology Manager aligns 5 exclusive CPUs, and memory where the memory manager is Static");
	assert_false(report.own_seen);
}

/* The node that refused it comes first, also where it would take it now. */
static void a_pod_that_was_refused(void **state)
{
	static const char *const hosts[] = {"w4", "w1"};
	static const char *const orders[][N_NODES] = {
		{"w4", "w0", "w1", "w2", "w3"}, {"w1", "w0", "w2", "w3", "w4"}};
	static const char *const lines[] = {"verdict of node 'w4' now: TopologyAffinityError",
		"node 'w1' would admit such a pod now: the node's free resources have changed"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		CLEANUP(why_report_release) struct why_report report = {0};
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
		char spec[256];

		snprintf(spec, sizeof(spec), "nodeName: %s, " APP, hosts[i]);
		begin(&report, "p", spec, "phase: Failed, reason: TopologyAffinityError");
		ask(&report);
		assert_order(&report, orders[i]);
		assert_int_equal(report.takes, assert_answers(&report));
		print(&report, &out);
		assert_non_null(strstr(out.text, lines[i]));
	}
}

/* The kubelet itself checks labels, taints and host ports: what it rejected the pod for is not called a matter of resources. */
static void what_the_kubelet_checks_besides_resources(void **state)
{
	static const struct {
		const char *reason, *spec, *node, *want;
	} cases[] = {
		{"NodeAffinity", "nodeSelector: {a: b}", "{metadata: {name: w0, labels: {a: c}}}",
			"  verdict of node 'w0' now: rejected: nodeSelector a=b does not match\n"},
		{"NodeAffinity", "nodeSelector: {a: b}", "{metadata: {name: w0, labels: {a: b}}}",
			"  node 'w0' would admit such a pod now: the node's labels have changed\n"},
		{"NodeAffinity", "nodeSelector: {a: b}", NULL,
			"  node 'w0' has room for such a pod now; its labels are unknown without Node objects\n"},
		{"TaintToleration", "priority: 0",
			"{metadata: {name: w0}, spec: {taints: [{key: k, effect: NoExecute}]}}",
			"  verdict of node 'w0' now: rejected: taint k:NoExecute is not tolerated\n"},
		/* Kubelets do not look at cordons. */
		{"TaintToleration", "priority: 0", "{metadata: {name: w0}, spec: {unschedulable: true}}",
			"  node 'w0' would admit such a pod now: the node's taints have changed\n"},
		{"OutOfcpu", "nodeSelector: {a: b}", "{metadata: {name: w0, labels: {a: b}}}",
			"  node 'w0' would admit such a pod now: the node's free resources have changed\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(why_report_release) struct why_report report = {0};
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
		char spec[256], status[64];

		snprintf(spec, sizeof(spec), "nodeName: w0, %s, " APP, cases[i].spec);
		snprintf(status, sizeof(status), "phase: Failed, reason: %s", cases[i].reason);
		begin(&report, "p", spec, status);
		if (cases[i].node)
			add_node(&report, cases[i].node);
		ask(&report);
		print(&report, &out);
		if (!strstr(out.text, cases[i].want))
			fail_msg("%zu: %s", i, out.text);
	}
}

static void what_the_status_says(void **state)
{
	static const struct {
		const char *metadata, *status, *want;
	} cases[] = {
		{"", "phase: Pending", "pod default/p waits: no scheduler has found a node for the pod\n"},
		{"", "phase: Pending, nominatedNodeName: w3",
			"pod default/p waits: it is nominated for node 'w3', until there is room\n"},
		{", deletionTimestamp: '2026-01-01T00:00:00Z'", "phase: Pending, nominatedNodeName: w3",
			"pod default/p is terminating; it has no node, and schedulers ignore it now\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(why_report_release) struct why_report report = {0};
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
		char text[1024];

		snprintf(text, sizeof(text),
			"{kind: Pod, metadata: {name: p%s}, spec: {" APP "}, status: {%s}}",
			cases[i].metadata, cases[i].status);
		assert_int_equal(init(&report, text), 0);
		ask(&report);
		print(&report, &out);
		if (strncmp(out.text, cases[i].want, strlen(cases[i].want)) != 0)
			fail_msg("%zu: %s", i, out.text);
	}
}

/* Where the node has too little, kubelets evict pods of lower priority for a critical one. */
static void a_critical_pod(void **state)
{
	static const char *const priorities[] = {"priority: 1999999999", "priority: 2000000000",
		"priorityClassName: mine", "priorityClassName: system-node-critical"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		CLEANUP(why_report_release) struct why_report report = {0};
		char spec[256];

		snprintf(spec, sizeof(spec), "%s, containers: [{name: a, resources: {requests: {cpu: 99}}}]",
			priorities[i]);
		begin(&report, "p", spec, "phase: Pending");
		ask(&report);
		assert_string_equal(report.pods.nodes[0].rejection, "OutOfcpu");
		assert_int_equal(
			strstr(report.pods.nodes[0].reason,
				"; for a critical pod the kubelet evicts pods of lower priority instead") !=
				NULL,
			i % 2);
	}
}

static void schedulers_keep_it_away(void **state)
{
	static const char *const order[N_NODES] = {"w2", "w3", "w4", "w0", "w1"};
	CLEANUP(why_report_release) struct why_report report = {0};
	size_t all;

	(void)state;
	begin(&report, "p", "nodeSelector: {a: b}, " APP, "phase: Pending");
	add_node(&report, "{metadata: {name: w1, labels: {a: c}}}");
	add_node(&report, "{metadata: {name: w0}, spec: {unschedulable: true}}");
	add_node(&report, "{metadata: {name: w3, labels: {a: b}}}");
	add_node(&report,
		"{metadata: {name: w2, labels: {a: b}}, status: {allocatable: {cpu: 16, memory: 8Gi}}}");
	add_node(&report, "{metadata: {name: w4, labels: {a: b}}, status: {allocatable: {cpu: 1}}}");
	ask(&report);
	assert_order(&report, order);
	all = report.takes;
	assert_string_equal(why_report_violated(&report, "w0"), "cordoned");
	assert_string_equal(why_report_violated(&report, "w1"), "nodeSelector a=b does not match");
	assert_string_equal(why_report_violated(&report, "w2"), "");
	assert_string_equal(why_report_violated(&report, "w9"), "there is no such Node");
	/* What the kubelet says of a node that is cordoned stays its own. */
	assert_int_equal(report.pods.nodes[3].answer, KUBELET_ADMITS);
	assert_int_equal(report.pods.n_admit, all + 2);
}

/* It holds CPUs 7-9 of w4, or whatever its node gave it; no node is asked. */
static void a_pod_that_runs(void **state)
{
	CLEANUP(why_report_release) struct why_report report = {0}, other = {0}, lost = {0};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	const struct node_state *w4 = &nodes[4].state;

	(void)state;
	begin(&report, "p2", "nodeName: w4, " APP, "phase: Running");
	assert_false(why_report_asks(&report));
	ask(&report);
	assert_int_equal(report.pods.n_nodes, 0);
	assert_true(report.own_seen && report.held.found);
	assert_int_equal(hwloc_bitmap_weight(report.held.cpus), 3);
	assert_int_equal(hwloc_bitmap_weight(report.held.numa), 1);
	for (int id = hwloc_bitmap_first(report.held.cpus); id >= 0;
		id = hwloc_bitmap_next(report.held.cpus, id))
		assert_true(hwloc_bitmap_isset(
			report.held.numa, (unsigned)machine_cpu(&w4->machine, (unsigned)id)->numa));
	print(&report, &out);
	assert_non_null(strstr(out.text, "holds resources of NUMA node "));
	/* One that holds nothing, and one whose node has no object. */
	begin(&other, "shared", "nodeName: w4, containers: [{name: c}]", "phase: Running");
	ask(&other);
	assert_true(other.own_seen && !other.held.found);
	begin(&lost, "p2", "nodeName: w9, " APP, "phase: Pending");
	ask(&lost);
	assert_int_equal(lost.status.stage, POD_BOUND);
	assert_false(lost.own_seen);
}

static void what_its_class_means(void **state)
{
	static const struct {
		const char *containers, *gap, *aligned;
	} cases[] = {
		{"{name: a, resources: {limits: {cpu: 1500m, memory: 1Gi}}}", "",
			"no container requests whole CPUs, so no CPUs are exclusive; the Topology Manager aligns "
			"memory where the memory manager is Static"},
		{"{name: a, resources: {limits: {cpu: 1, memory: 1Gi, v.com/nic: 1}}}", "",
			"the Topology Manager aligns 1 exclusive CPU, devices, and memory where the memory "
			"manager is Static"},
		{"{name: a, resources: {limits: {cpu: 4, memory: 1Gi}}}, {name: b, resources: {limits: {cpu: 1}}}",
			"not Guaranteed, because container 'b' has no equal request and limit of memory",
			"the pod shares CPUs and memory with other pods; the Topology Manager aligns nothing and does "
			"not reject the pod"},
		{"{name: a, resources: {limits: {v.com/nic: 1}}}",
			"not Guaranteed, because no container requests cpu or memory",
			"the pod shares CPUs and memory with other pods; the Topology Manager aligns only the pod's "
			"devices"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(why_report_release) struct why_report report = {0};
		char spec[256];

		snprintf(spec, sizeof(spec), "containers: [%s]", cases[i].containers);
		begin(&report, "p", spec, "");
		test_assert_text(cases[i].containers, report.pods.not_guaranteed.text, cases[i].gap);
		test_assert_text(cases[i].containers, report.pods.alignment.text, cases[i].aligned);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_that_waits),
		cmocka_unit_test(a_pod_that_was_refused),
		cmocka_unit_test(what_the_kubelet_checks_besides_resources),
		cmocka_unit_test(what_the_status_says),
		cmocka_unit_test(a_critical_pod),
		cmocka_unit_test(schedulers_keep_it_away),
		cmocka_unit_test(a_pod_that_runs),
		cmocka_unit_test(what_its_class_means),
	};

	return cmocka_run_group_tests_name("why_report", tests, setup, teardown);
}
