/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the CPU time limit: the next request continues where a request stopped, unjudged nodes do not pass, and expensive requests
 * of one namespace do not delay the requests of other namespaces.
 */
#include "tests/lib/test.h"

#include <pthread.h>

#include "agent/render/render.h"
#include "cluster/extender/server.h"
#include "cluster/extender/work_limit.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "tests/lib/extender_cluster.h"

#define ALL_NODES ((1u << CLUSTER_NODES) - 1)

/* A limit that is reached immediately: one result is computed. */
static void limit(struct extender_cluster *c)
{
	c->verdicts.projections.work = (struct work_limit){.until_ns = 1};
}

/* ---- one request */

static void each_request_continues_where_the_last_one_ended(void **state)
{
	static const struct verb_config config = {.all = true, .pass_unknown = true};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	const struct cluster_pod_sim *pod;
	unsigned passing = 0;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	pod = extender_cluster_pod(&c, "app cpu=4 memory=1Gi");
	for (int n = 1; n <= CLUSTER_NODES; n++) {
		limit(&c);
		passing = extender_cluster_ask(&c, &config, pod, 0);
		assert_int_equal(__builtin_popcount(passing), n);
		assert_int_equal(c.verdicts.projections.work.reached, n < CLUSTER_NODES);
	}
	assert_int_equal(passing, ALL_NODES);
}

/* Unjudged nodes do not pass, although --unknown=pass lets unknown nodes pass. */
static void unjudged_nodes_do_not_pass(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer answer = {0};

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=12 memory=1Gi"), &args);
	c.verdicts.projections.work = (struct work_limit){.until_ns = 1, .cached_only = true};
	extender_filter(&c.verdicts, &answer_best, &args, 0, &answer);
	assert_int_equal(answer.counts.n_unreached, CLUSTER_NODES);
	assert_int_equal(answer.counts.n_unknown, 0);
	assert_int_equal(answer.counts.n_passing, 0);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		assert_false(answer.failures[i].unresolvable);
		test_assert_text("reason", answer.failures[i].reason,
			"not judged yet: the CPU time limit of the namespace or of all namespaces was reached");
	}
	verb_answer_release(&answer, &c.cluster);
}

/* The orders of in-flight pods that numbers of CPUs do not decide (two containers) are tried within the limit. Until they are tried, their node does not pass, and the other nodes
 * are still judged. */
static void orders_of_in_flight_pods_count_as_work(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	struct cluster_pod_sim *pods[2];
	const struct cluster_pod_sim *pod;
	unsigned passing = 0;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	for (size_t i = 0; i < 2; i++) { /* in flight on node-0, the fullest node */
		pods[i] = extender_cluster_pod(&c, i ? "app cpu=3 memory=1Gi; app cpu=100m memory=1Gi"
						     : "app cpu=2 memory=1Gi; app cpu=100m memory=1Gi");
		extender_cluster_report(&c, pods[i], NULL, 0);
	}
	pod = extender_cluster_pod(&c, "app cpu=1 memory=1Gi");
	for (unsigned n = 0; n < 2 + CLUSTER_NODES; n++) {
		const struct verb_config config = {.all = true};

		limit(&c);
		passing = extender_cluster_ask(&c, &config, pod, 0);
	}
	assert_int_equal(passing, ALL_NODES & ~1u);
	assert_true(c.verdicts.projections.work.reached);
	c.verdicts.projections.work = (struct work_limit){0};
	assert_int_equal(extender_cluster_ask(&c, &answer_best, pod, 0), 1);
}

/* A node that has used up its share of the time is unknown, and no other node. Its share pays later. */
static void a_node_pays_for_its_projections(void **state)
{
	static const struct verb_config config = {.all = true};
	const struct work_limit generous = {.until_ns = UINT64_MAX};
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct projections *p = &c.verdicts.projections;
	struct verb_answer answer = {0};
	struct cluster_pod_sim *in_flight;
	const struct node_info *node;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	in_flight = extender_cluster_pod(&c, "app cpu=2 memory=1Gi"); /* on node-0 */
	extender_cluster_report(&c, in_flight, NULL, 0);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=1 memory=1Gi"), &args);
	node = cluster_find_node(&c.cluster, c.names[0]);
	p->now_ms = 1000;
	p->node_work = xcalloc(node->slot + 1, sizeof(*p->node_work));
	p->node_work_size = node->slot + 1;
	p->node_work[node->slot].paid_us =
		(p->now_ms + (uint64_t)NODE_WORK_BURST_MS * NODE_WORK_SHARE) * 1000;
	p->work = generous;
	extender_filter(&c.verdicts, &config, &args, 0, &answer);
	assert_int_equal(answer.counts.n_passing, CLUSTER_NODES - 1);
	assert_int_equal(answer.counts.n_unreached, 1);
	test_assert_text("reason", answer.failures[0].reason,
		"not judged yet: the node's unreported pods and reservations need too much CPU time");
	assert_false(p->work.reached); /* the namespace of the pod is not charged */
	verb_answer_release(&answer, &c.cluster);
	p->now_ms += 1000;
	p->work = generous;
	assert_int_equal(extender_cluster_ask(&c, &config, &c.pods[1], 0), ALL_NODES);
	assert_true(p->node_work[node->slot].paid_us > p->now_ms * 1000);
}

/* Nodes whose victims were not computed are not in the answer. */
static void victims_count_as_work(void **state)
{
	CLEANUP(extender_cluster_release) struct extender_cluster c;
	CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
	struct verb_counts counts = {0};
	struct extender_args args;
	struct pod_class *class;

	(void)state;
	extender_cluster_init_alike(&c, &node_sim_plain);
	extender_cluster_args(&c, extender_cluster_pod(&c, "app cpu=4 memory=1Gi"), &args);
	p.pod = args.pod;
	p.items = calloc(CLUSTER_NODES, sizeof(*p.items));
	assert_non_null(p.items);
	while (p.n_items < CLUSTER_NODES) {
		struct extender_victims *item = &p.items[p.n_items];

		*item = (struct extender_victims){.node = strdup(c.names[p.n_items]),
			.uids = calloc(1, sizeof(*item->uids)),
			.n_uids = 1};
		assert_non_null(item->uids);
		item->uids[0] = strdup("victim");
		p.n_items++;
	}
	class = pod_classes_take(&c.cluster.classes, &p.pod.template.pod);
	limit(&c);
	extender_preempt(&c.verdicts, &answer_best, &p, class, 0, &counts);
	assert_int_equal(counts.n_passing, 1);
	assert_int_equal(counts.n_unreached, CLUSTER_NODES - 1);
	pod_classes_drop(&c.cluster.classes, class);
}

/* ---- namespaces */

/* One namespace sends requests of 50 ms CPU time as often as allowed. */
static void a_namespace_gets_a_twentieth_of_a_cpu(void **state)
{
	struct work_namespaces n = {.items = {{.hash = 0}}};
	uint64_t now = 1000, cpu = 0;

	(void)state;
	while (now < 101000) {
		if (work_namespaces_may(&n, "hostile", now)) {
			work_namespaces_note(&n, "hostile", now, 50);
			cpu += 50;
			now += 50;
		} else {
			now += 10;
		}
		assert_true(work_namespaces_may(&n, "other", now));
	}
	assert_in_range(cpu, 4500, 5500);
}

/* Any number of namespaces get 1/4 of a CPU together. */
static void all_namespaces_get_a_quarter_of_a_cpu(void **state)
{
	struct work_namespaces n = {.items = {{.hash = 0}}};
	uint64_t now = 1000, cpu = 0;

	(void)state;
	while (now < 101000) {
		for (unsigned i = 0; i < 50; i++) {
			char name[16];

			snprintf(name, sizeof(name), "hostile-%u", i);
			if (!work_namespaces_may(&n, name, now))
				continue;
			work_namespaces_note(&n, name, now, 50);
			cpu += 50;
			now += 50;
		}
		now += 10;
		assert_true(work_namespaces_may(&n, "other", now));
	}
	assert_in_range(cpu, 20000, 30000);
}

/* ---- the server */

#define SERVER_NODES 200u

static struct server *start_server(uint64_t work_ms)
{
	static const struct nrt_config nrt = {.node_state = true};
	struct node_sim_setup setup = node_sim_plain;
	const struct server_config config = {.replica.max_stale_ms = UINT64_MAX,
		.verbs = {.pass_unknown = true},
		.cluster = {.assume_ms = 60000},
		.work_ms = work_ms};
	struct server *s = NULL;
	struct node_sim sim;

	setup.machine.numas = 4;
	setup.memory_static = true;
	setup.scope = TOPOLOGY_SCOPE_POD;
	node_sim_init(&sim, &setup);
	server_new(&config, NULL, &s);
	for (unsigned i = 0; i < SERVER_NODES; i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		text_set(&sim.state.node_name, name);
		nrt_render(&sim.state, &nrt, &object, NULL);
		server_update(s, OBJECT_NRT, &object);
	}
	for (enum object_kind kind = 0; kind < CLUSTER_KINDS; kind++)
		server_list_end(s, kind, 0);
	node_sim_release(&sim);
	return s;
}

/* A /filter request for a Guaranteed pod of small containers. */
static void print_request(struct strbuf *out, const char *namespace, const char *uid, unsigned containers)
{
	strbuf_addf(out, "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"%s\",\"uid\":\"%s\"},",
		namespace, uid);
	strbuf_addstr(out, "\"spec\":{\"containers\":[");
	for (unsigned i = 0; i < containers; i++)
		strbuf_addf(out,
			"%s{\"name\":\"c%u\",\"resources\":{\"limits\":{\"cpu\":\"1m\",\"memory\":\"1Ki\"}}}",
			i > 0 ? "," : "", i);
	strbuf_addstr(out, "]}},\"Nodes\":null,\"NodeNames\":[");
	for (unsigned i = 0; i < SERVER_NODES; i++)
		strbuf_addf(out, "%s\"n%u\"", i > 0 ? "," : "", i);
	strbuf_addstr(out, "]}");
}

static bool ask(struct server *s, const struct strbuf *body, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(1 << 20);

	assert_int_equal(server_post(s, "/filter", body->text, body->len, &reply), 200);
	return strstr(reply.text, want) != NULL;
}

static double metric(struct server *s, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1 << 20);
	struct metrics_source from = {.lease = NULL};
	const char *at;

	assert_int_equal(server_metrics(s, &from, &out), 0);
	at = strstr(out.text, name);
	assert_non_null(at);
	return strtod(at + strlen(name), NULL);
}

/* CPU seconds to answer the request. */
static double seconds_of(struct server *s, const char *uid, unsigned containers)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1 << 20);
	double begun;

	print_request(&body, "hostile", uid, containers);
	begun = clock_s(CLOCK_THREAD_CPUTIME_ID);
	ask(s, &body, "");
	return clock_s(CLOCK_THREAD_CPUTIME_ID) - begun;
}

/* 20 pods of different classes, each of which needs more than 1 ms, do not affect an ordinary pod. */
static void expensive_pods_leave_time_for_others(void **state)
{
	CLEANUP(strbuf_release) struct strbuf ordinary = STRBUF_INIT(1 << 20);
	CLEANUP(server_freep) struct server *s = start_server(1), *unlimited = start_server(0);
	double unreached, without_limit = seconds_of(unlimited, "u", 100), seconds = 0;
	struct test_log_lines lines;

	(void)state;
	print_request(&ordinary, "other", "o", 1);
	test_log_begin(&lines);
	for (unsigned i = 0; i < 20; i++) {
		char uid[16];

		snprintf(uid, sizeof(uid), "u%u", i);
		seconds += seconds_of(s, uid, 100 + i);
	}
	test_log_end();
	unreached = metric(s, "\nnrtd_extender_unreached_nodes_total ");
	assert_true(unreached > 10 * SERVER_NODES);
	assert_int_equal(lines.n, 1);
	assert_non_null(strstr(lines.last, "pod 'hostile/p': reached the CPU time limit per request: "));
	print_message("%.1f ms for 20 requests, %.1f ms for one request without a limit\n", 1000 * seconds,
		1000 * without_limit);
	assert_true(seconds < 10 * without_limit);
	while (!ask(s, &ordinary, "\"FailedNodes\":{},"))
		continue;
}

/* A request that reaches the limit and assumes the pod on a node judged before is logged and charged like any other. */
static void requests_that_assume_a_pod_reach_the_limit_too(void **state)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1 << 20);
	CLEANUP(server_freep) struct server *s = start_server(1);
	struct test_log_lines lines;

	(void)state;
	print_request(&body, "hostile", "u", 100);
	test_log_begin(&lines);
	assert_true(ask(s, &body, "\"FailedNodes\":{},"));
	test_log_end();
	assert_true(metric(s, "\nnrtd_extender_assumed_pods ") == 1);
	assert_true(metric(s, "\nnrtd_extender_unreached_nodes_total ") > 0);
	assert_int_equal(lines.n, 1);
	assert_non_null(strstr(lines.last, "pod 'hostile/p': reached the CPU time limit per request: "));
}

/* With enough time every node is judged in one request. */
static void a_large_limit_is_not_reached(void **state)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1 << 20);
	CLEANUP(server_freep) struct server *s = start_server(10000);

	(void)state;
	print_request(&body, "default", "u", 20);
	assert_true(ask(s, &body, "\"FailedNodes\":{},"));
	assert_true(metric(s, "\nnrtd_extender_unreached_nodes_total ") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_continues_where_the_last_one_ended),
		cmocka_unit_test(unjudged_nodes_do_not_pass),
		cmocka_unit_test(orders_of_in_flight_pods_count_as_work),
		cmocka_unit_test(a_node_pays_for_its_projections),
		cmocka_unit_test(victims_count_as_work),
		cmocka_unit_test(a_namespace_gets_a_twentieth_of_a_cpu),
		cmocka_unit_test(all_namespaces_get_a_quarter_of_a_cpu),
		cmocka_unit_test(expensive_pods_leave_time_for_others),
		cmocka_unit_test(requests_that_assume_a_pod_reach_the_limit_too),
		cmocka_unit_test(a_large_limit_is_not_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
