/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node as its object shows it: on what its kubelet's answers rest, who wrote the object and when; and nodes of
 * which a report is made.
 */
#include "tests/lib/test.h"

#include <errno.h>

#include "cli/report/score_report.h"
#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/observations.h"

#define TEXT_MAX (1u << 20)

/* A node with 4 CPUs; `metadata` is more of its metadata, `attributes` more of its attributes. */
static void make_object(const char *name, const char *metadata, const char *attributes, struct doc *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	struct err err = {""};

	strbuf_addf(&text,
		"{kind: NodeResourceTopology, metadata: {name: %s%s}, attributes: "
		"[{name: cpuManagerPolicy, value: static}%s], zones: [{name: node-0, type: Node, resources: "
		"[{name: cpu, capacity: 4, allocatable: 4, available: 4}]}]}",
		name, metadata, attributes);
	assert_int_equal(strbuf_error(&text), 0);
	if (yaml_parse(text.text, text.len, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void read_one(const char *metadata, const char *attributes, struct cluster_node *ret)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	make_object("n1", metadata, attributes, &object);
	if (cluster_node_read(&object, ret, &err) < 0)
		fail_msg("%s", err.text);
	test_assert_text("name", ret->state.node_name, "n1");
	assert_int_equal(ret->state.inventory.n_nodes, 1);
	assert_int_equal(ret->cpu_manager, CPU_MANAGER_STATIC);
}

static void an_option_of_an_exporter_has_any_spelling(void **state)
{
	static const struct {
		const char *options;
		bool full_pcpus_only;
	} cases[] = {{"full-pcpus-only=true", true}, {"later=x,full-pcpus-only=1", true},
		{"full-pcpus-only=false", false}, {"not-full-pcpus-only=true", false}, {"", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_node_release) struct cluster_node node;
		CLEANUP(freep)
		char *attribute =
			xasprintf(", {name: cpuManagerPolicyOptions, value: '%s'}", cases[i].options);

		read_one("", attribute, &node);
		assert_int_equal(node.basis, CLUSTER_ESTIMATED);
		assert_int_equal(node.state.settings.cpu_options.full_pcpus_only, cases[i].full_pcpus_only);
	}
}

static void an_exporter_is_known_by_what_it_writes(void **state)
{
	static const struct {
		const char *metadata, *attributes, *exporter;
		int64_t written_s;
	} cases[] = {
		{"", "", "", 0},
		{"", ", {name: nrtd.dev/content-hash, value: x}", "nrtd", 0},
		{", annotations: {k8stopoawareschedwg/rte-update: periodic}", "",
			"resource-topology-exporter", 0},
		{", annotations: {node.koordinator.sh/cpu-topology: '{}'}", "", "koordlet", 0},
		{", managedFields: [{manager: a, time: '2026-01-02T00:00:00Z'}, "
		 "{manager: node-feature-discovery-topology-updater, time: '2026-01-03T00:00:00Z'}, "
		 "{manager: b, time: '2026-01-01T00:00:00Z'}]",
			"", "nfd-topology-updater", 1767398400},
		{", managedFields: [{manager: a, time: '2026-01-03T00:00:00Z'}, {manager: b, time: never}]",
			"", "a", 1767398400},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_node_release) struct cluster_node node;

		read_one(cases[i].metadata, cases[i].attributes, &node);
		test_assert_text("exporter", node.exporter, cases[i].exporter);
		assert_int_equal(node.written_s, cases[i].written_s);
	}
}

/* What cannot be read of a node state is said, and the zones are there. */
static void a_node_is_judged_by_what_there_is(void **state)
{
	static const struct {
		const char *attributes, *why;
		bool unreadable;
	} cases[] = {
		{"", "the object has no node state", false},
		{", {name: nrtd.dev/node-state, value: '999 x'}",
			"its node state is of a newer version of nrtd", true},
		{", {name: nrtd.dev/node-state, value: '%'}", "damaged node state: ", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_node_release) struct cluster_node node;

		read_one("", cases[i].attributes, &node);
		assert_int_equal(node.basis, CLUSTER_ESTIMATED);
		assert_int_equal(node.unreadable_state, cases[i].unreadable);
		if (strncmp(node.why.text, cases[i].why, strlen(cases[i].why)) != 0)
			fail_msg("'%s' does not begin with '%s'", node.why.text, cases[i].why);
	}
}

/* The zones say 4 CPUs, the state says what the picture's machine has: the kubelet is asked with the state. */
static void a_node_state_is_exact(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf attribute = STRBUF_INIT(TEXT_MAX);
	CLEANUP(cluster_node_release) struct cluster_node node;
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_init(&o);
	observation_of_picture(&o);
	assert_int_equal(node_state_print(&o.node, &text), 0);
	strbuf_addf(&attribute, ", {name: nrtd.dev/node-state, value: '%s'}", text.text);
	read_one("", attribute.text, &node);
	assert_int_equal(node.basis, CLUSTER_EXACT);
	test_assert_text("why", node.why.text, "");
	assert_int_equal(node.state.machine.n_cpus, o.node.machine.n_cpus);
	assert_int_equal(node.state.allocations.n_items, o.node.allocations.n_items);
}

/* A section of a newer nrtd that decides nothing leaves the node exact, one that decides makes it an estimate. */
static void sections_of_a_newer_version(void **state)
{
	static const struct {
		const char *section, *why;
		enum cluster_basis basis;
	} cases[] = {
		{";?pcie=1", "", CLUSTER_EXACT},
		{";pcie=1", "its node state is of a newer version of nrtd: the section 'pcie' is not known",
			CLUSTER_ESTIMATED},
	};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(observation_release) struct observation o;

	(void)state;
	observation_init(&o);
	observation_of_picture(&o);
	assert_int_equal(node_state_print(&o.node, &text), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf attribute = STRBUF_INIT(TEXT_MAX);
		CLEANUP(cluster_node_release) struct cluster_node node;

		strbuf_addf(&attribute, ", {name: nrtd.dev/node-state, value: '%s%s'}", text.text,
			cases[i].section);
		read_one("", attribute.text, &node);
		assert_int_equal(node.basis, cases[i].basis);
		test_assert_text("why", node.why.text, cases[i].why);
	}
}

/* Nobody is gone, or nobody knows what he holds: valgrind sees what is released then. */
static void a_node_without_nobody_is_the_same(void **state)
{
	struct excluded_pods gone = {0};
	struct cluster_node node;
	size_t n_nodes;

	(void)state;
	read_one("", "", &node);
	n_nodes = node.state.inventory.n_nodes;
	for (int basis = 0; basis < CLUSTER_BASIS_COUNT; basis++) {
		node.basis = (enum cluster_basis)basis;
		cluster_node_exclude(&node, &gone);
		assert_int_equal(node.state.inventory.n_nodes, n_nodes);
	}
	assert_true(n_nodes > 0);
	excluded_pods_release(&gone);
	cluster_node_release(&node);
}

static void an_error_names_the_node(void **state)
{
	static const struct {
		const char *object, *message;
	} cases[] = {
		{"{zones: []}", "a NodeResourceTopology without a name"},
		{"{metadata: {name: ''}, zones: []}", "a NodeResourceTopology without a name"},
		{"{metadata: {name: n1}}", "NodeResourceTopology 'n1': no zones in it"},
		{"{metadata: {name: n1}, zones: []}",
			"NodeResourceTopology 'n1': no zone of type Node in it"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		struct cluster_node node;
		struct err err = {""};

		assert_int_equal(yaml_parse(cases[i].object, strlen(cases[i].object), &object, &err), 0);
		assert_int_equal(cluster_node_read(&object, &node, &err), -EINVAL);
		test_assert_text("message", err.text, cases[i].message);
	}
}

/* ---- many of them */

static void make_pod(const char *cpus, struct pod_templates *ret)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);

	strbuf_addf(&text,
		"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {limits: "
		"{cpu: %s, memory: 1Gi}}}]}}",
		cpus);
	assert_int_equal(yaml_parse(text.text, text.len, &pod, NULL), 0);
	assert_int_equal(pod_templates_from_doc(&pod, ret, NULL), 0);
}

static void nodes_are_ranked(void **state)
{
	static const struct {
		const char *name, *attributes;
	} nodes[] = {
		{"node10", ""},
		{"node2", ""},
		/* The filter lets it pass, and the kubelet does not admit. */
		{"node1", ", {name: topologyManagerPolicy, value: restricted}"},
		{"node9", ", {name: topologyManagerPolicy, value: single-numa-node}"},
	};
	/* 8 CPUs fit nowhere; without alignment 4 fit everywhere. */
	static const char *const want[] = {"node2", "node9", "node10", "node1"};
	CLEANUP(pod_templates_release) struct pod_templates pods = {0};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(score_report_release) struct score_report report = {0};
	const struct pod_template template = {.namespace = "default"};
	const struct score_options how = {.strategy = STRATEGY_LEAST_NUMA_NODES, .volcano_weight = 1};

	(void)state;
	make_pod("4", &pods);
	score_report_init(&report, &pods.items[0], &how);
	pod_report_set_cluster(&report.pods, &cluster, &template, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(cluster_node_release) struct cluster_node read;
		struct node_info *node;

		make_object(nodes[i].name, "", nodes[i].attributes, &object);
		assert_int_equal(cluster_node_read(&object, &read, NULL), 0);
		node = cluster_set_object(&cluster, &read, 0);
		assert_int_equal(score_report_add(&report, node, NULL), 0);
		pod_report_drop_node(&report.pods, node);
	}
	/* What a kubelet rejects is last, whatever the scheduler's score. */
	for (size_t i = 0; i < report.pods.n_nodes; i++)
		if (!strcmp(report.pods.nodes[i].name, "node1")) {
			report.pods.nodes[i].answer = KUBELET_REJECTS;
			report.pods.nodes[i].scheduler.scores[STRATEGY_LEAST_NUMA_NODES] = 100;
		} else {
			report.pods.nodes[i].answer = KUBELET_ADMITS;
			report.pods.nodes[i].scheduler.passes = true;
			report.pods.nodes[i].scheduler.scores[STRATEGY_LEAST_NUMA_NODES] = 50;
		}
	score_report_rank(&report);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		test_assert_text("rank", report.pods.nodes[i].name, want[i]);
	assert_true(score_row_is(&report.pods.nodes[0], STRATEGY_LEAST_NUMA_NODES, KUBELET_ADMITS));
	assert_false(score_row_is(&report.pods.nodes[3], STRATEGY_LEAST_NUMA_NODES, KUBELET_ADMITS));
	assert_false(score_row_is(&report.pods.nodes[3], STRATEGY_LEAST_NUMA_NODES, KUBELET_UNKNOWN));
	/* Nobody knows what this kubelet says: no name for a script. */
	report.pods.nodes[0].answer = KUBELET_UNKNOWN;
	assert_false(score_row_is(&report.pods.nodes[0], STRATEGY_LEAST_NUMA_NODES, KUBELET_ADMITS));
	assert_true(score_row_is(&report.pods.nodes[0], STRATEGY_LEAST_NUMA_NODES, KUBELET_UNKNOWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_option_of_an_exporter_has_any_spelling),
		cmocka_unit_test(an_exporter_is_known_by_what_it_writes),
		cmocka_unit_test(a_node_is_judged_by_what_there_is),
		cmocka_unit_test(a_node_state_is_exact),
		cmocka_unit_test(sections_of_a_newer_version),
		cmocka_unit_test(a_node_without_nobody_is_the_same),
		cmocka_unit_test(an_error_names_the_node),
		cmocka_unit_test(nodes_are_ranked),
	};

	return cmocka_run_group_tests_name("cluster_node", tests, NULL, NULL);
}
