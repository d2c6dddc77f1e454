/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes objects of the cluster cache that own other objects; valgrind and LeakSanitizer detect leaks. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"

#define GIB ((uint64_t)1 << 30)

static const struct node_sim_setup plain = {
	.machine =
		{.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 16 * GIB},
	.policy = TOPOLOGY_MANAGER_RESTRICTED,
	.scope = TOPOLOGY_SCOPE_CONTAINER,
	.nics = 2,
	.near = 1};

/* Every node has an object, and the kubelet of node-0 rejects a pod. */
static void init_with_rejected_pod(struct extender_cluster *c)
{
	struct node_sim_setup setups[CLUSTER_NODES];
	struct cluster_pod_sim *pod;

	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i] = plain;
	extender_cluster_init(c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(c, i, 0);
	pod = extender_cluster_pod(c, "app cpu=3 memory=1Gi");
	/* The extender assumes the pod on node-0. */
	for (size_t i = 1; i < CLUSTER_NODES; i++)
		c->requested[i] = c->names[0];
	assert_int_equal(extender_cluster_ask(c, &answer_best, pod, 0), 1);
	extender_cluster_report(c, pod, NULL, 0);
	extender_cluster_report(c, pod, "Failed", 0);
	assert_int_equal(c->cache.n_rejected, 1);
	assert_int_equal(cache_find_node(&c->cache, c->names[0])->n_rejections, 1);
}

static void a_node_is_deleted_while_a_rejection_counts(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_rejected_pod(&c);
	cache_list_begin(&c.cache, CACHE_NRT);
	assert_int_equal(cache_list_end(&c.cache, CACHE_NRT, 0, 0, NULL), 0);
	assert_null(cache_find_node(&c.cache, c.names[0]));
}

static void a_node_comes_back_without_the_rejection(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_rejected_pod(&c);
	cache_list_begin(&c.cache, CACHE_NRT);
	assert_int_equal(cache_list_end(&c.cache, CACHE_NRT, 0, 0, NULL), 0);
	extender_cluster_publish(&c, 0, 0);
	assert_int_equal(cache_find_node(&c.cache, c.names[0])->n_rejections, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 0),
		1);
	cache_expire(&c.cache, 30000);
}

static void the_cluster_ends_while_a_rejection_counts(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	init_with_rejected_pod(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_deleted_while_a_rejection_counts),
		cmocka_unit_test(a_node_comes_back_without_the_rejection),
		cmocka_unit_test(the_cluster_ends_while_a_rejection_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
