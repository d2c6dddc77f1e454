/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests extended resources that only some nodes have, that deleted pods leave no resource names in memory, and deletions while a
 * rejection counts (valgrind and LeakSanitizer detect leaks).
 */
#include "cluster/model/verdicts.h"
#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/test.h"

#define GIB ((uint64_t)1 << 30)

/* All nodes have the same machine and an object. Only node-0 has devices vendor.com/nic. The first n nodes have a Node object. */
static void init_with_nodes(struct extender_cluster *c, size_t n)
{
	struct node_sim_setup setups[CLUSTER_NODES];

	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i] = node_sim_plain;
	setups[0].nics = 2;
	extender_cluster_init(c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		extender_cluster_publish(c, i, 0);
		if (i < n)
			extender_cluster_report_node(c, i);
	}
}

/* Only the last node has no Node object. */
static void init(struct extender_cluster *c)
{
	init_with_nodes(c, CLUSTER_NODES - 1);
}

static void judge(struct extender_cluster *c, const char *text, size_t node, enum kubelet_answer want,
	const char *reason)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	const struct verdict *v;
	struct pod_class *class;

	extender_cluster_args(c, extender_cluster_pod(c, text), &args);
	class = pod_classes_take(&c->cluster.classes, &args.pod.template.pod);
	v = verdict_of(&c->verdicts, class, cluster_find_node(&c->cluster, c->names[node]),
		STRATEGY_LEAST_NUMA_NODES);
	assert_int_equal(v->answer, want);
	test_assert_text("reason", v->reason ? v->reason : "", reason);
	pod_classes_drop(&c->cluster.classes, class);
}

/* The nodes of /v1/choose for all nodes. */
static void assert_chosen(struct extender_cluster *c, const char *text, size_t n, const char *first)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	const struct verb_config config = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	struct verb_answer answer = {0};

	extender_cluster_args(c, extender_cluster_pod(c, text), &args);
	args.n_names = 0;
	args.all_nodes = true;
	args.limit = CLUSTER_NODES;
	args.pod_text = (struct json_piece){"{\"spec\":{}}", strlen("{\"spec\":{}}")};
	extender_choose(&c->verdicts, &config, &args, 0, &answer);
	assert_int_equal(answer.n_chosen, n);
	test_assert_text("first", answer.nodes[answer.chosen[0]]->name, first);
	verb_answer_release(&answer, &c->cluster);
}

/* A kubelet ignores a resource that its node does not have. kube-scheduler requests such a node only if a DRA driver serves the resource; of other
 * nodes nrtd does not choose it if another node has the resource. */
static void a_node_without_a_resource_of_other_nodes_is_not_chosen(void **state)
{
	static const char text[] = "app cpu=2 memory=1Gi vendor.com/nic=1";
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_nodes(&c, CLUSTER_NODES);
	judge(&c, text, 0, KUBELET_ADMITS, "");
	judge(&c, text, 1, KUBELET_ADMITS, "");
	assert_chosen(&c, text, 1, c.names[0]);
	assert_chosen(&c, "app cpu=2 memory=1Gi", CLUSTER_NODES, c.names[0]);
}

/* A kubelet has no devices from its restart until its plugins register, also while the Node reports them. */
static void devices_are_missing_until_their_plugin_registers(void **state)
{
	static const char text[] = "app cpu=2 memory=1Gi vendor.com/nic=1";
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct allocations *a = &c.sims[0].state.allocations;
	size_t n;

	(void)state;
	init(&c);
	n = a->n_registered;
	a->n_registered = 0;
	extender_cluster_publish(&c, 0, 0);
	judge(&c, text, 0, KUBELET_REJECTS, "no device plugin has registered vendor.com/nic");
	judge(&c, "app cpu=2 memory=1Gi", 0, KUBELET_ADMITS, "");
	a->n_registered = n;
	extender_cluster_publish(&c, 0, 0);
	judge(&c, text, 0, KUBELET_ADMITS, "");
}

/* A DRA driver may serve the resource. */
static void a_resource_of_no_node_is_left_to_the_kubelet(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init(&c);
	judge(&c, "app cpu=2 memory=1Gi vendor.com/gpu=1", 1, KUBELET_ADMITS, "");
}

static void deleted_pods_leave_no_resource_names(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	const struct node_info *node;
	struct cluster_pod_sim *pod;
	char text[40];

	(void)state;
	init(&c);
	node = cluster_find_node(&c.cluster, c.names[1]);
	for (unsigned i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "app cpu=1 a.example.com/%u=1", i);
		pod = extender_cluster_pod(&c, text);
		pod->node = 1;
		extender_cluster_report(&c, pod, "Running", 0);
		assert_int_equal(node->requested.n_items, 2);
		extender_cluster_report_deleted(&c, pod, 0);
		assert_int_equal(node->requested.n_items, 0);
	}
}

/* The sum of two pods would overflow without WANTED_MAX; removing a pod subtracts what it added. */
static void the_largest_amounts_add_up(void **state)
{
	static const char text[] = "app cpu=1 ephemeral-storage=170000000000000000000000000000";
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	const struct node_info *node;
	struct cluster_pod_sim *pods[3];

	(void)state;
	init(&c);
	node = cluster_find_node(&c.cluster, c.names[1]);
	for (unsigned i = 0; i < 3; i++) {
		pods[i] = extender_cluster_pod(&c, text);
		pods[i]->node = 1;
		extender_cluster_report(&c, pods[i], "Running", 0);
	}
	for (unsigned i = 0; i < 2; i++)
		extender_cluster_report_deleted(&c, pods[i], 0);
	assert_true(resource_list_amount(&node->requested, "ephemeral-storage") > GIB * QTY_UNIT);
	extender_cluster_report_deleted(&c, pods[2], 0);
	assert_int_equal(node->requested.n_items, 0);
}

/* No node has a Node object, and the kubelet of node-0 rejects a pod. */
static void init_with_rejected_pod(struct extender_cluster *c)
{
	struct cluster_pod_sim *pod;

	init_with_nodes(c, 0);
	pod = extender_cluster_pod(c, "app cpu=3 memory=1Gi");
	/* The extender assumes the pod on node-0. */
	for (size_t i = 1; i < CLUSTER_NODES; i++)
		c->requested[i] = c->names[0];
	assert_int_equal(extender_cluster_ask(c, &answer_best, pod, 0), 1);
	extender_cluster_report(c, pod, NULL, 0);
	extender_cluster_report(c, pod, "Failed", 0);
	assert_int_equal(cluster_find_node(&c->cluster, c->names[0])->n_rejections, 1);
}

static void a_node_is_deleted_while_a_rejection_counts(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_rejected_pod(&c);
	cluster_list_begin(&c.cluster, OBJECT_NRT);
	cluster_list_end(&c.cluster, OBJECT_NRT, 0, 0);
	assert_null(cluster_find_node(&c.cluster, c.names[0]));
}

static void a_node_comes_back_without_the_rejection(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_rejected_pod(&c);
	cluster_list_begin(&c.cluster, OBJECT_NRT);
	cluster_list_end(&c.cluster, OBJECT_NRT, 0, 0);
	extender_cluster_publish(&c, 0, 0);
	assert_int_equal(cluster_find_node(&c.cluster, c.names[0])->n_rejections, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 0),
		1);
	cluster_expire(&c.cluster, 30000);
}

static void the_cluster_ends_while_a_rejection_counts(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_rejected_pod(&c);
}

/* No source says which device plugins are registered. The API server's amounts do not tell on which NUMA node a free device is. */
static void devices_of_which_nothing_is_known_make_a_verdict_unknown(void **state)
{
	static const char text[] = "app cpu=2 memory=1Gi vendor.com/nic=1";
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	enum kubelet_answer answer;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct pod_class *class;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	judge(&c, text, 0, KUBELET_ADMITS, "");
	c.sims[0].state.allocations.registered_known = false;
	extender_cluster_publish(&c, 0, 0);
	judge(&c, text, 0, KUBELET_UNKNOWN, "which devices of vendor.com/nic are free is not known");
	judge(&c, "app cpu=2 memory=1Gi", 0, KUBELET_ADMITS, "");
	judge(&c, "app cpu=20 memory=1Gi vendor.com/nic=1", 0, KUBELET_REJECTS,
		"restricted: 20 CPUs wanted, 15 available");
	extender_cluster_args(&c, extender_cluster_pod(&c, text), &args);
	class = pod_classes_take(&c.cluster.classes, &args.pod.template.pod);
	assert_int_equal(
		verdict_without(&c.verdicts, class, cluster_find_node(&c.cluster, "node-0"), NULL, &answer),
		0);
	assert_int_equal(answer, KUBELET_UNKNOWN);
	pod_classes_drop(&c.cluster.classes, class);
}

/* ---- a GPU and a NIC below one PCIe root */

/* Every node has two GPUs and two NICs; only on node-2 a GPU and a NIC have the same root. */
static void a_free_pair_below_one_root_is_preferred(void **state)
{
	static const char pair[] = "app cpu=1 memory=1Gi v.com/gpu=1 v.com/nic=1";
	struct node_sim_setup setups[CLUSTER_NODES];
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i] = node_sim_plain;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		struct node_state *s = &c.sims[i].state;

		node_sim_add_pci_device(s, "v.com/gpu", "g0", PCI_GPU, 0x10, 0x11);
		node_sim_add_pci_device(s, "v.com/gpu", "g1", PCI_GPU, 0x20, 0x21);
		node_sim_add_pci_device(s, "v.com/nic", "n0", PCI_NIC, 0x30, 0x31);
		node_sim_add_pci_device(
			s, "v.com/nic", "n1", PCI_NIC, i == 2 ? 0x20 : 0x40, i == 2 ? 0x22 : 0x41);
		extender_cluster_publish(&c, i, 0);
	}
	/* Pods without both kinds go to the first of equal nodes. */
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=1 memory=1Gi"), 0),
		1 << 0);
	assert_int_equal(extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, pair), 0), 1 << 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_without_a_resource_of_other_nodes_is_not_chosen),
		cmocka_unit_test(devices_are_missing_until_their_plugin_registers),
		cmocka_unit_test(a_resource_of_no_node_is_left_to_the_kubelet),
		cmocka_unit_test(devices_of_which_nothing_is_known_make_a_verdict_unknown),
		cmocka_unit_test(deleted_pods_leave_no_resource_names),
		cmocka_unit_test(the_largest_amounts_add_up),
		cmocka_unit_test(a_node_is_deleted_while_a_rejection_counts),
		cmocka_unit_test(a_node_comes_back_without_the_rejection),
		cmocka_unit_test(the_cluster_ends_while_a_rejection_counts),
		cmocka_unit_test(a_free_pair_below_one_root_is_preferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
