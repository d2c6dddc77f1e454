/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that cached verdicts and projections equal newly computed ones, and which orders of in-flight pods are tried. */
#include "tests/lib/test.h"

#include "cluster/model/verdicts.h"
#include "common/cleanup.h"
#include "tests/lib/extender_cluster.h"
#include "tests/lib/pods.h"

#define N_CASES 5
#define N_STEPS 150
#define N_TEXTS ARRAY_SIZE(texts)
#define GIB     ((uint64_t)1 << 30)

/* No kubelet's managers assign anything to the last two pods, but they count in the node-level amounts. */
static const char *const texts[] = {
	"app cpu=2 memory=1Gi",
	"app cpu=5 memory=2Gi",
	"app cpu=1 memory=1Gi; app cpu=3 memory=1Gi",
	"init cpu=6 memory=4Gi; app cpu=2 memory=1Gi",
	"app cpu=2 memory=6Gi vendor.com/nic=1",
	"app cpu=500m memory=15Gi",
	"app cpu=6",
	"app memory=24Gi",
};

static const struct node_sim_setup setup = {
	.machine =
		{.sockets = 2, .numas = 2, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = 16 * GIB},
	.policy = TOPOLOGY_MANAGER_RESTRICTED,
	.scope = TOPOLOGY_SCOPE_POD,
	.memory_static = true,
	.nics = 2,
	.near = 1};

/* A verdict without pointers into the cluster. */
struct copy {
	enum kubelet_answer answer;
	unsigned numa_nodes;
	int score;
	size_t left, free;
	char reason[200];
};

static void judge(struct extender_cluster *c, struct pod_class *class, const char *name, struct copy *ret)
{
	struct node_info *node = cluster_find_node(&c->cluster, name);
	const struct verdict *v;

	verdict_of(&c->verdicts, class, node, STRATEGY_LEAST_NUMA_NODES);
	v = verdict_confirm(&c->verdicts, class, node);
	memset(ret, 0, sizeof(*ret));
	ret->answer = v->answer;
	ret->numa_nodes = v->numa_nodes;
	ret->score = v->score;
	ret->left = v->free_on_numa_nodes;
	ret->free = v->free_on_node;
	snprintf(ret->reason, sizeof(ret->reason), "%s", v->reason ? v->reason : "");
}

static void judge_all(struct extender_cluster *c, struct pod_class *const *classes, struct copy *ret)
{
	for (size_t i = 0; i < N_TEXTS * CLUSTER_NODES; i++)
		judge(c, classes[i % N_TEXTS], c->names[i / N_TEXTS], &ret[i]);
}

static bool same_placement(const struct copy *a, const struct copy *b)
{
	return a->numa_nodes == b->numa_nodes && a->score == b->score && a->left == b->left &&
	       a->free == b->free;
}

static void forget_verdicts(struct extender_cluster *c)
{
	for (size_t i = 0; i < VERDICTS_CLASSES; i++)
		for (size_t k = 0; k < c->verdicts.classes[i].items_size; k++)
			c->verdicts.classes[i].items[k].version = 0;
}

/* Whether a verdict of which these are the members passes before the verdict of `than`; equal ones do not. */
static bool is_before(int score, size_t left, size_t free, const struct copy *than)
{
	if (score != than->score)
		return score > than->score;
	return left != than->left ? left < than->left : free < than->free;
}

/* No verdict is better than its bound. Returns the number of bounds. */
static size_t check_bounds(struct extender_cluster *c, struct pod_class *const *classes,
	const struct copy *computed, size_t step)
{
	size_t n = 0;

	forget_verdicts(c);
	for (size_t i = 0; i < N_TEXTS * CLUSTER_NODES; i++) {
		struct node_info *node = cluster_find_node(&c->cluster, c->names[i / N_TEXTS]);
		const struct verdict *b = verdict_at_hand(
			&c->verdicts, classes[i % N_TEXTS], node, STRATEGY_LEAST_NUMA_NODES, true);
		struct copy bound;

		if (!b)
			continue;
		bound = (struct copy){
			.score = b->score, .left = b->free_on_numa_nodes, .free = b->free_on_node};
		n += b->is_bound;
		if (b->is_bound && computed[i].answer == KUBELET_ADMITS &&
			is_before(computed[i].score, computed[i].left, computed[i].free, &bound))
			fail_msg("step %zu, %s on %s: score %d, free %zu, %zu; the bound is %d, %zu, %zu",
				step, texts[i % N_TEXTS], c->names[i / N_TEXTS], computed[i].score,
				computed[i].left, computed[i].free, bound.score, bound.left, bound.free);
	}
	return n;
}

/* /filter chooses the first of the best nodes although it does not judge all nodes. */
static void check_choice(struct extender_cluster *c, size_t text, const struct copy *computed, size_t step)
{
	struct cluster_pod_sim *pod = extender_cluster_pod(c, texts[text]);
	size_t best = CLUSTER_NODES;
	unsigned chosen;

	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		const struct copy *at = &computed[i * N_TEXTS + text];

		if (at->answer == KUBELET_ADMITS &&
			(best == CLUSTER_NODES ||
				is_before(at->score, at->left, at->free, &computed[best * N_TEXTS + text])))
			best = i;
	}
	forget_verdicts(c);
	chosen = extender_cluster_ask(c, &answer_best, pod, step);
	if (best < CLUSTER_NODES && computed[best * N_TEXTS + text].numa_nodes > 0 && chosen != 1u << best)
		fail_msg("step %zu, %s: nodes %#x pass, and %s is the best", step, texts[text], chosen,
			c->names[best]);
	cluster_forget_pod(&c->cluster, pod->name);
	c->n_pods--;
}

/* Compares cached verdicts with verdicts computed without cached verdicts and projections. */
static size_t compare(struct extender_cluster *c, struct pod_class *const *classes, size_t step)
{
	struct copy cached[N_TEXTS * CLUSTER_NODES], computed[N_TEXTS * CLUSTER_NODES];

	judge_all(c, classes, cached);
	forget_verdicts(c);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		projections_forget(&c->verdicts.projections, i);
	judge_all(c, classes, computed);
	for (size_t i = 0; i < N_TEXTS * CLUSTER_NODES; i++)
		if (cached[i].answer != computed[i].answer ||
			(cached[i].answer == KUBELET_ADMITS && !same_placement(&cached[i], &computed[i])))
			fail_msg("step %zu, %s on %s: cached %u \"%s\", computed %u \"%s\"", step,
				texts[i % N_TEXTS], c->names[i / N_TEXTS], cached[i].answer, cached[i].reason,
				computed[i].answer, computed[i].reason);
	check_choice(c, step % N_TEXTS, computed, step);
	return check_bounds(c, classes, computed, step);
}

static void step(struct extender_cluster *c, size_t i)
{
	unsigned what = (unsigned)(test_random(&c->seed) % 12);
	size_t node = test_random(&c->seed) % CLUSTER_NODES;
	struct cluster_pod_sim *pod = c->n_pods > 0 ? &c->pods[test_random(&c->seed) % c->n_pods] : NULL;

	if (what == 0) {
		extender_cluster_publish(c, node, i);
	} else if (what == 1) {
		extender_cluster_report_node(c, node);
	} else if (what < 5 && pod && !pod->ended) {
		extender_cluster_report_deleted(c, pod, 0);
		pod->ended = true;
	} else if (what < 7 && pod && !pod->ended) {
		extender_cluster_report(c, pod, what == 5 ? "Running" : NULL, i);
	} else if (what < 9 && pod && !pod->ended && !pod->begun) {
		extender_cluster_begin(c, pod, pod->node);
	} else {
		pod = extender_cluster_pod(c, texts[test_random(&c->seed) % N_TEXTS]);
		pod->node = node;
		if (what == 9 || !extender_cluster_ask(c, &answer_best, pod, i))
			extender_cluster_report(c, pod, NULL, i);
	}
}

static void cached_verdicts_equal_new_verdicts(void **state)
{
	uint64_t seed = test_seed(1);
	size_t n_bounds = 0;

	(void)state;
	for (size_t n = 0; n < N_CASES; n++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct node_sim_setup setups[CLUSTER_NODES] = {setup, setup, setup, setup};
		struct pod_class *classes[N_TEXTS];

		setups[1].memory_static = setups[2].memory_static = false;
		extender_cluster_init(&c, setups, seed++);
		for (size_t i = 0; i < N_TEXTS; i++) {
			struct pod_request pod;

			pod_from_text(&pod, texts[i]);
			classes[i] = pod_classes_take(&c.cluster.classes, &pod);
			pod_request_release(&pod);
		}
		for (size_t i = 0; i < CLUSTER_NODES; i++) {
			extender_cluster_report_node(&c, i);
			extender_cluster_publish(&c, i, 0);
		}
		for (size_t i = 0; i < N_STEPS; i++) {
			step(&c, i);
			n_bounds += compare(&c, classes, i);
		}
	}
	assert_in_range(n_bounds, 1000, SIZE_MAX);
}

static bool has_verdicts(const struct extender_cluster *c, const struct pod_class *class)
{
	for (size_t i = 0; i < VERDICTS_CLASSES; i++)
		if (c->verdicts.classes[i].class_number == class->number)
			return c->verdicts.classes[i].items_size > 0;
	return false;
}

/* With more pod classes than VERDICTS_CLASSES, the most recently requested classes keep their verdicts. */
static void only_recent_pod_classes_keep_verdicts(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {setup, setup, setup, setup};
	struct pod_class *classes[2 * VERDICTS_CLASSES];
	struct copy copies[2 * VERDICTS_CLASSES];

	(void)state;
	extender_cluster_init(&c, setups, 1);
	extender_cluster_publish(&c, 0, 0);
	for (size_t round = 0; round < 3; round++) {
		size_t n_judged = 0;

		for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
			struct pod_request pod;
			struct copy copy;
			char text[32];

			snprintf(text, sizeof(text), "app cpu=%zu memory=%zuMi", i % 8 + 1, i + 1);
			pod_from_text(&pod, text);
			classes[i] = pod_classes_take(&c.cluster.classes, &pod);
			pod_request_release(&pod);
			judge(&c, classes[0], c.names[0], &copy);
			judge(&c, classes[i], c.names[0], &copy);
			if (round > 0)
				assert_memory_equal(&copy, &copies[i], sizeof(copy));
			copies[i] = copy;
		}
		for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
			n_judged += has_verdicts(&c, classes[i]);
		assert_int_equal(n_judged, VERDICTS_CLASSES);
		assert_true(has_verdicts(&c, classes[0]));
		assert_true(has_verdicts(&c, classes[ARRAY_SIZE(classes) - VERDICTS_CLASSES + 1]));
	}
}

/* Pods of one class have one order; 4 different pods have 24 orders, and 5 have 120. */
static void orders_are_tried_up_to_a_limit(void **state)
{
	static const char *const different[] = {"app cpu=1 memory=1Mi", "app cpu=1 memory=2Mi",
		"app cpu=1 memory=3Mi", "app cpu=1 memory=4Mi", "app cpu=1 memory=5Mi"};
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};

	(void)state;
	for (unsigned alike = 0; alike < 2; alike++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct node_sim_setup setups[CLUSTER_NODES] = {setup, setup, setup, setup};

		setups[0].memory_static = false;
		extender_cluster_init(&c, setups, 1);
		extender_cluster_publish(&c, 0, 0);
		for (size_t i = 0; i < ARRAY_SIZE(different); i++) {
			const char *text = different[alike ? 0 : i];

			assert_int_equal(extender_cluster_ask(&c, &strict, extender_cluster_pod(&c, text), 0),
				alike || i < 4);
		}
	}
}

/* If one pod ends while another pod is in flight, both cases are covered. If two pods end, the kubelet may have admitted the
 * in-flight pod between the two ends. */
static void pods_end_while_another_is_in_flight(void **state)
{
	static const struct {
		size_t ends;
		bool admitted;
		uint64_t
			ends_ms; /* after the report of the admission; the ends of the first second may have come before it */
		bool passes;
	} cases[] = {
		{1, false, 0, true}, {2, false, 0, false}, {2, true, 1000, false}, {2, true, 1001, true}};
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct node_sim_setup setups[CLUSTER_NODES] = {setup, setup, setup, setup};
		struct cluster_pod_sim *pods[2], *late;

		setups[0].memory_static = false;
		extender_cluster_init(&c, setups, 1);
		for (size_t k = 0; k < 2; k++) {
			pods[k] = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
			assert_true(extender_cluster_begin(&c, pods[k], 0));
			extender_cluster_report(&c, pods[k], "Running", 0);
		}
		extender_cluster_publish(&c, 0, 0);
		late = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
		assert_true(extender_cluster_ask(&c, &strict, late, 0));
		extender_cluster_report(&c, late, cases[i].admitted ? "Running" : NULL, 0);
		for (size_t k = 0; k < cases[i].ends; k++)
			extender_cluster_report_deleted(&c, pods[k], cases[i].ends_ms);
		assert_int_equal(extender_cluster_ask(&c, &strict,
					 extender_cluster_pod(&c, "app cpu=1 memory=1Mi"), cases[i].ends_ms),
			cases[i].passes);
	}
}

/* A kubelet that needs more than --max-kubelet-time does not get the pod; 0 is no limit. */
static void slow_kubelets_do_not_pass(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const uint64_t limits[] = {0, 1, KUBELET_TIME_SECOND};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(extender_cluster_args_release) struct extender_args args;
		struct verb_answer answer = {0};
		bool slow = limits[i] == 1;

		extender_cluster_init_alike(&c, &setup);
		c.verdicts.projections.max_kubelet_ns = limits[i];
		extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=2 memory=1Gi"), &args);
		extender_filter(&c.verdicts, &strict, &args, 0, &answer);
		assert_int_equal(answer.counts.n_passing, slow ? 0 : 1);
		assert_int_equal(answer.counts.n_slow, slow ? CLUSTER_NODES : 0);
		if (slow)
			assert_non_null(strstr(answer.failures[0].reason, "the kubelet needs about 0 s"));
		verb_answer_release(&answer, &c.cluster);
	}
}

/* node-0 is fuller and passes. The start state of node-1 is unknown: node-1 does not pass, even with --answer all. */
static void a_node_of_unknown_start_state_does_not_pass(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct node_sim_setup setups[CLUSTER_NODES] = {setup, setup, setup, setup};
	struct cluster_pod_sim *pods[5], *late;
	const struct verb_config every = {.strategy = STRATEGY_LEAST_NUMA_NODES, .all = true};

	(void)state;
	setups[0].memory_static = setups[1].memory_static = false;
	extender_cluster_init(&c, setups, 1);
	for (size_t k = 0; k < ARRAY_SIZE(pods); k++) {
		pods[k] = extender_cluster_pod(&c, k < 2 ? "app cpu=2 memory=1Mi" : "app cpu=3 memory=1Mi");
		assert_true(extender_cluster_begin(&c, pods[k], k < 2));
		extender_cluster_report(&c, pods[k], "Running", 0);
	}
	extender_cluster_publish(&c, 0, 0);
	extender_cluster_publish(&c, 1, 0);
	late = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
	late->node = 1;
	extender_cluster_report(&c, late, NULL, 0);
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(
			extender_cluster_ask(&c, &every, extender_cluster_pod(&c, "app cpu=1 memory=1Mi"), 0),
			3);
		extender_cluster_report_deleted(&c, pods[k], 0);
	}
	assert_int_equal(
		extender_cluster_ask(&c, &every, extender_cluster_pod(&c, "app cpu=1 memory=1Mi"), 0), 1);
}

/* Starts the pods on node-0, which has NUMA nodes of 4 CPUs; one CPU of the first is reserved. */
static void start_pods(
	struct extender_cluster *c, const char *const *started, size_t n, struct cluster_pod_sim **ret)
{
	static const struct node_sim_setup four = {.machine = {.sockets = 4,
							   .numas = 1,
							   .uncores = 1,
							   .cores = 4,
							   .threads = 1,
							   .memory_bytes = 16 * GIB},
		.policy = TOPOLOGY_MANAGER_RESTRICTED,
		.scope = TOPOLOGY_SCOPE_POD};
	struct node_sim_setup setups[CLUSTER_NODES] = {four, four, four, four};

	extender_cluster_init(c, setups, 1);
	for (size_t k = 0; k < n; k++) {
		ret[k] = extender_cluster_pod(c, started[k]);
		assert_true(extender_cluster_begin(c, ret[k], 0));
		extender_cluster_report(c, ret[k], "Running", 0);
	}
	extender_cluster_publish(c, 0, 0);
}

/*
 * NUMA nodes of 4 CPUs; 0 and 1 are full. `before` (3 CPUs) was admitted on NUMA node 3 before the end of the pod on NUMA node 2.
 * `unsure` (1 CPU) gets a CPU of NUMA node 3 before this end, of NUMA node 2 after it; then no NUMA node is free. If both arrived
 * after the end, NUMA node 3 would be free.
 */
static void some_arrive_before_an_end_and_some_after(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const char *const started[] = {
		"app cpu=3 memory=1Mi", "app cpu=4 memory=1Mi", "app cpu=4 memory=1Mi"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[ARRAY_SIZE(started)], *before, *unsure, *whole;

	(void)state;
	start_pods(&c, started, ARRAY_SIZE(started), pods);
	before = extender_cluster_pod(&c, "app cpu=3 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, before, 0), 1);
	assert_true(extender_cluster_begin(&c, before, 0));
	extender_cluster_report(&c, before, "Running", 0);
	unsure = extender_cluster_pod(&c, "app cpu=1 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, unsure, 0), 1);
	extender_cluster_report(&c, unsure, NULL, 0);
	extender_cluster_report_deleted(&c, pods[2], 0);
	node_sim_end(&c.sims[0], 2);
	assert_true(extender_cluster_begin(&c, unsure, 0));
	whole = extender_cluster_pod(&c, "app cpu=4 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, whole, 0), 0);
	assert_false(extender_cluster_begin(&c, whole, 0));
}

/*
 * All NUMA nodes are full except for one CPU of NUMA node 3, which `between` gets if it arrives before the end of the pod on NUMA node 2; then
 * NUMA node 2 is free. It arrives after this end, on NUMA node 2, and before the end of a pod on NUMA node 1: no NUMA node is free.
 */
static void one_arrives_between_two_ends(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const char *const started[] = {"app cpu=3 memory=1Mi", "app cpu=2 memory=1Mi",
		"app cpu=2 memory=1Mi", "app cpu=4 memory=1Mi", "app cpu=3 memory=1Mi"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[ARRAY_SIZE(started)], *between, *whole;

	(void)state;
	start_pods(&c, started, ARRAY_SIZE(started), pods);
	between = extender_cluster_pod(&c, "app cpu=1 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, between, 0), 1);
	extender_cluster_report(&c, between, NULL, 0);
	extender_cluster_report_deleted(&c, pods[3], 0);
	node_sim_end(&c.sims[0], 3);
	assert_true(extender_cluster_begin(&c, between, 0));
	extender_cluster_report(&c, between, "Running", 0);
	extender_cluster_report_deleted(&c, pods[1], 0);
	node_sim_end(&c.sims[0], 1);
	whole = extender_cluster_pod(&c, "app cpu=4 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, whole, 0), 0);
	assert_false(extender_cluster_begin(&c, whole, 0));
	extender_cluster_publish(&c, 0, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &strict, extender_cluster_pod(&c, "app cpu=3 memory=1Mi"), 0), 1);
}

/* No node passes for a pod of this text, and the kubelet of node-0 rejects the pod. With a new object node-0 passes for a small pod. */
static void expect_no_pod_until_published(struct extender_cluster *c, const char *text)
{
	static const struct verb_config best = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	struct cluster_pod_sim *pod = extender_cluster_pod(c, text);

	assert_int_equal(extender_cluster_ask(c, &best, pod, 0), 0);
	assert_false(extender_cluster_begin(c, pod, 0));
	extender_cluster_publish(c, 0, 0);
	assert_int_equal(
		extender_cluster_ask(c, &best, extender_cluster_pod(c, "app cpu=2 memory=1Mi"), 0), 1);
}

/*
 * Free are two CPUs of NUMA node 2, and NUMA node 3. `late` is expected on NUMA node 2, but `overtakes` arrives before it and gets these CPUs:
 * `late` gets CPUs of NUMA node 3. CPUs that become free after its admission, of NUMA node 0 or those of `overtakes`, are not its CPUs. Its
 * admission may not be reported yet.
 */
static void one_is_overtaken_before_an_end(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const char *const started[] = {"app cpu=2 memory=1Mi", "app cpu=1 memory=1Mi",
		"app cpu=4 memory=1Mi", "app cpu=2 memory=1Mi"};

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		bool overtaker_ends = k % 2, admission_is_reported = k < 2;
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct cluster_pod_sim *pods[ARRAY_SIZE(started)], *late, *overtakes;

		start_pods(&c, started, ARRAY_SIZE(started), pods);
		late = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
		assert_int_equal(extender_cluster_ask(&c, &strict, late, 0), 1);
		overtakes = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
		assert_int_equal(extender_cluster_ask(&c, &strict, overtakes, 0), 1);
		assert_true(extender_cluster_begin(&c, overtakes, 0));
		extender_cluster_report(&c, overtakes, "Running", 0);
		extender_cluster_publish(&c, 0, 0);
		assert_true(extender_cluster_begin(&c, late, 0));
		extender_cluster_report(&c, late, admission_is_reported ? "Running" : NULL, 0);
		extender_cluster_report_deleted(&c, overtaker_ends ? overtakes : pods[0], 0);
		/* The items are in the order of the pods' names. */
		node_sim_end(&c.sims[0], overtaker_ends ? ARRAY_SIZE(started) + 1 : 0);
		expect_no_pod_until_published(&c, "app cpu=4 memory=1Mi");
	}
}

/*
 * The cache learns of the admission of `unsure` and of the end of another pod from a list, which does not show their order. NUMA nodes of 4
 * CPUs. `unsure` arrives after the end, on the NUMA node 2 that has become free, although one CPU of NUMA node 3 was free before. Or it arrives
 * before the end, on NUMA node 3, although two CPUs of NUMA node 1 become free. Then no NUMA node is free.
 */
static void a_list_shows_an_admission_and_an_end(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const char *const started[] = {"app cpu=3 memory=1Mi", "app cpu=2 memory=1Mi",
		"app cpu=2 memory=1Mi", "app cpu=4 memory=1Mi", "app cpu=3 memory=1Mi"};

	(void)state;
	for (unsigned k = 0; k < 16; k++) {
		bool is_new = k & 1, is_listed_last = k & 2, arrives_first = k & 4, list_ends = k & 8;
		size_t n_started = arrives_first ? 4 : 5, ends = arrives_first ? 1 : 3;
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct cluster_pod_sim *pods[ARRAY_SIZE(started)], *unsure;

		start_pods(&c, started, n_started, pods);
		unsure = extender_cluster_pod(
			&c, arrives_first ? "app cpu=2 memory=1Mi" : "app cpu=1 memory=1Mi");
		if (!is_new)
			assert_int_equal(extender_cluster_ask(&c, &strict, unsure, 0), 1);
		if (arrives_first)
			assert_true(extender_cluster_begin(&c, unsure, 0));
		node_sim_end(&c.sims[0], ends);
		if (!arrives_first)
			assert_true(extender_cluster_begin(&c, unsure, 0));
		cluster_list_begin(&c.cluster, OBJECT_POD);
		if (!is_listed_last)
			extender_cluster_report(&c, unsure, "Running", 0);
		for (size_t i = 0; i < n_started; i++)
			extender_cluster_report(&c, pods[i], i == ends ? "Succeeded" : "Running", 0);
		if (is_listed_last)
			extender_cluster_report(&c, unsure, "Running", 0);
		if (list_ends)
			cluster_list_end(&c.cluster, OBJECT_POD, 0, 0);
		expect_no_pod_until_published(&c, "app cpu=4 memory=1Mi");
	}
}

/*
 * Free are 3, 2 and 3 CPUs of the NUMA nodes 1 to 3. `first` gets CPUs of NUMA node 1, so `second` gets NUMA node 3, and no NUMA node has 3 free
 * CPUs. The kubelet reports the admission of `second` first. If it had arrived first, it would have got NUMA node 1, and 3 would be free.
 */
static void admissions_are_reported_in_any_order(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const char *const started[] = {"app cpu=3 memory=1Mi", "app cpu=1 memory=1Mi",
		"app cpu=3 memory=1Mi", "app cpu=2 memory=1Mi", "app cpu=2 memory=1Mi",
		"app cpu=1 memory=1Mi"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[ARRAY_SIZE(started)], *first, *second;

	(void)state;
	start_pods(&c, started, ARRAY_SIZE(started), pods);
	for (size_t i = 4; i > 0; i -= 2) {
		extender_cluster_report_deleted(&c, pods[i], 0);
		node_sim_end(&c.sims[0], i);
	}
	extender_cluster_publish(&c, 0, 0);
	second = extender_cluster_pod(&c, "app cpu=3 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, second, 0), 1);
	first = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, first, 0), 1);
	assert_true(extender_cluster_begin(&c, first, 0));
	assert_true(extender_cluster_begin(&c, second, 0));
	extender_cluster_report(&c, first, NULL, 0);
	extender_cluster_report(&c, second, "Running", 0);
	expect_no_pod_until_published(&c, "app cpu=3 memory=1Mi");
}

/* The scheduler waits for volumes before it binds an assumed pod: until then no end makes the pod's place unknown. */
static void an_assumed_pod_arrives_after_the_ends_before_its_binding(void **state)
{
	static const struct verb_config strict = {.strategy = STRATEGY_LEAST_NUMA_NODES};
	static const char *const started[] = {
		"app cpu=1 memory=1Mi", "app cpu=1 memory=1Mi", "app cpu=1 memory=1Mi"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[ARRAY_SIZE(started)], *late, *other;

	(void)state;
	start_pods(&c, started, ARRAY_SIZE(started), pods);
	late = extender_cluster_pod(&c, "app cpu=2 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, late, 0), 1);
	other = extender_cluster_pod(&c, "app cpu=1 memory=1Mi");
	assert_int_equal(extender_cluster_ask(&c, &strict, other, 0), 1);
	extender_cluster_report_deleted(&c, pods[0], 0);
	extender_cluster_report_deleted(&c, pods[1], 0);
	assert_int_equal(
		extender_cluster_ask(&c, &strict, extender_cluster_pod(&c, "app cpu=1 memory=1Mi"), 0), 1);
	extender_cluster_report(&c, late, NULL, 0);
	assert_int_equal(
		extender_cluster_ask(&c, &strict, extender_cluster_pod(&c, "app cpu=1 memory=1Mi"), 0), 1);
	/* Bound, the pod may arrive before or after an end. */
	extender_cluster_report_deleted(&c, pods[2], 0);
	assert_int_equal(
		extender_cluster_ask(&c, &strict, extender_cluster_pod(&c, "app cpu=1 memory=1Mi"), 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_assumed_pod_arrives_after_the_ends_before_its_binding),
		cmocka_unit_test(admissions_are_reported_in_any_order),
		cmocka_unit_test(a_list_shows_an_admission_and_an_end),
		cmocka_unit_test(one_is_overtaken_before_an_end),
		cmocka_unit_test(some_arrive_before_an_end_and_some_after),
		cmocka_unit_test(one_arrives_between_two_ends),
		cmocka_unit_test(cached_verdicts_equal_new_verdicts),
		cmocka_unit_test(orders_are_tried_up_to_a_limit),
		cmocka_unit_test(a_node_of_unknown_start_state_does_not_pass),
		cmocka_unit_test(slow_kubelets_do_not_pass),
		cmocka_unit_test(pods_end_while_another_is_in_flight),
		cmocka_unit_test(only_recent_pod_classes_keep_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
