/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/server.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "cluster/objects/extender_record.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "tests/lib/test.h"

static void assert_ready(struct server *s, bool want, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);

	assert_int_equal(replica_ready(server_replica(s), &line), want);
	if (strncmp(line.text, text, strlen(text)) != 0)
		fail_msg("'%s', want '%s'", line.text, text);
}

static void list_all(struct server *s)
{
	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		server_list_begin(s, (enum object_kind)kind);
		replica_note_alive(server_replica(s), (enum object_kind)kind);
		server_list_end(s, (enum object_kind)kind, 0);
	}
}

/* The PodDisruptionBudgets are optional. */
static void it_is_ready_with_the_three_required_lists(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 3600000};
	static const char *const texts[CLUSTER_KINDS_REQUIRED] = {
		"the NodeResourceTopologies are not listed yet", "the Nodes are not listed yet",
		"the Pods are not listed yet"};
	CLEANUP(server_freep) struct server *s = NULL;

	(void)state;
	server_new(&config, NULL, &s);
	for (int kind = 0; kind < CLUSTER_KINDS_REQUIRED; kind++) {
		assert_ready(s, false, texts[kind]);
		server_list_begin(s, (enum object_kind)kind);
		replica_note_alive(server_replica(s), (enum object_kind)kind);
		server_list_end(s, (enum object_kind)kind, 0);
	}
	assert_ready(s, true, "ok");
}

/* Silence about any one kind makes the cache stale. */
static void the_cache_is_stale_when_one_kind_is_silent(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 20};

	(void)state;
	for (int silent = 0; silent < CLUSTER_KINDS_REQUIRED; silent++) {
		CLEANUP(server_freep) struct server *s = NULL;

		server_new(&config, NULL, &s);
		list_all(s);
		usleep(60000);
		for (int kind = 0; kind < CLUSTER_KINDS; kind++)
			if (kind != silent)
				replica_note_alive(server_replica(s), (enum object_kind)kind);
		assert_ready(s, false, "the API server has sent nothing for ");
	}
}

static void preempt(struct server *s)
{
	static const char request[] = "{\"Pod\":{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
				      "\"name\":\"c\"}]}},\"NodeNameToMetaVictims\":{}}";
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(1024);

	assert_int_equal(server_post(s, "/preempt", request, strlen(request), &reply), 200);
}

static void unknown_budgets_are_logged_once(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 3600000},
					  impatient = {.replica.max_stale_ms = 20};
	struct test_log_lines lines;

	(void)state;
	test_log_begin(&lines);
	for (unsigned known = 0; known < 2; known++) {
		CLEANUP(server_freep) struct server *s = NULL;

		server_new(&config, NULL, &s);
		for (int kind = 0; kind < (known ? CLUSTER_KINDS : CLUSTER_KINDS_REQUIRED); kind++) {
			server_list_begin(s, (enum object_kind)kind);
			replica_note_alive(server_replica(s), (enum object_kind)kind);
			server_list_end(s, (enum object_kind)kind, 0);
		}
		preempt(s);
		preempt(s);
		assert_int_equal(lines.n, 1);
	}
	for (unsigned silent = 0; silent < 2; silent++) {
		CLEANUP(server_freep) struct server *s = NULL;

		server_new(&impatient, NULL, &s);
		list_all(s);
		usleep(60000);
		for (int kind = 0; kind < (silent ? CLUSTER_KINDS_REQUIRED : CLUSTER_KINDS); kind++)
			replica_note_alive(server_replica(s), (enum object_kind)kind);
		preempt(s);
		assert_int_equal(lines.n, 1 + silent);
	}
	test_log_end();
	test_assert_text("line", lines.last,
		"the PodDisruptionBudgets are not known: each victim that /preempt adds counts as a violation");
}

/* ---- victims of a nominated pod */

#define VICTIM                                                                                                         \
	"{\"metadata\":{\"name\":\"v\",\"uid\":\"v\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"       \
	"\"nodeName\":\"n\",\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"1\"," \
	"\"memory\":\"1\"}}}]}}"
#define NOMINATED_FILTER                                                                                   \
	"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"uid\":\"p\"},\"spec\":{\"priority\":5,\"containers\":[{" \
	"\"name\":\"c\"}]},\"status\":{\"nominatedNodeName\":\"%s\"}},\"NodeNames\":[\"n\"]}"

static void parse(const char *text, struct doc *ret)
{
	*ret = (struct doc)DOC_INIT;
	assert_int_equal(json_parse(text, strlen(text), ret, NULL), 0);
}

/* Milliseconds until the answer. */
static int64_t ask_about(struct server *s, const char *nominated)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(1024);
	int64_t begun = clock_ms(CLOCK_MONOTONIC);
	char text[400];

	snprintf(text, sizeof(text), NOMINATED_FILTER, nominated);
	assert_int_equal(server_post(s, "/filter", text, strlen(text), &reply), 200);
	return clock_ms(CLOCK_MONOTONIC) - begun;
}

static void report_victim(struct server *s, int priority)
{
	CLEANUP(doc_release) struct doc pod;
	char text[400];

	snprintf(text, sizeof(text), VICTIM, priority);
	parse(text, &pod);
	server_update(s, OBJECT_POD, &pod);
}

static void *delete_soon(void *data)
{
	CLEANUP(doc_release) struct doc pod;

	usleep(20000);
	parse("{\"metadata\":{\"name\":\"v\",\"uid\":\"v\"}}", &pod);
	server_delete(data, OBJECT_POD, &pod);
	return NULL;
}

static void a_nominated_pod_waits_for_the_end_of_its_victims(void **state)
{
	static const struct server_config brief = {.replica.max_stale_ms = 3600000, .victims_ms = 300},
					  patient = {.replica.max_stale_ms = 3600000, .victims_ms = 60000};
	CLEANUP(server_freep) struct server *s = NULL, *t = NULL;
	pthread_t thread;

	(void)state;
	server_new(&brief, NULL, &s);
	list_all(s);
	report_victim(s, 4);
	assert_true(ask_about(s, "n") >= 300);
	/* A tenth of the time: other pods' requests follow. */
	assert_true(ask_about(s, "n") < 250);
	server_new(&patient, NULL, &t);
	list_all(t);
	report_victim(t, 4);
	assert_true(ask_about(t, "") < 30000 && ask_about(t, "other") < 30000);
	assert_int_equal(pthread_create(&thread, NULL, delete_soon, t), 0);
	assert_true(ask_about(t, "n") < 30000);
	pthread_join(thread, NULL);
	report_victim(t, 5);
	assert_true(ask_about(t, "n") < 30000);
}

/* A request may wait, for victims or for other requests: the cache may be stale then, and another replica may hold the lease. */
static void a_cache_that_gets_stale_during_a_request_answers_nothing(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 200, .victims_ms = 500};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(1024);
	char text[400];

	(void)state;
	server_new(&config, NULL, &s);
	list_all(s);
	report_victim(s, 4);
	snprintf(text, sizeof(text), NOMINATED_FILTER, "n");
	for (int kind = 0; kind < CLUSTER_KINDS; kind++)
		replica_note_alive(server_replica(s), (enum object_kind)kind);
	assert_int_equal(server_post(s, "/filter", text, strlen(text), &reply), 503);
	assert_non_null(strstr(reply.text, "the API server has sent nothing for "));
}

static void a_file_is_never_stale(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 0};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[256];

	(void)state;
	test_write_file(dir, "nodes.json",
		"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n\"},"
		"\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\"}]}");
	snprintf(path, sizeof(path), "%s/nodes.json", dir);
	server_new(&config, NULL, &s);
	assert_int_equal(server_load(s, path, NULL), 0);
	usleep(10000);
	assert_ready(s, true, "ok");
}

/* One object that cannot be read is skipped, as from the API server; a file with nothing else is an error. */
static void a_file_may_have_bad_objects(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 0};
	static const char *const good =
		"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n\"},\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\"}]}";
	static const char *const bad =
		"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"m\"},\"zones\":[{\"type\":\"Node\",\"name\":7}]}";
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[256], text[1024];

	(void)state;
	snprintf(path, sizeof(path), "%s/nodes.json", dir);
	for (int both = 1; both >= 0; both--) {
		CLEANUP(server_freep) struct server *s = NULL;
		struct err err = {""};

		snprintf(text, sizeof(text), "{\"kind\":\"List\",\"items\":[%s%s%s]}", bad, both ? "," : "",
			both ? good : "");
		test_write_file(dir, "nodes.json", text);
		server_new(&config, NULL, &s);
		assert_int_equal(server_load(s, path, &err), both ? 0 : -EINVAL);
		assert_int_equal(!strncmp(err.text, path, strlen(path)), !both);
	}
}

#define PROBE                                                                                                                                 \
	"{\"pod\": {\"metadata\": {\"name\": \"p\", \"namespace\": \"n\", \"uid\": \"u\"}, \"spec\": {\"containers\": [{\"name\": \"c\"}]}}," \
	" \"nodenames\": []}"

static int post(struct server *s, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(65536);
	int status = server_post(s, "/filter", PROBE, strlen(PROBE), &reply);

	if (!strstr(reply.text, text))
		fail_msg("no '%s' in %s", text, reply.text);
	return status;
}

/* Pods that the process before has assumed are bound meanwhile. */
static void it_answers_a_while_after_its_start(void **state)
{
	static const struct server_config config = {
		.replica.max_stale_ms = 3600000, .replica.takeover_ms = 60};
	CLEANUP(server_freep) struct server *s = NULL;

	(void)state;
	server_new(&config, NULL, &s);
	assert_int_equal(post(s, "are not listed yet"), 503);
	usleep(80000);
	list_all(s);
	assert_int_equal(post(s, "this replica answers in "), 503);
	assert_ready(s, false, "this replica answers in ");
	usleep(80000);
	assert_ready(s, true, "ok");
	assert_int_equal(post(s, ""), 200);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		n++;
	return n;
}

static void requests_are_counted_by_duration(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	static const struct process_stats process;
	static const struct cluster cluster;
	static const uint64_t skipped[CLUSTER_KINDS];
	struct request_counts counts = {.unknown_nodes = 7};
	const struct metrics_source from = {
		.process = &process, .requests = &counts, .cluster = &cluster, .skipped = skipped};

	(void)state;
	request_counts_add(&counts, VERB_PRIORITIZE, RESULT_PASSED, 0.0001);
	request_counts_add(&counts, VERB_PRIORITIZE, RESULT_UNSCHEDULABLE, 0.004);
	request_counts_add(&counts, VERB_PRIORITIZE, RESULT_UNSCHEDULABLE, 3);
	metrics_print(&from, &out);
	assert_int_equal(strbuf_error(&out), 0);
	assert_int_equal(count_of(out.text, "_bucket{"), (REQUEST_BUCKETS + 1) * VERB_COUNT);
	assert_int_equal(count_of(out.text, "nrtd_extender_requests_total{"), RESULT_COUNT * VERB_COUNT);
	for (size_t i = 0; i < 6; i++) {
		static const char *const lines[] = {
			"requests_total{verb=\"prioritize\",result=\"unschedulable\"} 2\n",
			"seconds_bucket{verb=\"prioritize\",le=\"0.0001\"} 1\n",
			"seconds_bucket{verb=\"prioritize\",le=\"0.005\"} 2\n",
			"seconds_bucket{verb=\"prioritize\",le=\"1\"} 2\n",
			"seconds_bucket{verb=\"prioritize\",le=\"+Inf\"} 3\n", "unknown_nodes_total 7\n"};

		if (!strstr(out.text, lines[i]))
			fail_msg("no '%s' in %s", lines[i], out.text);
	}
}

/* One object without node state, and one Node without an object. */
static void nodes_are_counted_by_basis(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 3600000};
	static const char *const lines[] = {"nrtd_extender_nodes{state=\"unknown\"} 1\n",
		"nrtd_extender_nodes{state=\"estimated\"} 1\n", "nrtd_extender_nodes{state=\"exact\"} 0\n",
		"nrtd_extender_ready 1\n", "\nprocess_start_time_seconds 1",
		"nrtd_build_info{version=", "nrtd_extender_assumed_pods 0\n",
		"nrtd_extender_assumed_pods_rejected_total{reason=\"TopologyAffinityError\"} 0\n",
		"nrtd_extender_unreached_nodes_total 0\n", "nrtd_extender_slow_kubelet_nodes_total 0\n",
		"nrtd_extender_skipped_objects_total{kind=\"nodes\"} 0\n"};
	struct metrics_source from = {.lease = NULL};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char path[256];

	(void)state;
	test_write_file(dir, "nodes.json",
		"{\"kind\":\"List\",\"items\":[{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n\"},"
		"\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\"}]},"
		"{\"kind\":\"Node\",\"metadata\":{\"name\":\"m\"},\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}]}");
	snprintf(path, sizeof(path), "%s/nodes.json", dir);
	server_new(&config, NULL, &s);
	assert_int_equal(server_load(s, path, NULL), 0);
	assert_int_equal(server_metrics(s, &from, &out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(out.text, lines[i]))
			fail_msg("no '%s' in %s", lines[i], out.text);
}

/* Objects that the API server accepts or might send: each is skipped or applied, and the list completes. */
static void a_bad_object_does_not_affect_other_objects(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 3600000};
	static const struct {
		enum object_kind kind;
		const char *text;
	} bad[] = {
		{OBJECT_POD,
			"{\"metadata\":{\"name\":\"p\",\"uid\":\"1\"},\"spec\":{\"nodeName\":\"n\",\"containers\":"
			"[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"1e99\"}}}]}}"},
		{OBJECT_POD, "{\"metadata\":{\"name\":\"p\",\"uid\":\"1\"},\"spec\":{\"nodeName\":\"n\"}}"},
		{OBJECT_POD, "{\"metadata\":{\"uid\":\"1\"}}"},
		{OBJECT_POD, "{}"},
		{OBJECT_NODE, "{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"cpu\":[]}}}"},
		{OBJECT_NODE, "{\"metadata\":{}}"},
		{OBJECT_NRT, "{\"metadata\":{\"name\":\"n\"}}"},
		{OBJECT_NRT,
			"{\"metadata\":{\"name\":\"n\"},\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\","
			"\"resources\":[{\"name\":\"cpu\",\"capacity\":\"1e99\"}]}]}"},
	};
	static const char *const lines[] = {"nrtd_extender_skipped_objects_total{kind=\"pods\"} 5\n",
		"nrtd_extender_skipped_objects_total{kind=\"nodes\"} 2\n",
		"nrtd_extender_skipped_objects_total{kind=\"noderesourcetopologies\"} 2\n",
		"nrtd_extender_pods 1\n"};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536), large = STRBUF_INIT(4 << 20);
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	const struct err why = {"it cannot be parsed"};
	struct metrics_source from = {.lease = NULL};

	(void)state;
	server_new(&config, NULL, &s);
	for (enum object_kind kind = 0; kind < CLUSTER_KINDS; kind++)
		server_list_begin(s, kind);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;

		assert_int_equal(json_parse(bad[i].text, strlen(bad[i].text), &object, NULL), 0);
		server_update(s, bad[i].kind, &object);
	}
	server_skip(s, OBJECT_POD, &why);
	/* 44 containers with 500 extended resources each. */
	strbuf_addstr(&large, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"2\"},\"spec\":"
			      "{\"nodeName\":\"n\",\"containers\":[");
	for (unsigned c = 0; c < 44; c++) {
		strbuf_addf(&large, "%s{\"name\":\"c%u\",\"resources\":{\"limits\":{", c ? "," : "", c);
		for (unsigned i = 0; i < 500; i++)
			strbuf_addf(&large, "%s\"a-name-that-is-long.example.com/r%u-%u\":\"1\"",
				i ? "," : "", c, i);
		strbuf_addstr(&large, "}}}");
	}
	strbuf_addstr(&large, "]}}");
	assert_int_equal(json_parse(large.text, large.len, &pod, NULL), 0);
	server_update(s, OBJECT_POD, &pod);
	for (enum object_kind kind = 0; kind < CLUSTER_KINDS; kind++) {
		replica_note_alive(server_replica(s), kind);
		server_list_end(s, kind, 0);
	}
	assert_ready(s, true, "ok");
	assert_int_equal(server_metrics(s, &from, &out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(out.text, lines[i]))
			fail_msg("no '%s' in %s", lines[i], out.text);
}

/* ---- the record in the Lease */

static void expect_record(
	struct server *s, const struct doc *before, const char *schedulers, const char *nodes)
{
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};

	replica_annotate_lease(server_replica(s), before, &annotations);
	if (strncmp(doc_text(&annotations, EXTENDER_RECORD_SCHEDULERS), schedulers, strlen(schedulers)) != 0)
		fail_msg("%s, want %s", doc_text(&annotations, EXTENDER_RECORD_SCHEDULERS), schedulers);
	test_assert_text("nodes", doc_text(&annotations, EXTENDER_RECORD_NODES), nodes);
}

static void post_filter(struct server *s, const char *body, int status)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(65536);

	assert_int_equal(server_post(s, "/filter", body, strlen(body), &reply), status);
}

#define ASK(scheduler)                                                                                     \
	"{\"NodeNames\":[\"n\"],\"Pod\":{\"metadata\":{\"name\":\"p\",\"uid\":\"1\"},\"spec\":{" scheduler \
	"\"containers\":[{\"name\":\"c\"}]}}}"

/* A scheduler counts once it has been answered. */
static void schedulers_that_ask_are_recorded(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 3600000};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(doc_release) struct doc before = {.kind = DOC_MAP};

	(void)state;
	server_new(&config, NULL, &s);
	post_filter(s, ASK(""), 503);
	list_all(s);
	post_filter(s, "{}", 400);
	expect_record(s, NULL, "{}", "0");
	post_filter(s, ASK(""), 200);
	expect_record(s, NULL, "{\"default-scheduler\":\"2", "0");
	/* an earlier holder's record; the node version of another process says nothing about this one */
	doc_add_string(&before, EXTENDER_RECORD_SCHEDULERS,
		"{\"old\":\"2020-01-01T00:00:00Z\",\"default-scheduler\":\"2020-01-01T00:00:00Z\",\"x\":1,\"y\":\"?\"}");
	doc_add_string(&before, EXTENDER_RECORD_NODES, "99");
	expect_record(s, &before, "{\"default-scheduler\":\"202", "0");
	expect_record(s, NULL, "{\"default-scheduler\":\"202", "0");
	{
		CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};

		replica_annotate_lease(server_replica(s), NULL, &annotations);
		assert_non_null(strstr(doc_text(&annotations, EXTENDER_RECORD_SCHEDULERS),
			",\"old\":\"2020-01-01T00:00:00.000000Z\"}"));
		assert_null(strstr(
			doc_text(&annotations, EXTENDER_RECORD_SCHEDULERS), "\"default-scheduler\":\"2020"));
	}
}

static void update_node(struct server *s, const char *version)
{
	CLEANUP(doc_release) struct doc node = {.kind = DOC_MAP};
	struct doc *metadata = doc_add_map(&node, "metadata");

	doc_add_string(metadata, "name", "n");
	doc_add_string(metadata, "resourceVersion", version);
	doc_add_map(doc_add_map(&node, "status"), "allocatable");
	server_update(s, OBJECT_NODE, &node);
}

static void the_version_of_the_nodes_is_recorded(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 3600000};
	CLEANUP(server_freep) struct server *s = NULL;

	(void)state;
	server_new(&config, NULL, &s);
	server_list_begin(s, OBJECT_NODE);
	update_node(s, "90"); /* a Node that is listed before this one may still be missing */
	expect_record(s, NULL, "{}", "0");
	server_list_end(s, OBJECT_NODE, 100);
	expect_record(s, NULL, "{}", "100");
	update_node(s, "120");
	expect_record(s, NULL, "{}", "120");
	update_node(s, "110");
	expect_record(s, NULL, "{}", "120");
	server_list_end(s, OBJECT_POD, 300);
	expect_record(s, NULL, "{}", "120");
	server_list_begin(s, OBJECT_NODE);
	update_node(s, "200");
	expect_record(s, NULL, "{}", "0");
	server_list_end(s, OBJECT_NODE, 50); /* the API server's data were restored */
	expect_record(s, NULL, "{}", "50");
}

static void a_record_is_bounded(void **state)
{
	struct extender_record r = {.n_schedulers = 0}, read = {.n_schedulers = 0};
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};
	char name[300];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		extender_record_add(&r, name, i == 7 ? 5000 : 1000 + i);
	}
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	extender_record_add(&r, name, 9999);
	extender_record_add(&r, "s99", 1);
	assert_int_equal(r.n_schedulers, EXTENDER_SCHEDULERS_MAX);
	extender_record_write(&r, &annotations);
	extender_record_read(&read, &annotations, 5000);
	assert_int_equal(read.n_schedulers, EXTENDER_SCHEDULERS_MAX);
	assert_int_equal(extender_record_find(&read, "s7"), 5000);
	assert_int_equal(extender_record_find(&read, "s85"), 1085);
	assert_int_equal(extender_record_find(&read, "s99"), 1099);
	assert_int_equal(extender_record_find(&read, "s84"), 0);
	assert_int_equal(extender_record_find(&read, "s3"), 0);
}

/* A time in the future would never be replaced. */
static void times_in_the_future_are_ignored(void **state)
{
	struct extender_record r = {.n_schedulers = 0}, read = {.n_schedulers = 0};
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};

	(void)state;
	extender_record_add(&r, "future", 5061);
	extender_record_add(&r, "clock ahead", 5060);
	extender_record_write(&r, &annotations);
	extender_record_read(&read, &annotations, 5000);
	assert_int_equal(extender_record_find(&read, "future"), 0);
	assert_int_equal(extender_record_find(&read, "clock ahead"), 5060);
	/* Nobody has asked before 1970, and no scheduler is nameless. */
	extender_record_add(&read, "before", -5);
	extender_record_add(&read, "", 5000);
	assert_int_equal(read.n_schedulers, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_ready_with_the_three_required_lists),
		cmocka_unit_test(it_answers_a_while_after_its_start),
		cmocka_unit_test(the_cache_is_stale_when_one_kind_is_silent),
		cmocka_unit_test(unknown_budgets_are_logged_once),
		cmocka_unit_test(a_nominated_pod_waits_for_the_end_of_its_victims),
		cmocka_unit_test(a_cache_that_gets_stale_during_a_request_answers_nothing),
		cmocka_unit_test(a_file_is_never_stale),
		cmocka_unit_test(a_file_may_have_bad_objects),
		cmocka_unit_test(nodes_are_counted_by_basis),
		cmocka_unit_test(a_bad_object_does_not_affect_other_objects),
		cmocka_unit_test(requests_are_counted_by_duration),
		cmocka_unit_test(schedulers_that_ask_are_recorded),
		cmocka_unit_test(the_version_of_the_nodes_is_recorded),
		cmocka_unit_test(a_record_is_bounded),
		cmocka_unit_test(times_in_the_future_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
