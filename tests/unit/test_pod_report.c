/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster's nodes asked by their published objects: each answers as the node itself does, and together they have
 * room for as many copies as their kubelets admit.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/render/render.h"
#include "cli/report/pod_report.h"
#include "cluster/objects/nrt_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/file_reader.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/pods.h"

#define N_NODES  50
#define TEXT_MAX (16u << 20)

/* ---- fifty nodes whose kubelets are set up in many ways, with pods on them */

static void make_node(size_t i, uint64_t *random, struct node_sim *ret)
{
	static const enum topology_manager_policy policies[] = {TOPOLOGY_MANAGER_NONE,
		TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		TOPOLOGY_MANAGER_RESTRICTED};
	const struct node_sim_setup setup = {
		.machine = {.sockets = 2,
			.numas = i % 3 ? 2 : 1,
			.uncores = 1,
			.cores = 4,
			.threads = 1 + i % 2,
			.memory_bytes = (uint64_t)32 << 30},
		.policy = policies[i % ARRAY_SIZE(policies)],
		.scope = i % 4 == 3 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.full_pcpus_only = i % 7 == 1 && i % 2,
		.memory_static = i % 5 == 2,
	};

	node_sim_init(ret, &setup);
	for (size_t n = 0; n < 12; n++) {
		char pod[64];

		snprintf(pod, sizeof(pod), "app cpu=%u memory=%uGi", 1 + (unsigned)(test_random(random) % 6),
			1 + (unsigned)(test_random(random) % 4));
		node_sim_begin(ret, pod);
	}
	for (size_t n = 0; n < 4 && ret->state.allocations.n_items > 0; n++)
		node_sim_end(ret, test_random(random) % ret->state.allocations.n_items);
}

/* The object as it is published, into the list's text. */
static void add_object(struct node_sim *sim, size_t i, struct strbuf *list)
{
	static const struct nrt_config config = {.deprecated_policies = false};
	CLEANUP(strbuf_release) struct strbuf state = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	char name[32];

	snprintf(name, sizeof(name), "node%zu", i);
	free(sim->state.node_name);
	sim->state.node_name = strdup(name);
	assert_non_null(sim->state.node_name);
	nrt_render(&sim->state, &config, &object, NULL);
	if (!nrt_attribute(&object, NODE_STATE_ATTRIBUTE)) {
		DOC_FOREACH (member, &object)
			if (!strcmp(member->key, "attributes")) {
				struct doc *map = doc_add_map(member, NULL);

				assert_int_equal(node_state_print(&sim->state, &state), 0);
				assert_non_null(doc_add_string(map, "name", NODE_STATE_ATTRIBUTE));
				assert_non_null(doc_add_string(map, "value", state.text));
			}
	}
	strbuf_addstr(list, i ? "," : "");
	assert_int_equal(json_print(&object, list), 0);
}

static int take_node(struct cluster_node *object, void *data, struct err *err)
{
	struct pod_report *r = data;
	struct node_info *node;

	(void)err;
	assert_int_equal(object->basis, CLUSTER_EXACT);
	node = cluster_set_object(r->projections.cluster, object, 0);
	pod_report_add(r, node, REPORT_PLACEMENTS | REPORT_COPIES | REPORT_NEAREST);
	pod_report_drop_node(r, node);
	return 0;
}

static const struct node_report *find(const struct pod_report *r, const char *name)
{
	for (size_t i = 0; i < r->n_nodes; i++)
		if (!strcmp(r->nodes[i].name, name))
			return &r->nodes[i];
	print_message("no row of %s\n", name);
	abort();
}

/* The row says what the node says. Returns whether it takes the pod. */
static bool check_row(
	const struct node_state *node, const struct pod_request *pod, const struct pod_report *r)
{
	CLEANUP(pod_report_release) struct pod_report own;
	CLEANUP(node_report_release) struct node_report report;
	const struct node_report *row = find(r, node->node_name);

	pod_report_init(&own, pod);
	node_report_make(&own, node, REPORT_ALL, NULL, &report);
	assert_int_equal(row->answer, report.answer);
	test_assert_text(row->name, row->rejection, report.rejection);
	test_assert_text(row->name, row->reason, report.reason);
	assert_int_equal(row->copies.n, report.answer == KUBELET_ADMITS ? report.copies.n : 0);
	assert_int_equal(row->nearest.found, report.nearest.found);
	return report.answer == KUBELET_ADMITS;
}

static void check_pod(char *path, const struct node_sim *sims, const char *text)
{
	const struct object_reader reader = file_reader(path);
	const struct pod_template template = {.namespace = "default"};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(pod_report_release) struct pod_report fit = {0};
	struct pod_request pod;
	size_t admit = 0, copies = 0, placed = 0;
	struct err err = {""};

	pod_from_text(&pod, text);
	pod_report_init(&fit, &pod);
	pod_report_set_cluster(&fit, &cluster, &template, NULL);
	if (cluster_nodes_each(&reader, take_node, &fit, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fit.n_nodes, N_NODES);
	for (size_t i = 0; i < N_NODES; i++)
		admit += check_row(&sims[i].state, &pod, &fit);
	for (size_t i = 0; i < N_NODES; i++)
		copies += fit.nodes[i].copies.n;
	print_message("%s: fits %zu of %d nodes, %zu copies\n", text, admit, N_NODES, copies);
	assert_int_equal(fit.n_admit, admit);
	assert_int_equal(fit.n_unknown, 0);
	/* More than there is room for. */
	pod_report_place(&fit, copies + 1);
	for (size_t i = 0; i < N_NODES; i++) {
		assert_int_equal(fit.nodes[i].replicas, fit.nodes[i].copies.n);
		assert_true(i == 0 || fit.nodes[i].copies.n <= fit.nodes[i - 1].copies.n);
	}
	assert_int_equal(fit.placed_replicas, copies);
	assert_int_equal(fit.copies, copies);
	/* Fewer: the nodes with the most room are filled. */
	pod_report_place(&fit, copies / 2);
	for (size_t i = 0; i < N_NODES; i++) {
		assert_true(fit.nodes[i].replicas == fit.nodes[i].copies.n ||
			    placed + fit.nodes[i].replicas == copies / 2);
		placed += fit.nodes[i].replicas;
	}
	assert_int_equal(placed, copies / 2);
	assert_int_equal(fit.placed_replicas, copies / 2);
	pod_request_release(&pod);
}

/* ---- as if pods were gone */

struct without {
	struct pod_report fit;
	struct excluded_pods gone;
};

static int take_node_without(struct cluster_node *node, void *data, struct err *err)
{
	struct without *w = data;

	cluster_node_exclude(node, &w->gone);
	return take_node(node, &w->fit, err);
}

/* The objects without two pods of each node say what the nodes say once these have ended. */
static void check_without(char *path, struct node_sim *sims, const char *text)
{
	const struct object_reader reader = file_reader(path);
	const struct pod_template template = {.namespace = "default"};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	struct without w = {.gone = {.names = {"default/p0", "default/p3"}, .n = 2}};
	struct pod_request pod;
	struct err err = {""};
	size_t admit = 0;

	pod_from_text(&pod, text);
	pod_report_init(&w.fit, &pod);
	pod_report_set_cluster(&w.fit, &cluster, &template, NULL);
	if (cluster_nodes_each(&reader, take_node_without, &w, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(excluded_pods_check(&w.gone, NULL), 0);
	for (size_t i = 0; i < N_NODES; i++) {
		for (size_t at = sims[i].state.allocations.n_items; at > 0; at--) {
			const char *name = sims[i].state.allocations.items[at - 1].pod;

			if (!strcmp(name, "p0") || !strcmp(name, "p3"))
				node_sim_end(&sims[i], at - 1);
		}
		admit += check_row(&sims[i].state, &pod, &w.fit);
	}
	print_message("%s: without two pods fits %zu of %d nodes\n", text, admit, N_NODES);
	pod_report_release(&w.fit);
	excluded_pods_release(&w.gone);
	pod_request_release(&pod);
}

static void the_objects_say_what_the_nodes_say(void **state)
{
	static const char *const pods[] = {"app cpu=2 memory=1Gi", "app cpu=6 memory=2Gi",
		"app cpu=9 memory=4Gi", "app cpu=3 memory=1Gi; app cpu=2 memory=1Gi",
		"app cpu=500m memory=1Gi", "app cpu=64 memory=1Gi"};
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(TEXT_MAX);
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct node_sim sims[N_NODES];
	uint64_t random = test_seed(14);
	char path[256];

	(void)state;
	strbuf_addstr(&list, "{\"kind\":\"List\",\"items\":[");
	for (size_t i = 0; i < N_NODES; i++) {
		make_node(i, &random, &sims[i]);
		add_object(&sims[i], i, &list);
	}
	strbuf_addstr(&list, "]}");
	assert_int_equal(strbuf_error(&list), 0);
	test_write_file(dir, "nrt.json", list.text);
	snprintf(path, sizeof(path), "%s/nrt.json", dir);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		check_pod(path, sims, pods[i]);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		check_without(path, sims, pods[i]);
	for (size_t i = 0; i < N_NODES; i++)
		node_sim_release(&sims[i]);
}

/* ---- Nodes and Pods */

struct objects {
	struct cluster cluster;
	struct scheduling_constraints constraints;
};

static void objects_release(struct objects *o)
{
	cluster_release(&o->cluster);
	scheduling_constraints_release(&o->constraints);
}

static int take_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct objects *objects = data;
	int r = cluster_update(&objects->cluster, kind, object, 0, err);

	if (r < 0)
		return r;
	scheduling_constraints_add(&objects->constraints, kind, object);
	return 0;
}

/* What pods of the shared pool ask for is in no node state: with it the node has no room, or less. */
static void what_other_pods_ask_for_counts(void **state)
{
	static const struct {
		const char *node, *pods, *rejection;
		size_t copies;
	} cases[] = {
		{"", "", "", 3},
		{"status: {allocatable: {cpu: '16', memory: 64Gi, pods: '110'}}", "", "", 3},
		{"status: {allocatable: {cpu: '16', memory: 64Gi, pods: '110'}}",
			"{kind: Pod, metadata: {name: a}, spec: {nodeName: node0, containers: [{name: c, "
			"resources: {requests: {cpu: 7500m}}}]}}",
			"", 2},
		{"status: {allocatable: {cpu: '16', memory: 64Gi, pods: '110'}}",
			"{kind: Pod, metadata: {name: a}, spec: {nodeName: node0, containers: [{name: c, "
			"resources: {requests: {cpu: 12500m}}}]}}",
			"OutOfcpu", 0},
		/* It has ended, is elsewhere, or nowhere yet. */
		{"status: {allocatable: {cpu: '16', memory: 64Gi, pods: '110'}}",
			"{kind: PodList, items: [{metadata: {name: a}, status: {phase: Failed}, spec: {nodeName: node0, "
			"containers: [{name: c, resources: {requests: {cpu: 16}}}]}}, {metadata: {name: b}, spec: "
			"{nodeName: node2, containers: [{name: c, resources: {requests: {cpu: 16}}}]}}, {metadata: {name: c}, "
			"spec: {containers: [{name: c, resources: {requests: {cpu: 16}}}]}}]}",
			"", 3},
		{"status: {allocatable: {cpu: '16', memory: 64Gi, pods: '2'}}", "", "", 2},
		{"status: {allocatable: {cpu: '16', memory: 64Gi, pods: '0'}}", "", "OutOfpods", 0},
		{"spec: {unschedulable: true}", "", "Unschedulable", 0},
		{"spec: {taints: [{key: a, effect: NoSchedule}]}", "", "Unschedulable", 0},
		{"status: {conditions: [{type: Ready, status: Unknown}]}", "", "Unschedulable", 0},
	};
	const struct node_sim_setup setup = {
		.machine = {.sockets = 1,
			.numas = 1,
			.uncores = 1,
			.cores = 16,
			.threads = 1,
			.memory_bytes = (uint64_t)64 << 30},
		.policy = TOPOLOGY_MANAGER_RESTRICTED,
		.scope = TOPOLOGY_SCOPE_CONTAINER,
	};
	struct node_sim sim;
	struct pod_request pod;

	(void)state;
	node_sim_init(&sim, &setup);
	sim.state.inventory.topology = sim.state.settings.topology;
	pod_from_text(&pod, "app cpu=4 memory=1Gi");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(objects_release) struct objects objects = {0};
		CLEANUP(pod_report_release) struct pod_report fit = {0};
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(TEXT_MAX);
		const struct pod_template template = {.namespace = "default"};
		char text[1024];
		struct object_reader reader;
		struct err err = {""};

		snprintf(text, sizeof(text), "---\n{kind: Node, metadata: {name: node0}, %s}\n---\n%s\n",
			cases[i].node, cases[i].pods);
		test_write_file(dir, "cluster.yaml", text);
		snprintf(text, sizeof(text), "%s/cluster.yaml", dir);
		pod_report_init(&fit, &pod);
		fit.constraints = &objects.constraints;
		scheduling_constraints_init(&objects.constraints, NULL, NULL, true);
		if (*cases[i].node && object_input_read(text, 1u << OBJECT_NODE | 1u << OBJECT_POD,
					      take_object, &objects, &err) < 0)
			fail_msg("%s", err.text);
		scheduling_constraints_finish(&objects.constraints);
		pod_report_set_cluster(&fit, &objects.cluster, &template, NULL);
		add_object(&sim, 0, &list);
		test_write_file(dir, "nrt.json", list.text);
		snprintf(text, sizeof(text), "%s/nrt.json", dir);
		reader = file_reader(text);
		if (cluster_nodes_each(&reader, take_node, &fit, &err) < 0)
			fail_msg("%s", err.text);
		pod_report_place(&fit, 0);
		test_assert_text(cases[i].pods, fit.nodes[0].rejection, cases[i].rejection);
		assert_int_equal(fit.copies, cases[i].copies);
	}
	pod_request_release(&pod);
	node_sim_release(&sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_objects_say_what_the_nodes_say),
		cmocka_unit_test(what_other_pods_ask_for_counts),
	};

	return cmocka_run_group_tests_name("pod_report", tests, NULL, NULL);
}
