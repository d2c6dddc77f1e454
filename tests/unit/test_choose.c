/* SPDX-License-Identifier: Apache-2.0 */
/* Compares /v1/choose and /v1/admit with /filter and /prioritize on random clusters, and tests which pods they assume and forget. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/extender_cluster.h"

#define N_CASES 25
#define N_STEPS 60
#define GIB     ((uint64_t)1 << 30)
#define POD     "app cpu=6 memory=1Gi"

static const struct verb_config pass_unknown = {.strategy = STRATEGY_LEAST_NUMA_NODES, .pass_unknown = true},
				all_pass_unknown = {.strategy = STRATEGY_LEAST_NUMA_NODES,
					.all = true,
					.pass_unknown = true};

static char plain[] = "{\"spec\":{}}";

/* The nodes of an answer, the best one first. */
struct nodes {
	size_t items[CLUSTER_NODES], n;
	unsigned mask;
	size_t n_unreached;
	bool all; /* every node passes */
	const char *assumed;
};

static void set_text(struct extender_args *args, const char *text)
{
	args->pod_text = (struct json_piece){text, strlen(text)};
}

/* Of every Node, or of the nodes by name. */
static void choose(struct extender_cluster *c, const struct verb_config *config,
	const struct cluster_pod_sim *pod, const struct extender_args *how, struct nodes *ret)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};

	extender_cluster_args(c, pod, &args);
	args.n_names = how->all_nodes ? 0 : CLUSTER_NODES;
	args.all_nodes = how->all_nodes;
	args.limit = how->limit;
	args.assume = how->assume;
	args.pod_text = how->pod_text;
	*ret = (struct nodes){.n = 0};
	extender_choose(&c->verdicts, config, &args, 0, &a);
	for (; ret->n < a.n_chosen; ret->n++) {
		ret->items[ret->n] = (size_t)(a.nodes[a.chosen[ret->n]]->name[strlen("node-")] - '0');
		ret->mask |= 1u << ret->items[ret->n];
	}
	ret->all = a.passes_all;
	ret->n_unreached = a.counts.n_unreached;
	ret->assumed = a.counts.assumed_node;
	assert_true(ret->n <= how->limit);
	verb_answer_release(&a, &c->cluster);
}

static unsigned admit(
	struct extender_cluster *c, const struct verb_config *config, const struct cluster_pod_sim *pod)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};
	unsigned mask = 0;

	extender_cluster_args(c, pod, &args);
	args.n_names = 0;
	args.all_nodes = true;
	extender_admit(&c->verdicts, config, &args, 0, &a);
	assert_int_equal(a.counts.n_nodes, CLUSTER_NODES);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		mask |= a.failures[i].reason ? 0 : 1u << (a.nodes[i]->name[strlen("node-")] - '0');
	assert_null(a.counts.assumed_node);
	verb_answer_release(&a, &c->cluster);
	return mask;
}

/* /filter with the nodes that are not in `without`; *ret_assumed = the pod is assumed. */
static unsigned filter(struct extender_cluster *c, const struct verb_config *config,
	const struct cluster_pod_sim *pod, unsigned without, bool *ret_assumed)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	char *names[CLUSTER_NODES];
	size_t items[CLUSTER_NODES];
	struct verb_answer a = {0};
	unsigned mask = 0;

	extender_cluster_args(c, pod, &args);
	args.names = names;
	args.n_names = 0;
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		if (!(without >> i & 1)) {
			items[args.n_names] = i;
			names[args.n_names++] = c->names[i];
		}
	extender_filter(&c->verdicts, config, &args, 0, &a);
	for (size_t i = 0; i < args.n_names; i++)
		mask |= a.failures[i].reason ? 0 : 1u << items[i];
	*ret_assumed = a.counts.assumed_node;
	verb_answer_release(&a, &c->cluster);
	return mask;
}

static void prioritize(struct extender_cluster *c, const struct cluster_pod_sim *pod, int *ret)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};

	extender_cluster_args(c, pod, &args);
	extender_prioritize(&c->verdicts, &answer_all, &args, &a);
	memcpy(ret, a.scores, CLUSTER_NODES * sizeof(*ret));
	verb_answer_release(&a, &c->cluster);
}

/* Upper bounds take the place of verdicts. */
static void forget_verdicts(struct extender_cluster *c)
{
	for (size_t i = 0; i < VERDICTS_CLASSES; i++)
		for (size_t k = 0; k < c->verdicts.classes[i].items_size; k++)
			c->verdicts.classes[i].items[k].version = 0;
}

/* ---- random clusters */

static unsigned draw(struct extender_cluster *c, unsigned n)
{
	return (unsigned)(test_random(&c->seed) % n);
}

/* /filter with the nodes that /v1/choose has not named yet passes the next one alone, or with others if the kubelets align the pod nowhere. */
static void compare_order(struct extender_cluster *c, const struct verb_config *config,
	const struct cluster_pod_sim *pod, const struct nodes *chosen)
{
	unsigned named = 0, passing;
	bool assumed;

	for (size_t i = 0; i < chosen->n; i++) {
		passing = filter(c, config, pod, named, &assumed);
		if (!(passing >> chosen->items[i] & 1) || (assumed && passing != 1u << chosen->items[i]))
			fail_msg("%s: /filter without %#x passes %#x, choice %zu is node %zu", pod->text,
				named, passing, i, chosen->items[i]);
		named |= 1u << chosen->items[i];
	}
	if (!config->pass_unknown && named != (1u << CLUSTER_NODES) - 1)
		assert_int_equal(filter(c, config, pod, named, &assumed), 0);
}

static void compare_scores(
	struct extender_cluster *c, const struct cluster_pod_sim *pod, const struct nodes *chosen)
{
	int scores[CLUSTER_NODES];

	prioritize(c, pod, scores);
	for (size_t i = 0; i + 1 < chosen->n; i++)
		if (scores[chosen->items[i]] < scores[chosen->items[i + 1]])
			fail_msg("%s: node %zu with score %d before node %zu with score %d", pod->text,
				chosen->items[i], scores[chosen->items[i]], chosen->items[i + 1],
				scores[chosen->items[i + 1]]);
}

/* Returns whether a kubelet would have to align the pod. */
static bool compare(struct extender_cluster *c, const struct verb_config *config, bool by_name)
{
	static const char *const texts[] = {POD, "app cpu=2 memory=1Gi", "app cpu=9 memory=1Gi",
		"app cpu=12 memory=3Gi", "app cpu=1 memory=1Gi; app cpu=3 memory=1Gi",
		"app cpu=2 memory=6Gi vendor.com/nic=1", "app cpu=500m memory=5Gi", "app cpu=4"};
	const struct cluster_pod_sim *pod = extender_cluster_pod(c, texts[draw(c, ARRAY_SIZE(texts))]);
	struct extender_args how = {.all_nodes = !by_name, .limit = CLUSTER_NODES};
	struct nodes all, some;
	bool assumed;
	unsigned passing;

	set_text(&how, plain);
	forget_verdicts(c);
	choose(c, config, pod, &how, &all);
	assert_null(all.assumed);
	for (how.limit = 1; how.limit < CLUSTER_NODES; how.limit++) {
		forget_verdicts(c);
		choose(c, config, pod, &how, &some);
		assert_int_equal(some.n, all.n < how.limit ? all.n : how.limit);
		assert_memory_equal(some.items, all.items, some.n * sizeof(some.items[0]));
	}
	passing = filter(c, config->pass_unknown ? &all_pass_unknown : &answer_all, pod, 0, &assumed);
	assert_int_equal(admit(c, config, pod), passing);
	if (all.all) {
		assert_int_equal(passing, (1u << CLUSTER_NODES) - 1);
		return false;
	}
	assert_int_equal(all.mask & ~passing, 0);
	if (!config->pass_unknown)
		assert_int_equal(all.mask, passing);
	compare_order(c, config, pod, &all);
	/* /prioritize would count the pod where the last request has assumed it. */
	cluster_forget_pod(&c->cluster, pod->name);
	if (!config->pass_unknown)
		compare_scores(c, pod, &all);
	/* As /filter, except that the first of several nodes is assumed where no kubelet aligns the pod. */
	filter(c, config, pod, 0, &assumed);
	how.assume = true;
	how.limit = 1 + draw(c, CLUSTER_NODES);
	choose(c, config, pod, &how, &some);
	if (assumed || some.assumed) {
		assert_true(some.n > 0 && some.assumed);
		test_assert_text("assumed", some.assumed, c->names[some.items[0]]);
		test_assert_text(
			"assumed", cluster_find_pod(&c->cluster, pod->name)->node->name, some.assumed);
		assert_int_equal(some.items[0], all.items[0]);
	}
	cluster_forget_pod(&c->cluster, pod->name);
	return true;
}

/* A pod begins on a node whose kubelet admits it; the extender learns of it at once, of the object that reports it later. */
static void place(struct extender_cluster *c)
{
	static const char *const texts[] = {
		"app cpu=2 memory=1Gi", "app cpu=5 memory=1Gi", "app cpu=3 memory=2Gi vendor.com/nic=1"};
	struct cluster_pod_sim *pod = extender_cluster_pod(c, texts[draw(c, ARRAY_SIZE(texts))]);
	size_t node = draw(c, CLUSTER_NODES);

	if (extender_cluster_begin(c, pod, node))
		extender_cluster_report(c, pod, draw(c, 2) ? "Running" : NULL, 0);
}

static void lose_object(struct extender_cluster *c, size_t node)
{
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;

	extender_cluster_nrt(c, node, &nrt);
	cluster_delete(&c->cluster, OBJECT_NRT, &nrt, 0);
}

static void it_agrees_with_filter_and_prioritize(void **state)
{
	static const struct synthetic machines[] = {
		{.sockets = 2, .numas = 2, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 16 * GIB},
		{.sockets = 2, .numas = 1, .uncores = 2, .cores = 8, .threads = 1, .memory_bytes = 32 * GIB},
		{.sockets = 2, .numas = 4, .uncores = 1, .cores = 2, .threads = 2, .memory_bytes = 8 * GIB}};
	uint64_t seed = test_seed(1);
	size_t n_aligned = 0;

	(void)state;
	for (size_t n = 0; n < N_CASES; n++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		struct node_sim_setup setups[CLUSTER_NODES];

		extender_cluster_draw(setups, machines, ARRAY_SIZE(machines), &seed);
		extender_cluster_init(&c, setups, seed);
		c.cluster.config.keep_constraints = true;
		for (size_t i = 0; i < CLUSTER_NODES; i++) {
			extender_cluster_report_node(&c, i);
			extender_cluster_publish(&c, i, 0);
		}
		for (size_t i = 0; i < N_STEPS; i++) {
			if (draw(&c, 4) == 0)
				place(&c);
			if (draw(&c, 16) == 0)
				lose_object(&c, draw(&c, CLUSTER_NODES));
			else if (draw(&c, 3) == 0)
				extender_cluster_publish(&c, draw(&c, CLUSTER_NODES), 0);
			n_aligned += compare(&c, draw(&c, 3) ? &answer_best : &pass_unknown, draw(&c, 2));
		}
	}
	assert_true(n_aligned > (size_t)N_CASES * N_STEPS / 2);
}

/* ---- single answers */

static struct extender_cluster *new_cluster(void)
{
	struct extender_cluster *c = malloc(sizeof(*c));

	assert_non_null(c);
	extender_cluster_init_alike(c, &node_sim_plain);
	c->cluster.config.keep_constraints = true;
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_report_node(c, i);
	return c;
}

static void free_cluster(struct extender_cluster *c)
{
	extender_cluster_release(c);
	free(c);
}

static void constraints_of_the_nodes_count_unless_nodes_are_named(void **state)
{
	struct extender_cluster *c = new_cluster();
	const struct cluster_pod_sim *pod = extender_cluster_pod(c, POD);
	struct extender_args how = {.all_nodes = true, .limit = 2};
	struct nodes nodes;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(doc_release) struct doc node = DOC_INIT;
		struct err err = {""};

		extender_cluster_node(c, i, &node);
		assert_non_null(doc_add_bool(doc_find_or_add_map(&node, "spec"), "unschedulable", true));
		assert_int_equal(cluster_update(&c->cluster, OBJECT_NODE, &node, 0, &err), 0);
	}
	set_text(&how, plain);
	choose(c, &answer_best, pod, &how, &nodes);
	assert_int_equal(nodes.n, 2);
	assert_int_equal(nodes.items[0], 2);
	assert_int_equal(nodes.items[1], 3);
	assert_int_equal(admit(c, &answer_best, pod), 0xf);
	how.all_nodes = false;
	choose(c, &answer_best, pod, &how, &nodes);
	assert_int_equal(nodes.items[0], 0);
	assert_int_equal(nodes.items[1], 1);
	free_cluster(c);
}

static void an_assumed_pod_is_forgotten_unless_a_later_request_has_assumed_it(void **state)
{
	static const struct extender_args how = {.limit = 1, .assume = true};
	struct extender_cluster *c = new_cluster();
	struct cluster_pod_sim *pod = extender_cluster_pod(c, POD);
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct nodes nodes;

	(void)state;
	pod->arrival = 2;
	choose(c, &answer_best, pod, &how, &nodes);
	test_assert_text("node", nodes.assumed, "node-0");
	assert_int_equal(c->cluster.n_assumed, 1);
	extender_cluster_args(c, pod, &args);
	args.pod.arrival = 1;
	extender_forget(&c->cluster, &args.pod);
	assert_int_equal(c->cluster.n_assumed, 1);
	args.pod.arrival = 3;
	extender_forget(&c->cluster, &args.pod);
	assert_int_equal(c->cluster.n_assumed, 0);
	extender_forget(&c->cluster, &args.pod);
	/* A bound pod is not forgotten. */
	extender_cluster_report(c, pod, NULL, 0);
	extender_forget(&c->cluster, &args.pod);
	assert_int_equal(c->cluster.n_pods, 1);
	free_cluster(c);
}

static void a_gang_is_forgotten_pod_by_pod(void **state)
{
	static const struct extender_args how = {.limit = 1, .assume = true};
	struct extender_cluster *c = new_cluster();
	struct cluster_pod_sim *pod = extender_cluster_pod(c, POD);
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct nodes nodes;

	(void)state;
	pod->gang = "g";
	for (size_t i = 0; i < 2; i++)
		choose(c, &answer_best, pod, &how, &nodes);
	assert_true(c->cluster.n_assumed > 0);
	extender_cluster_args(c, pod, &args);
	extender_forget(&c->cluster, &args.pod);
	assert_int_equal(c->cluster.n_assumed, 0);
	free_cluster(c);
}

static void a_full_namespace_gets_no_node_for_an_assumed_pod(void **state)
{
	struct extender_args how = {.limit = 2, .assume = true};
	struct extender_cluster *c = new_cluster();
	struct nodes nodes;

	(void)state;
	c->cluster.config.namespace_assumed_max = 1;
	choose(c, &answer_best, extender_cluster_pod(c, POD), &how, &nodes);
	assert_int_equal(nodes.n, 2);
	choose(c, &answer_best, extender_cluster_pod(c, POD), &how, &nodes);
	assert_int_equal(nodes.n, 0);
	how.assume = false;
	choose(c, &answer_best, extender_cluster_pod(c, POD), &how, &nodes);
	assert_int_equal(nodes.n, 2);
	assert_int_equal(c->cluster.n_assumed, 1);
	free_cluster(c);
}

/* One node is judged per request; the next request continues. */
static void the_work_limit_counts(void **state)
{
	static const struct extender_args how = {.limit = CLUSTER_NODES, .all_nodes = true};
	struct extender_cluster *c = new_cluster();
	const struct cluster_pod_sim *pod = extender_cluster_pod(c, POD);
	struct extender_args args = how;
	struct nodes nodes;

	(void)state;
	set_text(&args, plain);
	for (size_t i = 1; i <= CLUSTER_NODES; i++) {
		c->verdicts.projections.work = (struct work_limit){.until_ns = 1};
		choose(c, &pass_unknown, pod, &args, &nodes);
		assert_int_equal(nodes.n, i);
		assert_int_equal(nodes.n_unreached, CLUSTER_NODES - i);
	}
	c->verdicts.projections.work = (struct work_limit){.until_ns = 1};
	assert_int_equal(admit(c, &answer_best, extender_cluster_pod(c, "app cpu=2 memory=1Gi")), 1);
	free_cluster(c);
}

/* A question about a pod that runs is no use of the place that is reserved for the next pod of its controller. */
static void a_bound_pod_uses_no_reservation(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	char id[] = "r", none[] = "", namespace[] = "default", name[] = "web", controller[] = "c1";
	const struct cluster_pod_sim reserved = {.name = "reserved", .text = "app cpu=4 memory=64Mi"};
	int64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;
	const struct reservation r = {.id = id,
		.namespace = namespace,
		.pod = name,
		.uid = none,
		.controller = controller,
		.created_s = now_s,
		.expires_s = now_s + 600};
	struct cluster_pod_sim *pod;
	size_t before;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	pod = extender_cluster_pod(&c, "app cpu=1 memory=64Mi");
	pod->controller = controller;
	pod->created_s = now_s - 100;
	assert_true(extender_cluster_begin(&c, pod, 0));
	extender_cluster_report(&c, pod, "Running", 0);
	extender_cluster_publish(&c, 0, 0);
	extender_cluster_reserve(&c, 0, &r, &reserved);
	before = c.cluster.nodes[0]->n_pods;
	extender_cluster_ask(&c, &answer_all, pod, 0);
	assert_int_equal(c.cluster.nodes[0]->n_pods, before);
	assert_int_equal(before, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_agrees_with_filter_and_prioritize),
		cmocka_unit_test(constraints_of_the_nodes_count_unless_nodes_are_named),
		cmocka_unit_test(an_assumed_pod_is_forgotten_unless_a_later_request_has_assumed_it),
		cmocka_unit_test(a_gang_is_forgotten_pod_by_pod),
		cmocka_unit_test(a_full_namespace_gets_no_node_for_an_assumed_pod),
		cmocka_unit_test(the_work_limit_counts),
		cmocka_unit_test(a_bound_pod_uses_no_reservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
