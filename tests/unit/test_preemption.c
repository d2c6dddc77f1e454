/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which victims /preempt returns, and how many violations of PodDisruptionBudgets. */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "tests/lib/extender_cluster.h"

#define PODS_MAX    8
#define BUDGETS_MAX 3

/* node-0 has two NUMA nodes with 7 and 8 free CPUs. */
struct preemption {
	struct {
		const char *text;
		int priority;
		const char *app;
		bool repels;
	} pods[PODS_MAX];                 /* p0, p1, ... of node-0, started in this order */
	const char *budgets[BUDGETS_MAX]; /* YAML; none at all = the extender may not list them */
	const char *asked;                /* the scheduler's victims */
	const char *pod;                  /* of priority 9 */
	const char *nominated;            /* its nominated node; NULL = none */
	uint64_t now_ms;
	bool by_amounts;
	const char *node; /* its Node; NULL = without a limit of pods */
	const char *want; /* the victims and the number of violations; "" = the node does not pass */
};

#define CPU(n)              "app cpu=" #n " memory=1Gi"
#define STATUS(status)      ", status: {" status "}}"
#define BUDGET(app, status) BUDGET_OF("default", "{matchLabels: {app: " app "}}", status)
#define BUDGET_OF(namespace, selector, status) \
	"{metadata: {namespace: " namespace ", name: b}, spec: {selector: " selector "}" STATUS(status)
#define NO_BUDGET BUDGET_OF("other", "{}", "disruptionsAllowed: 0")

static void report_object(struct extender_cluster *c, enum object_kind kind, const char *yaml)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	if (yaml_parse(yaml, strlen(yaml), &object, &err) < 0 ||
		cluster_update(&c->cluster, kind, &object, 0, &err) < 0)
		fail_msg("%s: %s", yaml, err.text);
}

static void fill_node(struct extender_cluster *c, const struct preemption *p)
{
	extender_cluster_init_alike(c, &node_sim_nics);
	if (p->node)
		report_object(c, OBJECT_NODE, p->node);
	else
		extender_cluster_report_node(c, 0);
	for (size_t i = 0; i < PODS_MAX && p->pods[i].text; i++) {
		struct cluster_pod_sim *pod = extender_cluster_pod(c, p->pods[i].text);

		pod->priority = p->pods[i].priority;
		pod->app = p->pods[i].app;
		pod->repels = p->pods[i].repels;
		assert_true(extender_cluster_begin(c, pod, 0));
		extender_cluster_report(c, pod, "Running", 0);
	}
	extender_cluster_publish(c, 0, 0);
	if (p->budgets[0]) {
		cluster_list_begin(&c->cluster, OBJECT_PDB);
		for (size_t i = 0; i < BUDGETS_MAX && p->budgets[i]; i++)
			report_object(c, OBJECT_PDB, p->budgets[i]);
		cluster_list_end(&c->cluster, OBJECT_PDB, 1, 0);
	}
}

/* "p1 p2" */
static void ask_for(const char *text, struct extender_victims *ret)
{
	*ret = (struct extender_victims){
		.node = strdup("node-0"), .uids = calloc(PODS_MAX + 1, sizeof(*ret->uids))};
	assert_non_null(ret->uids);
	for (size_t at = 0, len; text[at]; at += len + (text[at + len] == ' ')) {
		len = strcspn(text + at, " ");
		ret->uids[ret->n_uids++] = strndup(text + at, len);
	}
}

static void print_victims(const struct extender_victims *v, struct strbuf *out)
{
	for (size_t i = 0; i < v->n_uids; i++)
		strbuf_addf(out, "%s ", v->uids[i]);
	strbuf_addf(out, "%lld", (long long)v->pdb_violations);
}

static void preempt(struct extender_cluster *c, const struct preemption *p, struct strbuf *out)
{
	CLEANUP(extender_preemption_release) struct extender_preemption args = {.by_amounts = p->by_amounts};
	struct cluster_pod_sim *pod = extender_cluster_pod(c, p->pod);
	struct verb_counts counts = {0};
	struct extender_args request;
	struct pod_class *class;

	pod->priority = 9;
	pod->nominated = p->nominated;
	extender_cluster_args(c, pod, &request);
	args.pod = request.pod;
	args.items = calloc(1, sizeof(*args.items));
	assert_non_null(args.items);
	ask_for(p->asked, &args.items[args.n_items++]);
	class = pod_classes_take(&c->cluster.classes, &args.pod.template.pod);
	extender_preempt(&c->verdicts, &answer_best, &args, class, p->now_ms, &counts);
	pod_classes_drop(&c->cluster.classes, class);
	if (counts.settling)
		strbuf_addstr(out, "settling");
	if (counts.n_passing > 0)
		print_victims(&args.items[0], out);
}

static void check(const struct preemption *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1000);
		char name[32];

		fill_node(&c, &cases[i]);
		preempt(&c, &cases[i], &out);
		snprintf(name, sizeof(name), "case %zu", i);
		test_assert_text(name, out.len > 0 ? out.text : "", cases[i].want);
	}
}

/* p1 and p2 hold the NUMA node with 8 CPUs. */
#define HALVES                                                \
	{CPU(4), 0, "a"}, {CPU(4), 1, "a"}, {CPU(4), 2, "b"}, \
	{                                                     \
		CPU(3), 3, "b"                                \
	}

static void only_necessary_victims_are_added(void **state)
{
	static const struct preemption cases[] = {
		/* The scheduler's victims suffice. */
		{.pods = {HALVES}, .asked = "p1 p2", .pod = CPU(8), .want = "p2 p1 0"},
		/* The scheduler checks only the sum of CPUs. The most important victim comes first: the scheduler compares the
		 * nodes by the priority of the first. */
		{.pods = {HALVES}, .asked = "p0", .pod = CPU(8), .want = "p2 p1 p0 2"},
		/* A pod of the same priority is not a victim. */
		{.pods = {{CPU(8), 9, NULL}, {CPU(7), 9, NULL}}, .asked = "p1", .pod = CPU(8), .want = ""},
		/* The scheduler's victim has ended. */
		{.pods = {HALVES}, .asked = "p7", .pod = CPU(8), .want = "p7 p2 p1 2"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void nodes_that_only_the_extender_rejects_get_victims(void **state)
{
	static const struct preemption cases[] = {
		{.pods = {HALVES}, .asked = "", .pod = CPU(8), .want = "p2 p1 2"},
		{.pods = {{CPU(4), 0, NULL}}, .asked = "", .pod = CPU(8), .want = ""},
		{.pods = {{CPU(4), 0, NULL}}, .asked = "", .pod = CPU(16), .want = ""},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void few_victims_of_low_priority_are_chosen(void **state)
{
	static const struct preemption cases[] = {
		/* One pod of 7 CPUs rather than two of 4. */
		{.pods = {{CPU(7), 1, NULL}, {CPU(4), 0, NULL}, {CPU(4), 1, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "",
			.pod = CPU(7),
			.want = "p0 0"},
		/* Two pods of low priority rather than one of higher priority. */
		{.pods = {{CPU(7), 2, NULL}, {CPU(4), 0, NULL}, {CPU(4), 1, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "",
			.pod = CPU(7),
			.want = "p2 p1 0"},
		/* The smaller of two pods that suffice. */
		{.pods = {{CPU(7), 9, NULL}, {CPU(5), 0, NULL}, {CPU(3), 0, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "",
			.pod = CPU(3),
			.want = "p2 0"},
		/* The scheduler's victims stay if they are not necessary, unless it may have other reasons. */
		{.pods = {{CPU(4), 0, NULL}, {CPU(4), 0, NULL}, {CPU(4), 0, NULL}, {CPU(3), 0, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "p0 p3",
			.pod = CPU(8),
			.by_amounts = true,
			.want = "p1 p2 0"},
		{.pods = {{CPU(4), 0, NULL}, {CPU(4), 0, NULL}, {CPU(4), 0, NULL}, {CPU(3), 0, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "p0 p3",
			.pod = CPU(8),
			.want = "p0 p1 p2 p3 0"},
		{.pods = {{CPU(4), 0, NULL, .repels = true}, {CPU(4), 0, NULL}, {CPU(4), 0, NULL},
			 {CPU(3), 0, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "p0 p3",
			.pod = CPU(8),
			.by_amounts = true,
			.want = "p0 p1 p2 0"},
		/* The node takes two pods. */
		{.pods = {{CPU(4), 0, NULL}, {CPU(4), 0, NULL}, {CPU(4), 0, NULL}, {CPU(3), 0, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "p0 p3",
			.pod = CPU(8),
			.by_amounts = true,
			.node = "{metadata: {name: node-0}, status: {allocatable: {cpu: 15, memory: 60Gi, pods: 2}}}",
			.want = "p1 p2 p3 0"},
		/* The pod that holds no CPU exclusively, but whose requests count against the node. */
		{.pods = {{"app cpu=3500m memory=1Gi vendor.com/nic=1", 0, NULL}, {CPU(4), 0, NULL},
			 {CPU(4), 0, NULL}},
			.budgets = {NO_BUDGET},
			.asked = "",
			.pod = CPU(4),
			.node = "{metadata: {name: node-0}, status: {allocatable: {cpu: 15, memory: 60Gi, pods: 9,"
				" vendor.com/nic: 4}}}",
			.want = "p0 0"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void violations_are_counted_as_the_scheduler_does(void **state)
{
#define ON_HALVES(budget, count)                                                                          \
	{                                                                                                 \
		.pods = {HALVES}, .budgets = {budget}, .asked = "", .pod = CPU(8), .want = "p2 p1 " count \
	}
	static const struct preemption cases[] = {
		ON_HALVES(NO_BUDGET, "0"),
		ON_HALVES(BUDGET("a", "disruptionsAllowed: 0"), "1"),
		ON_HALVES(BUDGET("a", "disruptionsAllowed: 1"), "0"),
		/* The scheduler counts the more important p3 before p2. */
		ON_HALVES(BUDGET("b", "disruptionsAllowed: 1"), "1"),
		ON_HALVES(BUDGET("b", "disruptionsAllowed: 2"), "0"),
		ON_HALVES(BUDGET_OF("default", "{matchExpressions: [{key: app, operator: Exists}]}",
				  "disruptionsAllowed: 2"),
			"1"),
		/* Evicted already, although the Pod is still there. */
		ON_HALVES(BUDGET("a", "disruptionsAllowed: 0, disruptedPods: {p1: '2026-01-01T00:00:00Z'}"),
			"0"),
		/* Unlike the Eviction API, the scheduler ignores budgets with an empty selector. */
		ON_HALVES(BUDGET_OF("default", "{}", "disruptionsAllowed: 0"), "0"),
		ON_HALVES("{metadata: {namespace: default, name: b}}", "0"),
		ON_HALVES(BUDGET_OF("other", "{matchLabels: {app: a}}", "disruptionsAllowed: 0"), "0"),
		{.pods = {{CPU(4), 0, NULL}, {CPU(4), 1, NULL}, {CPU(4), 2, NULL}},
			.budgets = {BUDGET_OF("default",
				"{matchExpressions: [{key: app, operator: DoesNotExist}]}",
				"disruptionsAllowed: 0")},
			.asked = "",
			.pod = CPU(8),
			.want = "p2 p1 0"},
		/* The node's violations are the scheduler's plus those of added victims, minus those of dropped victims. */
		{.pods = {{CPU(4), 0, "a"}, {CPU(4), 0, "b"}, {CPU(4), 0, NULL}, {CPU(3), 0, NULL}},
			.budgets = {BUDGET("b", "disruptionsAllowed: 0")},
			.asked = "p0",
			.pod = CPU(8),
			.want = "p0 p1 p2 1"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void a_violation_costs_more_than_priority_and_number(void **state)
{
	static const struct preemption cases[] = {
		/* p0 has the higher priority. */
		{.pods = {{CPU(7), 3, NULL}, {CPU(8), 1, "a"}},
			.budgets = {BUDGET("a", "disruptionsAllowed: 0")},
			.asked = "",
			.pod = CPU(7),
			.want = "p0 0"},
		{.pods = {{CPU(7), 3, NULL}, {CPU(8), 1, "a"}},
			.budgets = {BUDGET("a", "disruptionsAllowed: 1")},
			.asked = "",
			.pod = CPU(7),
			.want = "p1 0"},
		/* Two victims without a violation. */
		{.pods = {{CPU(7), 0, "a"}, {CPU(4), 1, NULL}, {CPU(4), 1, NULL}},
			.budgets = {BUDGET("a", "disruptionsAllowed: 0")},
			.asked = "",
			.pod = CPU(7),
			.want = "p1 p2 0"},
		/* A violation is the only way. */
		{.pods = {{CPU(7), 9, NULL}, {CPU(8), 1, "a"}},
			.budgets = {BUDGET("a", "disruptionsAllowed: 0")},
			.asked = "",
			.pod = CPU(7),
			.want = "p1 1"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases));
}

static void budgets_and_labels_change(void **state)
{
	static const struct preemption p = {.pods = {HALVES},
		.budgets = {BUDGET("c", "disruptionsAllowed: 0")},
		.asked = "",
		.pod = CPU(8)};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1000);
	CLEANUP(doc_release) struct doc budget = DOC_INIT;
	static const char text[] = BUDGET("a", "disruptionsAllowed: 0");

	(void)state;
	fill_node(&c, &p);
	preempt(&c, &p, &out);
	report_object(&c, OBJECT_PDB, text); /* the same budget, with another selector */
	preempt(&c, &p, &out);
	c.pods[1].app = "b";
	extender_cluster_report(&c, &c.pods[1], "Running", 0);
	preempt(&c, &p, &out);
	c.pods[2].app = "a";
	extender_cluster_report(&c, &c.pods[2], "Running", 0);
	preempt(&c, &p, &out);
	assert_int_equal(yaml_parse(text, strlen(text), &budget, NULL), 0);
	cluster_delete(&c.cluster, OBJECT_PDB, &budget, 0);
	preempt(&c, &p, &out);
	report_object(&c, OBJECT_PDB, text);
	preempt(&c, &p, &out);
	cluster_list_begin(&c.cluster, OBJECT_PDB);
	cluster_list_end(&c.cluster, OBJECT_PDB, 2, 0);
	preempt(&c, &p, &out);
	c.cluster.budgets.outdated = true;
	preempt(&c, &p, &out);
	test_assert_text("victims", out.text, "p2 p1 0p2 p1 1p2 p1 0p2 p1 1p2 p1 0p2 p1 1p2 p1 0p2 p1 2");
}

/* A pod that no node would be assumed for, and a request that the scheduler has given up. */
static void nothing_is_preempted_in_vain(void **state)
{
	static const struct preemption p = {.pods = {HALVES}, .asked = "", .pod = CPU(8)};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1000);
	struct cluster_pod_sim *pod;

	(void)state;
	fill_node(&c, &p);
	c.cluster.config.namespace_assumed_max = 1;
	preempt(&c, &p, &out);
	test_assert_text("victims", out.text, "p2 p1 2");
	strbuf_reset(&out);
	pod = extender_cluster_pod(&c, "app cpu=1 memory=64Mi");
	pod->arrival = 2;
	assert_int_not_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 0);
	preempt(&c, &p, &out);
	assert_int_equal(out.len, 0);
	/* The same pod's earlier request does not end its assumption. */
	c.n_pods = (size_t)(pod - c.pods);
	preempt(&c, &p, &out);
	assert_non_null(cluster_find_pod(&c.cluster, pod->name));
}

/* ---- nominated pods */

#define ALL_NODES ((1u << CLUSTER_NODES) - 1)

/* A pod of 8 CPUs and priority 5 that is not bound. */
#define WAITING(status)                                               \
	"{metadata: {name: p0, namespace: default, uid: p0}, spec: {" \
	"priority: 5, containers: [{name: app, resources: {limits: {cpu: 8, memory: 1Gi}}}]}" status "}"
#define NOMINATED WAITING(", status: {nominatedNodeName: node-0}")

/* The nodes on which a pod of this priority may go, one bit per node. */
static unsigned takes(struct extender_cluster *c, int priority, const char *text)
{
	struct cluster_pod_sim *pod = extender_cluster_pod(c, text);

	pod->priority = priority;
	return extender_cluster_ask(c, &answer_all, pod, 0);
}

static void a_nominated_pod_keeps_its_room(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *nominated, *victim;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	nominated = extender_cluster_pod(&c, CPU(8));
	nominated->priority = 5;
	victim = extender_cluster_pod(&c, CPU(8));
	assert_true(extender_cluster_begin(&c, victim, 0));
	extender_cluster_report(&c, victim, "Running", 0);
	extender_cluster_publish(&c, 0, 0);
	/* While the victim is there: any CPU of the node may be needed. */
	report_object(&c, OBJECT_POD, NOMINATED);
	assert_int_equal(takes(&c, 5, CPU(1)), ALL_NODES & ~1u);
	assert_int_equal(takes(&c, 6, CPU(1)), ALL_NODES);
	extender_cluster_report_deleted(&c, victim, 0);
	assert_int_equal(takes(&c, 5, CPU(7)), ALL_NODES);
	assert_int_equal(takes(&c, 5, CPU(8)), ALL_NODES & ~1u);
	assert_int_equal(takes(&c, 6, CPU(8)), ALL_NODES);
	/* The pod itself gets its room, and is assumed. */
	assert_int_equal(extender_cluster_ask(&c, &answer_best, nominated, 0), 1);
	assert_int_equal(c.cluster.n_nominations, 0);
	assert_int_equal(c.cluster.n_assumed, 1);
	assert_int_equal(takes(&c, 6, CPU(8)), ALL_NODES & ~1u);
	report_object(&c, OBJECT_POD, NOMINATED);
	assert_int_equal(c.cluster.n_nominations, 0);
}

static void a_nomination_ends(void **state)
{
	static const char *const ends[] = {WAITING(""), WAITING(", status: {nominatedNodeName: node-1}"),
		"{metadata: {name: p0, namespace: default, uid: p0}, spec: {nodeName: node-2, containers: [{name: app}]}}",
		"{metadata: {name: p0, namespace: default, uid: p0}, status: {phase: Failed}}"};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	assert_string_equal(extender_cluster_pod(&c, CPU(8))->name, "p0");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		report_object(&c, OBJECT_POD, NOMINATED);
		report_object(&c, OBJECT_POD, NOMINATED);
		assert_int_equal(c.cluster.n_nominations, 1);
		assert_int_equal(takes(&c, 0, CPU(8)) & 1, 0);
		report_object(&c, OBJECT_POD, ends[i]);
		assert_int_equal(c.cluster.n_nominations, i == 1);
		assert_int_equal(takes(&c, 0, CPU(8)) & 1, 1);
		assert_int_equal(yaml_parse(NOMINATED, strlen(NOMINATED), &object, NULL), 0);
		cluster_delete(&c.cluster, OBJECT_POD, &object, 0);
		doc_release(&object);
		assert_int_equal(c.cluster.n_nominations, 0);
	}
	report_object(&c, OBJECT_POD, NOMINATED);
	cluster_list_begin(&c.cluster, OBJECT_POD);
	report_object(&c, OBJECT_POD, NOMINATED);
	cluster_list_end(&c.cluster, OBJECT_POD, 1, 0);
	assert_int_equal(c.cluster.n_nominations, 1);
	cluster_list_begin(&c.cluster, OBJECT_POD);
	cluster_list_end(&c.cluster, OBJECT_POD, 2, 0);
	assert_int_equal(c.cluster.n_nominations, 0);
	/* A node that is not known yet, and pods that no kubelet aligns. */
	report_object(&c, OBJECT_POD, WAITING(", status: {nominatedNodeName: node-9}"));
	assert_int_equal(c.cluster.n_nominations, 1);
	report_object(&c, OBJECT_POD, WAITING(""));
	assert_int_equal(c.cluster.n_nominations, 0);
	assert_null(cluster_find_node(&c.cluster, "node-9"));
	report_object(&c, OBJECT_POD,
		"{metadata: {name: q, namespace: default, uid: q}, spec: {containers: [{name: app}]},"
		" status: {nominatedNodeName: node-0}}");
	assert_int_equal(c.cluster.n_nominations, 0);
}

/* Verdicts on the node stay valid, and its pods keep their order. */
static void a_request_leaves_no_trace(void **state)
{
	static const char *const pod =
		"{metadata: {name: %1$s, namespace: default, uid: %1$s}, spec: {priority: %2$d, containers: [{name: app,"
		" resources: {limits: {cpu: 1, memory: 1Gi}}}]}, status: {nominatedNodeName: node-0}}";
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct pod_info *before[4];
	struct node_info *node;
	uint64_t version;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_nics);
	for (int i = 0; i < (int)ARRAY_SIZE(before); i++) {
		char name[] = {(char)('a' + i), '\0'}, text[512];

		snprintf(text, sizeof(text), pod, name, i % 2);
		report_object(&c, OBJECT_POD, text);
	}
	node = cluster_find_node(&c.cluster, "node-0");
	assert_int_equal(node->n_pods, ARRAY_SIZE(before));
	memcpy(before, node->pods, sizeof(before));
	version = node->version;
	cluster_begin_request(&c.cluster, "default", "", "b", 0);
	cluster_hide_nominations(&c.cluster, "b", 1);
	assert_int_equal(node->n_pods, 1);
	assert_ptr_equal(node->pods[0], before[3]);
	assert_true(node->version > version);
	cluster_end_request(&c.cluster, "default", "", "b");
	assert_int_equal(node->n_pods, ARRAY_SIZE(before));
	assert_memory_equal(node->pods, before, sizeof(before));
	assert_int_equal(node->version, version);
}

static void no_second_pod_preempts_for_the_room_of_a_nominated_pod(void **state)
{
	static const struct preemption p = {
		.pods = {HALVES}, .budgets = {NO_BUDGET}, .asked = "", .pod = CPU(8)};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1000);

	(void)state;
	fill_node(&c, &p);
	report_object(&c, OBJECT_POD,
		"{metadata: {name: other, namespace: default, uid: other}, spec: {priority: 9, containers: [{name: app,"
		" resources: {limits: {cpu: 8, memory: 1Gi}}}]}, status: {nominatedNodeName: node-0}}");
	preempt(&c, &p, &out);
	assert_int_equal(out.len, 0);
	report_object(&c, OBJECT_POD,
		"{metadata: {name: other, namespace: default, uid: other}, spec: {containers: [{name: app}]}}");
	preempt(&c, &p, &out);
	test_assert_text("victims", out.text, "p2 p1 0");
}

static void no_pod_preempts_again_until_its_node_has_settled(void **state)
{
	static const struct preemption fits = {.asked = "", .pod = CPU(8), .nominated = "node-0"},
				       late = {.asked = "",
					       .pod = CPU(8),
					       .nominated = "node-0",
					       .now_ms = 2000},
				       elsewhere = {.asked = "", .pod = CPU(8), .nominated = "node-1"},
				       large = {.asked = "", .pod = CPU(14), .nominated = "node-0"},
				       filled = {.pods = {{CPU(8), 0, NULL}, {CPU(4), 0, NULL}},
					       .budgets = {NO_BUDGET}};
	const struct preemption *const cases[] = {&fits, &late, &elsewhere, &large};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1000);
	struct cluster_pod_sim *started;

	(void)state;
	fill_node(&c, &filled);
	started = extender_cluster_pod(&c, CPU(1));
	assert_true(extender_cluster_begin(&c, started, 0));
	extender_cluster_report(&c, started, NULL, 0);
	extender_cluster_report_deleted(&c, &c.pods[0], 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		preempt(&c, cases[i], &out);
		strbuf_addf(&out, "|");
	}
	extender_cluster_publish(&c, 0, 0);
	preempt(&c, &fits, &out);
	test_assert_text("answers", out.text, "settling|||p1 0|");
}

/* ---- limits */

static void labels_and_budgets_have_limits(void **state)
{
	struct disruption_budgets budgets = {.version = 0};
	struct budgeted_pod pod = {.labels = NULL};
	CLEANUP(doc_release) struct doc labels = {.kind = DOC_MAP};
	struct err err = {""};

	(void)state;
	for (unsigned i = 0; i <= DISRUPTION_BUDGETS_MAX; i++) {
		CLEANUP(doc_release) struct doc object = {.kind = DOC_MAP};
		struct doc *metadata = doc_add_map(&object, "metadata");
		char name[16];

		snprintf(name, sizeof(name), "b%u", i);
		doc_add_string(metadata, "name", name);
		doc_add_string(metadata, "namespace", "a");
		assert_int_equal(disruption_budgets_update(&budgets, &object, &err),
			i < DISRUPTION_BUDGETS_MAX ? 0 : -EFBIG);
	}
	test_assert_text(
		"error", err.text, "'a/b1000': the namespace has more than 1000 PodDisruptionBudgets");
	for (unsigned i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "l%u", i);
		doc_add_string(&labels, name, "x");
	}
	disruption_budgets_begin(&budgets);
	assert_false(disruption_budgets_violates(&budgets, "a", "p", &pod));
	budgeted_pod_set_labels(&pod, &labels);
	assert_null(pod.labels);
	assert_true(disruption_budgets_violates(&budgets, "a", "p", &pod));
	assert_false(disruption_budgets_violates(&budgets, "b", "p", &pod));
	budgeted_pod_set_labels(&pod, NULL);
	assert_false(disruption_budgets_violates(&budgets, "a", "p", &pod));
	budgeted_pod_release(&pod);
	disruption_budgets_release(&budgets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_necessary_victims_are_added),
		cmocka_unit_test(nodes_that_only_the_extender_rejects_get_victims),
		cmocka_unit_test(few_victims_of_low_priority_are_chosen),
		cmocka_unit_test(violations_are_counted_as_the_scheduler_does),
		cmocka_unit_test(a_violation_costs_more_than_priority_and_number),
		cmocka_unit_test(budgets_and_labels_change),
		cmocka_unit_test(nothing_is_preempted_in_vain),
		cmocka_unit_test(a_nominated_pod_keeps_its_room),
		cmocka_unit_test(a_nomination_ends),
		cmocka_unit_test(a_request_leaves_no_trace),
		cmocka_unit_test(no_second_pod_preempts_for_the_room_of_a_nominated_pod),
		cmocka_unit_test(no_pod_preempts_again_until_its_node_has_settled),
		cmocka_unit_test(labels_and_budgets_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
