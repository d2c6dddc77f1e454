/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests reservations: their text, and what the extender does with the reservations of its nodes.
 */
#include <errno.h>

#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "tests/lib/extender_cluster.h"

#define NODES ((1u << CLUSTER_NODES) - 1)

static void parse(const char *yaml, struct doc *ret)
{
	struct err err = {""};

	*ret = (struct doc)DOC_INIT;
	if (yaml_parse(yaml, strlen(yaml), ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- the text */

static char namespace[] = "a", name[] = "web-1", none[] = "", controller[] = "c1";
static const struct reservation example = {.namespace = namespace,
	.pod = name,
	.uid = none,
	.controller = controller,
	.closed = true,
	.step = 3,
	.created_s = 1700000000,
	.expires_s = 1700000600};

static void what_is_printed_is_parsed(void **state)
{
	CLEANUP(doc_release) struct doc pod;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(reservation_release) struct reservation r = {0};

	(void)state;
	parse("{metadata: {name: web-1}, spec: {nodeName: n, overhead: {cpu: 1}, volumes: [{name: v}],"
	      " initContainers: [{name: i, image: x, resources: {limits: {cpu: 2, memory: 1Gi}}}],"
	      " containers: [{name: a, env: [{name: SECRET, value: s}], resources: {limits: {cpu: 8}}}]}}",
		&pod);
	assert_int_equal(reservation_print(&example, &pod, &text), 0);
	assert_null(strstr(text.text, "SECRET"));
	assert_null(strstr(text.text, "image"));
	assert_int_equal(reservation_parse(RESERVATION_PREFIX "x1", text.text, &r, NULL), 0);
	assert_string_equal(r.id, "x1");
	assert_string_equal(r.namespace, "a");
	assert_string_equal(r.pod, "web-1");
	assert_string_equal(r.uid, "");
	assert_string_equal(r.controller, "c1");
	assert_true(r.closed);
	assert_int_equal(r.step, 3);
	assert_int_equal(r.created_s, example.created_s);
	assert_int_equal(r.expires_s, example.expires_s);
	assert_int_equal(r.request.n_containers, 2);
}

/* The size is known before the text, from the requests alone. */
static void the_size_is_estimated(void **state)
{
	static const char *const pods[] = {
		"{spec: {containers: [{name: a, resources: {limits: {cpu: 8, memory: 1Gi}, requests: {cpu: 8, memory: 1Gi}}}]}}",
		"{spec: {overhead: {cpu: 1, memory: 64Mi}, resources: {limits: {cpu: 4}, requests: {cpu: 4}},"
		" initContainers: [{name: i, restartPolicy: Always, resources: {limits: {cpu: 2, vendor.com/nic: 1},"
		" requests: {cpu: 1500m, vendor.com/nic: 1}}}], containers: [{name: abcdefghijklmnopqrstuvwxyz, resources: {}}]}}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		CLEANUP(doc_release) struct doc pod;
		CLEANUP(pod_template_release) struct pod_template template = {0};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		size_t size;

		parse(pods[i], &pod);
		assert_int_equal(pod_template_from_pod(&pod, &template, NULL), 0);
		assert_int_equal(reservation_print(&example, &pod, &text), 0);
		size = reservation_size(&example, &template.pod);
		assert_in_range(size, text.len, text.len + 500);
	}
}

static void bad_text_is_one_line(void **state)
{
	static const char *const bad[][2] = {
		{"{", "annotation 'reservation.nrtd.dev/x': "},
		{"[]", "annotation 'reservation.nrtd.dev/x': a map with a namespace is expected"},
		{"{\"namespace\":\"a\",\"created\":\"now\"}",
			"annotation 'reservation.nrtd.dev/x': created: not a time"},
		{"{\"namespace\":\"a\",\"created\":\"2026-01-01T00:00:00Z\"}",
			"annotation 'reservation.nrtd.dev/x': expires: not a time"},
		{"{\"namespace\":\"a\",\"created\":\"2026-01-01T00:00:00Z\",\"expires\":\"2026-01-01T00:00:00Z\"}",
			"annotation 'reservation.nrtd.dev/x': "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct reservation r = {0};
		struct err err = {""};

		assert_int_equal(reservation_parse(RESERVATION_PREFIX "x", bad[i][0], &r, &err), -EINVAL);
		if (strncmp(err.text, bad[i][1], strlen(bad[i][1])) != 0 || strchr(err.text, '\n'))
			fail_msg("%s: %s", bad[i][0], err.text);
	}
	assert_null(reservation_id("nrtd.dev/node-state"));
	assert_null(reservation_id(RESERVATION_PREFIX));
}

/* ---- the extender */

/* Passes node-N with reservations to the cache: the JSON of annotations, "" = none. */
static void annotate(struct extender_cluster *c, size_t node, const char *annotations)
{
	CLEANUP(freep)
	char *yaml = xasprintf("{metadata: {name: node-%zu, annotations: {a: b%s%s}},"
			       " status: {allocatable: {cpu: 64, memory: 64Gi}}}",
		node, *annotations ? ", " : "", annotations);
	CLEANUP(doc_release) struct doc object;
	struct err err = {""};

	parse(yaml, &object);
	if (cluster_update(&c->cluster, OBJECT_NODE, &object, 0, &err) < 0)
		fail_msg("%s", err.text);
}

/* An annotation that reserves `cpus` CPUs. `who`: further members, such as "\"uid\":\"p1\",". */
static char *reserve_for_s(const char *id, const char *who, unsigned cpus, int64_t seconds)
{
	char created[TIMESTAMP_MICRO_MAX], expires[TIMESTAMP_MICRO_MAX];
	int64_t now_us = clock_ms(CLOCK_REALTIME) * 1000;

	timestamp_print_micro(now_us, created);
	timestamp_print_micro(now_us + seconds * 1000000, expires);
	return xasprintf("%s%s: '{\"namespace\":\"default\",%s\"created\":\"%s\",\"expires\":\"%s\","
			 "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":"
			 "{\"limits\":{\"cpu\":\"%u\",\"memory\":\"1Gi\"}}}]}}'",
		RESERVATION_PREFIX, id, who, created, expires, cpus);
}

static char *reserve(const char *id, const char *who, unsigned cpus)
{
	return reserve_for_s(id, who, cpus, 600);
}

/* The nodes that admit the pod, one bit per node. The pod is not assumed. */
static unsigned takes(struct extender_cluster *c, const char *text)
{
	return extender_cluster_ask(c, &answer_all, extender_cluster_pod(c, text), 0);
}

static void run_pod(struct extender_cluster *c, struct cluster_pod_sim *pod, size_t node)
{
	assert_true(extender_cluster_begin(c, pod, node));
	extender_cluster_report(c, pod, "Running", 0);
	extender_cluster_publish(c, node, 0);
}

/* Each node has places for a pod of 8 CPUs and a pod of 7. */
static void begin(struct extender_cluster *c)
{
	extender_cluster_init_alike(c, &node_sim_nics);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		annotate(c, i, "");
	assert_int_equal(takes(c, "app cpu=8 memory=1Gi"), NODES);
}

static void a_reservation_counts_until_it_is_removed_or_expires(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(freep) char *eight = reserve("x", "\"uid\":\"other\",", 8);
	CLEANUP(freep) char *seven = reserve("x", "\"uid\":\"other\",", 7);

	(void)state;
	begin(&c);
	annotate(&c, 2, eight);
	assert_int_equal(c.cluster.n_reservations, 1);
	assert_int_equal(c.cluster.n_assumed, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~4u);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	annotate(&c, 2, seven); /* the same reservation with other requests */
	assert_int_equal(c.cluster.n_reservations, 1);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
	annotate(&c, 2, "");
	assert_int_equal(c.cluster.n_reservations, 0);
	annotate(&c, 2, eight);
	/* A new list of pods contains no reservation. */
	cluster_list_begin(&c.cluster, OBJECT_POD);
	cluster_list_end(&c.cluster, OBJECT_POD, 1, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~4u);
	cluster_expire(&c.cluster, 599000 - 5000);
	assert_int_equal(c.cluster.n_reservations, 1);
	cluster_expire(&c.cluster, 600000);
	assert_int_equal(c.cluster.n_reservations, 0);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES);
}

static void the_pod_of_a_reservation_gets_its_node(void **state)
{
	static const struct {
		const char *who, *controller;
		unsigned cpus;
		bool may_use;
	} cases[] = {
		{"\"uid\":\"p1\",", NULL, 8, true},
		{"\"uid\":\"p2\",", NULL, 8, false},
		{"\"controller\":\"c1\",", "c1", 8, true},
		{"\"controller\":\"c1\",", "c2", 8, false},
		{"\"controller\":\"c1\",", NULL, 8, false},
		{"", NULL, 8, true},  /* equal requests */
		{"", NULL, 7, false}, /* other requests */
		{"\"uid\":\"p1\",\"closed\":true,", NULL, 8, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(freep) char *reservation = reserve("x", cases[i].who, cases[i].cpus);
		struct cluster_pod_sim *pod;
		unsigned nodes;

		begin(&c);
		annotate(&c, 2, reservation);
		pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
		assert_string_equal(pod->name, "p1");
		pod->controller = cases[i].controller;
		nodes = extender_cluster_ask(&c, &answer_best, pod, 0);
		if ((cluster_find_node(&c.cluster, "node-2")->reservations[0].user != NULL) !=
				cases[i].may_use ||
			(cases[i].may_use && nodes != 4))
			fail_msg("case %zu: node %u", i, nodes);
		/* Used or not, the reservation counts once. */
		assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
		/* The pod did not get the node: the reservation counts again. */
		cluster_forget_pod(&c.cluster, pod->name);
		nodes = takes(&c, "init cpu=8 memory=1Gi; app cpu=8 memory=1Gi");
		assert_int_equal(nodes, cases[i].cpus == 8 ? NODES & ~4u : NODES);
	}
}

/* A pod that runs where its reservation is uses the reservation until the Node changes, whatever else is reserved. */
static void a_bound_pod_keeps_its_reservation(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(freep) char *first = reserve("x", "\"uid\":\"p1\",", 8);
	CLEANUP(freep) char *second = reserve("y", "\"uid\":\"none\",", 3);
	CLEANUP(freep) char *both = xasprintf("%s, %s", first, second);
	struct cluster_pod_sim *pod;

	(void)state;
	begin(&c);
	annotate(&c, 2, first);
	pod = extender_cluster_pod(&c, "app cpu=8 memory=1Gi");
	assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 4);
	run_pod(&c, pod, 2);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES);
	annotate(&c, 2, both);
	assert_int_equal(takes(&c, "app cpu=7 memory=1Gi"), NODES & ~4u);
	assert_int_equal(takes(&c, "app cpu=4 memory=1Gi"), NODES);
}

/* The node of a reservation is full. Nobody gets what becomes free before the reservation's pod has enough. */
static void a_node_is_closed_while_room_is_made(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(freep) char *reservation = reserve("x", "\"uid\":\"none\",", 8);
	struct cluster_pod_sim *pods[3];

	(void)state;
	begin(&c);
	pods[0] = extender_cluster_pod(&c, "app cpu=4 memory=1Gi");
	pods[1] = extender_cluster_pod(&c, "app cpu=4 memory=1Gi");
	pods[2] = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		run_pod(&c, pods[i], 0);
	assert_int_equal(takes(&c, "app cpu=4 memory=1Gi"), NODES);
	annotate(&c, 0, reservation);
	assert_int_equal(takes(&c, "app cpu=4 memory=1Gi"), NODES & ~1u);
	extender_cluster_report(&c, pods[0], "Succeeded", 0);
	assert_int_equal(takes(&c, "app cpu=1 memory=1Gi"), NODES & ~1u);
	extender_cluster_report(&c, pods[1], "Succeeded", 0);
	assert_int_equal(takes(&c, "app cpu=4 memory=1Gi"), NODES);
	assert_int_equal(takes(&c, "app cpu=8 memory=1Gi"), NODES & ~1u);
}

/* The pod of an earlier step starts although room for the pod of a later step is being made on the node. */
static void later_steps_do_not_keep_earlier_pods_away(void **state)
{
	(void)state;
	for (unsigned step = 1; step <= 3; step += 2) {
		CLEANUP(extender_cluster_release) struct extender_cluster c;
		CLEANUP(freep) char *who = xasprintf("\"uid\":\"none\",\"step\":%u,", step);
		CLEANUP(freep) char *wide = reserve("x", who, 8);
		CLEANUP(freep) char *own = reserve("y", "\"uid\":\"p4\",\"step\":2,", 3);
		CLEANUP(freep) char *both = xasprintf("%s, %s", wide, own);
		struct cluster_pod_sim *pod;
		unsigned nodes;

		begin(&c);
		run_pod(&c, extender_cluster_pod(&c, "app cpu=4 memory=1Gi"), 0);
		run_pod(&c, extender_cluster_pod(&c, "app cpu=4 memory=1Gi"), 0);
		annotate(&c, 0, both);
		assert_int_equal(takes(&c, "app cpu=1 memory=1Gi"), NODES & ~1u);
		pod = extender_cluster_pod(&c, "app cpu=3 memory=1Gi");
		assert_string_equal(pod->name, "p4");
		nodes = extender_cluster_ask(&c, &answer_best, pod, 0);
		assert_int_equal(nodes == 1, step == 3);
		assert_int_equal(takes(&c, "app cpu=1 memory=1Gi"), NODES & ~1u);
	}
}

/* The victims would make room for the reservation's pod. */
static void preemption_leaves_reserved_nodes_alone(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(freep) char *reservation = reserve("x", "\"uid\":\"p2\",", 8);
	char node[] = "node-0";

	(void)state;
	begin(&c);
	for (unsigned who = 1; who <= 2; who++) {
		CLEANUP(extender_cluster_args_release) struct extender_args pod;
		struct extender_victims item = {
			.node = node, .uids = calloc(1, sizeof(*item.uids)), .n_uids = 1};
		struct extender_preemption args = {.items = &item, .n_items = 1};
		struct verb_counts counts = {0};
		struct pod_class *class;

		assert_non_null(item.uids);
		item.uids[0] = strdup("victim");
		annotate(&c, 0, reservation);
		extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=8 memory=1Gi"), &pod);
		class = pod_classes_take(&c.cluster.classes, &pod.pod.template.pod);
		args.pod = pod.pod;
		extender_preempt(&c.verdicts, &answer_best, &args, class, 0, &counts);
		assert_int_equal(counts.n_passing, who == 1 ? 0 : 1);
		pod_classes_drop(&c.cluster.classes, class);
		free(item.uids[0]);
		free(item.uids);
	}
}

static void count_invalid(const struct err *err, const void *data)
{
	unsigned *n = *(unsigned *const *)data;

	assert_true(*err->text);
	(*n)++;
}

/* Whoever may write a Node can give it thousands of annotations. */
static void many_invalid_reservations_cost_few_lines(void **state)
{
	static const unsigned numbers[] = {2, 64, 8000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct reservation read[RESERVATIONS_MAX];
		CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};
		unsigned n_lines = 0, *lines = &n_lines;
		char key[64];

		for (unsigned k = 0; k < numbers[i]; k++) {
			snprintf(key, sizeof(key), RESERVATION_PREFIX "%u", k);
			doc_add_string(&annotations, key, "{}");
		}
		assert_int_equal(reservations_parse(&annotations, count_invalid, &lines, read), 0);
		assert_int_equal(n_lines, numbers[i] < 3 ? numbers[i] : 4);
	}
}

static void bad_and_outdated_reservations_are_ignored(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(freep) char *outdated = reserve_for_s("x", "", 8, -1);
	CLEANUP(freep) char *far = reserve_for_s("x", "", 8, 1000000);

	(void)state;
	begin(&c);
	annotate(&c, 0, RESERVATION_PREFIX "x: 'no JSON'");
	annotate(&c, 1, outdated);
	annotate(&c, 2, far);
	assert_int_equal(c.cluster.n_reservations, 1);
	cluster_expire(&c.cluster, RESERVATION_MAX_S * 1000u);
	assert_int_equal(c.cluster.n_reservations, 0);
	annotate(&c, 2, "");
	annotate(&c, 2, far);
	cluster_delete(&c.cluster, OBJECT_NODE, &(struct doc){.kind = DOC_MAP}, 0);
	assert_int_equal(c.cluster.n_reservations, 1);
	cluster_list_begin(&c.cluster, OBJECT_NODE);
	cluster_list_end(&c.cluster, OBJECT_NODE, 1, 0); /* the Node has been deleted */
	assert_int_equal(c.cluster.n_reservations, 0);
	assert_int_equal(c.cluster.n_pods, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed_is_parsed),
		cmocka_unit_test(the_size_is_estimated),
		cmocka_unit_test(bad_text_is_one_line),
		cmocka_unit_test(a_reservation_counts_until_it_is_removed_or_expires),
		cmocka_unit_test(the_pod_of_a_reservation_gets_its_node),
		cmocka_unit_test(a_bound_pod_keeps_its_reservation),
		cmocka_unit_test(a_node_is_closed_while_room_is_made),
		cmocka_unit_test(later_steps_do_not_keep_earlier_pods_away),
		cmocka_unit_test(preemption_leaves_reserved_nodes_alone),
		cmocka_unit_test(many_invalid_reservations_cost_few_lines),
		cmocka_unit_test(bad_and_outdated_reservations_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
