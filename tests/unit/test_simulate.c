/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests simulations of other kubelet settings against nodes that have these settings.
 */
#include <errno.h>

#include "tests/lib/test.h"

#include "agent/cluster/simulate.h"
#include "common/cleanup.h"
#include "tests/lib/planned_cluster.h"

static void draw_setup(struct node_sim_setup *ret, uint64_t *seed)
{
	*ret = (struct node_sim_setup){.machine = planned_machine,
		.policy = test_random(seed) % 2 ? TOPOLOGY_MANAGER_RESTRICTED
						: TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = test_random(seed) % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.full_pcpus_only = test_random(seed) % 2,
		.memory_static = test_random(seed) % 2};
}

static void print_settings(const struct node_sim_setup *setup, char text[3][64], const char *ret[3])
{
	snprintf(text[0], 64, "topologyManagerPolicy=%s", topology_manager_policy_names[setup->policy]);
	snprintf(text[1], 64, "topologyManagerScope=%s", topology_manager_scope_names[setup->scope]);
	snprintf(text[2], 64, "full-pcpus-only=%s", setup->full_pcpus_only ? "true" : "false");
	for (size_t i = 0; i < 3; i++)
		ret[i] = text[i];
}

static const struct simulated_event *find_event(const struct simulation *s, const struct simulated_cluster *c,
	const char *name, enum simulated_effect effect)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].effect == effect && !strcmp(c->pods[s->events[i].pod].name, name))
			return &s->events[i];
	return NULL;
}

/* The running pods in the order of their names, as the simulation admits pods of the same age. */
static unsigned list_pods(const struct planned_cluster *t, unsigned ret[PODS_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n_pods; i++) {
		char own[16], other[16];
		unsigned at = n;

		if (!t->pods[i].runs)
			continue;
		snprintf(own, sizeof(own), "p%u", i);
		for (; at > 0; at--) {
			snprintf(other, sizeof(other), "p%u", ret[at - 1]);
			if (strcmp(other, own) < 0)
				break;
			ret[at] = ret[at - 1];
		}
		ret[at] = i;
		n++;
	}
	return n;
}

/* The kubelet of the changed node admits exactly the pods that the simulation says. */
static void other_settings_are_those_of_another_node(void **state)
{
	uint64_t seed = 3535;
	unsigned rejected = 0;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		CLEANUP(planned_cluster_release) struct planned_cluster t, changed;
		CLEANUP(simulation_release) struct simulation s = {0};
		struct node_sim_setup before, after;
		char text[3][64];
		const char *settings[3];
		const struct simulate_options options = {.settings = settings, .n_settings = 3};
		struct err err = {""};
		unsigned pods[PODS_MAX], n;

		draw_setup(&before, &seed);
		draw_setup(&after, &seed);
		after.memory_static = before.memory_static;
		planned_cluster_init(&t, 1, &before);
		planned_cluster_init(&changed, 1, &after);
		for (unsigned i = 0; i < 12; i++)
			planned_cluster_add(&t, 0, 1 + (unsigned)(test_random(&seed) % 4),
				1 + (unsigned)(test_random(&seed) % 12));
		for (unsigned i = 0; i < t.n_pods; i++)
			if (test_random(&seed) % 4 == 0)
				planned_cluster_end(&t, i);
		planned_cluster_publish(&t, "", "");
		simulated_cluster_finish(&t.c);
		print_settings(&after, text, settings);
		if (simulate(&t.c, &options, &s, &err) < 0)
			fail_msg("%s", err.text);
		n = list_pods(&t, pods);
		memcpy(changed.pods, t.pods, sizeof(changed.pods));
		for (unsigned i = 0; i < n; i++) {
			char name[16];
			bool admitted = planned_cluster_start(&changed, pods[i], 0);
			bool lost;

			snprintf(name, sizeof(name), "p%u", pods[i]);
			lost = find_event(&s, &t.c, name, SIMULATED_REJECTED) != NULL;
			assert_null(find_event(&s, &t.c, name, SIMULATED_UNKNOWN));
			if (lost == admitted)
				fail_msg("round %u: the kubelet %s %s", round,
					admitted ? "admits" : "rejects", name);
			rejected += lost;
		}
	}
	print_message("%u pods rejected\n", rejected);
	assert_true(rejected > 50);
}

/* Two nodes with one pod each: one pod finds a place on the other node, and the other pod does not. */
static void pods_of_a_lost_node_go_elsewhere(void **state)
{
	static const char *const lost[] = {"node-0"};
	static const struct simulate_options options = {.without = lost, .n_without = 1};
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = TOPOLOGY_SCOPE_CONTAINER};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	const struct simulated_event *moved;
	struct err err = {""};

	(void)state;
	planned_cluster_init(&t, 2, &setup);
	assert_true(planned_cluster_add(&t, 0, 6, 1));
	assert_true(planned_cluster_add(&t, 0, 4, 1));
	assert_true(planned_cluster_add(&t, 1, 6, 1));
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	assert_int_equal(simulate(&t.c, &options, &s, &err), 0);
	moved = find_event(&s, &t.c, "p0", SIMULATED_MOVED);
	assert_true(moved && !strcmp(t.c.nodes[moved->to].name, "node-1"));
	assert_non_null(find_event(&s, &t.c, "p1", SIMULATED_NO_PLACE));
	assert_int_equal(s.nodes[0].n_rejected, 1);
	assert_true(s.nodes[1].before.free > s.nodes[1].after.free);
}

static void bad_settings_change_nothing(void **state)
{
	static const struct {
		const char *setting, *error;
	} cases[] = {
		{"topologyManagerPolicy", "'topologyManagerPolicy' is not KEY=VALUE"},
		{"topologyManagerPolicy=best", "topologyManagerPolicy has no value 'best'"},
		{"full-pcpus-only=2", "'2' is not true or false"},
		{"nothing=1", "unknown policy option 'nothing'"},
		{"reservedCPUs=-1", "reservedCPUs: '-1' is not a number of CPUs"},
		{"max-allowable-numa-nodes=x", "'x' is not a number of NUMA nodes"},
	};
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_RESTRICTED,
		.scope = TOPOLOGY_SCOPE_CONTAINER};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(simulation_release) struct simulation s = {0};
		const struct simulate_options options = {.settings = &cases[i].setting, .n_settings = 1};
		struct err err = {""};

		planned_cluster_init(&t, 1, &setup);
		planned_cluster_publish(&t, "", "");
		simulated_cluster_finish(&t.c);
		assert_int_equal(simulate(&t.c, &options, &s, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].error);
	}
}

/* More reserved CPUs leave fewer for pods, on the node and in its Node object. */
static void reserved_cpus_are_not_for_pods(void **state)
{
	static const char *const setting = "reservedCPUs=8";
	static const struct simulate_options options = {.settings = &setting, .n_settings = 1};
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_RESTRICTED,
		.scope = TOPOLOGY_SCOPE_CONTAINER};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	struct err err = {""};

	(void)state;
	planned_cluster_init(&t, 1, &setup);
	assert_true(planned_cluster_add(&t, 0, 6, 1));
	assert_true(planned_cluster_add(&t, 0, 6, 1));
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	assert_int_equal(simulate(&t.c, &options, &s, &err), 0);
	assert_int_equal(s.nodes[0].n_rejected, 1);
	assert_int_equal(s.nodes[0].after.free, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_settings_are_those_of_another_node),
		cmocka_unit_test(pods_of_a_lost_node_go_elsewhere),
		cmocka_unit_test(bad_settings_change_nothing),
		cmocka_unit_test(reserved_cpus_are_not_for_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
