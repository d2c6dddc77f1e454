/* SPDX-License-Identifier: Apache-2.0 */
/* Promises: how they begin and end, and what each answer rests on. */
#include "tests/lib/test.h"

#include "agent/extender/verdicts.h"
#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"

#define GIB   ((uint64_t)1 << 30)
#define NODES ((1u << CLUSTER_NODES) - 1)

/* Two sockets of 8 CPUs; the first CPU is reserved. All nodes are the same. */
static const struct node_sim_setup plain = {
	.machine =
		{.sockets = 2, .numas = 1, .uncores = 1, .cores = 8, .threads = 1, .memory_bytes = 16 * GIB},
	.policy = TOPOLOGY_MANAGER_RESTRICTED,
	.scope = TOPOLOGY_SCOPE_CONTAINER,
	.nics = 2,
	.near = 1};

/* The one node that passes. */
static size_t ask_one(struct extender_cluster *c, const struct cluster_pod_sim *pod, uint64_t now_ms)
{
	unsigned passing = extender_cluster_ask(c, &answer_best, pod, now_ms);

	assert_int_equal(__builtin_popcount(passing), 1);
	return (size_t)__builtin_ctz(passing);
}

/* How many of these pods the cluster takes, each promised. */
static unsigned count(struct extender_cluster *c, const char *text, uint64_t now_ms)
{
	unsigned n = 0;

	while (extender_cluster_ask(c, &answer_best, extender_cluster_pod(c, text), now_ms))
		n++;
	return n;
}

static void a_promise_counts_until_its_time_is_over(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES);
	assert_int_equal(c.cache.n_assumed, CLUSTER_NODES);
	cache_expire(&c.cache, 59999);
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 59999), 0);
	cache_expire(&c.cache, 60000);
	assert_int_equal(c.cache.n_assumed, 0);
	assert_int_equal(c.cache.n_expired, CLUSTER_NODES);
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 60000), CLUSTER_NODES);
}

static void a_question_again_replaces_the_promise(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	for (unsigned i = 0; i < 3; i++)
		ask_one(&c, pod, 0);
	assert_int_equal(c.cache.n_assumed, 1);
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES - 1);
}

static void a_bound_pod_counts_until_its_object_shows_it_and_once(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	node = ask_one(&c, pod, 0);
	assert_true(extender_cluster_begin(&c, pod, node));
	extender_cluster_report(&c, pod, NULL, 10);
	cache_expire(&c.cache, 1000000);
	assert_int_equal(c.cache.n_assumed, 0);
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 1000000), CLUSTER_NODES - 1);
	cache_expire(&c.cache, 2000000);
	extender_cluster_publish(&c, node, 2000000);
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 2000000), CLUSTER_NODES - 1);
	cache_expire(&c.cache, 3000000);
	assert_int_equal(count(&c, "app cpu=7 memory=1Gi", 3000000), 2 * CLUSTER_NODES - 1);
}

static void a_pod_bound_elsewhere_counts_there(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t assumed, other;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	assumed = ask_one(&c, pod, 0);
	other = (assumed + 1) % CLUSTER_NODES;
	pod->node = other;
	extender_cluster_report(&c, pod, NULL, 0);
	assert_int_equal(c.cache.n_assumed, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_all, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		NODES & ~(1u << other));
}

static void a_deleted_pod_frees_its_promise_and_its_place(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	pod->node = ask_one(&c, pod, 0);
	extender_cluster_report_gone(&c, pod);
	assert_int_equal(c.cache.n_pods, 0);
	node = ask_one(&c, pod, 0);
	assert_true(extender_cluster_begin(&c, pod, node));
	extender_cluster_report(&c, pod, "Running", 0);
	extender_cluster_publish(&c, node, 0);
	extender_cluster_report_gone(&c, pod);
	/* The object still shows it. */
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES);
}

/* Only pods that were promised that very node: not those of others, nor those bound elsewhere. */
static void refused_promises_are_counted_by_reason(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi"); /* nobody asked about it */
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi"); /* bound elsewhere */
	pod->node = (ask_one(&c, pod, 0) + 1) % CLUSTER_NODES;
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_int_equal(c.cache.n_rejected, 2);
	assert_int_equal(c.cache.broken_assumptions.n[0], 0);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
	pod->node = ask_one(&c, pod, 0);
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_int_equal(c.cache.n_rejected, 3);
	broken_assumptions_count(&c.cache.broken_assumptions, "OutOfcpu");
	broken_assumptions_count(&c.cache.broken_assumptions, "OutOfnvidia.com/gpu");
	broken_assumptions_print(&c.cache.broken_assumptions, &text);
	assert_non_null(strstr(text.text, "{reason=\"TopologyAffinityError\"} 1\n"));
	assert_non_null(strstr(text.text, "{reason=\"OutOfcpu\"} 1\n"));
	assert_non_null(strstr(text.text, "{reason=\"OutOfpods\"} 0\n"));
	assert_non_null(strstr(text.text, "{reason=\"other\"} 1\n"));
}

static void a_node_that_refused_is_not_asked_again_at_once(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
	node = pod->node = ask_one(&c, pod, 0);
	extender_cluster_report(&c, pod, NULL, 0);
	extender_cluster_report(&c, pod, "Failed", 0);
	assert_int_equal(c.cache.n_rejected, 1);
	assert_int_equal(c.cache.n_pods, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_all, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 0),
		NODES & ~(1u << node));
	assert_int_equal(
		extender_cluster_ask(&c, &answer_all, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), 0),
		NODES);
	cache_expire(&c.cache, 29999);
	assert_int_equal(extender_cluster_ask(
				 &c, &answer_all, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 29999),
		NODES & ~(1u << node));
	cache_expire(&c.cache, 30000);
	assert_int_equal(extender_cluster_ask(
				 &c, &answer_all, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 30000),
		NODES);
}

/* The kubelet writes the CPU manager's file before the others. */
static void an_object_from_the_middle_of_an_admission_shows_only_a_part(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;
	struct allocation *item;
	struct allocation whole;
	size_t node;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi vendor.com/nic=2");
	node = ask_one(&c, pod, 0);
	assert_true(extender_cluster_begin(&c, pod, node));
	extender_cluster_report(&c, pod, NULL, 0);
	item = &c.sims[node].state.allocations.items[0];
	whole = *item;
	item->n_devices = 0;
	extender_cluster_publish(&c, node, 0);
	*item = whole;
	/* Each node has two pairs of devices, and one of this node's is taken. */
	assert_int_equal(count(&c, "app cpu=2 memory=1Gi vendor.com/nic=2", 0), 2 * CLUSTER_NODES - 1);
}

static void a_list_says_what_is_gone(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[2];

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	for (size_t i = 0; i < 2; i++) {
		pods[i] = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
		ask_one(&c, pods[i], 0);
		pods[i]->node = i;
	}
	extender_cluster_report(&c, pods[0], NULL, 0);
	cache_list_begin(&c.cache, CACHE_POD);
	assert_int_equal(cache_list_end(&c.cache, CACHE_POD, 0, 0, NULL), 0);
	assert_int_equal(c.cache.n_pods, 0);
	assert_int_equal(c.cache.n_assumed, 0);
	cache_list_begin(&c.cache, CACHE_NRT);
	extender_cluster_publish(&c, 2, 0);
	assert_int_equal(cache_list_end(&c.cache, CACHE_NRT, 0, 0, NULL), 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		const struct node_info *node = cache_find_node(&c.cache, c.names[i]);

		assert_int_equal(node && node->has_object, i == 2);
	}
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), 0), 2);
}

/* Guaranteed pods of less than a CPU: no object shows them, and their order does not matter. */
static void pods_that_hold_nothing_are_not_waited_for(void **state)
{
	static const char *const texts[] = {"app cpu=100m memory=1Gi", "app cpu=200m memory=1Gi",
		"app cpu=300m memory=1Gi", "app cpu=400m memory=1Gi", "app cpu=500m memory=1Gi"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t node = 0; node < CLUSTER_NODES; node++) {
			struct cluster_pod_sim *pod = extender_cluster_pod(&c, texts[i]);

			pod->node = node;
			extender_cluster_report(&c, pod, NULL, 0);
		}
	assert_int_equal(count(&c, "app cpu=8 memory=1Gi", 0), CLUSTER_NODES);
}

static void ties_go_to_the_fullest_place(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pod;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	pod = extender_cluster_pod(&c, "app cpu=4 memory=1Gi");
	assert_true(extender_cluster_begin(&c, pod, 2));
	extender_cluster_publish(&c, 2, 0);
	/* 3 CPUs are left on one of its NUMA nodes. */
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=3 memory=1Gi"), 0), 2);
	/* Nothing but whole NUMA nodes takes this one: of these nodes the fullest is the same. */
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0), 2);
	assert_int_equal(ask_one(&c, extender_cluster_pod(&c, "app cpu=7 memory=1Gi"), 0), 0);
}

static void unknown_nodes_come_last(void **state)
{
	static const struct answer_config pass = {
		.strategy = STRATEGY_LEAST_NUMA_NODES, .pass_unknown = true};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {plain, plain, plain, plain};

	(void)state;
	extender_cluster_init(&c, setups, 1);
	extender_cluster_publish(&c, 1, 0);
	assert_int_equal(extender_cluster_ask(&c, &pass, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		1u << 1);
	assert_int_equal(extender_cluster_ask(&c, &pass, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		NODES & ~2u);
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), 0),
		0);
	/* A pod that needs nothing for itself goes anywhere. */
	assert_int_equal(
		extender_cluster_ask(&c, &answer_best, extender_cluster_pod(&c, "app cpu=500m"), 0), NODES);
}

/* What is logged of a question. */
static void what_became_of_a_question_is_counted(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args, small;
	struct node_sim_setup setups[CLUSTER_NODES] = {plain, plain, plain, plain};
	struct answer a = {0};

	(void)state;
	setups[2].policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i + 1 < CLUSTER_NODES; i++)
		extender_cluster_publish(&c, i, 0);
	/* More than a NUMA node has: node-2 refuses it, and of node-3 nothing is known. */
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=10 memory=1Gi"), &args);
	assert_int_equal(answer_filter(&c.cache, &answer_best, &args, 0, &a), 0);
	assert_int_equal(a.counts.n_asked, CLUSTER_NODES);
	assert_int_equal(a.counts.n_taking, 2);
	assert_int_equal(a.counts.n_aligning, 2);
	assert_int_equal(a.counts.n_unknown, 1);
	assert_int_equal(a.counts.n_passing, 1);
	test_assert_text("node", a.counts.node, "node-0");
	answer_release(&a, &c.cache);

	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=500m"), &small);
	a = (struct answer){0};
	assert_int_equal(answer_filter(&c.cache, &answer_best, &small, 0, &a), 0);
	assert_int_equal(a.counts.n_taking, CLUSTER_NODES);
	assert_int_equal(a.counts.n_passing, CLUSTER_NODES);
	assert_null(a.counts.node);
	answer_release(&a, &c.cache);
}

/* A refusal is the kubelet's; whether a driver has what a claim asks for is somebody else's question. */
static void a_refusal_says_that_claims_were_not_looked_at(void **state)
{
	static const char said[] = "; its resourceClaims were not looked at";
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {plain, plain, plain, plain};

	(void)state;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(&c, i, 0);
	for (int claims = 0; claims < 2; claims++) {
		CLEANUP(extender_cluster_args_release) struct extender_args args;
		struct answer a = {0};

		extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=900 memory=1Gi"), &args);
		args.pod.template.pod.has_claims = claims;
		assert_int_equal(answer_filter(&c.cache, &answer_best, &args, 0, &a), 0);
		for (size_t i = 0; i < CLUSTER_NODES; i++) {
			assert_non_null(a.verdicts[i].reason);
			assert_int_equal(strstr(a.verdicts[i].reason, said) != NULL, claims);
		}
		answer_release(&a, &c.cache);
	}
}

static void a_pod_with_volcanos_annotation_goes_to_nodes_of_that_policy(void **state)
{
	static const struct answer_config volcano = {.strategy = ANSWER_BY_VOLCANO, .all = true};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct node_sim_setup setups[CLUSTER_NODES] = {plain, plain, plain, plain};
	struct answer a = {0};

	(void)state;
	setups[3].policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	extender_cluster_init(&c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(&c, i, 0);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), &args);
	args.pod.template.volcano_policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	assert_int_equal(answer_filter(&c.cache, &volcano, &args, 0, &a), 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_int_equal(a.verdicts[i].reason == NULL, i == 3);
	answer_release(&a, &c.cache);
}

static int score_on(
	struct extender_cluster *c, const char *node, struct extender_args *args, enum strategy strategy)
{
	const struct verdict *v;
	struct pod_class *class;
	int score;

	assert_int_equal(pod_classes_take(&c->cache.classes, &args->pod.template.pod, &class), 0);
	assert_int_equal(verdict_of(&c->cache, class, cache_find_node(&c->cache, node), strategy, &v), 0);
	assert_int_equal(v->answer, KUBELET_ADMITS);
	score = v->score;
	pod_classes_drop(&c->cache.classes, class);
	return score;
}

static void scores_follow_the_strategy(void **state)
{
	static const struct {
		enum strategy strategy;
		int order; /* of a fuller node against an emptier one */
	} cases[] = {
		{STRATEGY_LEAST_NUMA_NODES, 0}, {STRATEGY_MOST_ALLOCATED, 1}, {STRATEGY_LEAST_ALLOCATED, -1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(extender_cluster_args_release) struct extender_args args, again;
		struct cluster_pod_sim *first;
		int fuller, emptier;

		extender_cluster_init_alike(&c, &plain);
		for (unsigned n = 0; n < 2; n++) {
			first = extender_cluster_pod(&c, "app cpu=5 memory=1Gi");
			first->node = 1;
			extender_cluster_report(&c, first, NULL, 0); /* no object shows it */
		}
		first = extender_cluster_pod(&c, "app cpu=2 memory=1Gi");
		extender_cluster_args(&c, first, &args);
		extender_cluster_args(&c, first, &again);
		fuller = score_on(&c, "node-1", &args, cases[i].strategy);
		emptier = score_on(&c, "node-0", &again, cases[i].strategy);
		assert_int_equal((fuller > emptier) - (fuller < emptier), cases[i].order);
	}
}

/* Two NUMA nodes of 8 are 100 - 2 * 12, and half a step more where no two are closer to each other. */
static void the_closest_numa_nodes_score_more(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=10 memory=1Gi"), &args);
	assert_int_equal(score_on(&c, "node-0", &args, STRATEGY_LEAST_NUMA_NODES), 82);
}

static void prioritize_gives_ten_levels_and_promises_nothing(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct answer a = {0};

	(void)state;
	extender_cluster_init_alike(&c, &plain);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), &args);
	assert_int_equal(answer_prioritize(&c.cache, &answer_all, &args, &a), 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		assert_true(a.scores[i] > 0 && a.scores[i] <= EXTENDER_SCORE_MAX);
	assert_int_equal(c.cache.n_assumed, 0);
	answer_release(&a, &c.cache);
}

/* ---- preemption */

static void add_victims(struct extender_preemption *p, const char *node, const char *uid)
{
	struct extender_victims *v;

	p->items = reallocarray(p->items, p->n_items + 1, sizeof(*p->items));
	assert_non_null(p->items);
	v = &p->items[p->n_items++];
	*v = (struct extender_victims){
		.node = strdup(node), .uids = calloc(1, sizeof(*v->uids)), .n_uids = uid ? 1 : 0};
	assert_non_null(v->uids);
	if (uid)
		v->uids[0] = strdup(uid);
}

/* node-0 is full of pods of 8 and 7 CPUs, node-1 of four of 3 or 4, of priorities 0 to 3. */
static void fill(struct extender_cluster *c)
{
	static const struct {
		const char *text;
		size_t node;
		int priority;
	} pods[] = {{"app cpu=8 memory=1Gi", 0, 5}, {"app cpu=7 memory=1Gi", 0, 5},
		{"app cpu=4 memory=1Gi", 1, 0}, {"app cpu=4 memory=1Gi", 1, 1},
		{"app cpu=4 memory=1Gi", 1, 2}, {"app cpu=3 memory=1Gi", 1, 3}};

	extender_cluster_init_alike(c, &plain);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		struct cluster_pod_sim *pod = extender_cluster_pod(c, pods[i].text);

		pod->priority = pods[i].priority;
		assert_true(extender_cluster_begin(c, pod, pods[i].node));
		extender_cluster_report(c, pod, "Running", 0);
	}
	extender_cluster_publish(c, 0, 0);
	extender_cluster_publish(c, 1, 0);
}

static void preempt(struct extender_cluster *c, int priority, struct extender_preemption *p, size_t *ret_kept)
{
	struct cluster_pod_sim *pod = extender_cluster_pod(c, "app cpu=8 memory=1Gi");
	struct answer_counts counts = {0};
	struct extender_args args;
	struct pod_class *class;

	pod->priority = priority;
	extender_cluster_args(c, pod, &args);
	p->pod = args.pod;
	assert_int_equal(pod_classes_take(&c->cache.classes, &p->pod.template.pod, &class), 0);
	assert_int_equal(answer_preempt(&c->cache, &answer_best, p, class, &counts), 0);
	pod_classes_drop(&c->cache.classes, class);
	*ret_kept = counts.n_passing;
}

static void nobody_is_evicted_in_vain(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
	size_t kept;

	(void)state;
	fill(&c);
	add_victims(
		&p, "node-0", "p1"); /* 7 CPUs are not enough, and the other pod's priority is not lower */
	add_victims(&p, "node-1", "p2"); /* the scheduler looks at the sum of CPUs alone */
	preempt(&c, 5, &p, &kept);
	assert_int_equal(kept, 1);
	assert_string_equal(p.items[0].node, "node-1");
	/* The scheduler's victim stays. p3 and p4 have the one NUMA node of 8 CPUs; p5 is spared. */
	assert_int_equal(p.items[0].n_uids, 3);
	assert_string_equal(p.items[0].uids[0], "p2");
	assert_string_equal(p.items[0].uids[1], "p3");
	assert_string_equal(p.items[0].uids[2], "p4");
	assert_int_equal(p.items[0].pdb_violations, 2);
}

static void victims_that_are_enough_stay_as_they_are(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
	size_t kept;

	(void)state;
	fill(&c);
	add_victims(&p, "node-0", "p0");
	preempt(&c, 9, &p, &kept);
	assert_int_equal(kept, 1);
	assert_int_equal(p.items[0].n_uids, 1);
	assert_string_equal(p.items[0].uids[0], "p0");
	assert_int_equal(p.items[0].pdb_violations, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_promise_counts_until_its_time_is_over),
		cmocka_unit_test(a_question_again_replaces_the_promise),
		cmocka_unit_test(a_bound_pod_counts_until_its_object_shows_it_and_once),
		cmocka_unit_test(a_pod_bound_elsewhere_counts_there),
		cmocka_unit_test(a_deleted_pod_frees_its_promise_and_its_place),
		cmocka_unit_test(refused_promises_are_counted_by_reason),
		cmocka_unit_test(a_node_that_refused_is_not_asked_again_at_once),
		cmocka_unit_test(an_object_from_the_middle_of_an_admission_shows_only_a_part),
		cmocka_unit_test(a_list_says_what_is_gone),
		cmocka_unit_test(pods_that_hold_nothing_are_not_waited_for),
		cmocka_unit_test(ties_go_to_the_fullest_place),
		cmocka_unit_test(unknown_nodes_come_last),
		cmocka_unit_test(what_became_of_a_question_is_counted),
		cmocka_unit_test(a_refusal_says_that_claims_were_not_looked_at),
		cmocka_unit_test(a_pod_with_volcanos_annotation_goes_to_nodes_of_that_policy),
		cmocka_unit_test(scores_follow_the_strategy),
		cmocka_unit_test(the_closest_numa_nodes_score_more),
		cmocka_unit_test(prioritize_gives_ten_levels_and_promises_nothing),
		cmocka_unit_test(nobody_is_evicted_in_vain),
		cmocka_unit_test(victims_that_are_enough_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
