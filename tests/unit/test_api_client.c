/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that have no length: what api_client_stream() hands on, and how it ends. Whole requests are in
 * test_publish.c.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/kube/api_client.h"
#include "common/text.h"
#include "tests/lib/api_server.h"

struct bench {
	struct api_server server;
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
	struct strbuf got; /* the pieces, one after the other */
	unsigned n_begun;
	int refuses;  /* what a piece is answered with */
	bool cancels; /* at the first piece */
	bool goes_on; /* the server may, after each */
	struct cancel cancel;
	int64_t cancelled_ms;
	char url[64];
	struct err err;
};

static void bench_open(struct bench *b, const struct api_answer *script, size_t n, unsigned total_ms)
{
	struct credentials_options credentials = {.api_server = b->url};
	struct api_client_options options = {.total_ms = total_ms, .reply_max = 100, .cancel = &b->cancel};

	*b = (struct bench){.got = STRBUF_INIT(1 << 20)};
	assert_int_equal(cancel_init(&b->cancel), 0);
	api_server_start(&b->server, script, n);
	snprintf(b->url, sizeof(b->url), "http://127.0.0.1:%u", b->server.port);
	unsetenv("KUBECONFIG");
	setenv("NO_PROXY", "*", 1);
	api_response_init(&b->response);
	if (credentials_new(&credentials, &b->credentials, &b->err) < 0 ||
		api_client_new(b->credentials, &options, &b->client, &b->err) < 0)
		fail_msg("%s", b->err.text);
}

static void bench_close(struct bench *b)
{
	api_server_stop(&b->server);
	strbuf_release(&b->got);
	api_response_release(&b->response);
	api_client_free(b->client);
	credentials_free(b->credentials);
	cancel_release(&b->cancel);
}

static int keep(const char *piece, size_t len, void *data, struct err *err)
{
	struct bench *b = data;

	b->n_begun += len == 0;
	strbuf_add(&b->got, piece, len);
	if (b->cancels)
		cancel_request(&b->cancel);
	if (b->goes_on)
		api_server_go_on(&b->server);
	return b->refuses < 0 ? err_set(err, b->refuses, "not wanted") : 0;
}

static int stream(struct bench *b, unsigned idle_ms)
{
	struct api_request request = {.method = "GET", .path = "/watch?watch=true", .idle_ms = idle_ms};

	strbuf_reset(&b->got);
	return api_client_stream(b->client, &request, keep, b, &b->response, &b->err);
}

/* ---- tests */

static const char *const three[] = {"one ", API_SERVER_WAIT, "two ", API_SERVER_WAIT, "three", NULL};
static const char *const stalled[] = {"one ", "two", API_SERVER_WAIT, "three", NULL};
static const char *const silent[] = {API_SERVER_WAIT, "late", NULL};
static const char *const cut[] = {"one ", "tw", API_SERVER_CUT, NULL};

/* The server sends the second piece when the first one has been handed on: nothing is collected. The cap of a
 * reply does not count. */
static void pieces_come_as_they_are_sent(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .pieces = three}, {.status = 200, .padding = 100000}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script), 0);
	b.goes_on = true;
	assert_int_equal(stream(&b, 30000), 0);
	assert_int_equal(b.response.status, 200);
	assert_string_equal(b.got.text, "one two three");
	assert_int_equal(b.response.body.len, 0);
	assert_string_equal(b.server.query[0], "watch=true");
	assert_int_equal(stream(&b, 30000), 0);
	assert_int_equal(b.got.len, 100000);
	bench_close(&b);
}

/* A watch of what does not change has a head and nothing else for a long time. */
static void the_beginning_is_reported(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .pieces = silent},
		{.status = 404, .body = "no"}, {.status = 200, .pieces = silent}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script), 0);
	b.goes_on = true;
	assert_int_equal(stream(&b, 30000), 0);
	assert_int_equal(b.n_begun, 1);
	assert_string_equal(b.got.text, "late");
	assert_int_equal(stream(&b, 30000), 0);
	assert_int_equal(b.n_begun, 1);
	b.refuses = -EBADMSG;
	assert_int_equal(stream(&b, 30000), -EBADMSG);
	assert_int_equal(b.n_begun, 2);
	assert_int_equal(b.got.len, 0);
	bench_close(&b);
}

static void no_deadline_but_for_silence(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = "late", .delay_ms = 1500}, {.status = 200, .pieces = stalled}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script), 500);
	assert_int_equal(stream(&b, 30000), 0);
	assert_string_equal(b.got.text, "late");
	assert_int_equal(stream(&b, 1000), -ETIMEDOUT);
	assert_non_null(strstr(b.err.text, "no data for 1 s"));
	bench_close(&b);
}

static void a_connection_that_is_cut_is_no_end(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .pieces = cut}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script), 0);
	assert_int_equal(stream(&b, 0), -ECONNRESET);
	assert_string_equal(b.got.text, "one tw");
	bench_close(&b);
}

/* A Status object is no part of the stream, and has the cap of every reply. */
static void other_answers_are_replies(void **state)
{
	static const struct api_answer script[] = {{.status = 410, .body = "gone"},
		{.status = 429, .body = "slow", .retry_after = "7"}, {.status = 500, .padding = 101},
		{.status = 200, .body = "again"}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script), 0);
	assert_int_equal(stream(&b, 0), 0);
	assert_int_equal(b.response.status, HTTP_GONE);
	assert_string_equal(b.response.body.text, "gone");
	assert_int_equal(stream(&b, 0), 0);
	assert_int_equal(b.response.retry_after_s, 7);
	assert_int_equal(stream(&b, 0), -EFBIG);
	assert_int_equal(b.got.len, 0);
	assert_int_equal(stream(&b, 0), 0);
	assert_string_equal(b.got.text, "again");
	assert_int_equal(b.response.body.len, 0);
	bench_close(&b);
}

static void who_reads_can_end_it(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .pieces = stalled}};
	struct bench b;

	(void)state;
	bench_open(&b, script, ARRAY_SIZE(script), 0);
	b.refuses = -EBADMSG;
	assert_int_equal(stream(&b, 0), -EBADMSG);
	assert_string_equal(b.err.text, "not wanted");
	b.refuses = 0;
	b.cancels = true;
	assert_int_equal(stream(&b, 0), -ECANCELED);
	bench_close(&b);
}

static void *cancel_later(void *data)
{
	struct bench *b = data;

	usleep(500000); /* all timers of the connection have expired */
	b->cancelled_ms = clock_ms(CLOCK_MONOTONIC);
	cancel_request(&b->cancel);
	return NULL;
}

/* The fastest of three counts, so that a busy machine does not matter. Waiting in slices of a second makes each slow. */
static void a_silent_stream_ends_at_once_when_cancelled(void **state)
{
	static const struct api_answer script[] = {{.status = 200, .pieces = silent}};
	int64_t fastest = INT64_MAX;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		pthread_t thread;
		struct bench b;
		int64_t took;

		bench_open(&b, script, ARRAY_SIZE(script), 0);
		assert_int_equal(pthread_create(&thread, NULL, cancel_later, &b), 0);
		assert_int_equal(stream(&b, 30000), -ECANCELED);
		pthread_join(thread, NULL);
		took = clock_ms(CLOCK_MONOTONIC) - b.cancelled_ms;
		fastest = took < fastest ? took : fastest;
		bench_close(&b);
	}
	assert_in_range(fastest, 0, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_come_as_they_are_sent),
		cmocka_unit_test(the_beginning_is_reported),
		cmocka_unit_test(no_deadline_but_for_silence),
		cmocka_unit_test(a_connection_that_is_cut_is_no_end),
		cmocka_unit_test(other_answers_are_replies),
		cmocka_unit_test(who_reads_can_end_it),
		cmocka_unit_test(a_silent_stream_ends_at_once_when_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
