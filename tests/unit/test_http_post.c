/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of common/http/http.h where it takes POST: the body, requests that take long, and TLS.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>

#include "common/cleanup.h"
#include "common/http/http.h"
#include "tests/lib/http_client.h"

#define REPLY_MAX  ((size_t)8 << 20)
#define BODY_MAX   ((size_t)1 << 20)
#define TIMEOUT_MS 30000L

struct world {
	struct http_server *server;
	atomic_uint calls;
	atomic_bool go; /* "/slow" is answered then */
	char *dir;      /* of the certificates */
	char certificate[256], key[256], client_ca[256];
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

/* The path, the body's size, its sum and the body's first bytes. */
static int post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	struct world *w = ctx;
	unsigned long sum = 0;

	w->calls++;
	assert_int_equal(body[len], 0);
	if (!strcmp(path, "/large")) {
		while (strbuf_error(reply) == 0)
			strbuf_addstr(reply, "0123456789");
		return 200;
	}
	if (!strcmp(path, "/elsewhere")) {
		strbuf_addf(reply, "http://127.0.0.1:%u/filter", http_server_port(w->server));
		return 307;
	}
	if (!strcmp(path, "/slow")) {
		while (!w->go)
			usleep(1000);
		strbuf_addstr(reply, "at last");
		return 200;
	}
	if (strcmp(path, "/filter") != 0) {
		strbuf_addstr(reply, "no such verb");
		return 404;
	}
	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + (unsigned char)body[i];
	strbuf_addf(reply, "%zu %lu %.10s", len, sum, body);
	return 200;
}

static unsigned long sum_of(const char *body, size_t len)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + (unsigned char)body[i];
	return sum;
}

static const struct http_callbacks callbacks = {
	.healthy = fine, .ready = fine, .metrics = no_metrics, .post = post};

static void start(struct world *w, const struct http_options *options)
{
	struct err err = {""};

	if (http_server_start("127.0.0.1", 0, options, &callbacks, w, &w->server, &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	static const struct http_options options = {.idle_seconds = 60, .body_max = BODY_MAX};
	struct world *w = calloc(1, sizeof(*w));

	start(w, &options);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	w->go = true;
	http_server_free(w->server);
	if (w->dir)
		test_rmtree(&w->dir);
	free(w);
	return 0;
}

static void ask(const struct world *w, const char *request, size_t len, struct strbuf *reply)
{
	http_ask(1, http_server_port(w->server), request, len, reply);
}

static void add_body(struct strbuf *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		strbuf_addch(out, (char)('a' + i * i % 23));
}

/* ---- the body */

static void a_body_is_answered(void **state)
{
	static const char request[] = "POST /filter?x=1 HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
				      "Content-Length: 5\r\n\r\nhello";
	static const char empty[] = "POST /filter HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
				    "Content-Length: 0\r\n\r\n";
	static const char chunks[] = "POST /filter HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
				     "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;
	char want[64];

	snprintf(want, sizeof(want), "5 %lu hello", sum_of("hello", 5));
	ask(w, request, strlen(request), &reply);
	assert_int_equal(http_status(&reply), 200);
	assert_non_null(strstr(reply.text, "\r\nContent-Type: application/json\r\n"));
	test_assert_text("body", http_body(&reply), want);
	ask(w, chunks, strlen(chunks), &reply);
	assert_int_equal(http_status(&reply), 200);
	test_assert_text("chunks", http_body(&reply), want);
	ask(w, empty, strlen(empty), &reply);
	assert_int_equal(http_status(&reply), 200);
	test_assert_text("empty", http_body(&reply), "0 0 ");
}

static bool has_answer(const struct strbuf *reply)
{
	const char *end = strstr(reply->text, "\r\n\r\n");

	return end && strstr(end, " abejq");
}

/* Of any size up to the limit, in pieces of any size, on one connection. */
static void a_body_comes_in_pieces(void **state)
{
	static const size_t sizes[] = {100, 8191, 300000, BODY_MAX}, pieces[] = {100, 999, 65536, BODY_MAX};
	struct world *w = *state;
	CLEANUP(closep) int fd = http_dial(1, http_server_port(w->server));

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		CLEANUP(strbuf_release)
		struct strbuf body = STRBUF_INIT(REPLY_MAX), reply = STRBUF_INIT(REPLY_MAX);
		char head[128], want[64];

		add_body(&body, sizes[i]);
		snprintf(head, sizeof(head),
			"POST /filter HTTP/1.1\r\nHost: n\r\nContent-Length: %zu\r\n\r\n", sizes[i]);
		http_send(fd, head, strlen(head));
		for (size_t at = 0; at < sizes[i]; at += pieces[i])
			http_send(fd, body.text + at, sizes[i] - at < pieces[i] ? sizes[i] - at : pieces[i]);
		http_receive(fd, has_answer, &reply);
		assert_int_equal(http_status(&reply), 200);
		snprintf(want, sizeof(want), "%zu %lu %.10s", sizes[i], sum_of(body.text, body.len),
			body.text);
		test_assert_text("reply", http_body(&reply), want);
	}
	assert_int_equal(w->calls, ARRAY_SIZE(sizes));
}

/* 307: the URL that the callback wrote is the header Location. */
static void a_client_is_sent_elsewhere(void **state)
{
	static const char request[] = "POST /elsewhere HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
				      "Content-Length: 5\r\n\r\nhello";
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	const struct world *w = *state;
	char want[64];

	ask(w, request, strlen(request), &reply);
	assert_int_equal(http_status(&reply), 307);
	snprintf(want, sizeof(want), "\r\nLocation: http://127.0.0.1:%u/filter\r\n",
		http_server_port(w->server));
	assert_non_null(strstr(reply.text, want));
	assert_non_null(strstr(reply.text, "\r\nContent-Type: text/plain"));
}

/* Refused before it comes, or where it does not say its size when it is there. */
static void a_body_has_a_size(void **state)
{
	static const char known[] = "POST /filter HTTP/1.1\r\nHost: n\r\nContent-Length: 1048577\r\n\r\n";
	static const char chunk[] =
		"POST /filter HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n110000\r\n";
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX), body = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	ask(w, known, strlen(known), &reply);
	assert_int_equal(http_status(&reply), 413);
	test_assert_text("reply", http_body(&reply), "at most 1048576 bytes\n");
	strbuf_addstr(&body, chunk);
	add_body(&body, 0x110000);
	{
		CLEANUP(closep) int fd = http_dial(1, http_server_port(w->server));

		strbuf_reset(&reply);
		send(fd, body.text, body.len,
			MSG_NOSIGNAL); /* the server may close before it has read everything */
		http_receive(fd, NULL, &reply);
	}
	assert_int_not_equal(http_status(&reply), 200);
	assert_int_equal(w->calls, 0);
	strbuf_reset(&body);
	strbuf_addstr(
		&body, "POST /filter HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx");
	ask(w, body.text, body.len, &reply);
	assert_int_equal(http_status(&reply), 200);
}

/* Clients that send part of a body each: what they have sent counts together, and goes with them. */
static void bodies_have_a_size_together(void **state)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX), part = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;
	int fds[3];

	strbuf_addf(&part, "POST /filter HTTP/1.1\r\nHost: n\r\nContent-Length: %zu\r\n\r\n", BODY_MAX);
	add_body(&part, BODY_MAX - 1);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = http_dial(1, http_server_port(w->server));
		send(fds[i], part.text, part.len, MSG_NOSIGNAL);
	}
	/* One of the three is hung up on, and the end of any other makes room again. */
	for (;;) {
		bool ended = false;

		for (size_t i = 0; !ended && i < ARRAY_SIZE(fds); i++) {
			char byte;

			ended = recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0 ||
				(errno != EAGAIN && errno != EINTR);
		}
		if (ended)
			break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	strbuf_addch(&part, 'x');
	for (int status = 0; status != 200;) {
		CLEANUP(closep) int fd = http_dial(1, http_server_port(w->server));

		strbuf_reset(&reply);
		send(fd, part.text, part.len, MSG_NOSIGNAL);
		http_receive(fd, has_answer, &reply);
		status = http_status(&reply);
	}
	assert_int_equal(w->calls, 1);
}

/* The connection ends when it was idle for long enough. */
static void a_body_that_does_not_end_is_not_answered(void **state)
{
	static const char request[] = "POST /filter HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\nhell";
	static const struct http_options options = {.idle_seconds = 1, .body_max = BODY_MAX};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	http_server_free(w->server);
	start(w, &options);
	ask(w, request, strlen(request), &reply);
	assert_int_equal(http_status(&reply), 0);
	assert_int_equal(w->calls, 0);
}

static void the_rest_is_as_without_post(void **state)
{
	static const struct {
		const char *request, *body;
		int status;
	} cases[] = {
		{"GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "ok\n", 200},
		{"HEAD /readyz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "", 200},
		{"GET /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "a_metric 1\n", 200},
		{"GET /filter HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n",
			"there are /healthz, /readyz and /metrics\n", 404},
		{"HEAD /filter HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "", 404},
		{"PUT /filter HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
			"there are /healthz, /readyz and /metrics\n", 404},
		{"POST /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
			"GET and HEAD only\n", 405},
		{"POST /large HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", "",
			500},
		{"POST /bind HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
			"no such verb", 404},
	};
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ask(w, cases[i].request, strlen(cases[i].request), &reply);
		if (http_status(&reply) != cases[i].status)
			print_error("%s", cases[i].request);
		assert_int_equal(http_status(&reply), cases[i].status);
		test_assert_text(cases[i].request, http_body(&reply), cases[i].body);
	}
	assert_int_equal(w->calls, 2);
}

/* ---- requests that take long */

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

/* So many requests that take long are under way. */
static void begin_slow(struct world *w, struct slow_client *clients, size_t n)
{
	w->go = false;
	for (size_t i = 0; i < n; i++) {
		clients[i] = (struct slow_client){.world = w, .reply = STRBUF_INIT(REPLY_MAX)};
		assert_int_equal(pthread_create(&clients[i].thread, NULL, ask_slowly, &clients[i]), 0);
	}
	while (w->calls < n)
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

static void slow_requests_hold_up_no_probe(void **state)
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

/* So many that the oldest connections are ended, which cannot close while their requests are computed. */
static void too_many_slow_requests_hold_up_no_probe(void **state)
{
	static const char request[] = "POST /slow HTTP/1.1\r\nHost: n\r\nContent-Length: 2\r\n\r\n{}";
	struct world *w = *state;
	int fds[100];

	w->go = false;
	for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = http_dial(1, http_server_port(w->server));
		http_send(fds[i], request, strlen(request));
		for (unsigned ms = 0; w->calls <= i && ms < 10000; ms++)
			usleep(1000);
		assert_int_equal(w->calls, i + 1);
	}
	get_page(w, "/healthz");
	w->go = true;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void *let_go(void *data)
{
	struct world *w = data;

	usleep(100000);
	w->go = true;
	return NULL;
}

/* The requests that are under way are answered before the server ends. */
static void the_server_ends_after_its_requests(void **state)
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

/* ---- TLS */

static const char make_certificates[] =
	"cd \"$DIR\" && exec 2>openssl.log\n"
	"ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key -out $1.pem -subj /CN=$1 -days 2; }\n"
	"leaf() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key -out $1.csr -subj /CN=$1 &&\n"
	"	printf 'extendedKeyUsage=%s\\nsubjectAltName=IP:127.0.0.1\\n' $3 >$1.ext &&\n"
	"	openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -out $1.pem -days 2 -extfile $1.ext; }\n"
	"ca server-ca && ca client-ca && ca other-ca && leaf server server-ca serverAuth &&\n"
	"leaf later server-ca serverAuth && leaf client client-ca clientAuth && leaf other other-ca clientAuth &&\n"
	"leaf no-client client-ca serverAuth && cp server.pem now.pem && cp server.key now.key";

/* Static storage, the last four results stay valid. */
static const char *file(const struct world *w, const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", w->dir, name);
	return path;
}

static int setup_tls(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct http_options options = {.idle_seconds = 60, .body_max = BODY_MAX};

	*state = w;
	if (system("command -v openssl >/dev/null") != 0)
		return 0;
	w->dir = test_tmpdir();
	setenv("DIR", w->dir, 1);
	assert_int_equal(system(make_certificates), 0);
	snprintf(w->certificate, sizeof(w->certificate), "%s", file(w, "now.pem"));
	snprintf(w->key, sizeof(w->key), "%s", file(w, "now.key"));
	snprintf(w->client_ca, sizeof(w->client_ca), "%s", file(w, "client-ca.pem"));
	options.tls = (struct http_tls_files){w->certificate, w->key, w->client_ca};
	start(w, &options);
	return 0;
}

static size_t keep(char *data, size_t size, size_t n, void *reply)
{
	strbuf_add(reply, data, size * n);
	return size * n;
}

static CURL *make_client(const struct world *w, const char *client, struct strbuf *reply)
{
	CURL *c = curl_easy_init();
	char name[64];

	assert_non_null(c);
	curl_easy_setopt(c, CURLOPT_CAINFO, file(w, "server-ca.pem"));
	curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, reply);
	if (client) {
		snprintf(name, sizeof(name), "%s.pem", client);
		curl_easy_setopt(c, CURLOPT_SSLCERT, file(w, name));
		snprintf(name, sizeof(name), "%s.key", client);
		curl_easy_setopt(c, CURLOPT_SSLKEY, file(w, name));
	}
	return c;
}

/* A POST of `body`, or a GET without one. The status, 0 without an answer. */
static long transfer(
	const struct world *w, CURL *c, const char *path, const struct strbuf *body, struct strbuf *reply)
{
	char url[128];
	long status = 0;

	snprintf(url, sizeof(url), "https://127.0.0.1:%u%s", http_server_port(w->server), path);
	strbuf_reset(reply);
	curl_easy_setopt(c, CURLOPT_URL, url);
	if (body) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)body->len);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body->text);
	}
	if (curl_easy_perform(c) != CURLE_OK)
		return 0;
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static void clients_show_a_certificate(void **state)
{
	static const struct {
		const char *client;
		long status;
	} cases[] = {{"client", 200}, {NULL, 403}, {"other", 403}, {"no-client", 403}};
	struct world *w = *state;

	if (!w->dir)
		test_skip("no openssl");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release)
		struct strbuf reply = STRBUF_INIT(REPLY_MAX), body = STRBUF_INIT(REPLY_MAX);
		CURL *c = make_client(w, cases[i].client, &reply);

		assert_int_equal(transfer(w, c, "/healthz", NULL, &reply), 200);
		test_assert_text("healthz", reply.text, "ok\n");
		add_body(&body, 300000);
		assert_int_equal(transfer(w, c, "/filter", &body, &reply), cases[i].status);
		if (cases[i].status == 403)
			test_assert_text("reply", reply.text, "no certificate of the client CA\n");
		else
			assert_int_equal(strtoul(reply.text, NULL, 10), 300000);
		curl_easy_cleanup(c);
	}
	assert_int_equal(w->calls, 1);
}

static void plain_http_is_not_answered(void **state)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n";
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;

	if (!w->dir)
		test_skip("no openssl");
	ask(w, request, strlen(request), &reply);
	assert_int_equal(http_status(&reply), 0);
}

static void copy(const struct world *w, const char *from, const char *to)
{
	CLEANUP(freep) char *text = test_read_file(file(w, from), NULL);

	test_write_file(w->dir, to, text);
}

/* Who the server says it is. */
static void assert_server(const struct world *w, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	CURL *c = make_client(w, "client", &reply);
	struct curl_certinfo *info = NULL;
	char want[64];

	curl_easy_setopt(c, CURLOPT_CERTINFO, 1L);
	assert_int_equal(transfer(w, c, "/healthz", NULL, &reply), 200);
	assert_int_equal(curl_easy_getinfo(c, CURLINFO_CERTINFO, &info), CURLE_OK);
	assert_true(info->num_of_certs > 0);
	snprintf(want, sizeof(want), "Subject:CN = %s", name);
	test_assert_text("server", info->certinfo[0]->data, want);
	curl_easy_cleanup(c);
}

static void new_certificates_are_read(void **state)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX), body = STRBUF_INIT(REPLY_MAX);
	struct world *w = *state;
	struct err err = {""};
	CURL *old, *other;

	if (!w->dir)
		test_skip("no openssl");
	add_body(&body, 10);
	old = make_client(w, "client", &reply);
	other = make_client(w, "other", &reply);
	assert_int_equal(transfer(w, old, "/filter", &body, &reply), 200);
	assert_int_equal(http_server_renew(w->server, &err), 0);
	assert_server(w, "server");
	/* The key is another one than the certificate's: it goes on with the old ones. */
	copy(w, "later.pem", "now.pem");
	assert_int_equal(http_server_renew(w->server, &err), -EINVAL);
	assert_non_null(strstr(err.text, "now.pem' and key '"));
	assert_server(w, "server");
	copy(w, "later.key", "now.key");
	assert_int_equal(http_server_renew(w->server, &err), 1);
	assert_server(w, "later");
	assert_int_equal(http_server_renew(w->server, &err), 0);
	assert_int_equal(transfer(w, old, "/filter", &body, &reply), 200);
	assert_int_equal(transfer(w, other, "/filter", &body, &reply), 403);
	copy(w, "other-ca.pem", "client-ca.pem");
	assert_int_equal(http_server_renew(w->server, &err), 1);
	assert_int_equal(transfer(w, old, "/filter", &body, &reply), 403);
	assert_int_equal(transfer(w, other, "/filter", &body, &reply), 200);
	curl_easy_cleanup(old);
	curl_easy_cleanup(other);
}

/* Who has no certificate ends no connection of a scheduler, however often it asks. */
static void strangers_end_strangers(void **state)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX), body = STRBUF_INIT(100);
	struct world *w = *state;
	CURL *known, *strangers[60];
	long connects = -1;

	if (!w->dir)
		test_skip("no openssl");
	strbuf_addstr(&body, "{}");
	known = make_client(w, "client", &reply);
	assert_int_equal(transfer(w, known, "/filter", &body, &reply), 200);
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		strangers[i] = make_client(w, NULL, &reply);
		assert_int_equal(transfer(w, strangers[i], "/filter", &body, &reply), 403);
	}
	assert_int_equal(transfer(w, known, "/filter", &body, &reply), 200);
	curl_easy_getinfo(known, CURLINFO_NUM_CONNECTS, &connects);
	assert_int_equal(connects, 0); /* on the connection that it has */
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++)
		curl_easy_cleanup(strangers[i]);
	curl_easy_cleanup(known);
}

static void files_that_do_not_do_are_named(void **state)
{
	struct world *w = *state, unused = {.dir = NULL};
	char certificate[256], key[256], ca[256], junk[256];
	const struct {
		struct http_tls_files files;
		int r;
		const char *want;
	} cases[] = {
		{{certificate, NULL, NULL}, -EINVAL, "HTTP: a certificate and its key are given together"},
		{{NULL, key, NULL}, -EINVAL, "HTTP: a certificate and its key are given together"},
		{{NULL, NULL, ca}, -EINVAL, "HTTP: a client CA requires a server certificate"},
		{{"/nowhere/x.pem", key, NULL}, -ENOENT, "/nowhere/x.pem"},
		{{certificate, key, "/nowhere/x.pem"}, -ENOENT, "/nowhere/x.pem"},
		{{junk, key, NULL}, -EINVAL, "junk"},
		{{certificate, junk, NULL}, -EINVAL, "junk"},
		{{certificate, key, junk}, -EINVAL, "client CA '"},
	};

	if (!w->dir)
		test_skip("no openssl");
	test_write_file(w->dir, "junk", "no certificate\n");
	snprintf(certificate, sizeof(certificate), "%s", file(w, "server.pem"));
	snprintf(key, sizeof(key), "%s", file(w, "server.key"));
	snprintf(ca, sizeof(ca), "%s", file(w, "client-ca.pem"));
	snprintf(junk, sizeof(junk), "%s", file(w, "junk"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_options options = {.tls = cases[i].files};
		struct err err = {""};

		assert_int_equal(http_server_start(
					 "127.0.0.1", 0, &options, &callbacks, &unused, &unused.server, &err),
			cases[i].r);
		assert_null(unused.server);
		if (!strstr(err.text, cases[i].want))
			fail_msg("'%s', not '%s'", err.text, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_body_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(a_client_is_sent_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_comes_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_has_a_size, setup, teardown),
		cmocka_unit_test_setup_teardown(bodies_have_a_size_together, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_that_does_not_end_is_not_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(the_rest_is_as_without_post, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_requests_hold_up_no_probe, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_slow_requests_hold_up_no_probe, setup, teardown),
		cmocka_unit_test_setup_teardown(the_server_ends_after_its_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_show_a_certificate, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(strangers_end_strangers, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(plain_http_is_not_answered, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(new_certificates_are_read, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(files_that_do_not_do_are_named, setup_tls, teardown),
	};

	return cmocka_run_group_tests_name("http_post", tests, NULL, NULL);
}
