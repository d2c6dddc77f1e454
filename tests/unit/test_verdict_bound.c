/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that no kubelet's verdict is better than the bound that is computed from its node's free CPUs. */
#include "tests/lib/test.h"

#include "cluster/model/verdicts.h"
#include "common/cleanup.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/pods.h"

/* After "app cpu=N". */
static const char *const texts[] = {
	" memory=1Gi",
	" memory=1Gi; app cpu=2 memory=1Gi",
	" memory=6Gi",
	" memory=1Gi vendor.com/nic=1",
};

struct counts {
	size_t n_bounds, n_exact, n_rejected;
};

static void compare(const struct node_info *node, struct pod_class *class, const char *text, unsigned round,
	struct counts *counts)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(free_cpus_release) struct free_cpus free_cpus = {0};
	CLEANUP(distances_kept_release) struct distances_kept distances = {0};
	struct verdict v = {0};
	struct verdict_bound bound;
	struct kubelet_verdict kubelet;

	if (!verdict_bound_find(node, class, &free_cpus, &bound))
		return;
	node_admission_init(&admission, &node->object.state);
	node_admission_judge(&admission, &class->pod, &kubelet);
	if (kubelet.answer != KUBELET_ADMITS) {
		counts->n_rejected++;
		return;
	}
	verdict_score(&distances, &admission, &node->object.state.inventory, class, &kubelet,
		STRATEGY_LEAST_NUMA_NODES, &v);
	counts->n_bounds++;
	counts->n_exact +=
		v.numa_nodes == bound.numa_nodes && v.free_on_numa_nodes == bound.free_on_numa_nodes;
	if (bound.numa_nodes == 0 || v.numa_nodes < bound.numa_nodes || v.free_on_node < bound.free_on_node ||
		(v.numa_nodes == bound.numa_nodes && v.free_on_numa_nodes < bound.free_on_numa_nodes))
		fail_msg("round %u, %s: %u NUMA nodes with %zu free CPUs of %zu; the bound is %u, %zu, %zu",
			round, text, v.numa_nodes, v.free_on_numa_nodes, v.free_on_node, bound.numa_nodes,
			bound.free_on_numa_nodes, bound.free_on_node);
}

static void compare_pods(
	const struct node_info *node, uint64_t *random, unsigned round, struct counts *counts)
{
	struct pod_classes classes = {0};

	for (size_t i = 0; i < 4 * ARRAY_SIZE(texts); i++) {
		struct pod_class *class;
		struct pod_request pod;
		char text[100];

		snprintf(text, sizeof(text), "app cpu=%u%s", (unsigned)(1 + test_random(random) % 12),
			texts[i % ARRAY_SIZE(texts)]);
		pod_from_text(&pod, text);
		class = pod_classes_take(&classes, &pod);
		compare(node, class, text, round, counts);
		pod_classes_drop(&classes, class);
		pod_request_release(&pod);
	}
	pod_classes_release(&classes);
}

/* Pods begin and end, so that the free CPUs and the free memory are in pieces. */
static void begin_pods(struct node_sim *sim, uint64_t *random)
{
	size_t n = test_random(random) % 20;

	for (size_t i = 0; i < n; i++) {
		char text[100];

		snprintf(text, sizeof(text), "app cpu=%u memory=%uGi",
			(unsigned)(1 + test_random(random) % 6), (unsigned)(1 + test_random(random) % 6));
		node_sim_begin(sim, text);
	}
	for (size_t i = 0; i < n / 3 && sim->state.allocations.n_items > 0; i++)
		node_sim_end(sim, test_random(random) % sim->state.allocations.n_items);
}

static void no_verdict_is_better_than_its_bound(void **state)
{
	uint64_t random = test_seed(5);
	struct counts counts = {0};

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		const struct node_sim_setup setup = {
			.machine = {.sockets = 1 + (unsigned)(test_random(&random) % 2),
				.numas = 1 + (unsigned)(test_random(&random) % 4),
				.uncores = 1,
				.cores = 1 + (unsigned)(test_random(&random) % 4),
				.threads = 1 + (unsigned)(test_random(&random) % 2),
				.memory_bytes = UINT64_C(12) << 30},
			.policy = (enum topology_manager_policy)(
				TOPOLOGY_MANAGER_NONE + test_random(&random) % 4),
			.scope = test_random(&random) % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
			.memory_static = test_random(&random) % 3 == 0,
			.nics = 1,
			.near = 1};
		struct node_info node = {.version = 1, .has_object = true};
		struct node_sim sim;

		node_sim_init(&sim, &setup);
		sim.state.settings.topology.prefer_closest_numa_nodes = test_random(&random) % 3 == 0;
		sim.state.settings.cpu_options.align_by_socket =
			setup.policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && test_random(&random) % 4 == 0;
		begin_pods(&sim, &random);
		node.object = (struct cluster_node){.basis = CLUSTER_EXACT, .state = sim.state};
		compare_pods(&node, &random, round, &counts);
		node_sim_release(&sim);
	}
	print_message(
		"%zu bounds, %zu exact; %zu rejected\n", counts.n_bounds, counts.n_exact, counts.n_rejected);
	assert_in_range(counts.n_bounds, 1000, SIZE_MAX);
	assert_in_range(counts.n_exact, 500, SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_verdict_is_better_than_its_bound),
	};

	return cmocka_run_group_tests_name("verdict_bound", tests, NULL, NULL);
}
