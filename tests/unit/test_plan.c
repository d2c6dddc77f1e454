/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests plans of moves: each plan is replayed on nodes whose kubelets admit pods step by step, and compared with an exhaustive
 * search.
 */
#include "tests/lib/test.h"

#include "agent/base/yaml.h"
#include "agent/cluster/plan.h"
#include "agent/cluster/pod_parse.h"
#include "agent/node/render/render.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/node_sim.h"

#define NODES_MAX 4
#define PODS_MAX  64

struct test_pod {
	unsigned cpus, gib, node;
	bool runs;
};

struct test_cluster {
	struct node_sim sims[NODES_MAX];
	unsigned n_nodes, n_pods;
	struct test_pod pods[PODS_MAX];
	struct simulated_cluster c;
};

static const struct synthetic machine = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = (uint64_t)32 << 30};
static const struct plan_options limits = {.max_moves = 20};

static void cluster_release(struct test_cluster *t)
{
	for (unsigned i = 0; i < t->n_nodes; i++)
		node_sim_release(&t->sims[i]);
	simulated_cluster_release(&t->c);
}

static void cluster_init(struct test_cluster *t, unsigned n_nodes, const struct node_sim_setup *setup)
{
	*t = (struct test_cluster){.n_nodes = n_nodes};
	for (unsigned i = 0; i < n_nodes; i++) {
		char name[16];

		snprintf(name, sizeof(name), "node-%u", i);
		node_sim_init(&t->sims[i], setup);
		text_set(&t->sims[i].state.node_name, name);
	}
}

/* Starts a pod on a simulated node. The pod's number is in its name, "pN", which is also its UID. */
static bool start(struct test_cluster *t, unsigned number, unsigned node)
{
	char text[64];

	snprintf(text, sizeof(text), "app cpu=%u memory=%uGi", t->pods[number].cpus, t->pods[number].gib);
	t->sims[node].n_begun = number;
	t->pods[number].node = node;
	t->pods[number].runs = node_sim_begin(&t->sims[node], text);
	return t->pods[number].runs;
}

static bool add(struct test_cluster *t, unsigned node, unsigned cpus, unsigned gib)
{
	assert_true(t->n_pods < PODS_MAX);
	t->pods[t->n_pods] = (struct test_pod){.cpus = cpus, .gib = gib};
	if (!start(t, t->n_pods, node))
		return false;
	t->n_pods++;
	return true;
}

static void end(struct test_cluster *t, unsigned number)
{
	struct node_sim *sim = &t->sims[t->pods[number].node];
	char name[16];

	snprintf(name, sizeof(name), "p%u", number);
	for (size_t i = 0; i < sim->state.allocations.n_items; i++)
		if (!strcmp(sim->state.allocations.items[i].pod, name)) {
			node_sim_end(sim, i);
			break;
		}
	t->pods[number].runs = false;
}

static void add_object(struct test_cluster *t, enum object_kind kind, const char *yaml)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0 ||
		simulated_cluster_add_object(&t->c, kind, &object, &err) < 0)
		fail_msg("%s: %s", yaml, err.text);
}

/* `extra`: further members of the pods' spec. */
static void publish(struct test_cluster *t, const char *labels, const char *extra)
{
	static const struct nrt_config config = {.node_state = true};
	char yaml[1024];

	simulated_cluster_init(&t->c);
	for (unsigned i = 0; i < t->n_nodes; i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		struct cluster_node node;
		struct err err = {""};

		nrt_render(&t->sims[i].state, &config, &object, NULL);
		if (cluster_node_read(&object, &node, &err) < 0)
			fail_msg("%s", err.text);
		simulated_cluster_add_node(&t->c, &node);
		cluster_node_release(&node);
		snprintf(yaml, sizeof(yaml),
			"{metadata: {name: node-%u}, status: {allocatable: {cpu: 14, memory: 60Gi, pods: 100}}}",
			i);
		add_object(t, OBJECT_NODE, yaml);
	}
	for (unsigned i = 0; i < t->n_pods; i++) {
		if (!t->pods[i].runs)
			continue;
		snprintf(yaml, sizeof(yaml),
			"{metadata: {name: p%u, namespace: default, uid: p%u, labels: {%s}, ownerReferences:"
			" [{kind: ReplicaSet, name: r, controller: true}]}, spec: {nodeName: node-%u, %s containers:"
			" [{name: app, resources: {limits: {cpu: %u, memory: %uGi}}}]}}",
			i, i, labels, t->pods[i].node, extra, t->pods[i].cpus, t->pods[i].gib);
		add_object(t, OBJECT_POD, yaml);
	}
}

static size_t want(struct test_cluster *t, unsigned cpus, unsigned gib, size_t n)
{
	CLEANUP(pod_templates_release) struct pod_templates templates = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};
	char yaml[256];

	snprintf(yaml, sizeof(yaml),
		"{kind: Pod, apiVersion: v1, metadata: {name: wanted}, spec: {containers: [{name: app,"
		" resources: {limits: {cpu: %u, memory: %uGi}}}]}}",
		cpus, gib);
	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0 ||
		pod_templates_from_doc(&object, &templates, &err) < 0)
		fail_msg("%s", err.text);
	return simulated_cluster_add_copies(
		&t->c, templates.items[0].owner, "default", "wanted", &templates.items[0].pod, n);
}

static void make_plan(struct test_cluster *t, unsigned cpus, unsigned gib, const struct plan_options *options,
	struct plan *ret)
{
	size_t wanted;

	simulated_cluster_finish(&t->c);
	wanted = want(t, cpus, gib, 1);
	plan_find(&t->c, &wanted, 1, options, ret);
}

/* Carries the plan out on the simulated nodes. */
static void replay(struct test_cluster *t, const struct plan *plan, unsigned cpus, unsigned gib)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];
		const struct simulated_pod *p = &t->c.pods[step->pod];
		unsigned number = t->n_pods, to;

		if (step->kind == PLAN_START)
			t->pods[t->n_pods++] = (struct test_pod){.cpus = cpus, .gib = gib};
		else
			number = (unsigned)strtoul(p->name + 1, NULL, 10);
		if (step->kind != PLAN_START)
			end(t, number);
		if (step->to == SIMULATED_NOWHERE)
			continue;
		to = (unsigned)strtoul(t->c.nodes[step->to].name + 5, NULL, 10);
		if (!start(t, number, to))
			fail_msg("step %zu: node-%u rejects %s", i + 1, to, p->name);
	}
}

/* ---- single plans */

static const struct node_sim_setup single = {
	.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, .scope = TOPOLOGY_SCOPE_CONTAINER};

/* NUMA node 0 has 6 CPUs for pods, NUMA node 1 has 8. Each has a pod of 4 CPUs: enough is free for 6, and nothing aligned. */
static void cluster_of_two(struct test_cluster *t)
{
	struct node_sim_setup setup = single;

	setup.machine = machine;
	cluster_init(t, 2, &setup);
	for (unsigned node = 0; node < 2; node++) {
		assert_true(add(t, node, 4, 1));
		assert_true(add(t, node, 4, 1));
	}
}

static void a_pod_moves_to_another_node(void **state)
{
	CLEANUP(cluster_release) struct test_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_two(&t);
	publish(&t, "", "");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_FULL);
	assert_int_equal(plan.n_moves, 1);
	assert_int_equal(plan.n_steps, 2);
	assert_int_equal(plan.steps[0].kind, PLAN_MOVE);
	assert_int_equal(plan.steps[1].kind, PLAN_START);
	assert_int_equal(plan.cost, 20);
	replay(&t, &plan, 8, 1);
}

struct fixed_case {
	const char *labels, *extra, *budget;
	struct plan_options options;
	enum plan_fixed fixed;
};

static void pods_that_must_stay_stay(void **state)
{
	static const char *const keep[] = {"default"};
	static const struct fixed_case cases[] = {
		{.labels = "",
			.extra = "priority: 10,",
			.options = {.max_moves = 9, .has_below_priority = true, .below_priority = 10},
			.fixed = PLAN_FIXED_PRIORITY},
		{.labels = "",
			.extra = "",
			.options = {.max_moves = 9, .keep = keep, .n_keep = 1},
			.fixed = PLAN_FIXED_NAMESPACE},
		{.labels = "",
			.extra = "volumes: [{name: v, emptyDir: {}}],",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_LOCAL_STORAGE},
		{.labels = "a: b",
			.extra = "",
			.options = {.max_moves = 9},
			.budget =
				"{metadata: {name: b, namespace: default}, spec: {selector: {matchLabels: {a: b}}},"
				" status: {disruptionsAllowed: 0}}",
			.fixed = PLAN_FIXED_BUDGET},
		{.labels = "",
			.extra = "nodeSelector: {no: node},",
			.options = {.max_moves = 9},
			.fixed = PLAN_MOVABLE},
		{.labels = "", .extra = "", .options = {.max_moves = 0}, .fixed = PLAN_MOVABLE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_release) struct test_cluster t;
		CLEANUP(plan_release) struct plan plan;

		cluster_of_two(&t);
		publish(&t, cases[i].labels, cases[i].extra);
		if (cases[i].budget)
			add_object(&t, OBJECT_PDB, cases[i].budget);
		make_plan(&t, 8, 1, &cases[i].options, &plan);
		if (plan.outcome != PLAN_NONE || plan.n_steps != 0 || plan.fixed[cases[i].fixed] != 4)
			fail_msg("case %zu: outcome %d, %zu steps, %zu %s", i, (int)plan.outcome,
				plan.n_steps, plan.fixed[cases[i].fixed], plan_fixed_names[cases[i].fixed]);
	}
}

/* A pod whose anti-affinity keeps it from the other node has no place there. */
static void constraints_hold_for_the_destination(void **state)
{
	CLEANUP(cluster_release) struct test_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_two(&t);
	publish(&t, "app: x",
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey:"
		" kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}},");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_NONE);
	assert_int_equal(plan.n_steps, 0);
}

static void evicted_pods_need_no_place(void **state)
{
	static const struct plan_options evict = {.max_moves = 9, .evict = true};
	CLEANUP(cluster_release) struct test_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_two(&t);
	publish(&t, "", "nodeSelector: {no: node},");
	make_plan(&t, 8, 1, &evict, &plan);
	assert_int_equal(plan.outcome, PLAN_FULL);
	assert_int_equal(plan.steps[0].kind, PLAN_EVICT);
	replay(&t, &plan, 8, 1);
}

/* Two pods of 2 CPUs on NUMA node 1, where 4 are free; a pod of 8 needs NUMA node 1, and NUMA node 0 has a place for both. */
static void a_restart_on_the_same_node_can_make_room(void **state)
{
	struct node_sim_setup setup = single;
	CLEANUP(cluster_release) struct test_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	setup.machine = machine;
	cluster_init(&t, 1, &setup);
	assert_true(add(&t, 0, 6, 1));
	assert_true(add(&t, 0, 2, 1));
	end(&t, 0);
	publish(&t, "", "");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_FULL);
	assert_int_equal(plan.n_moves, 1);
	assert_int_equal(plan.steps[0].from, plan.steps[0].to);
	replay(&t, &plan, 8, 1);
}

/* ---- random clusters */

static void draw_cluster(struct test_cluster *t, uint64_t *seed)
{
	struct node_sim_setup setup = {.machine = machine,
		.policy = test_random(seed) % 2 ? TOPOLOGY_MANAGER_RESTRICTED
						: TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = test_random(seed) % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.full_pcpus_only = test_random(seed) % 4 == 0,
		.memory_static = test_random(seed) % 2};

	cluster_init(t, 2 + (unsigned)(test_random(seed) % 2), &setup);
	for (unsigned i = 0; i < 24; i++)
		add(t, (unsigned)(test_random(seed) % t->n_nodes),
			2 * (1 + (unsigned)(test_random(seed) % 2)), 1 + (unsigned)(test_random(seed) % 4));
	for (unsigned i = 0; i < t->n_pods; i++)
		if (test_random(seed) % 3 == 0)
			end(t, i);
}

/* Whether at most `moves` moves make room; the cluster is as before afterwards. */
static bool search_all(struct simulated_cluster *c, size_t wanted, unsigned moves)
{
	bool found = false;

	for (size_t i = 0; i < c->n_nodes && !found; i++)
		found = simulated_judge(c, i, wanted).answer == KUBELET_ADMITS;
	for (size_t pod = 0; pod < c->n_pods && moves > 0 && !found; pod++) {
		if (c->pods[pod].node == SIMULATED_NOWHERE)
			continue;
		for (size_t to = 0; to < c->n_nodes && !found; to++) {
			size_t mark = simulated_mark(c);

			simulated_evict(c, pod);
			found = simulated_start(c, to, pod) && search_all(c, wanted, moves - 1);
			simulated_undo(c, mark);
		}
	}
	return found;
}

/* The fewest moves, up to 2; 3 = there are none. */
static unsigned fewest_moves(struct simulated_cluster *c, size_t wanted)
{
	unsigned moves = 0;

	while (moves < 3 && !search_all(c, wanted, moves))
		moves++;
	return moves;
}

static void random_plans_hold(void **state)
{
	uint64_t seed = 35;
	unsigned possible = 0, found = 0, fewest = 0, moves = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		CLEANUP(cluster_release) struct test_cluster t;
		CLEANUP(plan_release) struct plan plan;
		unsigned cpus = 4 + 2 * (unsigned)(test_random(&seed) % 3), least;
		size_t wanted;

		draw_cluster(&t, &seed);
		publish(&t, "", "");
		simulated_cluster_finish(&t.c);
		wanted = want(&t, cpus, 1, 1);
		least = fewest_moves(&t.c, wanted);
		plan_find(&t.c, &wanted, 1, &limits, &plan);
		replay(&t, &plan, cpus, 1);
		if (least > 2)
			continue;
		possible++;
		found += plan.outcome == PLAN_FULL;
		if (plan.outcome == PLAN_FULL) {
			fewest += least;
			moves += (unsigned)plan.n_moves;
		}
	}
	print_message("%u possible with at most 2 moves, %u found; %u moves, %u at least\n", possible, found,
		moves, fewest);
	assert_true(possible > 100);
	assert_true(found * 100 >= possible * 95);
	assert_true(moves * 10 <= fewest * 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_moves_to_another_node),
		cmocka_unit_test(pods_that_must_stay_stay),
		cmocka_unit_test(constraints_hold_for_the_destination),
		cmocka_unit_test(evicted_pods_need_no_place),
		cmocka_unit_test(a_restart_on_the_same_node_can_make_room),
		cmocka_unit_test(random_plans_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
