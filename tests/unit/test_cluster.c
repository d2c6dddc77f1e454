/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when pods are assumed and forgotten, and what the answers of the three verbs depend on. */
#include "tests/lib/test.h"

#include "cluster/model/verdicts.h"
#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"

#define NODES ((1u << CLUSTER_NODES) - 1)

/* The one node that passes. */
static size_t ask_one(struct extender_cluster *c, const struct cluster_pod_sim *pod, uint64_t now_ms)
{
	unsigned passing = extender_cluster_ask(c, &answer_best, pod, now_ms);

	assert_int_equal(__builtin_popcount(passing), 1);
	return (size_t)__builtin_ctz(passing);
}

/* How many pods of this class the extender can assume. */
static unsigned assume_all(struct extender_cluster *c, const char *text, uint64_t now_ms)
{
	unsigned n = 0;

	while (extender_cluster_ask(c, &answer_best, extender_cluster_pod(c, text), now_ms))
		n++;
	return n;
}

static void an_assumed_pod_counts_until_it_expires(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES);
	assert_int_equal(c.cluster.n_assumed, CLUSTER_NODES);
	cluster_expire(&c.cluster, 59999);
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 59999), 0);
	cluster_expire(&c.cluster, 60000);
	assert_int_equal(c.cluster.n_assumed, 0);
	assert_int_equal(c.cluster.n_expired, CLUSTER_NODES);
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 60000), CLUSTER_NODES);
}

/* The object of an exporter that does not know the kubelet's release, and the Node, in either order. */
static void the_node_knows_the_release_of_its_kubelet(void **state)
{
	static const char *const releases[] = {"v1.35.4", "v1.37.2"};

	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		const struct node_info *node;

		extender_cluster_init_alike(&c, &node_sim_nics);
		node = cluster_find_node(&c.cluster, "node-0");
		for (unsigned i = 0; i < 2; i++) {
			CLEANUP(doc_release) struct doc object = {.kind = DOC_MAP};
			uint64_t version = node->version;
			struct err err = {""};

			doc_add_string(doc_add_map(&object, "metadata"), "name", "node-0");
			doc_add_string(doc_add_map(doc_add_map(&object, "status"), "nodeInfo"),
				"kubeletVersion", releases[i]);
			assert_int_equal(cluster_update(&c.cluster, OBJECT_NODE, &object, 0, &err), 0);
			assert_int_equal(node->object.state.settings.kubelet_minor, 35 + 2 * i);
			assert_true(node->version > version);
		}
		c.sims[0].state.settings.kubelet_minor = first ? 36 : 0;
		assert_true(node_sim_begin(&c.sims[0], "app cpu=1 memory=1Gi")); /* another content */
		extender_cluster_publish(&c, 0, 0);
		assert_int_equal(node->object.state.settings.kubelet_minor, first ? 36 : 37);
	}
}

static void a_repeated_request_replaces_the_assumed_pod(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	for (unsigned i = 0; i < 3; i++)
		ask_one(&c, pod, 0);
	assert_int_equal(c.cluster.n_assumed, 1);
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES - 1);
}

static void a_bound_pod_counts_once_before_and_after_it_is_reported(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	node = ask_one(&c, pod, 0);
	assert_true(extender_cluster_begin(&c, pod, node));
	extender_cluster_report(&c, pod, NULL, 10);
	cluster_expire(&c.cluster, 1000000);
	assert_int_equal(c.cluster.n_assumed, 0);
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 1000000), CLUSTER_NODES - 1);
	cluster_expire(&c.cluster, 2000000);
	extender_cluster_publish(&c, node, 2000000);
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 2000000), CLUSTER_NODES - 1);
	cluster_expire(&c.cluster, 3000000);
	assert_int_equal(assume_all(&c, "app cpu=7 memory=1Gi", 3000000), 2 * CLUSTER_NODES - 1);
}

static void a_pod_bound_to_another_node_counts_there(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t assumed, other;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	assumed = ask_one(&c, pod, 0);
	other = (assumed + 1) % CLUSTER_NODES;
	pod->node = other;
	extender_cluster_report(&c, pod, NULL, 0);
	assert_int_equal(c.cluster.n_assumed, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_all, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		NODES & ~(1u << other));
}

/* With --answer=all: the scheduler takes the node of a request for one node, and chooses among several. */
static void a_single_requested_node_is_chosen(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 2; n++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(extender_cluster_args_release) struct extender_args args;
		struct verb_answer a = {0};

		extender_cluster_init_alike(&c, &node_sim_nics);
		extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), &args);
		args.n_names = n;
		extender_filter(&c.verdicts, &answer_all, &args, 0, &a);
		assert_int_equal(a.counts.n_passing, n);
		assert_int_equal(c.cluster.n_assumed, n == 1);
		verb_answer_release(&a, &c.cluster);
	}
}

static void a_deleted_pod_frees_its_resources(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	pod->node = ask_one(&c, pod, 0);
	extender_cluster_report_deleted(&c, pod, 0);
	assert_int_equal(c.cluster.n_pods, 0);
	node = ask_one(&c, pod, 0);
	assert_true(extender_cluster_begin(&c, pod, node));
	extender_cluster_report(&c, pod, "Running", 0);
	extender_cluster_publish(&c, node, 0);
	extender_cluster_report_deleted(&c, pod, 0);
	/* The object still reports the pod. */
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES);
}

static uint64_t broken(const struct cluster *cluster, const char *reason)
{
	return cluster->n_assumed_rejected[rejection_reason_find(reason)];
}

/* Only pods that were assumed on the node that rejected them: neither pods of other schedulers, nor pods bound to another node. */
static void broken_assumptions_are_counted_by_reason(void **state)
{
	static const struct {
		const char *text, *reason, *counted;
	} cases[] = {
		{"app cpu=3 memory=1Gi", "TopologyAffinityError", "TopologyAffinityError"},
		{"app cpu=2 memory=1Gi", "OutOfcpu", "OutOfcpu"},
		{"app cpu=2 memory=1Gi", "OutOfnvidia.com/gpu", "OutOfExtendedResources"},
	};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi"); /* not assumed */
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi"); /* assumed on another node */
	pod->node = (ask_one(&c, pod, 0) + 1) % CLUSTER_NODES;
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_int_equal(broken(&c.cluster, "TopologyAffinityError"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pod = extender_cluster_pod(&c, cases[i].text);
		pod->reason = cases[i].reason;
		pod->node = ask_one(&c, pod, 0);
		extender_cluster_report(&c, pod, NULL, 0);
		extender_cluster_report(&c, pod, NULL, 0);
		extender_cluster_report(&c, pod, "Failed", 0);
		assert_int_equal(broken(&c.cluster, cases[i].counted), 1);
	}
	assert_int_equal(broken(&c.cluster, "OutOfpods"), 0);
}

static void a_node_gets_no_equal_pod_after_a_rejection(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
	node = pod->node = ask_one(&c, pod, 0);
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_int_equal(c.cluster.n_pods, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_all, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 0),
		NODES & ~(1u << node));
	assert_int_equal(
		extender_cluster_ask(&c, &answer_all, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), 0),
		NODES);
	cluster_expire(&c.cluster, 29999);
	assert_int_equal(extender_cluster_ask(
				 &c, &answer_all, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 29999),
		NODES & ~(1u << node));
	cluster_expire(&c.cluster, 30000);
	assert_int_equal(extender_cluster_ask(
				 &c, &answer_all, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 30000),
		NODES);
}

/* The kubelet writes the CPU manager's checkpoint before the other checkpoints. */
static void a_partially_reported_pod_counts_completely(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	struct allocation *item;
	struct allocation whole;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi vendor.com/nic=2");
	node = ask_one(&c, pod, 0);
	assert_true(extender_cluster_begin(&c, pod, node));
	extender_cluster_report(&c, pod, NULL, 0);
	item = &c.sims[node].state.allocations.items[0];
	whole = *item;
	item->n_devices = 0;
	extender_cluster_publish(&c, node, 0);
	*item = whole;
	/* Each node has two pairs of devices, and the pod holds one pair. */
	assert_int_equal(assume_all(&c, "app cpu=2 memory=1Gi vendor.com/nic=2", 0), 2 * CLUSTER_NODES - 1);
}

static void a_list_deletes_missing_objects(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[2];

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (size_t i = 0; i < 2; i++) {
		pods[i] = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
		ask_one(&c, pods[i], 0);
		pods[i]->node = i;
	}
	extender_cluster_report(&c, pods[0], NULL, 0);
	cluster_list_begin(&c.cluster, OBJECT_POD);
	cluster_list_end(&c.cluster, OBJECT_POD, 0, 0);
	assert_int_equal(c.cluster.n_pods, 0);
	assert_int_equal(c.cluster.n_assumed, 0);
	cluster_list_begin(&c.cluster, OBJECT_NRT);
	extender_cluster_publish(&c, 2, 0);
	cluster_list_end(&c.cluster, OBJECT_NRT, 0, 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		const struct node_info *node = cluster_find_node(&c.cluster, c.names[i]);

		assert_int_equal(node && node->has_object, i == 2);
	}
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), 0), 2);
}

/* No object reports Guaranteed pods of less than one CPU, and their order does not matter. */
static void pods_that_hold_nothing_do_not_block_a_node(void **state)
{
	static const char *const texts[] = {"app cpu=100m memory=1Gi", "app cpu=200m memory=1Gi",
		"app cpu=300m memory=1Gi", "app cpu=400m memory=1Gi", "app cpu=500m memory=1Gi"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t node = 0; node < CLUSTER_NODES; node++) {
			struct cluster_pod_sim *pod = extender_cluster_pod(&c, texts[i]);

			pod->node = node;
			extender_cluster_report(&c, pod, NULL, 0);
		}
	assert_int_equal(assume_all(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES);
}

static void ties_go_to_the_fullest_numa_node(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	pod = extender_cluster_pod(&c, "app cpu=4 memory=1Gi");
	assert_true(extender_cluster_begin(&c, pod, 2));
	extender_cluster_publish(&c, 2, 0);
	/* 3 CPUs are free on a NUMA node of node-2. */
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 0), 2);
	/* The pod needs a whole NUMA node: among the nodes with one, node-2 is the fullest. */
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0), 2);
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=7 memory=1Gi"), 0), 0);
}

static void unknown_nodes_come_last(void **state)
{
	static const struct verb_config pass = {.strategy = STRATEGY_LEAST_NUMA_NODES, .pass_unknown = true};
	static const struct verb_config pass_all = {
		.strategy = STRATEGY_LEAST_NUMA_NODES, .pass_unknown = true, .all = true};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {
		node_sim_nics, node_sim_nics, node_sim_nics, node_sim_nics};

	(void)state;
	extender_cluster_init(&c, setups, 1);
	extender_cluster_publish(&c, 1, 0);
	/* With --answer=all the scheduler chooses among all nodes that may admit the pod. */
	assert_int_equal(
		extender_cluster_ask(&c, &pass_all, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		NODES);
	assert_int_equal(extender_cluster_ask(&c, &pass, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		1u << 1);
	assert_int_equal(extender_cluster_ask(&c, &pass, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		NODES & ~2u);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		0);
	/* A pod that no kubelet has to align passes every node. */
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=500m"), 0), NODES);
}

static void nodes_of_a_request_are_counted(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args, small;
	struct node_sim_setup setups[CLUSTER_NODES] = {
		node_sim_nics, node_sim_nics, node_sim_nics, node_sim_nics};
	struct verb_answer a = {0};

	(void)state;
	setups[2].policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i + 1 < CLUSTER_NODES; i++)
		extender_cluster_publish(&c, i, 0);
	/* The pod is larger than a NUMA node: node-2 rejects it, and node-3 is unknown. node-1 and node-2 cannot be better than node-0. */
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=10 memory=1Gi"), &args);
	extender_filter(&c.verdicts, &answer_best, &args, 0, &a);
	assert_int_equal(a.counts.n_nodes, CLUSTER_NODES);
	assert_int_equal(a.counts.n_admitting, 1);
	assert_int_equal(a.counts.n_aligning, 1);
	assert_int_equal(a.counts.n_bounded, 2);
	assert_int_equal(a.counts.n_unknown, 1);
	assert_int_equal(a.counts.n_passing, 1);
	test_assert_text("node", a.counts.assumed_node, "node-0");
	verb_answer_release(&a, &c.cluster);

	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=500m"), &small);
	a = (struct verb_answer){0};
	extender_filter(&c.verdicts, &answer_best, &small, 0, &a);
	assert_int_equal(a.counts.n_admitting, CLUSTER_NODES);
	assert_int_equal(a.counts.n_passing, CLUSTER_NODES);
	assert_null(a.counts.assumed_node);
	verb_answer_release(&a, &c.cluster);
}

/* A node with too few free CPUs is judged only if no node admits the pod: then its reason is the kubelet's. */
static void full_nodes_are_judged_last(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args, again;
	struct cluster_pod_sim *pod;
	struct verb_answer a = {0};

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (size_t i = 0; i + 1 < CLUSTER_NODES; i++) {
		pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
		assert_true(extender_cluster_begin(&c, pod, i));
		extender_cluster_report(&c, pod, NULL, 0);
		extender_cluster_publish(&c, i, 0);
	}
	pod = extender_cluster_pod(&c, "app cpu=9 memory=1Gi");
	extender_cluster_args(&c, pod, &args);
	extender_filter(&c.verdicts, &answer_best, &args, 0, &a);
	test_assert_text("node", a.counts.assumed_node, "node-3");
	assert_int_equal(a.counts.n_admitting, 1);
	assert_int_equal(a.counts.n_bounded, CLUSTER_NODES - 1);
	verb_answer_release(&a, &c.cluster);

	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=9 memory=1Gi"), &again);
	a = (struct verb_answer){0};
	extender_filter(&c.verdicts, &answer_best, &again, 0, &a);
	assert_int_equal(a.counts.n_passing, 0);
	assert_int_equal(a.counts.n_bounded, 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_non_null(strstr(a.failures[i].reason, "CPU"));
	verb_answer_release(&a, &c.cluster);
}

/* The extender does not evaluate resourceClaims, and the reason says so. */
static void a_rejection_mentions_ignored_claims(void **state)
{
	static const char note[] = "; resourceClaims are not evaluated";
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {
		node_sim_nics, node_sim_nics, node_sim_nics, node_sim_nics};

	(void)state;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(&c, i, 0);
	for (int claims = 0; claims < 2; claims++) {
		CLEANUP(extender_cluster_args_release) struct extender_args args;
		struct verb_answer a = {0};

		extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=900 memory=1Gi"), &args);
		args.pod.template.pod.has_claims = claims;
		extender_filter(&c.verdicts, &answer_best, &args, 0, &a);
		for (size_t i = 0; i < CLUSTER_NODES; i++) {
			assert_non_null(a.failures[i].reason);
			assert_int_equal(strstr(a.failures[i].reason, note) != NULL, claims);
		}
		verb_answer_release(&a, &c.cluster);
	}
}

static void volcanos_annotation_selects_nodes_by_policy(void **state)
{
	static const struct verb_config volcano = {.strategy = VERB_STRATEGY_VOLCANO, .all = true};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct node_sim_setup setups[CLUSTER_NODES] = {
		node_sim_nics, node_sim_nics, node_sim_nics, node_sim_nics};
	struct verb_answer a = {0};

	(void)state;
	setups[3].policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(&c, i, 0);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), &args);
	args.pod.template.volcano_policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	extender_filter(&c.verdicts, &volcano, &args, 0, &a);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_int_equal(a.failures[i].reason == NULL, i == 3);
	verb_answer_release(&a, &c.cluster);
}

static int score_on(
	struct extender_cluster *c, const char *node, struct extender_args *args, enum strategy strategy)
{
	const struct verdict *v;
	struct pod_class *class;
	int score;

	class = pod_classes_take(&c->cluster.classes, &args->pod.template.pod);
	v = verdict_of(&c->verdicts, class, cluster_find_node(&c->cluster, node), strategy);
	assert_int_equal(v->answer, KUBELET_ADMITS);
	score = v->score;
	pod_classes_drop(&c->cluster.classes, class);
	return score;
}

static void scores_follow_the_strategy(void **state)
{
	static const struct {
		enum strategy strategy;
		int order; /* of a fuller node against an emptier one */
	} cases[] = {
		{STRATEGY_LEAST_NUMA_NODES, 0}, {STRATEGY_MOST_ALLOCATED, 1}, {STRATEGY_LEAST_ALLOCATED, -1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(extender_cluster_args_release) struct extender_args args, again;
		struct cluster_pod_sim *first;
		int fuller, emptier;

		extender_cluster_init_alike(&c, &node_sim_nics);
		for (unsigned n = 0; n < 2; n++) {
			first = extender_cluster_pod(&c, "app cpu=5 memory=1Gi");
			first->node = 1;
			extender_cluster_report(&c, first, NULL, 0); /* no object reports it */
		}
		first = extender_cluster_pod(&c, "app cpu=2 memory=1Gi");
		extender_cluster_args(&c, first, &args);
		extender_cluster_args(&c, first, &again);
		fuller = score_on(&c, "node-1", &args, cases[i].strategy);
		emptier = score_on(&c, "node-0", &again, cases[i].strategy);
		assert_int_equal((fuller > emptier) - (fuller < emptier), cases[i].order);
	}
}

/* Two NUMA nodes of at most 8 score 100 - 2 * 12, plus half a step because no two NUMA nodes are closer. */
static void the_closest_numa_nodes_score_more(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=10 memory=1Gi"), &args);
	assert_int_equal(score_on(&c, "node-0", &args, STRATEGY_LEAST_NUMA_NODES), 82);
}

static void prioritize_scores_up_to_ten_and_assumes_nothing(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), &args);
	extender_prioritize(&c.verdicts, &answer_all, &args, &a);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_true(a.scores[i] > 0 && a.scores[i] <= EXTENDER_SCORE_MAX);
	assert_int_equal(c.cluster.n_assumed, 0);
	verb_answer_release(&a, &c.cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_assumed_pod_counts_until_it_expires),
		cmocka_unit_test(the_node_knows_the_release_of_its_kubelet),
		cmocka_unit_test(a_repeated_request_replaces_the_assumed_pod),
		cmocka_unit_test(a_bound_pod_counts_once_before_and_after_it_is_reported),
		cmocka_unit_test(a_pod_bound_to_another_node_counts_there),
		cmocka_unit_test(a_single_requested_node_is_chosen),
		cmocka_unit_test(a_deleted_pod_frees_its_resources),
		cmocka_unit_test(broken_assumptions_are_counted_by_reason),
		cmocka_unit_test(a_node_gets_no_equal_pod_after_a_rejection),
		cmocka_unit_test(a_partially_reported_pod_counts_completely),
		cmocka_unit_test(a_list_deletes_missing_objects),
		cmocka_unit_test(pods_that_hold_nothing_do_not_block_a_node),
		cmocka_unit_test(ties_go_to_the_fullest_numa_node),
		cmocka_unit_test(unknown_nodes_come_last),
		cmocka_unit_test(nodes_of_a_request_are_counted),
		cmocka_unit_test(full_nodes_are_judged_last),
		cmocka_unit_test(a_rejection_mentions_ignored_claims),
		cmocka_unit_test(volcanos_annotation_selects_nodes_by_policy),
		cmocka_unit_test(scores_follow_the_strategy),
		cmocka_unit_test(the_closest_numa_nodes_score_more),
		cmocka_unit_test(prioritize_scores_up_to_ten_and_assumes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
