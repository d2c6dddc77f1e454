/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher and the API client against an HTTP server that answers as it is told. It cannot show TLS,
 * field ownership, admission or that an apply without effect writes nothing: tests/upstream/publish.sh asks a
 * real server.
 */
#include "tests/lib/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <curl/curlver.h>

#include "agent/publish/publish.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/kube/api_client.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "tests/lib/publisher_bench.h"

#define STILL_NAME "still.invalid"

/* ---- tests */

static void requests_are_as_agreed(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "\"nrtd.dev/old\":\"1\",\"a/b\":\"2\"")},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 201, .body = "{}"},
		{.status = 200,
			.body = NODE("u1", "\"nrtd.dev/new\":\"2\",\"nrtd.dev/content-hash\":\"h1\"")},
	};
	struct bench b;
	struct publish_result result;
	struct err err = {""};

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	assert_int_equal(bench_publish(&b, "h1", "{\"nrtd.dev/new\":\"2\"}", 1000, &result, &err), 0);
	assert_true(result.current);
	assert_int_equal(result.nrt, PUBLISH_WRITTEN);
	assert_int_equal(b.server.n_requests, 4);
	assert_string_equal(b.server.method[0], "GET");
	assert_string_equal(b.server.url[0], "/api/v1/nodes/node-a");
	assert_string_equal(b.server.method[1], "GET");
	assert_string_equal(
		b.server.url[1], "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-a");
	assert_string_equal(b.server.method[2], "PATCH");
	assert_string_equal(
		b.server.url[2], "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-a");
	assert_string_equal(b.server.type[2], "application/apply-patch+yaml");
	assert_string_equal(b.server.body[2],
		"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"node-a\",\"ownerReferences\":[{"
		"\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-a\",\"uid\":\"u1\"}]}}");
	assert_string_equal(b.server.type[3], "application/merge-patch+json");
	assert_string_equal(b.server.body[3],
		"{\"metadata\":{\"annotations\":{\"nrtd.dev/new\":\"2\",\"nrtd.dev/content-hash\":\"h1\","
		"\"nrtd.dev/old\":null},\"uid\":\"u1\"}}");
	assert_string_equal(b.server.agent, "nrtd/" NRTD_VERSION);
	assert_int_equal(bench_publish(&b, "h1", "{\"nrtd.dev/new\":\"2\"}", 2000, &result, &err), 0);
	assert_int_equal(b.server.n_requests, 4);
	assert_int_equal(result.nrt, PUBLISH_UNCHANGED);
	bench_close(&b);
}

/* What is made for another release than the Node's, or without the release that the Node reports, is not written; the caller is told
 * which it is, and to come again. */
static void objects_are_for_the_nodes_kubelet(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200,
			.body = "{\"metadata\":{\"uid\":\"u1\"},\"status\":{\"nodeInfo\":{\"kubeletVersion\":"
				"\"v1.35.4\"}}}"},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 201, .body = "{}"},
		{.status = 200,
			.body = NODE("u1", "\"nrtd.dev/new\":\"2\",\"nrtd.dev/content-hash\":\"h1\"")},
		{.status = 200,
			.body = NODE("u1", "\"nrtd.dev/new\":\"3\",\"nrtd.dev/content-hash\":\"h1\"")},
	};
	CLEANUP(doc_release) struct doc nrt = bench_doc("{\"metadata\":{\"name\":\"node-a\"}}");
	CLEANUP(doc_release) struct doc map = bench_doc("{\"nrtd.dev/new\":\"2\"}");
	CLEANUP(doc_release) struct doc newer = bench_doc("{\"nrtd.dev/new\":\"3\"}");
	struct publish_request request = {
		.nrt = &nrt, .content_hash = "h1", .annotations = &map, .release_unknown = true};
	struct bench b;
	struct publish_result result;
	struct err err = {""};

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	assert_int_equal(publisher_publish(b.publisher, &request, 1000, &result, &err), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(result.nrt, PUBLISH_DEFERRED);
		assert_int_equal(result.node, PUBLISH_DEFERRED);
		assert_int_equal(result.kubelet.minor, 35);
		assert_int_equal(result.call_again_ms, 1000);
		assert_false(result.current);
		assert_int_equal(b.server.n_requests, 1);
		request.release_unknown = false;
		request.kubelet.minor = 36;
		assert_int_equal(publisher_publish(b.publisher, &request, 1000, &result, &err), 0);
	}
	request.kubelet.minor = 35;
	assert_int_equal(publisher_publish(b.publisher, &request, 1001, &result, &err), 0);
	assert_int_equal(result.node, PUBLISH_WRITTEN);
	/* The answer to the write says no release; what is known stays. */
	assert_int_equal(result.kubelet.minor, 35);
	assert_true(result.current);
	/* 0: for any. */
	request.kubelet.minor = 0;
	request.annotations = &newer;
	assert_int_equal(publisher_publish(b.publisher, &request, 9000, &result, &err), 0);
	assert_int_equal(result.node, PUBLISH_WRITTEN);
	bench_close(&b);
}

static void keys_of_others_are_refused(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .body = NODE("u1", "")}};
	struct bench b;
	struct publish_result result;
	struct err err = {""};

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	assert_int_equal(bench_publish(&b, "h1", "{\"example.com/a\":\"2\"}", 1000, &result, &err), -EBADMSG);
	assert_string_equal(err.text, "'example.com/a' is not a string with a key under nrtd.dev/");
	assert_true(result.call_again_ms > 1000);
	bench_close(&b);
}

static void failures_are_retried_with_the_newest_state(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 429, .body = STATUS("slow down"), .retry_after = "7"},
		{.status = 503, .body = "<html>bad gateway</html>"},
		{.status = 409, .body = STATUS("again")},
		{.status = 200, .body = "{}"},
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	b.random = 99;
	/* The node is read; the first refresh is due at 600000 - 99 from the first call. */
	bench_expect(&b, "h1", 1000, -EBUSY, PUBLISH_THROTTLED, PUBLISH_DEFERRED, 1000 + 7000 + 100);
	bench_expect(&b, "h2", 8099, 0, PUBLISH_DEFERRED, PUBLISH_DEFERRED, 8100);
	bench_expect(&b, "h2", 8100, -EIO, PUBLISH_SERVER_ERROR, PUBLISH_DEFERRED, 8200);
	bench_expect(&b, "h3", 8200, -EAGAIN, PUBLISH_CONFLICT, PUBLISH_DEFERRED, 8300);
	bench_expect(&b, "h4", 8300, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 600901);
	bench_expect(&b, "h4", 8301, 0, PUBLISH_UNCHANGED, PUBLISH_UNCHANGED, 600901);
	assert_int_equal(b.server.n_requests, 6);
	bench_close(&b);
}

/* After a request that took 10 s a backoff of 100 ms is not over yet, nor is what Retry-After asks for. */
static void a_backoff_begins_when_the_attempt_ends(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 504, .body = STATUS("late")},
		{.status = 429, .body = STATUS("slow down"), .retry_after = "7"},
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	b.random = 99;
	b.took_ms = 10000;
	bench_expect(&b, "h1", 1000, -ETIMEDOUT, PUBLISH_TIMEOUT, PUBLISH_DEFERRED, 1000 + 10000 + 100);
	bench_expect(&b, "h1", 11099, 0, PUBLISH_DEFERRED, PUBLISH_DEFERRED, 11100);
	bench_expect(
		&b, "h1", 11100, -EBUSY, PUBLISH_THROTTLED, PUBLISH_DEFERRED, 11100 + 10000 + 7000 + 100);
	bench_close(&b);
}

/* The Node is written twelve times at once, then at its interval; the object whenever it is different. */
static void writes_of_the_node_have_a_budget(void **state)
{
	static const struct api_answer script[] = {
		[0] = {.status = 200, .body = NODE("u1", "")},
		[1 ... 2] = {.status = 200, .body = "{}"}, /* the object */
		[3 ... 15] = {.status = 200, .body = NODE("u1", "")},
		[16 ... 18] = {.status = 200, .body = "{}"}, /* the object again, with nothing for the Node */
	};
	struct bench b;
	struct publish_result result;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	for (int i = 0; i < 14; i++) {
		assert_int_equal(bench_publish(&b, "h1", "{\"nrtd.dev/a\":\"b\"}", i < 13 ? 1000 : 6000,
					 &result, NULL),
			0);
		assert_int_equal(result.node, i == 12 ? PUBLISH_DEFERRED : PUBLISH_WRITTEN);
		if (i == 12)
			assert_int_equal(result.call_again_ms, 6000);
	}
	bench_expect(&b, "h2", 6000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 601000);
	bench_expect(&b, "h3", 6000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 601000);
	bench_expect(&b, "h4", 6000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 601000);
	bench_close(&b);
}

/* As many writes of the Node at once as the options say. */
static void a_node_has_as_many_writes_at_once_as_it_may(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .body = NODE("u1", "")}};
	struct bench b;
	struct publish_result result;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	for (unsigned burst = 1; burst <= 7; burst += 2) {
		bench_renew(&b, (struct publisher_options){.node_interval_ms = 3000, .node_burst = burst});
		for (unsigned i = 0; i <= burst; i++) {
			assert_int_equal(
				bench_publish(&b, "h1", "{\"nrtd.dev/a\":\"b\"}", 1000, &result, NULL), 0);
			assert_int_equal(result.node, i < burst ? PUBLISH_WRITTEN : PUBLISH_DEFERRED);
		}
		assert_int_equal(result.call_again_ms, 4000);
	}
	bench_close(&b);
}

/* Ten nodes that differ in what chance gives them, evenly. */
static void nodes_that_start_together_do_not_refresh_together(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .body = NODE("u1", "")}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t first = 1000 + 600000 - i * 60000;

		bench_renew(&b, (struct publisher_options){0});
		b.random = 600000 * 1000 + i * 60000;
		bench_expect(&b, "h1", 1000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, first);
		bench_expect(&b, "h1", first - 1, 0, PUBLISH_UNCHANGED, PUBLISH_UNCHANGED, first);
		b.random = 60000;
		bench_expect(&b, "h1", first, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, first + 600000);
	}
	bench_close(&b);
}

/* A server that is away or busy gets one request an attempt: what it does to the first it would do to the second. */
static void a_server_that_is_away_is_asked_once(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 200, .body = "{}"},
		{.status = 429,
			.body = STATUS("slow down"),
			.retry_after = "7"},             /* the Node at the refresh */
		{.status = 500, .body = STATUS("oops")}, /* the Node again */
		{.status = 200, .body = "{}"},           /* and all the same the object */
		{.status = 200, .body = NODE("u1", "")},
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	bench_expect(&b, "h1", 1000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 601000);
	bench_expect(&b, "h1", 601000, -EBUSY, PUBLISH_DEFERRED, PUBLISH_THROTTLED, 608001);
	bench_expect(&b, "h2", 602000, 0, PUBLISH_DEFERRED, PUBLISH_DEFERRED, 608001);
	assert_int_equal(b.server.n_requests, 4);
	bench_expect(&b, "h2", 608001, -EIO, PUBLISH_WRITTEN, PUBLISH_SERVER_ERROR, 608002);
	bench_expect(&b, "h2", 608002, 0, PUBLISH_UNCHANGED, PUBLISH_UNCHANGED, 1141000);
	assert_int_equal(b.server.n_requests, 7);
	api_server_stop(&b.server);
	bench_expect(&b, "h3", 610000, -ECONNREFUSED, PUBLISH_UNREACHABLE, PUBLISH_DEFERRED, 610001);
	bench_expect(&b, "h3", 1141000, -ECONNREFUSED, PUBLISH_DEFERRED, PUBLISH_UNREACHABLE, 1141001);
	bench_close(&b);
}

static void no_answer_is_told_apart(void **state)
{
	static const struct api_answer slow[] = {{.status = 200, .body = "{}", .delay_ms = 900}};
	static const struct api_answer large[] = {{.status = 200, .padding = 20000}};
	struct bench b;

	(void)state;
	bench_open(&b, slow, 1);
	bench_expect(&b, "h1", 1000, -ETIMEDOUT, PUBLISH_DEFERRED, PUBLISH_TIMEOUT, 1001);
	api_server_stop(&b.server);
	bench_expect(&b, "h1", 2000, -ECONNREFUSED, PUBLISH_DEFERRED, PUBLISH_UNREACHABLE, 2001);
	cancel_request(&b.cancel);
	bench_expect(&b, "h1", 3000, -ECANCELED, PUBLISH_DEFERRED, PUBLISH_CANCELLED, 3001);
	bench_close(&b);
	bench_open(&b, large, 1);
	bench_expect(&b, "h1", 1000, -EBADMSG, PUBLISH_DEFERRED, PUBLISH_FAILED, 1001);
	bench_close(&b);
}

static void a_request_under_way_ends_when_cancelled(void **state)
{
	static const struct api_answer slow[] = {{.status = 200, .body = "{}", .delay_ms = 2500}};
	struct api_client_options options = {.cancel = NULL};
	struct api_request request = {.method = "GET", .path = "/"};
	struct api_response response;
	struct api_client *client = NULL;
	struct timespec from, to;
	struct err err = {""};
	pthread_t thread;
	struct bench b;

	(void)state;
	bench_open(&b, slow, 1);
	options.cancel = &b.cancel;
	assert_int_equal(api_client_new(b.credentials, &options, &client, &err), 0);
	api_response_init(&response);
	clock_gettime(CLOCK_MONOTONIC, &from);
	thread = test_cancel_soon(&b.cancel);
	assert_int_equal(api_client_request(client, &request, &response, &err), -ECANCELED);
	clock_gettime(CLOCK_MONOTONIC, &to);
	pthread_join(thread, NULL);
	assert_true((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < 1900);
	api_response_release(&response);
	api_client_free(client);
	bench_close(&b);
}

/* A resolver that stands still for longer than any deadline here, for one name. */
int getaddrinfo(const char *restrict name, const char *restrict service,
	const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");

	if (name && !strcmp(name, STILL_NAME)) {
		sleep(4);
		return EAI_AGAIN;
	}
	memcpy(&real, &symbol, sizeof(real));
	return real(name, service, hints, ret);
}

/* Neither the deadline nor the end of the process waits for a name server that does not answer, from libcurl 7.87 on. */
static void a_resolver_that_stands_still_holds_up_nothing(void **state)
{
	static const struct {
		bool cancelled;
		unsigned total_ms;
		int r;
	} cases[] = {{true, 30000, -ECANCELED}, {false, 500, -ETIMEDOUT}};
	const struct credentials_options credentials = {.api_server = "https://" STILL_NAME ":1"};
	const struct api_request request = {.method = "GET", .path = "/x"};

	(void)state;
	if (LIBCURL_VERSION_NUM < 0x075700)
		test_skip("libcurl " LIBCURL_VERSION " waits for the resolver");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cancel_release) struct cancel cancel = CANCEL_INIT;
		const struct api_client_options options = {.total_ms = cases[i].total_ms, .cancel = &cancel};
		struct credentials *who;
		struct api_client *client;
		struct api_response response;
		struct timespec from, to;
		struct err err = {""};
		pthread_t thread;

		assert_int_equal(cancel_init(&cancel), 0);
		assert_int_equal(credentials_new(&credentials, &who, &err), 0);
		assert_int_equal(api_client_new(who, &options, &client, &err), 0);
		api_response_init(&response);
		clock_gettime(CLOCK_MONOTONIC, &from);
		if (cases[i].cancelled)
			thread = test_cancel_soon(&cancel);
		assert_int_equal(api_client_request(client, &request, &response, &err), cases[i].r);
		api_client_free(client);
		clock_gettime(CLOCK_MONOTONIC, &to);
		if (cases[i].cancelled)
			pthread_join(thread, NULL);
		assert_true((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < 1900);
		api_response_release(&response);
		credentials_free(who);
	}
	sleep(5); /* its threads end by themselves, and valgrind sees that they leave nothing */
}

static void answers_say_what_to_do(void **state)
{
	static const struct {
		enum publish_object object;
		int status;
		const char *body;
		enum publish_outcome outcome;
		const char *says;
	} cases[] = {
		{PUBLISH_NRT, 201, "", PUBLISH_WRITTEN, ""},
		{PUBLISH_NRT, 404, "404 page not found\n", PUBLISH_NOT_FOUND, "apply the CRD"},
		{PUBLISH_NODE, 404, STATUS("x"), PUBLISH_NOT_FOUND, "there is no Node 'n'"},
		{PUBLISH_NRT, 401, STATUS("Unauthorized"), PUBLISH_UNAUTHORIZED,
			"does not accept the credentials (401: Unauthorized)"},
		{PUBLISH_NRT, 403, STATUS("User \\\"system:node:n\\\" cannot patch"), PUBLISH_FORBIDDEN,
			"missing: apply packaging/kubernetes/rbac-nodes.yaml"},
		{PUBLISH_NRT, 403, STATUS("cannot patch"), PUBLISH_FORBIDDEN,
			"apply packaging/kubernetes/rbac.yaml: cannot patch"},
		{PUBLISH_NRT, 403,
			STATUS("create not allowed while custom resource definition is terminating"),
			PUBLISH_NOT_FOUND, "apply the CRD"},
		{PUBLISH_NODE, 422, STATUS("ValidatingAdmissionPolicy 'p' denied"), PUBLISH_FORBIDDEN,
			"an admission policy denies the Node"},
		{PUBLISH_NODE, 422, STATUS("metadata.uid: immutable"), PUBLISH_CONFLICT, "was replaced"},
		{PUBLISH_TAINT, 404, STATUS("x"), PUBLISH_NOT_FOUND, "there is no Node 'n'"},
		{PUBLISH_TAINT, 403, STATUS("node n is not allowed to modify taints"), PUBLISH_FORBIDDEN,
			"a kubelet's identity may not remove the startup taint of 'n'"},
		{PUBLISH_TAINT, 422, STATUS("ValidatingAdmissionPolicy 'p' denied"), PUBLISH_FORBIDDEN,
			"an admission policy denies the startup taint"},
		{PUBLISH_TAINT, 422, STATUS("test failed"), PUBLISH_CONFLICT, "taints of Node 'n' changed"},
		{PUBLISH_NRT, 422, STATUS("bad zone"), PUBLISH_REJECTED, "answers 422"},
		{PUBLISH_NRT, 410, STATUS("gone"), PUBLISH_CONFLICT, "answers 410"},
		{PUBLISH_NRT, 429, "", PUBLISH_THROTTLED, "(no message)"},
		{PUBLISH_NRT, 500, "oops\nX", PUBLISH_SERVER_ERROR, "oops?X"},
		{PUBLISH_NRT, 504, STATUS("t"), PUBLISH_TIMEOUT, "answers 504"},
		{PUBLISH_NRT, 302, "", PUBLISH_REJECTED, "answers 302"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};
		CLEANUP(api_response_release) struct api_response response;
		enum publish_outcome outcome;

		api_response_init(&response);
		response.status = cases[i].status;
		strbuf_addstr(&response.body, cases[i].body);
		outcome = publish_classify(cases[i].object, "n", &response, &err);
		test_assert_text(cases[i].says, publish_outcome_names[outcome],
			publish_outcome_names[cases[i].outcome]);
		if (!strstr(err.text, cases[i].says))
			fail_msg("'%s' lacks '%s'", err.text, cases[i].says);
		assert_int_equal(publish_errno(outcome) < 0, outcome != PUBLISH_WRITTEN);
	}
}

/* A node admits no pods before schedulers can read its object, and a patch removes only the taint that was read. */
static void the_startup_taint_goes_when_all_else_is_published(void **state)
{
#define TAINT(key, effect) "{\"key\":\"" key "\",\"effect\":\"" effect "\"}"
#define OURS               TAINT("nrtd.dev/not-ready", "NoSchedule")
#define TAINTED(...) \
	"{\"kind\":\"Node\",\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"taints\":[" __VA_ARGS__ "]}}"
	static const struct api_answer script[] = {
		{.status = 200,
			.body = TAINTED(TAINT("a", "NoSchedule") "," TAINT(
				"nrtd.dev/not-ready", "NoExecute") "," OURS)},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 503, .body = STATUS("not now")},
		{.status = 201, .body = "{}"},
		{.status = 200, .body = NODE("u1", "\"nrtd.dev/a\":\"1\",\"nrtd.dev/content-hash\":\"h1\"")},
		{.status = 422, .body = STATUS("testing value /spec/taints/2/key failed: test failed")},
		{.status = 200,
			.body = "{\"metadata\":{\"uid\":\"u1\",\"annotations\":{\"nrtd.dev/a\":\"1\",\"nrtd.dev/content-hash\":\"h1\"}},"
				"\"spec\":{\"taints\":[" OURS "]}}"},
		{.status = 200, .body = NODE("u1", "\"nrtd.dev/a\":\"1\",\"nrtd.dev/content-hash\":\"h1\"")},
	};
	static const struct {
		uint64_t at, again;
		int r;
		enum publish_outcome nrt, taint;
		size_t requests;
		bool current;
	} calls[] = {
		{1000, 1001, -EIO, PUBLISH_SERVER_ERROR, PUBLISH_DEFERRED, 3, false},
		{1001, 1001, -EAGAIN, PUBLISH_WRITTEN, PUBLISH_CONFLICT, 6, false},
		{1001, 1002, 0, PUBLISH_UNCHANGED, PUBLISH_DEFERRED, 7, false},
		{1002, 601000, 0, PUBLISH_UNCHANGED, PUBLISH_WRITTEN, 8, true},
		{1003, 601000, 0, PUBLISH_UNCHANGED, PUBLISH_UNCHANGED, 8, true},
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct publish_result result;
		struct err err = {""};

		assert_int_equal(
			bench_publish(&b, "h1", "{\"nrtd.dev/a\":\"1\"}", calls[i].at, &result, &err),
			calls[i].r);
		assert_int_equal(result.nrt, calls[i].nrt);
		assert_int_equal(result.taint, calls[i].taint);
		assert_int_equal(result.current, calls[i].current);
		assert_int_equal(result.call_again_ms, calls[i].again);
		assert_int_equal(b.server.n_requests, calls[i].requests);
	}
	assert_string_equal(b.server.url[5], "/api/v1/nodes/node-a");
	assert_string_equal(b.server.type[5], "application/json-patch+json");
	assert_string_equal(b.server.body[5],
		"[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u1\"},"
		"{\"op\":\"test\",\"path\":\"/spec/taints/2/key\",\"value\":\"nrtd.dev/not-ready\"},"
		"{\"op\":\"test\",\"path\":\"/spec/taints/2/effect\",\"value\":\"NoSchedule\"},"
		"{\"op\":\"remove\",\"path\":\"/spec/taints/2\"}]");
	assert_non_null(strstr(b.server.body[7], "\"/spec/taints/0\""));
	bench_close(&b);
}

static void a_startup_taint_may_be_kept(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = TAINTED(OURS)},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 201, .body = "{}"},
	};
	struct bench b;
	struct publish_result result;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	bench_renew(&b, (struct publisher_options){.keep_taint = true});
	assert_int_equal(bench_publish(&b, "h1", NULL, 1000, &result, NULL), 0);
	assert_int_equal(result.taint, PUBLISH_UNCHANGED);
	assert_true(result.current);
	assert_int_equal(b.server.n_requests, 3);
	bench_close(&b);
}

/* Annotations of pods: a burst, then at their interval; a failure delays only the pod that it concerns. */
static void annotations_of_pods_have_a_budget(void **state)
{
	static const struct api_answer script[] = {
		[0] = {.status = 200, .body = NODE("u1", "")},
		[1] = {.status = 200, .body = "{}"},
		[2] = {.status = 200, .body = "{}"}, /* the object */
		[3] = {.status = 500, .body = STATUS("a webhook fails")},
		[4] = {.status = 200, .body = "{}"},
		[5] = {.status = 404, .body = STATUS("no such pod")},
		[6] = {.status = 422, .body = STATUS("not this one")},
		[7 ... 40] = {.status = 200, .body = "{}"},
	};
	enum { N = 25 };
	CLEANUP(kai_pods_release) struct kai_pods pods = {0};
	CLEANUP(doc_release)
	struct doc nrt = bench_doc("{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"node-a\"}}");
	struct publish_request request = {.nrt = &nrt, .content_hash = "h1", .pods = &pods};
	static const struct {
		uint64_t at, again;
		int r;
		enum publish_outcome outcome;
		size_t requests;
		bool current;
	} calls[] = {
		{1000, 1001, -EIO, PUBLISH_SERVER_ERROR, 4, false}, /* pod 0 */
		{1000, 1001, 0, PUBLISH_DEFERRED, 4, false},        /* its backoff */
		{1001, 1200, 0, PUBLISH_DEFERRED, 23, true},        /* pods 1 to 19, and 20 in all */
		{1200, 1400, 0, PUBLISH_DEFERRED, 24, true},
		{2400, 601000, 0, PUBLISH_WRITTEN, 29, true}, /* the last ones, and pod 0 */
		{3000, 601000, 0, PUBLISH_UNCHANGED, 29, true},
	};
	struct bench b;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct kai_pod *pod = vec_push(&pods.items, &pods.n_items, &pods.items_size, sizeof(*pod));

		pod->namespace = xstrdup("default");
		pod->name = xasprintf("p-%u", i);
		pod->uid = xstrdup("");
		pod->value = xasprintf("[%u]", i);
	}
	bench_open(&b, script, ARRAY_SIZE(script));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct publish_result result;
		struct err err = {""};

		b.now_ms = calls[i].at;
		assert_int_equal(
			publisher_publish(b.publisher, &request, calls[i].at, &result, &err), calls[i].r);
		assert_int_equal(b.server.n_requests, calls[i].requests);
		assert_int_equal(result.pods, calls[i].outcome);
		assert_int_equal(result.current, calls[i].current);
		assert_int_equal(result.call_again_ms, calls[i].again);
	}
	assert_string_equal(b.server.method[3], "PATCH");
	assert_string_equal(b.server.url[3], "/api/v1/namespaces/default/pods/p-0");
	assert_string_equal(b.server.type[3], "application/merge-patch+json");
	assert_string_equal(b.server.body[3],
		"{\"metadata\":{\"annotations\":{\"kai.scheduler/numa-placement-observed\":\"[0]\"}}}");
	assert_string_equal(b.server.url[4], "/api/v1/namespaces/default/pods/p-1");
	assert_string_equal(b.server.url[28], "/api/v1/namespaces/default/pods/p-0");
	bench_close(&b);
}

/* A pod whose write failed and that ends leaves nothing to be retried. */
static void a_pod_that_fails_and_ends_is_forgotten(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 200, .body = "{}"},
		{.status = 200, .body = "{}"},
		{.status = 403, .body = STATUS("pods is forbidden")},
	};
	struct kai_pod pod = {.namespace = (char[]){"d"},
		.name = (char[]){"p"},
		.uid = (char[]){""},
		.value = (char[]){"[]"}};
	struct kai_pods pods = {.items = &pod, .n_items = 1};
	CLEANUP(doc_release)
	struct doc nrt = bench_doc("{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"node-a\"}}");
	struct publish_request request = {.nrt = &nrt, .content_hash = "h1", .pods = &pods};
	struct publish_result result;
	struct err err = {""};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	b.now_ms = 1000;
	assert_int_equal(publisher_publish(b.publisher, &request, 1000, &result, &err), -EPERM);
	assert_non_null(strstr(err.text, "apply packaging/kubernetes/kai.yaml: pods is forbidden"));
	assert_false(result.current);
	pods.n_items = 0;
	assert_int_equal(publisher_publish(b.publisher, &request, 1000, &result, &err), 0);
	assert_true(result.current);
	assert_int_equal(b.server.n_requests, 4);
	bench_close(&b);
}

static void a_node_created_anew_gets_the_object_anew(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 200, .body = "{}"},
		{.status = 200, .body = NODE("u2", "")}, /* at the refresh */
		{.status = 404, .body = STATUS("no such object")},
		{.status = 200, .body = "{}"},
	};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	bench_expect(&b, "h1", 1000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 601000);
	bench_expect(&b, "h1", 601000, 0, PUBLISH_WRITTEN, PUBLISH_UNCHANGED, 1141000);
	assert_non_null(strstr(b.server.body[5], "\"uid\":\"u2\""));
	bench_close(&b);
}

static void of_a_key_that_a_node_has_twice_the_last_counts(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"nrtd.dev/a\":\"1\",\"other\":\"x\",\"nrtd.dev/a\":\"2\"}}}";
	CLEANUP(node_metadata_release) struct node_metadata have;
	CLEANUP(doc_release) struct doc patch = DOC_INIT;
	struct err err = {""};

	(void)state;
	node_metadata_init(&have);
	assert_int_equal(node_metadata_parse(text, sizeof(text) - 1, &have, &err), 0);
	assert_int_equal(have.annotations.n_items, 1);
	assert_string_equal(have.annotations.items[0].text, "2");
	node_metadata_patch(&have, &have, &patch);
	assert_int_equal(patch.n_items, 0);
}

/* ---- Events */

static const struct node_event event = {
	.reason = "DevicesChanged", .note = "vendor.com/nic: 2 -> 1", .warning = true};

static void an_event_is_about_the_node(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 200,
			.body = "{\"metadata\":{\"name\":\"node-a\"},\"attributes\":[{\"name\":\"nrtd.dev/node-state\","
				"\"value\":\"text\"}]}"},
		{.status = 200, .body = "{}"},
		{.status = 201, .body = "{}"},
	};
	CLEANUP(doc_release) struct doc sent = DOC_INIT;
	struct publish_result result;
	struct bench b;
	struct err err = {""};
	uint64_t again;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	bench_renew(&b, (struct publisher_options){.events = true});
	assert_int_equal(publisher_write_event(b.publisher, &event, 1000, &again, &err), PUBLISH_DEFERRED);
	assert_true(again == UINT64_MAX); /* the Node has not been read */
	assert_int_equal(bench_publish(&b, "h1", "{}", 1000, &result, &err), 0);
	assert_string_equal(result.found_state, "text");
	assert_int_equal(publisher_write_event(b.publisher, &event, 1000, &again, &err), PUBLISH_WRITTEN);
	assert_string_equal(b.server.method[3], "POST");
	assert_string_equal(b.server.url[3], "/apis/events.k8s.io/v1/namespaces/default/events");
	sent = bench_doc(b.server.body[3]);
	assert_string_equal(doc_text(&sent, "reason"), "DevicesChanged");
	assert_string_equal(doc_text(&sent, "note"), "vendor.com/nic: 2 -> 1");
	assert_string_equal(doc_text(&sent, "type"), "Warning");
	assert_string_equal(doc_text(&sent, "reportingController"), "nrtd.dev/nrtd");
	assert_string_equal(doc_text(doc_get(&sent, "regarding"), "kind"), "Node");
	assert_string_equal(doc_text(doc_get(&sent, "regarding"), "name"), "node-a");
	assert_string_equal(doc_text(doc_get(&sent, "regarding"), "uid"), "u1");
	assert_string_equal(doc_text(doc_get(&sent, "metadata"), "namespace"), "default");
	assert_int_equal(strncmp(doc_text(doc_get(&sent, "metadata"), "name"), "node-a.", 7), 0);
	bench_close(&b);
}

static void events_have_a_budget_and_end_with_the_right(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = NODE("u1", "")},
		{.status = 404, .body = STATUS("no such object")},
		{.status = 201, .body = "{}"},
		{.status = 201, .body = "{}"},
	};
	static const struct api_answer denied[] = {{.status = 403, .body = STATUS("events is forbidden")}};
	struct publish_result result;
	struct bench b;
	struct err err = {""};
	uint64_t again, now = 1000;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script));
	bench_renew(&b, (struct publisher_options){.events = true});
	assert_int_equal(bench_publish(&b, "h1", "{}", now, &result, &err), 0);
	assert_string_equal(result.found_state, "");
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(
			publisher_write_event(b.publisher, &event, now, &again, &err), PUBLISH_WRITTEN);
	assert_int_equal(publisher_write_event(b.publisher, &event, now, &again, &err), PUBLISH_DEFERRED);
	assert_int_equal(again, now + 300000);
	now = again;
	api_server_stop(&b.server);
	api_server_start_again(&b.server, denied, ARRAY_SIZE(denied));
	assert_int_equal(publisher_write_event(b.publisher, &event, now, &again, &err), PUBLISH_FORBIDDEN);
	assert_non_null(strstr(err.text,
		"the right to write an Event about the Node of 'node-a' is missing: apply packaging/kubernetes/rbac.yaml"));
	assert_int_equal(again, now + 3600000);
	assert_int_equal(
		publisher_write_event(b.publisher, &event, again - 1, &again, &err), PUBLISH_DEFERRED);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_as_agreed),
		cmocka_unit_test(objects_are_for_the_nodes_kubelet),
		cmocka_unit_test(keys_of_others_are_refused),
		cmocka_unit_test(failures_are_retried_with_the_newest_state),
		cmocka_unit_test(a_backoff_begins_when_the_attempt_ends),
		cmocka_unit_test(writes_of_the_node_have_a_budget),
		cmocka_unit_test(a_node_has_as_many_writes_at_once_as_it_may),
		cmocka_unit_test(nodes_that_start_together_do_not_refresh_together),
		cmocka_unit_test(a_server_that_is_away_is_asked_once),
		cmocka_unit_test(no_answer_is_told_apart),
		cmocka_unit_test(a_request_under_way_ends_when_cancelled),
		cmocka_unit_test(a_resolver_that_stands_still_holds_up_nothing),
		cmocka_unit_test(answers_say_what_to_do),
		cmocka_unit_test(the_startup_taint_goes_when_all_else_is_published),
		cmocka_unit_test(a_startup_taint_may_be_kept),
		cmocka_unit_test(annotations_of_pods_have_a_budget),
		cmocka_unit_test(a_pod_that_fails_and_ends_is_forgotten),
		cmocka_unit_test(a_node_created_anew_gets_the_object_anew),
		cmocka_unit_test(of_a_key_that_a_node_has_twice_the_last_counts),
		cmocka_unit_test(an_event_is_about_the_node),
		cmocka_unit_test(events_have_a_budget_and_end_with_the_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
