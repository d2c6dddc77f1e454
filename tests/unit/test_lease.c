/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease against an HTTP server that answers by a script, and against a clock that the test sets. That two replicas
 * never both hold it is tried with a real server in tests/upstream.
 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/kube/lease.h"
#include "common/text.h"
#include "tests/lib/api_server.h"

static struct {
	struct api_server server;
	struct lease *lease;
	struct lease_state state; /* after the last step */
	struct err err;
	struct cancel cancel;
	int64_t now_ms;
	char url[64];
	unsigned n_annotated;
} b;

static int64_t given_clock(void *data)
{
	(void)data;
	return b.now_ms;
}

/* Adds the number of the write, and what the Lease had before. */
static void annotate(void *data, const struct doc *before, struct doc *ret)
{
	char text[100];

	(void)data;
	snprintf(text, sizeof(text), "%u after %s", ++b.n_annotated, doc_text(before, "n"));
	doc_add_string(ret, "n", text);
}

static void bench_open_as(const char *identity, const char *url, const struct api_answer *script, size_t n)
{
	const struct lease_options options = {.namespace = "kube-system",
		.name = "nrtd",
		.identity = identity,
		.url = url,
		.clock = given_clock,
		.annotate = annotate};
	struct credentials_options credentials = {.api_server = b.url};

	memset(&b, 0, sizeof(b));
	b.now_ms = 1000000;
	api_server_start(&b.server, script, n);
	snprintf(b.url, sizeof(b.url), "http://127.0.0.1:%u", b.server.port);
	unsetenv("KUBECONFIG");
	setenv("NO_PROXY", "*", 1);
	assert_int_equal(cancel_init(&b.cancel), 0);
	if (lease_new(&options, &credentials, &b.cancel, &b.lease, &b.err) < 0)
		fail_msg("%s", b.err.text);
}

static void bench_open(const struct api_answer *script, size_t n)
{
	bench_open_as("me", NULL, script, n);
}

static int teardown(void **state)
{
	(void)state;
	lease_freep(&b.lease);
	cancel_release(&b.cancel);
	api_server_stop(&b.server);
	return 0;
}

/* A step, so long after the one before it. */
static int step(int64_t later_ms)
{
	b.now_ms += later_ms;
	b.err.text[0] = '\0';
	return lease_step(b.lease, &b.state, &b.err);
}

static void expect(int64_t later_ms, int r, bool held, const char *holder)
{
	int got = step(later_ms);

	if (got != r || b.state.held != held || strcmp(b.state.holder, holder) != 0)
		fail_msg("at %lld: %d held=%d holder='%s' %s", (long long)b.now_ms, got, b.state.held,
			b.state.holder, b.err.text);
	assert_int_equal(lease_held(b.lease), held);
	assert_true(r == 0 || b.err.text[0]);
	assert_in_range(b.state.call_again_ms, b.now_ms + 1000, b.now_ms + 3000);
	assert_true(!held || b.state.call_again_ms == b.now_ms + 2000);
}

/* The n-th request, with the value of a member of its body's spec ("" = none). */
static void request_is(size_t n, const char *method, const char *url, const char *key, const char *value)
{
	CLEANUP(doc_release) struct doc body = DOC_INIT;
	const struct doc *d;

	assert_string_equal(b.server.method[n], method);
	assert_string_equal(b.server.url[n], url);
	if (!key)
		return;
	assert_int_equal(json_parse(b.server.body[n], strlen(b.server.body[n]), &body, NULL), 0);
	d = doc_get(doc_get(&body, "spec"), key);
	test_assert_text(key, d && d->text ? d->text : "", value);
}

#define FOLDER "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define PATH   FOLDER "/nrtd"
#define LEASE_OF(version, holder, duration, renewed)                                         \
	"{\"kind\":\"Lease\",\"metadata\":{\"name\":\"nrtd\",\"resourceVersion\":\"" version \
	"\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"holderIdentity\":\"" holder                \
	"\",\"leaseDurationSeconds\":" duration ",\"renewTime\":\"" renewed                  \
	"\",\"acquireTime\":\"2026-11-22T01:00:00.000000Z\",\"leaseTransitions\":4,\"strategy\":\"X\"}}"
#define LEASE(version, holder, renewed) LEASE_OF(version, holder, "15", renewed)
#define OK(text)                            \
	{                                   \
		.status = 200, .body = text \
	}
#define NO(code)                                                              \
	{                                                                     \
		.status = code, .body = "{\"message\":\"that is an answer\"}" \
	}
#define MINE(version) OK(LEASE(version, "me", version))
#define ITS(version)  OK(LEASE(version, "it", version))

/* ---- tests */

static void the_first_one_creates_it_and_renews_it(void **state)
{
	static const struct api_answer script[] = {
		NO(404), {.status = 201, .body = LEASE("1", "me", "1")}, MINE("2"), MINE("3")};

	char renewed[28] = "";
	int64_t at = 0;

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	assert_false(lease_held(b.lease));
	expect(0, 0, true, "me");
	request_is(0, "GET", PATH, NULL, NULL);
	request_is(1, "POST", FOLDER, "holderIdentity", "me");
	request_is(1, "POST", FOLDER, "leaseDurationSeconds", "15");
	request_is(1, "POST", FOLDER, "leaseTransitions", "0");
	expect(2000, 0, true, "me");
	request_is(2, "PUT", PATH, "holderIdentity", "me");
	request_is(2, "PUT", PATH, "leaseTransitions", "4");
	request_is(2, "PUT", PATH, "acquireTime", "2026-11-22T01:00:00.000000Z");
	request_is(2, "PUT", PATH, "strategy", "X");
	assert_non_null(strstr(b.server.body[2], "\"resourceVersion\":\"1\""));
	assert_non_null(strstr(b.server.body[2], "\"labels\":{\"a\":\"b\"}"));
	expect(2000, 0, true, "me");
	assert_int_equal(b.server.n_requests, 4);
	/* "2026-11-22T01:00:00.000000Z" */
	snprintf(renewed, sizeof(renewed), "%s", strstr(b.server.body[1], "\"renewTime\":\"") + 13);
	assert_int_equal(strspn(renewed, "0123456789-T:.Z"), 27);
	assert_int_equal(timestamp_parse(renewed, &at), 0);
	assert_in_range(at, time(NULL) - 600, time(NULL) + 600);
}

/* Each write has the annotations of the callback, which knows those of the object; the object's others stay. */
static void the_holder_annotates_it(void **state)
{
	static const struct api_answer script[] = {
		OK("{\"kind\":\"Lease\",\"metadata\":{\"name\":\"nrtd\",\"resourceVersion\":\"1\",\"annotations\":"
		   "{\"a\":\"b\",\"n\":\"theirs\"}},\"spec\":{\"holderIdentity\":\"\"}}"),
		OK("{\"kind\":\"Lease\",\"metadata\":{\"name\":\"nrtd\",\"resourceVersion\":\"2\",\"annotations\":"
		   "{\"n\":\"ours\"}},\"spec\":{\"holderIdentity\":\"me\"}}"),
		MINE("3")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, true, "me");
	assert_non_null(strstr(b.server.body[1], "\"annotations\":{\"a\":\"b\",\"n\":\"1 after theirs\"}"));
	expect(2000, 0, true, "me");
	assert_non_null(strstr(b.server.body[2], "\"annotations\":{\"n\":\"2 after ours\"}"));
}

/* Two replicas find none, or an expired one: the other's write comes first. */
static void who_is_slower_gets_a_conflict(void **state)
{
	static const struct api_answer script[] = {NO(404), NO(409), ITS("1"), ITS("1"), NO(409), ITS("3")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, false, "");
	expect(2000, 0, false, "it");
	expect(15000, 0, false, "it");
	request_is(4, "PUT", PATH, "holderIdentity", "me");
	expect(2000, 0, false, "it");
	assert_int_equal(b.server.n_requests, 6);
}

/* By this clock it expires 15 s after it was seen to change, whatever times are in it. */
static void one_that_is_not_renewed_is_taken(void **state)
{
	static const struct api_answer script[] = {
		ITS("1"), ITS("2"), ITS("2"), ITS("2"), MINE("3"), MINE("4")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, false, "it");
	expect(14000, 0, false, "it");
	expect(14999, 0, false, "it");
	assert_int_equal(b.server.n_requests, 3);
	expect(1, 0, true, "me");
	request_is(4, "PUT", PATH, "leaseTransitions", "5");
	assert_null(strstr(b.server.body[4], "2026-11-22T01:00:00"));
	assert_non_null(strstr(b.server.body[4], "\"resourceVersion\":\"2\""));
}

/* Its clock is years ahead, or behind, or was set back: only that it writes counts. */
static void times_in_it_do_not_matter(void **state)
{
	static const struct api_answer script[] = {OK(LEASE("1", "it", "2036-01-01T00:00:00.000000Z")),
		OK(LEASE("2", "it", "2016-01-01T00:00:00.000000Z")),
		OK(LEASE("3", "it", "2015-01-01T00:00:00.000000Z")),
		OK(LEASE("9", "it", "2015-01-01T00:00:00.000000Z")), MINE("10")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, false, "it");
	expect(14000, 0, false, "it");
	expect(14000, 0, false, "it");
	/* Another resourceVersion alone, of an edited label, is no renewal. */
	expect(15000, 0, true, "me");
}

static void one_that_was_given_up_is_taken_at_once(void **state)
{
	static const struct api_answer script[] = {OK(LEASE_OF("1", "", "1", "1")), MINE("2"), NO(404),
		OK(LEASE_OF("1", "it", "5", "1")), OK(LEASE_OF("1", "it", "5", "1")), MINE("2")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, true, "me");
	request_is(1, "PUT", PATH, "leaseTransitions", "5");
	teardown(NULL);
	/* The leaseDurationSeconds of the holder counts, not this replica's. */
	bench_open(script + 3, 3);
	expect(0, 0, false, "it");
	expect(5000, 0, true, "me");
}

/* It is over by itself, a third of the time before another replica may take it. */
static void without_the_server_it_ends_in_time(void **state)
{
	static const struct api_answer script[] = {MINE("1"), MINE("2"), MINE("3")};
	static const struct api_answer later[] = {MINE("3"), MINE("4")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, true, "me");
	api_server_stop(&b.server);
	expect(2000, -ECONNREFUSED, true, "me");
	expect(7999, -ECONNREFUSED, true, "me");
	b.now_ms++;
	assert_false(lease_held(b.lease));
	expect(0, -ECONNREFUSED, false, "me");
	expect(2000, -ECONNREFUSED, false, "me");
	/* Nobody took it meanwhile. */
	api_server_start_again(&b.server, later, ARRAY_SIZE(later));
	expect(2000, 0, true, "me");
	request_is(3, "PUT", PATH, "acquireTime", "2026-11-22T01:00:00.000000Z");
}

static void another_holder_ends_it_at_once(void **state)
{
	static const struct api_answer script[] = {MINE("1"), MINE("2"), NO(409), ITS("3")};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, true, "me");
	expect(2000, 0, false, "it");
	assert_int_equal(b.server.n_requests, 4);
}

/* An answer that got lost had its effect: what is there is ours. One that is deleted is made again. */
static void a_conflict_with_oneself_is_none(void **state)
{
	static const struct api_answer script[] = {MINE("1"), MINE("2"), NO(409), MINE("3"), MINE("4"),
		NO(404), NO(404), {.status = 201, .body = LEASE("7", "me", "7")}};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, true, "me");
	expect(2000, 0, true, "me");
	assert_non_null(strstr(b.server.body[4], "\"resourceVersion\":\"3\""));
	expect(2000, 0, true, "me");
	request_is(7, "POST", FOLDER, "holderIdentity", "me");
}

static void refusals_are_named(void **state)
{
	static const struct api_answer script[] = {
		NO(403), NO(404), NO(403), OK("{}"), OK("no JSON"), MINE("1"), MINE("2"), NO(503)};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, -EACCES, false, "");
	assert_string_equal(
		b.err.text, "the API server answers 403 for lease 'kube-system/nrtd': that is an answer");
	expect(2000, -EACCES, false, "");
	expect(2000, -EBADMSG, false, "");
	expect(2000, -EINVAL, false, "");
	expect(2000, 0, true, "me");
	expect(2000, -EIO, true, "me");
}

static void it_is_given_up_at_the_end(void **state)
{
	static const struct api_answer script[] = {ITS("1"), MINE("2"), MINE("3"), OK(LEASE("4", "", "4"))};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect(0, 0, false, "it");
	/* What others hold is theirs. */
	assert_int_equal(lease_step_down(b.lease, &b.err), 0);
	assert_int_equal(b.server.n_requests, 1);
	expect(2000, 0, true, "me");
	cancel_request(&b.cancel);
	assert_int_equal(lease_step_down(b.lease, &b.err), 0);
	assert_false(lease_held(b.lease));
	request_is(3, "PUT", PATH, "holderIdentity", "");
	request_is(3, "PUT", PATH, "leaseDurationSeconds", "1");
	request_is(3, "PUT", PATH, "leaseTransitions", "4");
	assert_non_null(strstr(b.server.body[3], "\"resourceVersion\":\"3\""));
	assert_int_equal(step(2000), -ECANCELED);
}

static void expect_url(int64_t later_ms, const char *url)
{
	assert_int_equal(step(later_ms), 0);
	test_assert_text("url", b.state.url ? b.state.url : "none", url);
}

/* Behind the identity is where it answers; only what can be in such an address is one. */
static void the_holder_says_where_it_answers(void **state)
{
	static const struct api_answer script[] = {OK(LEASE("1", "it@https://[fd00::1]:8096", "1")),
		OK(LEASE("2", "it", "2")), OK(LEASE("3", "a@b@http://10.0.0.1:80", "3")),
		OK(LEASE("4", "it@10.0.0.1:80", "4")), OK(LEASE("5", "it@http://a\\r\\nb", "5")),
		OK(LEASE("5", "it@http://a\\r\\nb", "5")), MINE("6"), OK(LEASE("7", "it@http://h", "7")),
		OK(LEASE("8", "me@http://[::1]:9", "8"))};

	(void)state;
	bench_open_as("me", "http://[::1]:9", script, ARRAY_SIZE(script));
	expect_url(0, "https://[fd00::1]:8096");
	expect_url(1000, "none");
	expect_url(1000, "http://10.0.0.1:80");
	expect_url(1000, "none");
	expect_url(1000, "none");
	expect_url(15000, "none");
	request_is(6, "PUT", PATH, "holderIdentity", "me@http://[::1]:9");
	expect_url(1000, "http://h");
	expect_url(1000, "none"); /* its own */
}

/* Nobody is sent to one whose time has passed, whether or not it can be taken. */
static void where_an_expired_holder_answered_is_not_said(void **state)
{
	static const struct api_answer script[] = {OK(LEASE("1", "it@http://h", "1"))};

	(void)state;
	bench_open(script, ARRAY_SIZE(script));
	expect_url(0, "http://h");
	api_server_stop(&b.server);
	assert_int_equal(step(14000), -ECONNREFUSED);
	assert_string_equal(b.state.url, "http://h");
	assert_int_equal(step(1000), -ECONNREFUSED);
	assert_null(b.state.url);
}

#define HERE "http://10.0.0.7:8096"

/* Its port is ours by now, so it has ended. */
static void what_was_held_in_this_place_is_taken_at_once(void **state)
{
	static const struct api_answer script[] = {
		OK(LEASE("1", "host_7@" HERE, "1")), OK(LEASE("2", "host_8@" HERE, "2"))};
	static const struct api_answer others[][1] = {{OK(LEASE("1", "other_7@" HERE, "1"))},
		{OK(LEASE("1", "hos_7@" HERE, "1"))}, {OK(LEASE("1", "host_7@http://10.0.0.7:80", "1"))},
		{OK(LEASE("1", "host_7", "1"))}, {OK(LEASE("1", "host@" HERE, "1"))}};

	(void)state;
	bench_open_as("host_8", HERE, script, ARRAY_SIZE(script));
	expect(0, 0, true, "host_8@" HERE);
	teardown(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		bench_open_as("host_8", HERE, others[i], 1);
		assert_int_equal(step(0), 0);
		assert_false(b.state.held);
		assert_int_equal(b.server.n_requests, 1);
		teardown(NULL);
	}
	bench_open_as("host_8", NULL, script, 1); /* which says nothing of its place */
	expect(0, 0, false, "host_7@" HERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_one_creates_it_and_renews_it, teardown),
		cmocka_unit_test_teardown(the_holder_annotates_it, teardown),
		cmocka_unit_test_teardown(who_is_slower_gets_a_conflict, teardown),
		cmocka_unit_test_teardown(one_that_is_not_renewed_is_taken, teardown),
		cmocka_unit_test_teardown(times_in_it_do_not_matter, teardown),
		cmocka_unit_test_teardown(one_that_was_given_up_is_taken_at_once, teardown),
		cmocka_unit_test_teardown(without_the_server_it_ends_in_time, teardown),
		cmocka_unit_test_teardown(another_holder_ends_it_at_once, teardown),
		cmocka_unit_test_teardown(a_conflict_with_oneself_is_none, teardown),
		cmocka_unit_test_teardown(refusals_are_named, teardown),
		cmocka_unit_test_teardown(it_is_given_up_at_the_end, teardown),
		cmocka_unit_test_teardown(the_holder_says_where_it_answers, teardown),
		cmocka_unit_test_teardown(where_an_expired_holder_answered_is_not_said, teardown),
		cmocka_unit_test_teardown(what_was_held_in_this_place_is_taken_at_once, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
