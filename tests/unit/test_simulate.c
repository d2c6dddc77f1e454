/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests simulations of other kubelet settings against nodes that have these settings.
 */
#include <errno.h>

#include "tests/lib/test.h"

#include "cluster/plan/simulate.h"
#include "common/cleanup.h"
#include "scoring/node/machine_spec.h"
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
	const struct simulated_event *moved, *lost_pod;
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
	lost_pod = find_event(&s, &t.c, "p1", SIMULATED_NO_PLACE);
	assert_true(
		lost_pod &&
		!strcmp(lost_pod->reason,
			"no node takes the pod: 1 node: TopologyAffinityError: single-numa-node: 4 CPUs wanted, 2 available"));
	assert_int_equal(s.nodes[0].n_rejected, 1);
	assert_true(s.nodes[1].before.free > s.nodes[1].after.free);
}

static void bad_settings_change_nothing(void **state)
{
	static const struct {
		const char *setting, *error;
	} cases[] = {
		{"topologyManagerPolicy", "'topologyManagerPolicy' is not KEY=VALUE"},
		{"topologyManagerPolicy=best",
			"topologyManagerPolicy: 'best' is not one of: none, best-effort, restricted, single-numa-node"},
		{"full-pcpus-only=2", "full-pcpus-only: '2' is not a boolean"},
		{"nothing=1", "unknown policy option 'nothing'"},
		{"topologyManagerPolic=none",
			"unknown policy option 'topologyManagerPolic'; did you mean topologyManagerPolicy?"},
		{"numa-allocation-strategy=most",
			"numa-allocation-strategy: 'most' is not one of: none, most-allocated, least-allocated"},
		{"kubeReserved=cpu=1", "kubeReserved cannot be changed"},
		{"cpuManagerPolicyOptions=full-pcpus-only=true",
			"cpuManagerPolicyOptions cannot be changed as a whole, only single options of it"},
		{"kubelet=1.99", "kubelet=1.99: nrtd knows the rules of the kubelets 1.33 to 1."},
		{"kubelet=1.32", "kubelet=1.32: nrtd knows the rules of the kubelets 1.33 to 1."},
		{"reservedCPUs=-1", "reservedCPUs: '-1' is not a number of CPUs"},
		{"max-allowable-numa-nodes=x", "max-allowable-numa-nodes: 'x' is not a number"},
		{"reservedMemory=memory=1Gi", "reservedMemory: 'memory=1Gi' is not NODE:TYPE=AMOUNT,..."},
		{"reservedMemory=0:", "reservedMemory: '0:' is not NODE:TYPE=AMOUNT,..."},
		{"reservedMemory=0:cpu=1",
			"reservedMemory: 'cpu=1' is not an amount of memory or hugepages such as memory=1Gi"},
		{"reservedMemory=0:memory=-1", "reservedMemory: memory: '-1' is negative"},
		{"reservedMemory=0:memory=1Gi;0:memory=2Gi",
			"reservedMemory: memory of node 0 appears twice"},
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
		if (simulate(&t.c, &options, &s, &err) != -EINVAL)
			fail_msg("%s is accepted", cases[i].setting);
		/* The newest release is not part of the test. */
		assert_int_equal(strncmp(err.text, cases[i].error, strlen(cases[i].error)), 0);
	}
}

/* A thread of one core is reserved on each NUMA node. */
static void settings_that_can_hang_kubelets_are_named(void **state)
{
	static const char *const settings[] = {"full-pcpus-only=true", "distribute-cpus-across-numa=true",
		"reservedSystemCPUs=0,4", "kubelet=1.37"};
	static const char *const newer[] = {"full-pcpus-only=true", "distribute-cpus-across-numa=true",
		"reservedSystemCPUs=0,4", "kubelet=1.38"};
	static const struct simulate_options options[] = {
		{.settings = settings, .n_settings = 4}, {.settings = newer, .n_settings = 4}};
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_NONE,
		.scope = TOPOLOGY_SCOPE_CONTAINER};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(simulation_release) struct simulation s = {0};
		struct err err = {""};

		planned_cluster_init(&t, 1, &setup);
		planned_cluster_publish(&t, "", "");
		simulated_cluster_finish(&t.c);
		assert_int_equal(simulate(&t.c, &options[i], &s, &err), 0);
		if (i == 0)
			assert_non_null(strstr(s.nodes[0].hazard, "; remedy: reserve whole cores"));
		else
			assert_null(s.nodes[0].hazard);
	}
}

static void a_setting_is_given_once(void **state)
{
	static const char *const settings[] = {
		"full-pcpus-only=true", "topologyManagerPolicy=none", "topologyManagerPolicy=none"};
	static const struct simulate_options options = {.settings = settings, .n_settings = 3};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_NONE,
		.scope = TOPOLOGY_SCOPE_CONTAINER};
	struct err err = {""};

	(void)state;
	planned_cluster_init(&t, 1, &setup);
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	assert_int_equal(simulate(&t.c, &options, &s, &err), -EINVAL);
	assert_string_equal(err.text, "--set: topologyManagerPolicy is given twice");
}

/* On NUMA nodes of 6 and 8 CPUs, the NUMA node of each pod. Without a strategy it is the first on which the pod fits. */
static void a_proposed_strategy_chooses_numa_nodes(void **state)
{
	static const struct {
		const char *setting;
		unsigned cpus[4], numa[4];
	} cases[] = {
		{"numa-allocation-strategy=none", {2, 2, 2, 2}, {0, 0, 0, 1}},
		/* 1 and 1, 33 and 1, 33 and 25, 33 and 50 percent */
		{"numa-allocation-strategy=least-allocated", {2, 2, 2, 2}, {0, 1, 1, 0}},
		{"numa-allocation-strategy=most-allocated", {2, 2, 2, 2}, {0, 0, 0, 1}},
		/* The first pod fits NUMA node 1 only. */
		{"numa-allocation-strategy=none", {7, 1, 2, 1}, {1, 0, 0, 0}},
		{"numa-allocation-strategy=most-allocated", {7, 1, 2, 1}, {1, 1, 0, 0}},
		{"numa-allocation-strategy=least-allocated", {7, 1, 2, 1}, {1, 0, 0, 0}},
	};
	static const enum topology_manager_policy policies[] = {
		TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(policies) * ARRAY_SIZE(cases); i++) {
		size_t k = i % ARRAY_SIZE(cases);
		const struct node_sim_setup setup = {.machine = planned_machine,
			.policy = policies[i / ARRAY_SIZE(cases)],
			.scope = TOPOLOGY_SCOPE_CONTAINER};
		const struct simulate_options options = {.settings = &cases[k].setting, .n_settings = 1};
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(simulation_release) struct simulation s = {0};
		struct err err = {""};

		planned_cluster_init(&t, 1, &setup);
		for (size_t p = 0; p < 4; p++)
			assert_true(planned_cluster_add(&t, 0, cases[k].cpus[p], 1));
		planned_cluster_publish(&t, "", "");
		simulated_cluster_finish(&t.c);
		assert_int_equal(simulate(&t.c, &options, &s, &err), 0);
		assert_true((s.proposed != NULL) == !strstr(cases[k].setting, "=none"));
		for (size_t p = 0; p < t.c.n_pods; p++) {
			CLEANUP(pod_held_release) struct pod_held held = {0};
			size_t number = (size_t)(t.c.pods[p].name[1] - '0');

			simulated_held(&t.c, p, &held);
			if (!held.found || !hwloc_bitmap_isset(held.numa, cases[k].numa[number]) ||
				cpuset_size(held.numa) != 1)
				fail_msg("case %zu: p%zu is not on NUMA node %u", i, number,
					cases[k].numa[number]);
		}
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

struct memory_case {
	const char *setting;
	bool memory_static, restart;
	size_t n_rejected, n_unknown;
	const char *action, *problem; /* a part; NULL = none */
};

static void assert_part(const char *what, const char *text, const char *part)
{
	if (!part != !text || (part && !strstr(text, part)))
		fail_msg("%s: '%s', want '%s'", what, text ? text : "", part ? part : "");
}

/* Two pods of 30 GiB on NUMA nodes of 32 GiB, of which 1 GiB is reserved. */
static void assert_memory(const struct memory_case *k)
{
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_RESTRICTED,
		.scope = TOPOLOGY_SCOPE_CONTAINER,
		.memory_static = k->memory_static};
	const struct simulate_options options = {
		.settings = &k->setting, .n_settings = 1, .restart = k->restart};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	struct err err = {""};
	struct settings *before;

	planned_cluster_init(&t, 1, &setup);
	before = &t.sims[0].state.settings;
	before->kubelet_minor = 37;
	before->kube_reserved_memory = (qty_t)1948 * (1 << 20) * QTY_UNIT; /* with evictionHard 2 GiB */
	before->eviction_hard_memory = strdup("100Mi");
	assert_true(planned_cluster_add(&t, 0, 1, 30));
	assert_true(planned_cluster_add(&t, 0, 1, 30));
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	if (simulate(&t.c, &options, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.nodes[0].n_rejected, k->n_rejected);
	assert_int_equal(s.nodes[0].n_unknown, k->n_unknown);
	assert_part("action", s.nodes[0].action, k->action);
	assert_part("problem", s.nodes[0].problem, k->problem);
}

static void reserved_memory_is_not_for_pods(void **state)
{
	static const char *const unequal =
		"the kubelet would not start: reservedMemory reserves 0 of memory, and kubeReserved, systemReserved and evictionHard 2Gi";
	static const struct memory_case cases[] = {
		{"reservedMemory=0:memory=1Gi;1:memory=1Gi", true, false, 0, 0, NULL, NULL},
		{"reservedMemory=0:memory=1Gi;1:memory=1Gi", true, true, 0, 0, NULL, NULL},
		{"reservedMemory=0:memory=3Gi", true, false, 1, 0, NULL, NULL},
		{"reservedMemory=0:memory=3Gi", true, true, 1, 0,
			"remove memory_manager_state: the expected machine state is different from the real one",
			NULL},
		{"reservedMemory=5:memory=1Gi", true, false, 0, 2, NULL, "reservedMemory names NUMA node 5"},
		{"reservedMemory=0:memory=50Mi", true, true, 0, 2, NULL,
			"reservedMemory reserves 50Mi of memory"},
		{"memoryManagerPolicy=Static", false, false, 0, 2, NULL, unequal},
		{"memoryManagerPolicy=Static", false, true, 0, 2, NULL, unequal},
		{"memoryManagerPolicy=None", true, true, 0, 0,
			"remove memory_manager_state: configured policy \"None\" differs", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].setting);
		assert_memory(&cases[i]);
	}
}

/* Two equal machines with the settings of node-0, and a lost node whose pod goes there. */
static void added_machines_take_pods(void **state)
{
	static const char *const lost[] = {"node-0"}, *const setting =
							      "topologyManagerPolicy=single-numa-node";
	CLEANUP(node_state_release) struct node_state hardware;
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_RESTRICTED,
		.scope = TOPOLOGY_SCOPE_CONTAINER};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	struct simulated_addition addition = {.n = 2};
	const struct simulate_options options = {.settings = &setting,
		.n_settings = 1,
		.without = lost,
		.n_without = 1,
		.additions = &addition,
		.n_additions = 1,
		.like = "node-0"};
	const struct simulated_node *added;
	struct err err = {""};

	(void)state;
	assert_int_equal(machine_spec_parse("2x1x4,64Gi", &hardware, &err), 0);
	addition.hardware = hardware;
	planned_cluster_init(&t, 1, &setup);
	assert_true(planned_cluster_add(&t, 0, 6, 1));
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	if (simulate(&t.c, &options, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.n_nodes, 3);
	added = &t.c.nodes[1];
	assert_string_equal(added->name, "new-1");
	assert_int_equal(added->state.settings.cpu_manager, CPU_MANAGER_STATIC);
	assert_int_equal(added->state.settings.topology.policy, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	assert_int_equal(
		t.c.nodes[0].info->object.state.settings.topology.policy, TOPOLOGY_MANAGER_RESTRICTED);
	assert_non_null(find_event(&s, &t.c, "p0", SIMULATED_MOVED));
	assert_true(s.nodes[1].added && s.nodes[1].before.free == 0);
	assert_int_equal(s.nodes[1].after.free + s.nodes[2].after.free, 2 * 14 - 6);
}

/* ---- restarts of kubelets while the pods run */

/* A node of policy best-effort whose pod p2 has CPUs on both NUMA nodes. */
static void init_restart(struct planned_cluster *t, unsigned release, bool strict, const char *extra)
{
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_BEST_EFFORT,
		.scope = TOPOLOGY_SCOPE_CONTAINER};

	planned_cluster_init(t, 1, &setup);
	t->sims[0].state.settings.kubelet_minor = release;
	t->sims[0].state.settings.cpu_options.strict_cpu_reservation = strict;
	if (strict)
		hwloc_bitmap_andnot(t->sims[0].state.allocations.shared, t->sims[0].state.allocations.shared,
			t->sims[0].state.reserved.cpus);
	assert_true(planned_cluster_add(t, 0, 4, 1));
	assert_true(planned_cluster_add(t, 0, 6, 1));
	assert_true(planned_cluster_add(t, 0, 4, 1));
	planned_cluster_publish(t, "", extra);
}

struct restart_case {
	unsigned release;
	bool strict;                    /* strict-cpu-reservation, before */
	const char *extra, *setting;    /* of the pods' spec; NULL = none */
	const char *rejected, *unknown; /* names of pods */
	const char *reason;             /* of one of them, a part */
	const char *action, *problem;   /* a part; NULL = none */
	size_t free;                    /* CPUs afterwards */
};

static void join_names(const struct simulation *s, const struct simulated_cluster *c,
	enum simulated_effect effect, char ret[64])
{
	*ret = '\0';
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].effect == effect)
			snprintf(ret + strlen(ret), 64 - strlen(ret), "%s ", c->pods[s->events[i].pod].name);
}

static void assert_restart(const struct restart_case *k)
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	const struct simulate_options options = {
		.settings = &k->setting, .n_settings = k->setting != NULL, .restart = true};
	struct err err = {""};
	char names[64];

	init_restart(&t, k->release, k->strict, k->extra);
	simulated_cluster_finish(&t.c);
	assert_int_equal(t.c.nodes[0].obstacle, SIMULATED_NO_OBSTACLE);
	if (simulate(&t.c, &options, &s, &err) < 0)
		fail_msg("%s", err.text);
	join_names(&s, &t.c, SIMULATED_REJECTED, names);
	assert_string_equal(names, k->rejected);
	join_names(&s, &t.c, SIMULATED_UNKNOWN, names);
	assert_string_equal(names, k->unknown);
	if (k->reason)
		assert_part("reason", s.events[0].reason, k->reason);
	assert_part("action", s.nodes[0].action, k->action);
	assert_part("problem", s.nodes[0].problem, k->problem);
	if (!k->problem)
		assert_int_equal(s.nodes[0].after.free, k->free);
}

static void restarted_kubelets_admit_running_pods_again(void **state)
{
	static const struct restart_case cases[] = {
		/* Nothing changes. */
		{37, false, "", NULL, "", "", NULL, NULL, NULL, 0},
		{37, false, "", "topologyManagerPolicy=none", "", "", NULL, NULL, NULL, 0},
		/* The hints are those of what the pods hold. */
		{37, false, "", "topologyManagerPolicy=single-numa-node", "p2 ", "",
			"TopologyAffinityError: single-numa-node: the pod holds CPUs on NUMA nodes {0-1}, which",
			NULL, NULL, 4},
		{37, false, "", "topologyManagerPolicy=restricted", "p2 ", "", NULL, NULL, NULL, 4},
		/* Until 1.36 the check of full-pcpus-only does not count what a pod holds as free. */
		{36, false, "", "full-pcpus-only=true", "p0 p1 p2 ", "",
			"SMTAlignmentError: full-pcpus-only: 4 CPUs wanted, 0 free", NULL, NULL, 14},
		{37, false, "", "full-pcpus-only=true", "", "", NULL, NULL, NULL, 0},
		/* State files that the kubelet does not accept. */
		{37, false, "", "cpuManagerPolicy=none", "", "", NULL,
			"remove cpu_manager_state: configured policy \"none\" differs from state checkpoint policy \"static\"",
			NULL, 14},
		{37, false, "", "reservedSystemCPUs=0-3", "p2 ", "",
			"UnexpectedAdmissionError: 4 exclusive CPUs wanted, 2 available",
			"remove cpu_manager_state: not all reserved cpus: \"0-3\" are present in defaultCpuSet: \"0,8\"",
			NULL, 2},
		{37, false, "", "strict-cpu-reservation=true", "", "", NULL,
			"remove cpu_manager_state: some of strictly reserved cpus: \"0,8\" are present in",
			NULL, 0},
		/* No CPU is in the shared pool any more. */
		{37, true, "", NULL, "", "", NULL, "remove cpu_manager_state: default cpuset cannot be empty",
			NULL, 0},
		/* The kubelet's last check: labels. */
		{37, false, "nodeSelector: {pool: a},", NULL, "p0 p1 p2 ", "",
			"nodeSelector pool=a does not match", NULL, NULL, 14},
		/* What was assigned to rejected pods is not free for p2. */
		{37, false, "nodeSelector: {pool: a},", "reservedSystemCPUs=0-3", "p0 p1 p2 ", "",
			"nodeSelector pool=a does not match",
			"remove cpu_manager_state: not all reserved cpus: \"0-3\" are present", NULL, 12},
		/* What is not known. */
		{0, false, "", NULL, "", "p0 p1 p2 ", NULL, NULL,
			"the kubelet's release is not known; its Node's status has the release", 0},
		{33, false, "", NULL, "", "p0 p1 p2 ", NULL, NULL, "how kubelet 1.33 restarts is not known",
			0},
		{37, false, "", "kubelet=1.36", "", "p0 p1 p2 ", NULL, NULL,
			"whether kubelet 1.36 reads the state files of 1.37 is not known", 0},
		{37, false, "", "max-allowable-numa-nodes=1", "", "p0 p1 p2 ", NULL, NULL,
			"the kubelet would not start", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %zu\n", i);
		assert_restart(&cases[i]);
	}
}

/* A kubelet that assigns nothing reports no pod, and gets policies that assign CPUs. */
static void unassigned_pods_are_assigned_by_a_restart(void **state)
{
	static const char *const settings[] = {
		"cpuManagerPolicy=static", "topologyManagerPolicy=single-numa-node"};
	const struct node_sim_setup setup = {.machine = planned_machine,
		.policy = TOPOLOGY_MANAGER_NONE,
		.scope = TOPOLOGY_SCOPE_CONTAINER};
	const struct simulate_options options = {
		.settings = settings, .n_settings = ARRAY_SIZE(settings), .restart = true};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(simulation_release) struct simulation s = {0};
	struct err err = {""};
	char names[64];

	(void)state;
	planned_cluster_init(&t, 1, &setup);
	t.sims[0].state.settings.kubelet_minor = 37;
	t.sims[0].state.settings.cpu_manager = CPU_MANAGER_NONE;
	for (size_t i = 0; i < 3; i++)
		assert_true(planned_cluster_add(&t, 0, i < 2 ? 4 : 5, 1));
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	if (simulate(&t.c, &options, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(s.nodes[0].changed);
	if (s.nodes[0].problem)
		fail_msg("%s", s.nodes[0].problem);
	join_names(&s, &t.c, SIMULATED_REJECTED, names);
	assert_string_equal(names, "p2 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_settings_are_those_of_another_node),
		cmocka_unit_test(pods_of_a_lost_node_go_elsewhere),
		cmocka_unit_test(bad_settings_change_nothing),
		cmocka_unit_test(settings_that_can_hang_kubelets_are_named),
		cmocka_unit_test(a_setting_is_given_once),
		cmocka_unit_test(a_proposed_strategy_chooses_numa_nodes),
		cmocka_unit_test(reserved_cpus_are_not_for_pods),
		cmocka_unit_test(reserved_memory_is_not_for_pods),
		cmocka_unit_test(added_machines_take_pods),
		cmocka_unit_test(restarted_kubelets_admit_running_pods_again),
		cmocka_unit_test(unassigned_pods_are_assigned_by_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
