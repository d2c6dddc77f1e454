/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations from the scheduler's request to the write, against an API server that answers by a script. */
#include "cluster/extender/nominator.h"

#include "common/cleanup.h"
#include "common/xalloc.h"
#include "tests/lib/api_server.h"
#include "tests/lib/extender_cluster.h"
#include "tests/lib/test.h"

#define ALLOWED                                                                                \
	{                                                                                      \
		.status = 201,                                                                 \
		.body = "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":true}}" \
	}
#define DENIED                                                                                  \
	{                                                                                       \
		.status = 201,                                                                  \
		.body = "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":false}}" \
	}

static const struct server_config config = {.verbs = {.strategy = STRATEGY_LEAST_NUMA_NODES},
	.cluster = {.assume_ms = 60000, .keep_constraints = true},
	.replica.max_stale_ms = 3600000,
	.nominate = true};

static struct {
	struct api_server api;
	struct server *server;
	struct nominator *nominator;
	struct cancel cancel;
	struct lease *lease;
	struct extender_cluster *cluster; /* of whose nodes the server has node-0 */
	struct test_log_lines lines;
} b;

/* The server has one node, which admits the pod. */
static void fill_server(void)
{
	CLEANUP(doc_release) struct doc node = DOC_INIT, nrt = DOC_INIT;
	struct doc objects[CLUSTER_KINDS];

	b.cluster = calloc(1, sizeof(*b.cluster));
	assert_non_null(b.cluster);
	extender_cluster_init(b.cluster,
		(struct node_sim_setup[]){node_sim_plain, node_sim_plain, node_sim_plain, node_sim_plain}, 1);
	extender_cluster_node(b.cluster, 0, &node);
	extender_cluster_nrt(b.cluster, 0, &nrt);
	objects[OBJECT_NRT] = nrt;
	objects[OBJECT_NODE] = node;
	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		server_list_begin(b.server, (enum object_kind)kind);
		replica_note_alive(server_replica(b.server), (enum object_kind)kind);
		if (kind == OBJECT_NRT || kind == OBJECT_NODE)
			server_update(b.server, (enum object_kind)kind, &objects[kind]);
		server_list_end(b.server, (enum object_kind)kind, 0);
	}
}

static void open_bench_with_lease(const struct api_answer *script, size_t n, bool has_lease)
{
	static const struct lease_options lease = {.namespace = "ns", .name = "lease", .identity = "me"};
	char url[64];
	const struct credentials_options credentials = {.api_server = url};
	struct err err = {""};

	memset(&b, 0, sizeof(b));
	test_log_begin(&b.lines);
	api_server_start(&b.api, script, n);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", b.api.port);
	unsetenv("KUBECONFIG");
	setenv("NO_PROXY", "*", 1);
	assert_int_equal(cancel_init(&b.cancel), 0);
	if (has_lease)
		assert_int_equal(lease_new(&lease, &credentials, &b.cancel, &b.lease, &err), 0);
	server_new(&config, b.lease, &b.server);
	fill_server();
	if (nominator_new(b.server, &credentials, &b.cancel, &b.nominator, &err) < 0)
		fail_msg("%s", err.text);
	api_server_wait(&b.api, 1);
	while (server_nomination_right(b.server) == RIGHT_UNKNOWN)
		usleep(1000);
}

static void open_bench(const struct api_answer *script, size_t n)
{
	open_bench_with_lease(script, n, false);
}

static int teardown(void **state)
{
	(void)state;
	cancel_request(&b.cancel);
	nominator_freep(&b.nominator);
	server_freep(&b.server);
	lease_freep(&b.lease);
	cancel_release(&b.cancel);
	api_server_stop(&b.api);
	extender_cluster_release(b.cluster);
	free(b.cluster);
	test_log_end();
	return 0;
}

#define POD                                                                                                            \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"%u\"},\"spec\":{"      \
	"\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}}]},\"status\":" \
	"{\"nominatedNodeName\":\"%s\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"message\":\"%s\"}]}}"

/* Sends a /filter request with the sample m0 to m99; returns the answer, to be freed. */
static char *filter(unsigned version, const char *nominated, const char *message)
{
	CLEANUP(strbuf_release) struct strbuf request = STRBUF_INIT(16384), reply = STRBUF_INIT(65536);

	strbuf_addf(&request, "{\"Pod\":" POD ",\"NodeNames\":[", version, nominated, message);
	for (unsigned i = 0; i < SAMPLE_MIN; i++)
		strbuf_addf(&request, "%s\"m%u\"", i > 0 ? "," : "", i);
	strbuf_addstr(&request, "]}");
	assert_int_equal(server_post(b.server, "/filter", request.text, request.len, &reply), 200);
	return xstrdup(reply.text);
}

static void preempt(const char *want)
{
	CLEANUP(strbuf_release) struct strbuf request = STRBUF_INIT(16384), reply = STRBUF_INIT(65536);

	strbuf_addf(&request,
		"{\"Pod\":" POD ",\"NodeNameToMetaVictims\":{\"node-0\":{\"Pods\":[{\"UID\":\"v\"}]}}}", 5u,
		"", "");
	assert_int_equal(server_post(b.server, "/preempt", request.text, request.len, &reply), 200);
	if (!strstr(reply.text, want))
		fail_msg("no '%s' in %s", want, reply.text);
}

/* The watch delivers the Pod. */
static void report(unsigned version, const char *nominated, const char *message)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	CLEANUP(freep) char *text = xasprintf(POD, version, nominated, message);

	assert_int_equal(json_parse(text, strlen(text), &pod, NULL), 0);
	server_update(b.server, OBJECT_POD, &pod);
}

static bool has_metric(const char *line)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);
	struct metrics_source from = {0};

	assert_int_equal(server_metrics(b.server, &from, &text), 0);
	return strstr(text.text, line);
}

/* Waits up to 10 s: the nominator's thread notes answers later than the API server sends them. */
static void assert_metric(const char *line)
{
	for (unsigned i = 0; i < 10000 && !has_metric(line); i++)
		usleep(1000);
	if (!has_metric(line))
		fail_msg("no '%s'", line);
}

#define REASON \
	"node(s) whose kubelets reject the pod; node node-0, outside of the scheduler's sample, admits it and is nominated"
#define PATH "/api/v1/namespaces/ns/pods/p/status"

static void assert_patch(size_t at, unsigned version)
{
	CLEANUP(freep)
	char *want = xasprintf(
		"{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"%u\"},\"status\":{\"nominatedNodeName\":\"node-0\"}}",
		version);

	test_assert_text("method", b.api.method[at], "PATCH");
	test_assert_text("path", b.api.url[at], PATH);
	test_assert_text("type", b.api.type[at], "application/merge-patch+json");
	test_assert_text("body", b.api.body[at], want);
}

static void a_node_outside_of_the_sample_is_nominated(void **state)
{
	static const struct api_answer script[] = {
		ALLOWED, {.status = 200, .body = "{\"metadata\":{\"resourceVersion\":\"7\"}}"}};
	CLEANUP(freep) char *reply = NULL;

	(void)state;
	open_bench(script, ARRAY_SIZE(script));
	test_assert_text("path", b.api.url[0], "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
	reply = filter(5, "", "");
	assert_non_null(strstr(reply, "\"NodeNames\":[],"));
	assert_non_null(strstr(reply, "\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{\"m0\":\"" REASON));
	assert_non_null(strstr(reply, "\"m99\":\"" REASON));
	preempt("{\"NodeNameToMetaVictims\":{}}");
	assert_metric("nrtd_extender_assumed_pods 1\n");
	report(6, "", "0/101 nodes are available: 100 " REASON ".");
	api_server_wait(&b.api, 2);
	assert_patch(1, 6);
	report(7, "node-0", "0/101 nodes are available: 100 " REASON ".");
	assert_metric("nrtd_extender_nomination_tries_total 1\n");
}

/* Without the thread. Somebody removes the nomination, before or after the answer to the write: the node is free for others. */
static void a_nomination_that_is_removed_frees_its_node(void **state)
{
	(void)state;
	for (int before = 0; before < 2; before++) {
		CLEANUP(nomination_write_release) struct nomination_write w = {NULL};
		CLEANUP(freep) char *reply = NULL;

		memset(&b, 0, sizeof(b));
		server_new(&config, NULL, &b.server);
		fill_server();
		server_set_nomination_right(b.server, RIGHT_GRANTED);
		reply = filter(5, "", "");
		report(6, "", "0/101 nodes are available: 100 " REASON ".");
		assert_true(server_next_nomination(b.server, 10000, &w));
		if (before)
			report(8, "", "");
		assert_true(has_metric("nrtd_extender_assumed_pods 1\n"));
		server_nomination_written(b.server, &w, 200, 7);
		if (!before)
			report(8, "", "");
		assert_true(has_metric("nrtd_extender_assumed_pods 0\n"));
		assert_true(has_metric("nrtd_extender_nominations_total{result=\"lost\"} 1\n"));
		server_freep(&b.server);
		extender_cluster_release(b.cluster);
		free(b.cluster);
	}
}

static void without_the_right_nothing_is_written(void **state)
{
	static const struct api_answer script[] = {DENIED};
	CLEANUP(freep) char *reply = NULL;

	(void)state;
	open_bench(script, ARRAY_SIZE(script));
	reply = filter(5, "", "");
	assert_non_null(strstr(reply,
		"\"m99\":\"node(s) whose kubelets reject the pod; node node-0, outside of the scheduler's sample, admits it (try 1)"));
	report(6, "", "0/101 nodes are available: 100 " REASON ".");
	assert_false(server_next_nomination(b.server, 100, &(struct nomination_write){NULL}));
	assert_int_equal(b.api.n_requests, 1);
	assert_int_equal(b.lines.n, 1);
	assert_non_null(strstr(
		b.lines.last, "nominations are not written: the extender may not patch pods/status; "));
}

static void a_conflict_is_tried_again_and_a_denial_is_logged(void **state)
{
	static const struct api_answer script[] = {ALLOWED, {.status = 409, .body = "{}"},
		{.status = 403, .body = "{\"kind\":\"Status\",\"message\":\"no nominations here\"}"}};
	CLEANUP(freep) char *reply = NULL;

	(void)state;
	open_bench(script, ARRAY_SIZE(script));
	reply = filter(5, "", "");
	report(6, "", "0/101 nodes are available: 100 " REASON ".");
	api_server_wait(&b.api, 2);
	assert_patch(1, 6);
	while (b.api.n_requests < 3) {
		report(9, "", "0/101 nodes are available: 100 " REASON ".");
		usleep(1000);
	}
	assert_patch(2, 9);
	while (server_nomination_right(b.server) == RIGHT_GRANTED)
		usleep(1000);
	assert_metric("nrtd_extender_nominations_total{result=\"refused\"} 1\n");
	cancel_request(&b.cancel);
	nominator_freep(&b.nominator);
	assert_non_null(strstr(b.lines.last, "nominations are not written: no nominations here; "));
}

/* This replica writes what another one has not written, but not before it holds the lease. */
static void only_the_leader_writes(void **state)
{
	static const struct api_answer script[] = {ALLOWED, {.status = 404, .body = "{}"},
		{.status = 201,
			.body = "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"me\"}}"},
		{.status = 200, .body = "{\"metadata\":{\"resourceVersion\":\"7\"}}"}};
	struct lease_state lease;

	(void)state;
	open_bench_with_lease(script, ARRAY_SIZE(script), true);
	report(6, "", "0/101 nodes are available: 100 " REASON ".");
	usleep(200000);
	assert_int_equal(b.api.n_requests, 1);
	assert_int_equal(lease_step(b.lease, &lease, NULL), 0);
	assert_true(lease.held);
	replica_set_leader(server_replica(b.server), lease.holder, lease.url);
	api_server_wait(&b.api, 4);
	assert_patch(3, 6);
}

/* One line, however often the API server does not answer. */
static void an_api_server_without_an_answer_is_logged_once(void **state)
{
	static const struct api_answer script[] = {ALLOWED};
	CLEANUP(freep) char *reply = NULL;

	(void)state;
	open_bench(script, ARRAY_SIZE(script));
	api_server_stop(&b.api);
	reply = filter(5, "", "");
	report(6, "", "0/101 nodes are available: 100 " REASON ".");
	sleep(3); /* a write, and another one after NOMINATION_RETRY_MS */
	cancel_request(&b.cancel);
	nominator_freep(&b.nominator);
	assert_int_equal(b.lines.n, 1);
	assert_int_equal(strncmp(b.lines.last, "nominations: ", 13), 0);
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_node_outside_of_the_sample_is_nominated),
		cmocka_unit_test(a_nomination_that_is_removed_frees_its_node),
		CASE(without_the_right_nothing_is_written),
		CASE(an_api_server_without_an_answer_is_logged_once),
		CASE(only_the_leader_writes),
		CASE(a_conflict_is_tried_again_and_a_denial_is_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
