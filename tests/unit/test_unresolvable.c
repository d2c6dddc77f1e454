/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes on which no preemption helps: only those whose kubelet refuses the pod also without any other, and all of them
 * where the pod has one container.
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

/* Pods begin on each node until one is refused; the cluster cache knows the objects, and of some nodes their Node as it was empty. */
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
	size_t *ret_hopeless, size_t *ret_others)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	const struct cluster_pod_sim *pod = extender_cluster_pod(c, text);
	struct answer a = {0};

	c->n_pods--;
	extender_cluster_args(c, pod, &args);
	assert_int_equal(answer_filter(&c->cache, &answer_best, &args, 0, &a), 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		bool never = !extender_cluster_admits(empty, i, text);

		if (a.counts.n_passing > 0 ? a.verdicts[i].unresolvable
					   : a.verdicts[i].unresolvable && !never)
			fail_msg("%s: preemption would help on %s", text, c->names[i]);
		if (a.counts.n_passing == 0 && never && !strchr(text, ';') && !a.verdicts[i].unresolvable)
			fail_msg("%s: preemption would not help on %s (%s)", text, c->names[i],
				a.verdicts[i].reason);
		*ret_hopeless += a.verdicts[i].unresolvable;
		*ret_others += a.counts.n_passing == 0 && !a.verdicts[i].unresolvable;
	}
	cache_forget_pod(&c->cache, args.pod.uid);
	answer_release(&a, &c->cache);
}

static void nodes_that_are_too_small_are_named(void **state)
{
	size_t hopeless = 0, others = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= N_CASES; seed++) {
		struct extender_cluster *c = calloc(1, sizeof(*c)), *empty = calloc(1, sizeof(*empty));
		struct node_sim_setup setups[CLUSTER_NODES];
		uint64_t from = seed;

		extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &from);
		extender_cluster_init(c, setups, from);
		extender_cluster_init(empty, setups, from);
		fill(c);
		/* Twice: what was found is kept. */
		for (size_t turn = 0; turn < 2; turn++)
			for (size_t i = 0; i < ARRAY_SIZE(large); i++)
				check(c, empty, large[i], &hopeless, &others);
		extender_cluster_release(c);
		extender_cluster_release(empty);
		free(c);
		free(empty);
	}
	assert_true(hopeless > 100 && others > 100);
}

/* Volcano's predicate: a node's policy does not change because pods go. */
static void another_policy_stays(void **state)
{
	static const struct answer_config by_volcano = {.strategy = ANSWER_BY_VOLCANO};
	struct extender_cluster *c = calloc(1, sizeof(*c));
	struct node_sim_setup setups[CLUSTER_NODES];
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct answer a = {0};
	uint64_t seed = 1;

	(void)state;
	extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &seed);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i].policy = TOPOLOGY_MANAGER_RESTRICTED;
	extender_cluster_init(c, setups, seed);
	fill(c);
	extender_cluster_args(c, extender_cluster_pod(c, small[0]), &args);
	args.pod.template.volcano_policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	assert_int_equal(answer_filter(&c->cache, &by_volcano, &args, 0, &a), 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_true(a.verdicts[i].unresolvable);
	answer_release(&a, &c->cache);
	extender_cluster_release(c);
	free(c);
}

/* Of later containers it is not certain: other pods may have the earlier ones come to lie elsewhere. */
static void only_a_first_container_is_certain(void **state)
{
	struct extender_cluster *c = calloc(1, sizeof(*c)), *empty = calloc(1, sizeof(*empty));
	struct node_sim_setup setups[CLUSTER_NODES];
	size_t hopeless = 0, others = 0;
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
	check(c, empty, "app cpu=2 memory=1Gi; app cpu=2 memory=1Gi vendor.com/nic=3", &hopeless, &others);
	assert_int_equal(hopeless, 0);
	assert_int_equal(others, CLUSTER_NODES);
	check(c, empty, "app cpu=2 memory=1Gi vendor.com/nic=3; app cpu=2 memory=1Gi", &hopeless, &others);
	assert_int_equal(hopeless, CLUSTER_NODES);
	extender_cluster_release(c);
	extender_cluster_release(empty);
	free(c);
	free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_that_are_too_small_are_named),
		cmocka_unit_test(another_policy_stays),
		cmocka_unit_test(only_a_first_container_is_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
