/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of agent/daemon/http.h while questions take long: what else is answered meanwhile, and how it ends.
 */
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/daemon/http.h"
#include "common/cleanup.h"
#include "tests/lib/http_client.h"

#define REPLY_MAX ((size_t)1 << 20)

struct world {
	struct http_server *server;
	atomic_uint calls;
	atomic_bool go; /* "/slow" is answered then */
};

static bool fine(void *ctx, struct strbuf *line)
{
	(void)ctx;
	strbuf_addstr(line, "ok");
	return true;
}

static int no_metrics(void *ctx, struct strbuf *text)
{
	(void)ctx;
	strbuf_addstr(text, "a_metric 1\n");
	return 0;
}

static int post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	struct world *w = ctx;

	w->calls++;
	assert_string_equal(path, "/slow");
	assert_int_equal(len, strlen(body));
	while (!w->go)
		usleep(1000);
	strbuf_addstr(reply, "at last");
	return 200;
}

static int setup(void **state)
{
	static const struct http_callbacks callbacks = {
		.healthy = fine, .ready = fine, .metrics = no_metrics, .post = post};
	static const struct http_options options = {.idle_seconds = 60, .body_max = 1 << 20};
	struct world *w = calloc(1, sizeof(*w));
	struct err err = {""};

	assert_non_null(w);
	if (http_server_start("127.0.0.1", 0, &options, &callbacks, w, &w->server, &err) < 0)
		fail_msg("%s", err.text);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	w->go = true;
	http_server_free(w->server);
	free(w);
	return 0;
}

static void ask(const struct world *w, const char *request, size_t len, struct strbuf *reply)
{
	http_ask(1, http_server_port(w->server), request, len, reply);
}

struct slow_client {
	const struct world *world;
	pthread_t thread;
	struct strbuf reply;
};

static void *ask_slowly(void *data)
{
	static const char request[] = "POST /slow HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
				      "Content-Length: 2\r\n\r\n{}";
	struct slow_client *c = data;

	ask(c->world, request, strlen(request), &c->reply);
	return NULL;
}

/* So many questions that take long are under way. */
static void begin_slow(struct world *w, struct slow_client *clients, size_t n)
{
	w->go = false;
	for (size_t i = 0; i < n; i++) {
		clients[i] = (struct slow_client){.world = w, .reply = STRBUF_INIT(REPLY_MAX)};
		assert_int_equal(pthread_create(&clients[i].thread, NULL, ask_slowly, &clients[i]), 0);
	}
	while (w->calls < (n < 4 ? n : 4))
		usleep(1000);
}

static void end_slow(struct slow_client *clients, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pthread_join(clients[i].thread, NULL);
		assert_int_equal(http_status(&clients[i].reply), 200);
		test_assert_text("body", http_body(&clients[i].reply), "at last");
		strbuf_release(&clients[i].reply);
	}
}

static void get_page(const struct world *w, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	char request[100];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", path);
	ask(w, request, strlen(request), &reply);
	assert_int_equal(http_status(&reply), 200);
}

/* Three threads are busy, so one is left for /metrics; then all are, and more questions wait than there are threads. */
static void questions_hold_up_no_probe(void **state)
{
	struct slow_client clients[20];
	struct world *w = *state;

	begin_slow(w, clients, 3);
	get_page(w, "/healthz");
	get_page(w, "/readyz");
	get_page(w, "/metrics");
	assert_int_equal(w->calls, 3);
	w->go = true;
	end_slow(clients, 3);
	w->calls = 0;
	begin_slow(w, clients, ARRAY_SIZE(clients));
	for (unsigned i = 0; i < 10; i++) {
		get_page(w, "/healthz");
		get_page(w, "/readyz");
	}
	w->go = true;
	end_slow(clients, ARRAY_SIZE(clients));
	assert_int_equal(w->calls, ARRAY_SIZE(clients));
	get_page(w, "/metrics");
}

static void *let_go(void *data)
{
	struct world *w = data;

	usleep(100000);
	w->go = true;
	return NULL;
}

/* What is under way is answered before the server is gone. */
static void it_ends_when_its_questions_have(void **state)
{
	struct slow_client clients[4];
	struct world *w = *state;
	pthread_t thread;

	begin_slow(w, clients, ARRAY_SIZE(clients));
	assert_int_equal(pthread_create(&thread, NULL, let_go, w), 0);
	http_server_freep(&w->server);
	assert_true(w->go);
	pthread_join(thread, NULL);
	end_slow(clients, ARRAY_SIZE(clients));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(questions_hold_up_no_probe, setup, teardown),
		cmocka_unit_test_setup_teardown(it_ends_when_its_questions_have, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
