/* SPDX-License-Identifier: Apache-2.0 */
/* Tests complete replies with a current cache and with a stale cache. */
#include "tests/lib/test.h"

#include "agent/render/render.h"
#include "cluster/extender/server.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/node_sim.h"

/* node-0 has an object and admits the pod; node-1 is unknown. */
#define POD                                                                                \
	"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"1\"}," \
	"\"spec\":{\"priority\":5,\"containers\":[{\"name\":\"app\",\"resources\":{"       \
	"\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]}},"
#define NAMES POD "\"Nodes\":null,\"NodeNames\":[\"node-0\",\"node-1\"]}"
#define ANY   POD "\"limit\":1,\"assume\":true}"
#define NAMED POD "\"nodeNames\":[\"node-0\",\"node-1\"]}"
#define PLAIN POD "\"nodeNames\":null}"
#define VICTIMS \
	POD "\"NodeNameToMetaVictims\":{\"node-1\":{\"Pods\":[{\"UID\":\"2\"}],\"NumPDBViolations\":0}}}"

/* All kinds are listed. The API server has never sent anything: `stale` selects whether that makes the cache stale. */
static struct server *begin(bool stale, bool open)
{
	static const struct nrt_config nrt = {.node_state = true};
	const struct server_config config = {.replica.max_stale_ms = stale ? 0 : UINT64_MAX,
		.replica.stale_open = open,
		.cluster = {.assume_ms = 60000}};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct server *s = NULL;
	struct node_sim sim;

	node_sim_init(&sim, &node_sim_plain);
	text_set(&sim.state.node_name, "node-0");
	server_new(&config, NULL, &s);
	nrt_render(&sim.state, &nrt, &object, NULL);
	server_update(s, OBJECT_NRT, &object);
	for (enum object_kind kind = 0; kind < CLUSTER_KINDS; kind++)
		server_list_end(s, kind, 0);
	node_sim_release(&sim);
	return s;
}

static void check(struct server *s, const char *path, const char *body, int status, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(4096);

	assert_int_equal(server_post(s, path, body, strlen(body), &reply), status);
	test_assert_text(path, reply.text, want);
}

#define ANSWER(names, failed)                                                                \
	"{\"NodeNames\":[" names "],\"Nodes\":null,\"FailedNodes\":{" failed "},\"FailedAnd" \
	"UnresolvableNodes\":{},\"Error\":\"\"}"
#define ERROR(text)                                                                               \
	"{\"NodeNames\":null,\"Nodes\":null,\"FailedNodes\":null,\"FailedAndUnresolvableNodes\":" \
	"null,\"Error\":\"" text "\"}"
#define V1(nodes, reasons) "{" nodes ",\"reasons\":[" reasons "],\"unreachedNodes\":0}"
#define SCORES(a, b)       "[{\"Host\":\"node-0\",\"Score\":" a "},{\"Host\":\"node-1\",\"Score\":" b "}]"

static void stale_open_passes_every_node(void **state)
{
	CLEANUP(server_freep) struct server *fresh = begin(false, true), *stale = begin(true, true);

	(void)state;
	check(fresh, "/filter", NAMES, 200, ANSWER("\"node-0\"", ""));
	check(stale, "/filter", NAMES, 200, ANSWER("\"node-0\",\"node-1\"", ""));
	check(fresh, "/prioritize", NAMES, 200, SCORES("1", "0"));
	check(stale, "/prioritize", NAMES, 200, SCORES("0", "0"));
	check(fresh, "/preempt", VICTIMS, 200, "{\"NodeNameToMetaVictims\":{}}");
	check(stale, "/preempt", VICTIMS, 200,
		"{\"NodeNameToMetaVictims\":{\"node-1\":{\"Pods\":[{\"UID\":\"2\"}],\"NumPDBViolations\":0}}}");
	check(fresh, "/v1/choose", ANY, 200, V1("\"nodeNames\":[\"node-0\"],\"assumed\":true", ""));
	check(stale, "/v1/choose", ANY, 200, V1("\"failedNodeNames\":[],\"assumed\":false", ""));
	check(fresh, "/v1/admit", NAMED, 200, V1("\"nodeNames\":[\"node-0\"]", ""));
	check(stale, "/v1/admit", NAMED, 200, V1("\"failedNodeNames\":[]", ""));
	check(fresh, "/v1/forget", PLAIN, 200, "{}");
	check(stale, "/v1/forget", PLAIN, 200, "{}");
}

static void reasons_are_counted(void **state)
{
	CLEANUP(server_freep) struct server *s = begin(false, false);

	(void)state;
	check(s, "/v1/admit", POD "\"nodeNames\":[\"x\",\"y\"]}", 200,
		V1("\"nodeNames\":[]",
			"{\"nodes\":2,\"reason\":\"the extender knows no Node or NodeResourceTopology object of "
			"this name\"}"));
}

static void stale_closed_returns_an_error(void **state)
{
	static const char filter[] = ERROR("the API server has sent nothing for N s"),
			  v1[] = "{\"error\":\"the API server has sent nothing for N s\"}";
	static const char *const requests[][3] = {{"/filter", NAMES, filter}, {"/prioritize", NAMES, filter},
		{"/preempt", VICTIMS, filter}, {"/v1/choose", ANY, v1}, {"/v1/admit", NAMED, v1},
		{"/v1/forget", PLAIN, v1}};
	CLEANUP(server_freep) struct server *s = begin(true, false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(4096);
		const char *want = requests[i][2];
		size_t digits = (size_t)(strstr(want, "N s") - want), n;

		assert_int_equal(
			server_post(s, requests[i][0], requests[i][1], strlen(requests[i][1]), &reply), 503);
		assert_true(reply.len > digits);
		assert_memory_equal(reply.text, want, digits);
		n = strspn(reply.text + digits, "0123456789");
		assert_true(n > 0);
		test_assert_text("reply", reply.text + digits + n, want + digits + 1);
	}
}

static void assert_count(struct server *s, const char *verb, const char *result, const char *want)
{
	struct metrics_source from = {.lease = NULL};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	char head[100];
	const char *at;

	snprintf(head, sizeof(head), "\nnrtd_extender_requests_total{verb=\"%s\",result=\"%s\"} ", verb,
		result);
	assert_int_equal(server_metrics(s, &from, &out), 0);
	at = strstr(out.text, head);
	assert_non_null(at);
	at += strlen(head);
	assert_int_equal(strcspn(at, "\n"), strlen(want));
	assert_memory_equal(at, want, strlen(want));
}

/* An unreadable request gets a reason. */
static void bad_requests_get_a_reason(void **state)
{
	static const char *const verbs[] = {"filter", "prioritize", "preempt"};
	CLEANUP(server_freep) struct server *s = begin(false, false);

	(void)state;
	check(s, "/filter", "{}", 400, ERROR("Pod: a map is expected, not null"));
	check(s, "/prioritize", "[]", 400, ERROR("not a JSON object"));
	check(s, "/preempt", "{\"NodeNameToMetaVictims\":{}}", 400, ERROR("Pod: missing"));
	check(s, "/filter", "{\"Pod\":{\"a\":1e999}}", 400, ERROR("Pod: line 1: number too large"));
	check(s, "/v1/choose", POD "\"k\":1}", 400, "{\"error\":\"unknown member \\\"k\\\"\"}");
	check(s, "/else", NAMES, 404, "");
	check(s, "/choose", NAMES, 404, "");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		assert_count(s, verbs[i], "bad-request", i == 0 ? "2" : "1");
		assert_count(s, verbs[i], "failed", "0");
	}
	check(s, "/filter", NAMES, 200, ANSWER("\"node-0\"", ""));
	assert_count(s, "filter", "assumed", "1");
	check(s, "/v1/choose", ANY, 200, V1("\"nodeNames\":[\"node-0\"],\"assumed\":true", ""));
	assert_count(s, "choose", "assumed", "1");
	assert_count(s, "choose", "bad-request", "1");
	check(s, "/v1/admit", ANY, 400, "{\"error\":\"unknown member \\\"limit\\\"\"}");
	check(s, "/v1/forget", NAMED, 400, "{\"error\":\"unknown member \\\"nodeNames\\\"\"}");
	check(s, "/v1/admit", PLAIN, 200, V1("\"failedNodeNames\":[]", ""));
	assert_count(s, "admit", "passed", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_are_counted),
		cmocka_unit_test(stale_open_passes_every_node),
		cmocka_unit_test(stale_closed_returns_an_error),
		cmocka_unit_test(bad_requests_get_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
