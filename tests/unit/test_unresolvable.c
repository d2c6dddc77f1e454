/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that a node is marked unresolvable only if its kubelet rejects the pod on the empty node, and always if the pod also has
 * only one container.
 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"

#define N_CASES 60
#define GIB     ((uint64_t)1 << 30)

static const char *const small[] = {"app cpu=2 memory=1Gi", "app cpu=4 memory=2Gi", "app cpu=6 memory=1Gi",
	"app cpu=3 memory=1Gi vendor.com/nic=1"};

static const char *const large[] = {
	"app cpu=7 memory=1Gi",
	"app cpu=14 memory=1Gi",
	"app cpu=17 memory=1Gi",
	"app cpu=40 memory=1Gi",
	"app cpu=2 memory=40Gi",
	"app cpu=2 memory=14Gi",
	"app cpu=2 memory=1Gi vendor.com/nic=3",
	"app cpu=2 memory=1Gi vendor.com/gpu=1",
	"app cpu=6 memory=1Gi; app cpu=6 memory=1Gi",
	"app cpu=1 memory=1Gi; app cpu=15 memory=1Gi",
	"init cpu=30; app cpu=2 memory=1Gi",
};

static const struct synthetic machines[] = {
	{.sockets = 2, .numas = 2, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 16 * GIB},
	{.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 32 * GIB},
	{.sockets = 1, .numas = 2, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 8 * GIB},
};

/* Starts pods on each node until the kubelet rejects one. The cache gets the objects, and for some nodes a Node object. */
static void fill(struct extender_cluster *c)
{
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		struct cluster_pod_sim *pod;
		bool begun = true;

		if (test_random(&c->seed) % 2)
			extender_cluster_report_node(c, i);
		while (begun && c->n_pods < CLUSTER_PODS - 1) {
			pod = extender_cluster_pod(c, small[test_random(&c->seed) % ARRAY_SIZE(small)]);
			begun = extender_cluster_begin(c, pod, i);
			if (begun)
				extender_cluster_report(c, pod, "Running", 0);
		}
		extender_cluster_publish(c, i, 0);
	}
}

static void check(struct extender_cluster *c, const struct extender_cluster *empty, const char *text,
	size_t *ret_unresolvable, size_t *ret_resolvable)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	const struct cluster_pod_sim *pod = extender_cluster_pod(c, text);
	struct verb_answer a = {0};

	c->n_pods--;
	extender_cluster_args(c, pod, &args);
	extender_filter(&c->verdicts, &answer_best, &args, 0, &a);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		bool never = !extender_cluster_admits(empty, i, text);

		if (a.failures[i].unresolvable && (a.counts.n_passing > 0 || !never))
			fail_msg("%s: preemption would help on %s", text, c->names[i]);
		if (a.counts.n_passing == 0 && never && !strchr(text, ';') && !a.failures[i].unresolvable)
			fail_msg("%s: preemption would not help on %s (%s)", text, c->names[i],
				a.failures[i].reason);
		*ret_unresolvable += a.failures[i].unresolvable;
		*ret_resolvable += a.counts.n_passing == 0 && !a.failures[i].unresolvable;
	}
	cluster_forget_pod(&c->cluster, args.pod.uid);
	verb_answer_release(&a, &c->cluster);
}

static void nodes_that_are_too_small_are_unresolvable(void **state)
{
	size_t unresolvable = 0, resolvable = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= N_CASES; seed++) {
		struct extender_cluster *c = calloc(1, sizeof(*c)), *empty = calloc(1, sizeof(*empty));
		struct node_sim_setup setups[CLUSTER_NODES];
		uint64_t from = seed;

		extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &from);
		extender_cluster_init(c, setups, from);
		extender_cluster_init(empty, setups, from);
		fill(c);
		/* The second pass uses cached results. */
		for (size_t pass = 0; pass < 2; pass++)
			for (size_t i = 0; i < ARRAY_SIZE(large); i++)
				check(c, empty, large[i], &unresolvable, &resolvable);
		extender_cluster_release(c);
		extender_cluster_release(empty);
		free(c);
		free(empty);
	}
	assert_true(unresolvable > 100 && resolvable > 100);
}

/* Evicting pods does not change a node's Topology Manager policy. */
static void another_policy_is_unresolvable(void **state)
{
	static const struct verb_config by_volcano = {.strategy = VERB_STRATEGY_VOLCANO};
	struct extender_cluster *c = calloc(1, sizeof(*c));
	struct node_sim_setup setups[CLUSTER_NODES];
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};
	uint64_t seed = 1;

	(void)state;
	extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &seed);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i].policy = TOPOLOGY_MANAGER_RESTRICTED;
	extender_cluster_init(c, setups, seed);
	fill(c);
	extender_cluster_args(c, extender_cluster_pod(c, small[0]), &args);
	args.pod.template.volcano_policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	extender_filter(&c->verdicts, &by_volcano, &args, 0, &a);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_true(a.failures[i].unresolvable);
	verb_answer_release(&a, &c->cluster);
	extender_cluster_release(c);
	free(c);
}

/* The result for a later container may depend on where the earlier containers are placed. */
static void a_rejected_later_container_is_not_unresolvable(void **state)
{
	struct extender_cluster *c = calloc(1, sizeof(*c)), *empty = calloc(1, sizeof(*empty));
	struct node_sim_setup setups[CLUSTER_NODES];
	size_t unresolvable = 0, resolvable = 0;
	uint64_t seed = 1;

	(void)state;
	extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &seed);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		setups[i].policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
		setups[i].scope = TOPOLOGY_SCOPE_CONTAINER;
		setups[i].full_pcpus_only = false;
	}
	extender_cluster_init(c, setups, seed);
	extender_cluster_init(empty, setups, seed);
	fill(c);
	check(c, empty, "app cpu=2 memory=1Gi; app cpu=2 memory=1Gi vendor.com/nic=3", &unresolvable,
		&resolvable);
	assert_int_equal(unresolvable, 0);
	assert_int_equal(resolvable, CLUSTER_NODES);
	check(c, empty, "app cpu=2 memory=1Gi vendor.com/nic=3; app cpu=2 memory=1Gi", &unresolvable,
		&resolvable);
	assert_int_equal(unresolvable, CLUSTER_NODES);
	extender_cluster_release(c);
	extender_cluster_release(empty);
	free(c);
	free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_that_are_too_small_are_unresolvable),
		cmocka_unit_test(another_policy_is_unresolvable),
		cmocka_unit_test(a_rejected_later_container_is_not_unresolvable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
