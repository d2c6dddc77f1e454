/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that /filter finds a node outside of the request only if no requested node admits the pod, and the scheduler may use the node. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/extender_cluster.h"

#define POD "app cpu=6 memory=1Gi"

static const struct verb_config pass_unknown = {.strategy = STRATEGY_LEAST_NUMA_NODES, .pass_unknown = true};

/* The constraints of the pod in the scheduler's request. */
static const char plain[] = "{\"spec\":{}}";

static struct extender_cluster *new_cluster(void)
{
	struct extender_cluster *c = malloc(sizeof(*c));

	assert_non_null(c);
	extender_cluster_init(c,
		(struct node_sim_setup[]){node_sim_plain, node_sim_plain, node_sim_plain, node_sim_plain}, 1);
	c->cluster.config.keep_constraints = true;
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		extender_cluster_report_node(c, i);
		extender_cluster_publish(c, i, 0);
	}
	return c;
}

static void free_cluster(struct extender_cluster *c)
{
	extender_cluster_release(c);
	free(c);
}

/* Each NUMA node of the node gets a pod of 5 CPUs: the node has 6 free CPUs, but no NUMA node has them. */
static void fill(struct extender_cluster *c, size_t node)
{
	for (unsigned i = 0; i < 2; i++) {
		struct cluster_pod_sim *pod = extender_cluster_pod(c, "app cpu=5 memory=1Gi");

		assert_true(extender_cluster_begin(c, pod, node));
		extender_cluster_report(c, pod, "Running", 0);
	}
	extender_cluster_publish(c, node, 0);
	assert_false(extender_cluster_admits(c, node, POD));
}

/* Passes a Node with these members to the cluster. */
static void change_node(struct extender_cluster *c, size_t node, const char *members)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT, change = DOC_INIT;
	struct err err = {""};

	extender_cluster_node(c, node, &object);
	assert_int_equal(json_parse(members, strlen(members), &change, NULL), 0);
	DOC_FOREACH (part, &change) {
		struct doc *to = doc_find_or_add_map(&object, part->key);

		DOC_FOREACH (member, part)
			doc_copy_member(part, member->key, to);
	}
	if (cluster_update(&c->cluster, OBJECT_NODE, &object, 0, &err) < 0)
		fail_msg("%s", err.text);
}

/* The node that a request with the first `n` nodes finds; "" = none. */
static const char *find_for(struct extender_cluster *c, const struct verb_config *config, size_t n,
	const char *constraints, const char *refused)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct cluster_pod_sim *pod = extender_cluster_pod(c, POD);
	struct verb_answer a = {0};
	const char *found;

	extender_cluster_args(c, pod, &args);
	args.n_names = n;
	args.search_outside = true;
	args.pod_text = (struct json_piece){constraints, strlen(constraints)};
	if (refused)
		strv_push(&args.refused, refused);
	extender_filter(&c->verdicts, config, &args, 0, &a);
	found = a.outside ? a.outside->name : "";
	if (a.outside)
		assert_int_equal(a.counts.n_passing, 0);
	verb_answer_release(&a, &c->cluster);
	strv_release(&args.refused);
	return found;
}

static const char *find(struct extender_cluster *c, size_t n)
{
	return find_for(c, &answer_best, n, plain, NULL);
}

static void a_node_outside_is_found_and_the_pod_assumed_there(void **state)
{
	struct extender_cluster *c = new_cluster();
	const struct pod_info *assumed;

	(void)state;
	fill(c, 0);
	test_assert_text("node", find(c, 1), "node-1");
	assumed = cluster_find_pod(&c->cluster, c->pods[c->n_pods - 1].name);
	assert_non_null(assumed);
	test_assert_text("node", assumed->node->name, "node-1");
	/* Each of the three free nodes has room for two pods. */
	for (size_t i = 1; i < 6; i++)
		assert_true(*find(c, 1));
	test_assert_text("node", find(c, 1), "");
	assert_int_equal(c->cluster.n_assumed, 6);
	free_cluster(c);
}

static void a_requested_node_that_admits_the_pod_suffices(void **state)
{
	struct extender_cluster *c = new_cluster();

	(void)state;
	fill(c, 0);
	test_assert_text("node", find(c, 2), "");
	assert_int_equal(c->cluster.n_assumed, 1);
	free_cluster(c);
}

static void without_the_search_nothing_is_found(void **state)
{
	struct extender_cluster *c = new_cluster();
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};

	(void)state;
	fill(c, 0);
	extender_cluster_args(c, extender_cluster_pod(c, POD), &args);
	args.n_names = 1;
	args.pod_text = (struct json_piece){plain, strlen(plain)};
	extender_filter(&c->verdicts, &answer_best, &args, 0, &a);
	assert_null(a.outside);
	assert_int_equal(c->cluster.n_assumed, 0);
	verb_answer_release(&a, &c->cluster);
	free_cluster(c);
}

/* The constraints of kube-scheduler exclude node-1 to node-3, one of them each time. */
static void constraints_of_the_scheduler_count(void **state)
{
	static const char *const exclusions[] = {"{\"spec\":{\"unschedulable\":true}}",
		"{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}}",
		"{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}"};
	static const char tolerant[] =
		"{\"spec\":{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}}";
	static const char selective[] = "{\"spec\":{\"nodeSelector\":{\"disk\":\"ssd\"}}}";
	struct extender_cluster *c = new_cluster();

	(void)state;
	fill(c, 0);
	for (size_t i = 0; i < 3; i++)
		change_node(c, i + 1, exclusions[i]);
	test_assert_text("node", find(c, 1), "");
	test_assert_text("node", find_for(c, &answer_best, 1, tolerant, NULL), "node-2");
	test_assert_text("node", find_for(c, &answer_best, 1, selective, NULL), "");
	change_node(c, 3, "{\"metadata\":{\"labels\":{\"disk\":\"ssd\"}}}");
	test_assert_text("node", find_for(c, &answer_best, 1, selective, NULL), "node-3");
	free_cluster(c);
}

static void refused_nodes_and_nodes_without_a_node_object_are_not_found(void **state)
{
	struct extender_cluster *c = new_cluster();
	CLEANUP(doc_release) struct doc node;

	(void)state;
	fill(c, 0);
	fill(c, 3);
	test_assert_text("node", find_for(c, &answer_best, 1, plain, "node-1"), "node-2");
	extender_cluster_node(c, 2, &node);
	cluster_delete(&c->cluster, OBJECT_NODE, &node, 0);
	test_assert_text("node", find_for(c, &answer_best, 1, plain, "node-1"), "");
	free_cluster(c);
}

/* The scheduler would choose among nodes with an unknown verdict, and the extender assumes nothing there. */
static void an_unknown_node_is_found_last(void **state)
{
	struct extender_cluster *c = new_cluster();
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;

	(void)state;
	fill(c, 0);
	fill(c, 1);
	extender_cluster_nrt(c, 3, &nrt);
	cluster_delete(&c->cluster, OBJECT_NRT, &nrt, 0);
	test_assert_text("node", find_for(c, &pass_unknown, 1, plain, NULL), "node-2");
	test_assert_text("node", find_for(c, &pass_unknown, 1, plain, NULL), "node-2");
	assert_int_equal(c->cluster.n_assumed, 2);
	test_assert_text("node", find_for(c, &pass_unknown, 1, plain, NULL), "node-3");
	test_assert_text("node", find_for(c, &answer_best, 1, plain, NULL), "");
	assert_int_equal(c->cluster.n_assumed, 2);
	/* The node's amounts are known. */
	change_node(c, 3, "{\"status\":{\"allocatable\":{\"cpu\":\"5\",\"memory\":\"32Gi\"}}}");
	test_assert_text("node", find_for(c, &pass_unknown, 1, plain, NULL), "");
	free_cluster(c);
}

static void a_full_namespace_finds_nothing(void **state)
{
	struct extender_cluster *c = new_cluster();

	(void)state;
	c->cluster.config.namespace_assumed_max = 1;
	fill(c, 0);
	test_assert_text("node", find(c, 1), "node-1");
	test_assert_text("node", find(c, 1), "");
	assert_int_equal(c->cluster.n_assumed, 1);
	free_cluster(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_outside_is_found_and_the_pod_assumed_there),
		cmocka_unit_test(a_requested_node_that_admits_the_pod_suffices),
		cmocka_unit_test(without_the_search_nothing_is_found),
		cmocka_unit_test(constraints_of_the_scheduler_count),
		cmocka_unit_test(refused_nodes_and_nodes_without_a_node_object_are_not_found),
		cmocka_unit_test(an_unknown_node_is_found_last),
		cmocka_unit_test(a_full_namespace_finds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
