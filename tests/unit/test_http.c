/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/http/http.h"
#include "tests/lib/http_client.h"

#define REPLY_MAX (1u << 20)

/* What the callbacks answer. */
struct board {
	atomic_bool healthy, ready;
	atomic_int metrics_error;
	atomic_uint metrics_bytes;
	atomic_uint calls;
	atomic_bool signals_blocked;
};

static bool healthy(void *ctx, struct strbuf *line)
{
	struct board *b = ctx;
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	b->signals_blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGHUP) == 1;
	b->calls++;
	strbuf_addstr(line, b->healthy ? "ok" : "the loop has not turned for 20 s");
	return b->healthy;
}

static bool ready(void *ctx, struct strbuf *line)
{
	struct board *b = ctx;

	b->calls++;
	strbuf_addstr(line, b->ready ? "ok" : "not published yet");
	return b->ready;
}

static int metrics(void *ctx, struct strbuf *text)
{
	struct board *b = ctx;

	b->calls++;
	strbuf_addstr(text, "a_metric 1\n");
	while (text->len < b->metrics_bytes)
		strbuf_addstr(text, "a_metric 1\n");
	return b->metrics_error;
}

static const struct http_callbacks callbacks = {.healthy = healthy, .ready = ready, .metrics = metrics};

struct world {
	struct board board;
	struct http_server *server;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = {""};

	w->board.healthy = true;
	assert_int_equal(http_server_start("127.0.0.1", 0, NULL, &callbacks, &w->board, &w->server, &err), 0);
	assert_true(http_server_port(w->server) > 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	http_server_free(w->server);
	free(w);
	return 0;
}

static int dial_from(const struct world *w, unsigned host)
{
	return http_dial(host, http_server_port(w->server));
}

static int dial(const struct world *w)
{
	return dial_from(w, 1);
}

static void ask_from(const struct world *w, unsigned host, const char *request, struct strbuf *reply)
{
	http_ask(host, http_server_port(w->server), request, strlen(request), reply);
}

static void ask(const struct world *w, const char *request, struct strbuf *reply)
{
	ask_from(w, 1, request, reply);
}

static void get(const struct world *w, const char *path, struct strbuf *reply)
{
	CLEANUP(strbuf_release) struct strbuf request = STRBUF_INIT(4096);

	strbuf_addf(&request, "GET %s HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", path);
	ask(w, request.text, reply);
}

static void pages_answer(void **state)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	get(w, "/healthz", &reply);
	assert_int_equal(http_status(&reply), 200);
	test_assert_text("healthz", http_body(&reply), "ok\n");
	assert_true(w->board.signals_blocked);
	get(w, "/readyz", &reply);
	assert_int_equal(http_status(&reply), 503);
	test_assert_text("readyz", http_body(&reply), "not published yet\n");
	w->board.ready = true;
	w->board.healthy = false;
	get(w, "/readyz?verbose=1", &reply);
	assert_int_equal(http_status(&reply), 200);
	get(w, "/healthz", &reply);
	assert_int_equal(http_status(&reply), 503);
	test_assert_text("healthz", http_body(&reply), "the loop has not turned for 20 s\n");
	get(w, "/metrics", &reply);
	assert_int_equal(http_status(&reply), 200);
	assert_non_null(strstr(reply.text, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	test_assert_text("metrics", http_body(&reply), "a_metric 1\n");
	w->board.metrics_error = -ENOMEM;
	get(w, "/metrics", &reply);
	assert_int_equal(http_status(&reply), 500);
	test_assert_text("metrics", http_body(&reply), "");
}

static void head_has_no_body(void **state)
{
	static const char *const pages[] = {"/healthz", "/metrics"};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		char request[128];

		snprintf(request, sizeof(request), "HEAD %s HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n",
			pages[i]);
		ask(w, request, &reply);
		assert_int_equal(http_status(&reply), 200);
		assert_non_null(strstr(reply.text, i ? "Content-Length: 11\r\n" : "Content-Length: 3\r\n"));
		test_assert_text("body", http_body(&reply), "");
	}
}

static void the_rest_is_refused(void **state)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 404},
		{"GET /healthz/ HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 404},
		{"GET /../etc/passwd HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 404},
		{"POST /nowhere HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 404},
		{"POST /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
			405},
		{"PUT /healthz HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 405},
		{"DELETE /readyz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 405},
		{"OPTIONS /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 405},
		{"get /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 405},
	};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ask(w, cases[i].request, &reply);
		if (http_status(&reply) != cases[i].status)
			print_error("%s", cases[i].request);
		assert_int_equal(http_status(&reply), cases[i].status);
		assert_int_equal(
			strstr(reply.text, "\r\nAllow: GET, HEAD\r\n") != NULL, cases[i].status == 405);
	}
	assert_int_equal(w->board.calls, 0);
}

/* Whatever is sent, no callback runs, the connection ends and the server goes on. */
static void what_is_no_request_ends_the_connection(void **state)
{
	static const char *const requests[] = {
		"\r\n\r\n\r\n\r\n",
		"hello\r\n\r\n",
		"GET\r\n\r\n",
		"GET /metrics SMTP/9\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 99999999999999999999999\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: -1\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\nhello",
		"GET /metrics HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n",
		"GET /metrics HTTP/1.1\r\n\r\n",
		"\x16\x03\x01\x02\x01\x01\xfc\x03\x03\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		CLEANUP(closep) int fd = dial(w);

		strbuf_reset(&reply);
		http_send(fd, requests[i], strlen(requests[i]));
		shutdown(fd, SHUT_WR);
		http_receive(fd, NULL, &reply);
		if (http_status(&reply) == 200)
			print_error("answered: %s", requests[i]);
		assert_int_not_equal(http_status(&reply), 200);
	}
	assert_int_equal(w->board.calls, 0);
	get(w, "/healthz", &reply);
	assert_int_equal(http_status(&reply), 200);
}

static void a_request_has_a_size(void **state)
{
	CLEANUP(strbuf_release)
	struct strbuf request = STRBUF_INIT(REPLY_MAX), reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	strbuf_addstr(&request, "GET /metrics HTTP/1.1\r\nHost: n\r\nX-Long: ");
	while (request.len < 64u << 10)
		strbuf_addch(&request, 'x');
	{
		CLEANUP(closep) int fd = dial(w);

		/* The server may close before it has read everything. */
		send(fd, request.text, request.len, MSG_NOSIGNAL);
		http_receive(fd, NULL, &reply);
	}
	assert_int_not_equal(http_status(&reply), 200);
	assert_int_equal(w->board.calls, 0);
	strbuf_reset(&request);
	strbuf_addstr(&request, "GET /");
	while (request.len < 64u << 10)
		strbuf_addch(&request, 'x');
	{
		CLEANUP(closep) int fd = dial(w);

		strbuf_reset(&reply);
		send(fd, request.text, request.len, MSG_NOSIGNAL);
		http_receive(fd, NULL, &reply);
	}
	assert_int_not_equal(http_status(&reply), 200);
	get(w, "/healthz", &reply);
	assert_int_equal(http_status(&reply), 200);
}

static bool two_replies(const struct strbuf *reply)
{
	const char *first = strstr(reply->text, "\r\n\r\nok\n");

	return first && strstr(first + 1, "\r\n\r\nok\n");
}

static void a_connection_is_kept(void **state)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n";
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;
	CLEANUP(closep) int fd = dial(w);

	http_send(fd, request, strlen(request));
	http_send(fd, request, strlen(request));
	http_receive(fd, two_replies, &reply);
	assert_int_equal(w->board.calls, 2);
}

/* A client that sends nothing more is dropped; others are served meanwhile. */
static void slow_clients_hold_up_nobody(void **state)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX), rest = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;
	CLEANUP(closep) int silent = dial(w), half = dial(w), deaf = dial(w);
	int64_t start = http_now_ms();

	w->board.metrics_bytes = 8u << 20;
	http_send(half, "GET /met", 8);
	http_send(deaf, "GET /metrics HTTP/1.1\r\nHost: n\r\n\r\n", 35); /* and reads nothing */
	for (unsigned i = 0; i < 20; i++) {
		get(w, "/healthz", &reply);
		assert_int_equal(http_status(&reply), 200);
	}
	assert_true(http_now_ms() - start < 2000);
	http_receive(half, NULL, &rest); /* ends when the server hangs up */
	http_receive(silent, NULL, &rest);
	assert_true(http_now_ms() - start < 4500);
	assert_int_not_equal(http_status(&rest), 200);
	get(w, "/healthz", &reply);
	assert_int_equal(http_status(&reply), 200);
}

#define CLIENTS            40 /* no more than are kept */
#define REQUESTS           50
#define PER_CLIENT_ADDRESS 5 /* clients that share an address */

struct client {
	const struct world *world;
	unsigned host;
	size_t good;
};

static void *run_client(void *data)
{
	static const char *const requests[] = {
		"GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n",
	};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct client *c = data;

	for (unsigned i = 0; i < REQUESTS; i++) {
		ask_from(c->world, c->host, requests[i % 2], &reply);
		c->good += http_status(&reply) == 200;
	}
	return NULL;
}

static void many_clients_are_served(void **state)
{
	struct world *w = *state;
	struct client clients[CLIENTS];
	pthread_t threads[CLIENTS];

	w->board.metrics_bytes = 20000;
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){.world = w, .host = 1 + i / PER_CLIENT_ADDRESS};
		assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(clients[i].good, REQUESTS);
	}
	assert_int_equal(w->board.calls, CLIENTS * REQUESTS);
}

/* Somebody who opens connections and more of them, from the probe's own address or from several: the oldest are
 * hung up on, and whoever asks is answered. */
static void idle_connections_keep_out_nobody(void **state)
{
	static const struct {
		size_t connections;
		unsigned hosts;
	} cases[] = {{16, 1}, {64, 4}, {64, 1}, {120, 30}};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int idle[120];
		int64_t start;

		for (size_t n = 0; n < cases[i].connections; n++)
			idle[n] = dial_from(w, 1 + (unsigned)n % cases[i].hosts);
		start = http_now_ms();
		for (unsigned n = 0; n < 10; n++) {
			get(w, "/healthz", &reply);
			assert_int_equal(http_status(&reply), 200);
		}
		if (http_now_ms() - start > 1000)
			fail_msg(
				"%zu connections: %d ms", cases[i].connections, (int)(http_now_ms() - start));
		strbuf_reset(&reply);
		http_receive(idle[0], NULL, &reply); /* where it is not among the oldest, by its time */
		for (size_t n = 0; n < cases[i].connections; n++)
			close(idle[n]);
	}
}

/* Who has begun a request keeps the connection while others are opened: any number without a byte, also from the same address, and any number
 * with a byte from another address. */
static void who_asks_keeps_the_connection(void **state)
{
	static const struct {
		unsigned host;
		bool sends;
	} cases[] = {{1, false}, {2, false}, {2, true}};
	static const char begun[] = "GET /heal",
			  rest[] = "thz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n";
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
		int asker = dial(w), others[150];

		http_send(asker, begun, strlen(begun));
		for (size_t n = 0; n < ARRAY_SIZE(others); n++) {
			others[n] = dial_from(w, cases[i].host);
			if (cases[i].sends)
				(void)!send(others[n], "G", 1, MSG_NOSIGNAL);
		}
		get(w, "/healthz", &reply); /* all before it are accepted then */
		strbuf_reset(&reply);
		http_send(asker, rest, strlen(rest));
		http_receive(asker, NULL, &reply);
		assert_int_equal(http_status(&reply), 200);
		close(asker);
		for (size_t n = 0; n < ARRAY_SIZE(others); n++)
			close(others[n]);
	}
}

/* Others of the same address only begin requests. */
static void who_has_asked_keeps_the_connection(void **state)
{
	static const char whole[] = "GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n",
			  last[] = "GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n";
	struct world *w = *state;
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	CLEANUP(closep) int asker = dial(w);
	int others[150];

	http_send(asker, whole, strlen(whole));
	get(w, "/healthz", &reply); /* the asker's request is answered then, or soon */
	while (recv(asker, (char[1]){0}, 1, MSG_PEEK) <= 0)
		;
	for (size_t n = 0; n < ARRAY_SIZE(others); n++) {
		others[n] = dial(w);
		(void)!send(others[n], "G", 1, MSG_NOSIGNAL);
	}
	get(w, "/healthz", &reply);
	strbuf_reset(&reply);
	http_send(asker, last, strlen(last));
	http_receive(asker, NULL, &reply);
	assert_non_null(strstr(reply.text + 1, "HTTP/1.1 200")); /* the second response */
	for (size_t n = 0; n < ARRAY_SIZE(others); n++)
		close(others[n]);
}

static void it_ends_with_connections_open(void **state)
{
	struct board board = {.healthy = true};
	struct world w = {.server = NULL};
	struct err err = {""};
	int64_t start;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		CLEANUP(closep) int silent = -1, half = -1;

		assert_int_equal(
			http_server_start("127.0.0.1", 0, NULL, &callbacks, &board, &w.server, &err), 0);
		silent = dial(&w);
		half = dial(&w);
		http_send(half, "GET ", 4);
		start = http_now_ms();
		http_server_free(w.server);
		assert_true(http_now_ms() - start < 1000);
	}
}

static void a_port_in_use_is_said(void **state)
{
	struct world *w = *state;
	struct http_server *other = NULL;
	struct err err = {""};
	char want[128];

	assert_int_equal(http_server_start("127.0.0.1", http_server_port(w->server), NULL, &callbacks,
				 &w->board, &other, &err),
		-EADDRINUSE);
	assert_null(other);
	snprintf(want, sizeof(want), "HTTP: cannot listen on 127.0.0.1 port %u: Address already in use",
		http_server_port(w->server));
	test_assert_text("error", err.text, want);
	assert_int_equal(
		http_server_start("192.0.2.1", 0, NULL, &callbacks, &w->board, &other, &err), -EADDRNOTAVAIL);
	assert_int_equal(
		http_server_start("localhost", 0, NULL, &callbacks, &w->board, &other, &err), -EINVAL);
	test_assert_text("error", err.text, "HTTP: 'localhost' is not a numeric address");
	assert_null(other);
}

static bool have_ipv6(void)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	CLEANUP(closep) int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
}

static void ipv6_is_served_too(void **state)
{
	struct board board = {.healthy = true};
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	CLEANUP(http_server_freep) struct http_server *server = NULL;
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	CLEANUP(closep) int fd = -1;
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";

	(void)state;
	if (!have_ipv6())
		test_skip("this machine has no ::1");
	assert_int_equal(http_server_start("::1", 0, NULL, &callbacks, &board, &server, NULL), 0);
	a.sin6_port = htons(http_server_port(server));
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	http_send(fd, request, strlen(request));
	http_receive(fd, NULL, &reply);
	assert_int_equal(http_status(&reply), 200);
}

static void addresses_parse(void **state)
{
	static const struct {
		const char *text, *address;
		unsigned port;
	} good[] = {
		{HTTP_LISTEN_DEFAULT, "127.0.0.1", 8095},
		{"0.0.0.0:1", "0.0.0.0", 1},
		{"[::1]:65535", "::1", 65535},
		{"[::]:80", "::", 80},
		{"[fe80:0000:0000:0000:0000:0000:192.168.100.228]:80",
			"fe80:0000:0000:0000:0000:0000:192.168.100.228", 80},
	};
	static const char *const bad[] = {"", "on", "OFF", "8095", ":8095", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:+80", "127.0.0.1: 80",
		"127.0.0.1:80 ", "127.0.0.1:0x50", "::1:8095", "[::1]", "[::1", "[::1:80", "[]:80", "[",
		"[:80", "]:80", "[127.0.0.1]:80", "localhost:80", "1.2.3:80", "[::1]x:80",
		"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:80"};
	struct http_listen l;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(http_listen_parse(good[i].text, &l, NULL), 0);
		test_assert_text(good[i].text, l.address, good[i].address);
		assert_int_equal(l.port, good[i].port);
		assert_false(l.off);
		assert_int_equal(http_listen_check(good[i].text, NULL), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = {""};

		l.port = 7;
		if (http_listen_parse(bad[i], &l, &err) != -EINVAL)
			print_error("taken: '%s'\n", bad[i]);
		assert_int_equal(http_listen_parse(bad[i], &l, &err), -EINVAL);
		assert_int_equal(l.port, 7);
		assert_true(err.text[0]);
	}
	assert_int_equal(http_listen_parse("off", &l, NULL), 0);
	assert_true(l.off);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(head_has_no_body, setup, teardown),
		cmocka_unit_test_setup_teardown(the_rest_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_request_ends_the_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(a_request_has_a_size, setup, teardown),
		cmocka_unit_test_setup_teardown(a_connection_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_clients_hold_up_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(many_clients_are_served, setup, teardown),
		cmocka_unit_test_setup_teardown(idle_connections_keep_out_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(who_asks_keeps_the_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_asked_keeps_the_connection, setup, teardown),
		cmocka_unit_test(it_ends_with_connections_open),
		cmocka_unit_test_setup_teardown(a_port_in_use_is_said, setup, teardown),
		cmocka_unit_test(ipv6_is_served_too),
		cmocka_unit_test(addresses_parse),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
