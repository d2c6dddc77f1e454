/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests plans of moves: each plan is replayed on nodes whose kubelets admit pods step by step, and compared with an exhaustive
 * search.
 */
#include "tests/lib/test.h"

#include "cluster/plan/plan.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/io/time.h"
#include "common/io/yaml.h"
#include "tests/lib/planned_cluster.h"

static const struct plan_options limits = {.max_moves = 20};

static void make_plan(struct planned_cluster *t, unsigned cpus, unsigned gib,
	const struct plan_options *options, struct plan *ret)
{
	size_t wanted;

	simulated_cluster_finish(&t->c);
	wanted = planned_cluster_want(t, cpus, gib, 1);
	plan_find(&t->c, &wanted, 1, options, ret);
}

/* Carries the plan out on the simulated nodes. */
static void replay(struct planned_cluster *t, const struct plan *plan, unsigned cpus, unsigned gib)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];
		const struct simulated_pod *p = &t->c.pods[step->pod];
		unsigned number = t->n_pods, to;

		for (size_t k = 0; k < i; k++)
			if (plan->steps[k].pod == step->pod)
				fail_msg("step %zu moves %s again", i + 1, p->name);
		if (step->kind == PLAN_START)
			t->pods[t->n_pods++] = (struct planned_pod){.cpus = cpus, .gib = gib};
		else
			number = (unsigned)strtoul(p->name + 1, NULL, 10);
		if (step->kind != PLAN_START)
			planned_cluster_end(t, number);
		if (step->to == SIMULATED_NOWHERE)
			continue;
		to = (unsigned)strtoul(t->c.nodes[step->to].name + 5, NULL, 10);
		if (!planned_cluster_start(t, number, to))
			fail_msg("step %zu: node-%u rejects %s", i + 1, to, p->name);
	}
}

/* ---- single plans */

static const struct node_sim_setup single = {
	.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, .scope = TOPOLOGY_SCOPE_CONTAINER};

/* NUMA node 0 has 6 CPUs for pods, NUMA node 1 has 8. Each has a pod of 4 CPUs: enough is free for 6, and nothing aligned. */
static void cluster_of_two(struct planned_cluster *t)
{
	struct node_sim_setup setup = single;

	setup.machine = planned_machine;
	planned_cluster_init(t, 2, &setup);
	for (unsigned node = 0; node < 2; node++) {
		assert_true(planned_cluster_add(t, node, 4, 1));
		assert_true(planned_cluster_add(t, node, 4, 1));
	}
}

static void a_pod_moves_to_another_node(void **state)
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_two(&t);
	planned_cluster_publish(&t, "", "");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_FULL);
	assert_int_equal(plan.n_moves, 1);
	assert_int_equal(plan.n_steps, 2);
	assert_int_equal(plan.steps[0].kind, PLAN_MOVE);
	assert_int_equal(plan.steps[1].kind, PLAN_START);
	assert_int_equal(plan.cost, 20);
	replay(&t, &plan, 8, 1);
}

static size_t want_containers(struct planned_cluster *t, unsigned n_containers, size_t n)
{
	CLEANUP(pod_templates_release) struct pod_templates templates = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT(1u << 20);

	strbuf_addstr(&yaml, "{kind: Pod, apiVersion: v1, metadata: {name: fat}, spec: {containers: [");
	for (unsigned i = 0; i < n_containers; i++)
		strbuf_addf(&yaml, "{name: c%u, resources: {limits: {cpu: 1m, memory: 1Mi}}}, ", i);
	strbuf_addstr(&yaml, "]}}");
	assert_int_equal(yaml_parse(yaml.text, yaml.len, &object, NULL), 0);
	assert_int_equal(pod_templates_from_doc(&object, &templates, NULL), 0);
	return simulated_cluster_add_copies(&t->c, templates.items[0].owner, "tenant",
		templates.items[0].pod.name, &templates.items[0].pod, n);
}

/* Pods whose reservations a Node cannot hold are left out: one that is too large, and those beyond what is left of a Node. */
static void pods_without_a_reservation_are_left_out(void **state)
{
	static const struct {
		unsigned n_containers;
		size_t n, n_left_out;
	} cases[] = {{20, 3, 0}, {400, 1, 1}, {100, 8, 2}};
	const struct plan_options carried_out = {.max_moves = 20, .reserves = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(plan_release) struct plan plan;
		size_t wanted[9], fat;

		cluster_of_two(&t);
		planned_cluster_publish(&t, "", "");
		simulated_cluster_finish(&t.c);
		wanted[0] = planned_cluster_want(&t, 8, 1, 1);
		fat = want_containers(&t, cases[i].n_containers, cases[i].n);
		for (size_t k = 0; k < cases[i].n; k++)
			wanted[1 + k] = fat + k;
		plan_find(&t.c, wanted, 1 + cases[i].n, &carried_out, &plan);
		assert_int_equal(plan.outcome, PLAN_FULL);
		assert_int_equal(plan.n_moves, 1);
		assert_int_equal(plan.n_left_out, cases[i].n_left_out);
		assert_int_equal(plan.n_placed, 1 + cases[i].n - cases[i].n_left_out);
		for (size_t k = 0; k < plan.n_left_out; k++)
			assert_int_equal(plan.left_out[k], wanted[1 + cases[i].n - plan.n_left_out + k]);
	}
}

/* Places without moves cost a verdict per node and request: the pods beyond the limit are counted, and the search for moves keeps its own. */
static void places_have_a_limit(void **state)
{
	static const struct plan_options few = {.max_moves = 20, .place_verdicts = 3};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;
	size_t wanted[4];

	(void)state;
	cluster_of_two(&t);
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	wanted[0] = planned_cluster_want(&t, 8, 1, 1);
	for (unsigned i = 1; i < 4; i++)
		wanted[i] = planned_cluster_want(&t, i, 1, 1);
	plan_find(&t.c, wanted, 4, &few, &plan);
	assert_int_equal(plan.outcome, PLAN_PARTIAL);
	assert_int_equal(plan.n_moves, 1);
	assert_int_equal(plan.n_placed, 2);
	assert_int_equal(plan.n_unplaced, 2);
	assert_int_equal(plan.n_not_searched, 2);
	assert_int_equal(plan.unplaced[0], wanted[2]);
	assert_true(plan.gave_up);
}

struct fixed_case {
	const char *metadata, *owner, *labels, *extra, *budget;
	struct plan_options options;
	enum plan_fixed fixed;
};

static void pods_that_must_stay_stay(void **state)
{
	static const char *const keep[] = {"default"}, *const workspace[] = {"Workspace"};
	static const struct fixed_case cases[] = {
		{.owner = "apiVersion: v1, kind: ConfigMap",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_CONTROLLER},
		{.owner = "apiVersion: example.com/v1, kind: StatefulSet",
			.options = {.max_moves = 9, .recreated_by = workspace, .n_recreated_by = 1},
			.fixed = PLAN_FIXED_CONTROLLER},
		{.owner = "apiVersion: example.com/v1, kind: Workspace",
			.extra = "nodeSelector: {no: node},",
			.options = {.max_moves = 9, .recreated_by = workspace, .n_recreated_by = 1},
			.fixed = PLAN_MOVABLE},
		{.metadata = "annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: 'false'},",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_MARKED},
		{.metadata = "annotations: {karpenter.sh/do-not-disrupt: 'true'},",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_MARKED},
		{.metadata = "annotations: {karpenter.sh/do-not-disrupt: 'false'},",
			.extra = "nodeSelector: {no: node},",
			.options = {.max_moves = 9},
			.fixed = PLAN_MOVABLE},
		{.labels = "leaderworkerset.sigs.k8s.io/name: l",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_GANG},
		{.extra = "schedulingGroup: {podGroupName: g},",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_GANG},
		{.metadata = "finalizers: [batch.kubernetes.io/job-tracking, example.com/x],",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_FINALIZERS},
		{.metadata = "finalizers: [batch.kubernetes.io/job-tracking],",
			.extra = "nodeSelector: {no: node},",
			.options = {.max_moves = 9},
			.fixed = PLAN_MOVABLE},
		{.extra = "terminationGracePeriodSeconds: 121,",
			.options = {.max_moves = 9, .max_grace_s = 120},
			.fixed = PLAN_FIXED_GRACE},
		{.extra = "priority: 10,",
			.options = {.max_moves = 9, .has_below_priority = true, .below_priority = 10},
			.fixed = PLAN_FIXED_PRIORITY},
		{.options = {.max_moves = 9, .keep = keep, .n_keep = 1}, .fixed = PLAN_FIXED_NAMESPACE},
		{.extra = "volumes: [{name: v, emptyDir: {}}],",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_LOCAL_STORAGE},
		{.extra = "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}],",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_VOLUMES},
		{.extra = "evictionResponders: [{name: example.com/mover, priority: 10000}],",
			.options = {.max_moves = 9},
			.fixed = PLAN_FIXED_RESPONDERS},
		{.labels = "a: b",
			.options = {.max_moves = 9},
			.budget =
				"{metadata: {name: b, namespace: default}, spec: {selector: {matchLabels: {a: b}}},"
				" status: {disruptionsAllowed: 0}}",
			.fixed = PLAN_FIXED_BUDGET},
		{.extra = "nodeSelector: {no: node},", .options = {.max_moves = 9}, .fixed = PLAN_MOVABLE},
		{.options = {.max_moves = 0}, .fixed = PLAN_MOVABLE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(plan_release) struct plan plan;

		cluster_of_two(&t);
		t.metadata = cases[i].metadata;
		t.owner = cases[i].owner;
		planned_cluster_publish(&t, text_or_empty(cases[i].labels), text_or_empty(cases[i].extra));
		if (cases[i].budget)
			planned_cluster_object(&t, OBJECT_PDB, cases[i].budget);
		make_plan(&t, 8, 1, &cases[i].options, &plan);
		if (plan.outcome != PLAN_NONE || plan.n_steps != 0 || plan.fixed[cases[i].fixed] != 4)
			fail_msg("case %zu: outcome %d, %zu steps, %zu %s", i, (int)plan.outcome,
				plan.n_steps, plan.fixed[cases[i].fixed], plan_fixed_names[cases[i].fixed]);
	}
}

/* A pod whose anti-affinity keeps it from the other node has no place there. */
static void constraints_hold_for_the_destination(void **state)
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_two(&t);
	planned_cluster_publish(&t, "app: x",
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey:"
		" kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}},");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_NONE);
	assert_int_equal(plan.n_steps, 0);
}

/* Reserves 4 CPUs of a node. */
static void reserve(struct planned_cluster *t, unsigned node, const char *who)
{
	char now[TIMESTAMP_MICRO_MAX], later[TIMESTAMP_MICRO_MAX];
	int64_t now_us = clock_ms(CLOCK_REALTIME) * 1000;

	timestamp_print_micro(now_us, now);
	timestamp_print_micro(now_us + 60000000, later);
	snprintf(t->annotations[node], sizeof(t->annotations[node]),
		RESERVATION_PREFIX
		"x: '{\"namespace\":\"default\",%s\"created\":\"%s\",\"expires\":\"%s\",\"spec\":"
		"{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]}}'",
		who, now, later);
}

/* Each node has 2 free CPUs on NUMA node 0 and 8 on NUMA node 1, of which 4 are reserved on some nodes. */
static void reservations_count(void **state)
{
	static const struct {
		const char *who;
		unsigned cpus, on; /* on: the nodes, one bit per node */
		const char *place; /* NULL = the plan moves pods, or there is none */
	} cases[] = {
		{"\"uid\":\"other\",", 8, 3, NULL},
		{"\"uid\":\"other\",", 8, 1, "node-1"},
		{"\"uid\":\"other\",", 4, 3, "node-0"},
		{"\"uid\":\"p1\",", 8, 2, "node-0"}, /* p1 runs on node-1 */
		{"\"uid\":\"p1\",", 8, 3, "node-1"},
		{"\"uid\":\"p0\",", 8, 3, "node-0"},
		{"\"uid\":\"other\",\"closed\":true,", 8, 3, "node-0"},
		{"", 4, 2, "node-1"}, /* the wanted pod has the requests of the reservation */
		{"", 8, 3, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node_sim_setup setup = single;
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(plan_release) struct plan plan;
		const char *place = NULL;

		setup.machine = planned_machine;
		planned_cluster_init(&t, 2, &setup);
		for (unsigned node = 0; node < 2; node++) {
			assert_true(planned_cluster_add(&t, node, 4, 1));
			if (cases[i].on & 1u << node)
				reserve(&t, node, cases[i].who);
		}
		planned_cluster_publish(&t, "", "");
		make_plan(&t, cases[i].cpus, 1, &limits, &plan);
		if (plan.outcome == PLAN_FULL && plan.n_moves == 0)
			place = t.c.nodes[plan.steps[0].to].name;
		if (!place != !cases[i].place || (place && strcmp(place, cases[i].place) != 0))
			fail_msg("case %zu: %s, %zu moves, on %s", i, plan_outcome_names[plan.outcome],
				plan.n_moves, place ? place : "-");
	}
}

static void evicted_pods_need_no_place(void **state)
{
	static const struct plan_options evict = {.max_moves = 9, .evict = true};
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_two(&t);
	planned_cluster_publish(&t, "", "nodeSelector: {no: node},");
	make_plan(&t, 8, 1, &evict, &plan);
	assert_int_equal(plan.outcome, PLAN_FULL);
	assert_int_equal(plan.steps[0].kind, PLAN_EVICT);
	replay(&t, &plan, 8, 1);
}

/* A pod of 2 CPUs is on NUMA node 1, which a pod of 8 needs, and NUMA node 0 is free. */
static void cluster_of_one(struct planned_cluster *t)
{
	struct node_sim_setup setup = single;

	setup.machine = planned_machine;
	planned_cluster_init(t, 1, &setup);
	assert_true(planned_cluster_add(t, 0, 6, 1));
	assert_true(planned_cluster_add(t, 0, 2, 1));
	planned_cluster_end(t, 0);
}

static void a_restart_on_the_same_node_can_make_room(void **state)
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_one(&t);
	planned_cluster_publish(&t, "", "");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_FULL);
	assert_int_equal(plan.n_moves, 1);
	assert_int_equal(plan.steps[0].from, plan.steps[0].to);
	replay(&t, &plan, 8, 1);
}

/* A pod whose node selector no longer matches its node cannot start there again. */
static void a_restart_needs_a_node_that_the_scheduler_accepts(void **state)
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;

	(void)state;
	cluster_of_one(&t);
	planned_cluster_publish(&t, "", "nodeSelector: {no: node},");
	make_plan(&t, 8, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_NONE);
	assert_int_equal(plan.n_steps, 0);
}

/*
 * Both nodes are full but for 4 CPUs of node-1. The pod of 6 CPUs on node-0 could go there if a pod of 2 CPUs left, which has a place
 * only where the pod of 6 CPUs still runs.
 */
static void no_pod_moves_to_a_place_that_is_not_free_yet(void **state)
{
	static const unsigned pods[2][3] = {{6, 6, 2}, {6, 2, 2}};
	static const char *const wanted =
		"{metadata: {name: w, namespace: default, uid: w}, spec: {affinity: {nodeAffinity:"
		" {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key:"
		" metadata.name, operator: In, values: [node-0]}]}]}}}, containers: [{name: app, resources:"
		" {limits: {cpu: 4, memory: 1Gi}}}]}}";
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;
	struct node_sim_setup setup = single;
	size_t at = 0;

	(void)state;
	setup.machine = planned_machine;
	planned_cluster_init(&t, 2, &setup);
	for (unsigned node = 0; node < 2; node++)
		for (size_t i = 0; i < 3; i++)
			assert_true(planned_cluster_add(&t, node, pods[node][i], 1));
	planned_cluster_publish(&t, "", "");
	planned_cluster_object(&t, OBJECT_POD, wanted);
	simulated_cluster_finish(&t.c);
	while (strcmp(t.c.pods[at].name, "w") != 0)
		at++;
	plan_find(&t.c, &at, 1, &limits, &plan);
	assert_int_equal(plan.outcome, PLAN_NONE);
	assert_int_equal(plan.n_steps, 0);
}

/* The name is a part of the request, which moves into the cluster. */
static void copies_have_the_name_of_their_template(void **state)
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	size_t first;

	(void)state;
	cluster_of_two(&t);
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	first = planned_cluster_want(&t, 8, 1, 2);
	assert_string_equal(t.c.pods[first].name, "wanted-1");
	assert_string_equal(t.c.pods[first + 1].name, "wanted-2");
}

/* ---- random clusters */

static void draw_cluster(struct planned_cluster *t, uint64_t *seed, unsigned n_nodes)
{
	struct node_sim_setup setup = {.machine = planned_machine,
		.policy = test_random(seed) % 2 ? TOPOLOGY_MANAGER_RESTRICTED
						: TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = test_random(seed) % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.full_pcpus_only = test_random(seed) % 4 == 0,
		.memory_static = test_random(seed) % 2};

	planned_cluster_init(t, n_nodes, &setup);
	for (unsigned i = 0; i < 24; i++)
		planned_cluster_add(t, (unsigned)(test_random(seed) % t->n_nodes),
			2 * (1 + (unsigned)(test_random(seed) % 2)), 1 + (unsigned)(test_random(seed) % 4));
	for (unsigned i = 0; i < t->n_pods; i++)
		if (test_random(seed) % 3 == 0)
			planned_cluster_end(t, i);
}

#define MOVES_MAX 3u /* of the exhaustive search */

/* Whether at most `moves` further moves make room, each of a pod that has not moved; the cluster is as before afterwards. */
static bool search_all(struct simulated_cluster *c, size_t wanted, bool *moved, unsigned moves)
{
	bool found = false;

	for (size_t i = 0; i < c->n_nodes && !found; i++)
		found = simulated_judge(c, i, wanted).answer == KUBELET_ADMITS;
	for (size_t pod = 0; pod < c->n_pods && moves > 0 && !found; pod++) {
		if (c->pods[pod].node == SIMULATED_NOWHERE || moved[pod])
			continue;
		moved[pod] = true;
		for (size_t to = 0; to < c->n_nodes && !found; to++) {
			size_t mark = simulated_mark(c);

			simulated_evict(c, pod);
			found = simulated_start(c, to, pod) && search_all(c, wanted, moved, moves - 1);
			simulated_undo(c, mark);
		}
		moved[pod] = false;
	}
	return found;
}

/* The fewest moves, up to `most`; most + 1 = there are none. */
static unsigned fewest_moves(struct simulated_cluster *c, size_t wanted, unsigned most)
{
	bool moved[PODS_MAX + 1] = {false};
	unsigned moves = 0;

	while (moves <= most && !search_all(c, wanted, moved, moves))
		moves++;
	return moves;
}

/* Clusters of which the fewest moves are `least`, and those of the plans that were found. */
struct compared {
	unsigned possible, found, moves;
};

static void compare_with_all(
	uint64_t *seed, unsigned n_nodes, unsigned cpus, unsigned most, struct compared by_least[])
{
	CLEANUP(planned_cluster_release) struct planned_cluster t;
	CLEANUP(plan_release) struct plan plan;
	size_t wanted;
	unsigned least;

	draw_cluster(&t, seed, n_nodes);
	planned_cluster_publish(&t, "", "");
	simulated_cluster_finish(&t.c);
	wanted = planned_cluster_want(&t, cpus, 1, 1);
	least = fewest_moves(&t.c, wanted, most);
	plan_find(&t.c, &wanted, 1, &limits, &plan);
	replay(&t, &plan, cpus, 1);
	if (least > most)
		return;
	by_least[least].possible++;
	by_least[least].found += plan.outcome == PLAN_FULL;
	by_least[least].moves += plan.outcome == PLAN_FULL ? (unsigned)plan.n_moves : 0;
}

/* Of the room that moves can make at least 95 % is found, with at most 1.2 times the moves. */
static void random_plans_hold(void **state)
{
	struct compared by_least[MOVES_MAX + 1] = {{0}}, sum = {0};
	uint64_t seed = test_seed(35);
	unsigned fewest = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		compare_with_all(&seed, 2 + (unsigned)(test_random(&seed) % 2),
			4 + 2 * (unsigned)(test_random(&seed) % 3), 2, by_least);
	for (unsigned i = 0; i < 300; i++)
		compare_with_all(&seed, 2, 8, MOVES_MAX, by_least);
	for (unsigned least = 0; least <= MOVES_MAX; least++) {
		const struct compared *k = &by_least[least];

		print_message("%u moves: %u possible, %u found with %u moves\n", least, k->possible, k->found,
			k->moves);
		sum.possible += least > 0 ? k->possible : 0;
		sum.found += least > 0 ? k->found : 0;
		sum.moves += k->moves;
		fewest += least * k->found;
		assert_true(least > 0 || (k->found == k->possible && k->moves == 0));
	}
	assert_true(sum.possible > 100 && by_least[MOVES_MAX].possible > 0);
	assert_true(sum.found * 100 >= sum.possible * 95);
	assert_true(sum.moves * 10 <= fewest * 12);
}

/* Also where a pod that leaves gets its place by a further move. */
static void plans_keep_the_limit_of_moves(void **state)
{
	uint64_t seed = 36;
	unsigned full = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		const struct plan_options few = {.max_moves = 1 + i % 2};
		CLEANUP(planned_cluster_release) struct planned_cluster t;
		CLEANUP(plan_release) struct plan plan;

		draw_cluster(&t, &seed, 2 + (unsigned)(test_random(&seed) % 2));
		planned_cluster_publish(&t, "", "");
		make_plan(&t, 8, 1, &few, &plan);
		assert_true(plan.n_moves <= few.max_moves);
		replay(&t, &plan, 8, 1);
		full += plan.outcome == PLAN_FULL && plan.n_moves > 0;
	}
	assert_true(full > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_moves_to_another_node),
		cmocka_unit_test(pods_without_a_reservation_are_left_out),
		cmocka_unit_test(places_have_a_limit),
		cmocka_unit_test(pods_that_must_stay_stay),
		cmocka_unit_test(constraints_hold_for_the_destination),
		cmocka_unit_test(reservations_count),
		cmocka_unit_test(evicted_pods_need_no_place),
		cmocka_unit_test(a_restart_on_the_same_node_can_make_room),
		cmocka_unit_test(a_restart_needs_a_node_that_the_scheduler_accepts),
		cmocka_unit_test(no_pod_moves_to_a_place_that_is_not_free_yet),
		cmocka_unit_test(copies_have_the_name_of_their_template),
		cmocka_unit_test(random_plans_hold),
		cmocka_unit_test(plans_keep_the_limit_of_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
