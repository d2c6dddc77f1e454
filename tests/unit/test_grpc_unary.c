/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/observe/grpc_unary.h"
#include "common/cleanup.h"
#include "tests/lib/grpc_server.h"

#define METHOD      "/v1.PodResourcesLister/List"
#define DEADLINE_MS 5000
#define REPLY_MAX   (1u << 20)

/* A folder with a socket's path in it, and a channel to that. */
struct bench {
	char *dir;
	char path[108];
	struct grpc_channel *channel;
	struct grpc_reply reply;
	struct err err;
	struct cancel cancel;
};

static void bench_init(struct bench *b)
{
	*b = (struct bench){.dir = test_tmpdir(), .reply = GRPC_REPLY_INIT};
	snprintf(b->path, sizeof(b->path), "%.90s/s", b->dir);
	assert_int_equal(cancel_init(&b->cancel), 0);
	assert_int_equal(grpc_channel_new(b->path, &b->cancel, &b->channel), 0);
}

static void bench_release(struct bench *b)
{
	grpc_channel_free(b->channel);
	grpc_reply_release(&b->reply);
	cancel_release(&b->cancel);
	test_rmtree(&b->dir);
}

static int call(struct bench *b, unsigned deadline_ms)
{
	return grpc_call(b->channel, METHOD, "ask", 3, REPLY_MAX, deadline_ms, &b->reply, &b->err);
}

static void assert_reply(struct bench *b, const void *bytes, size_t len)
{
	if (call(b, DEADLINE_MS) < 0)
		fail_msg("%s", b->err.text);
	assert_int_equal(b->reply.status, GRPC_OK);
	assert_int_equal(b->reply.message.len, len);
	assert_memory_equal(b->reply.message.text, bytes, len);
}

static void one_connection_carries_many_calls(void **state)
{
	static const struct grpc_answer answers[] = {{.message = "pods", .len = 4}, {.len = 0}};
	struct bench b;
	struct grpc_server *s;
	const void *request;
	size_t len;

	(void)state;
	bench_init(&b);
	s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
	for (unsigned i = 0; i < 100; i++)
		assert_reply(&b, "pods", i % 2 ? 0 : 4);
	assert_int_equal(grpc_server_connections(s), 1);
	assert_int_equal(grpc_server_calls(s), 100);
	test_assert_text("method", grpc_server_method(s), METHOD);
	request = grpc_server_request(s, &len);
	assert_int_equal(len, 8);
	assert_memory_equal(request, "\0\0\0\0\3ask", 8);
	grpc_server_stop(s);
	bench_release(&b);
}

static void long_replies_come_in_pieces(void **state)
{
	static char bytes[REPLY_MAX];
	const struct grpc_answer answers[] = {{.message = bytes, .len = sizeof(bytes)},
		{.message = bytes, .len = 3000, .chunk = 1}, {.message = bytes, .len = 100000, .chunk = 777}};
	struct bench b;
	struct grpc_server *s;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(uint8_t)(i * 7 + i / 256);
	bench_init(&b);
	s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
	for (size_t i = 0; i < 2 * ARRAY_SIZE(answers); i++)
		assert_reply(&b, bytes, answers[i % ARRAY_SIZE(answers)].len);
	assert_int_equal(grpc_server_connections(s), 1);
	grpc_server_stop(s);
	bench_release(&b);
}

static void a_status_comes_with_its_words(void **state)
{
	static const struct grpc_answer answers[] = {{.status = 12, .text = "unknown method"},
		{.status = 8, .text = "rejected by rate limit, 100%25%0Anow"}, {.status = 14},
		{.status = 2, .text = "50% of %zz%4"}, {.message = "x", .len = 1}};
	static const char *const words[] = {
		"unknown method", "rejected by rate limit, 100%?now", "", "50% of %zz%4"};
	struct bench b;
	struct grpc_server *s;

	(void)state;
	bench_init(&b);
	s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(call(&b, DEADLINE_MS), 0);
		assert_int_equal(b.reply.status, answers[i].status);
		test_assert_text("words", b.reply.text.text, words[i]);
	}
	assert_reply(&b, "x", 1);
	assert_int_equal(grpc_server_connections(s), 1);
	grpc_server_stop(s);
	bench_release(&b);
}

static void bad_peers_get_their_own_error_each(void **state)
{
	static char big[REPLY_MAX + 1];
	static const char http1[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
	static const struct {
		struct grpc_answer answer;
		int want;
		const char *text;
	} rows[] = {
		{{.raw = http1, .raw_len = sizeof(http1) - 1}, -EPROTO, "not an HTTP/2 server"},
		{{.raw = "", .raw_len = 0}, -ECONNRESET,
			"the connection was closed before the reply was whole"},
		{{.hang_up = true}, -ECONNRESET, "the connection was closed before the reply was whole"},
		{{.refuse = true}, -EPROTO, "the call was reset: REFUSED_STREAM"},
		{{.message = "abc", .len = 3, .reset = 2}, -EPROTO, "the call was reset: INTERNAL_ERROR"},
		{{.http_status = "404", .type = "text/html"}, -EPROTO, "not a gRPC server (HTTP status 404)"},
		{{.type = "text/html"}, -EPROTO, "not a gRPC server (HTTP status 200)"},
		{{.message = "abc", .len = 3, .no_trailers = true}, -EPROTO,
			"the reply ends without a status"},
		{{.message = "abc", .len = 3, .declared = 9}, -EPROTO, "the reply is cut off: 3 of 9 bytes"},
		{{.message = "abc", .len = 3, .declared = 1}, -EPROTO, "the reply is cut off: 3 of 1 bytes"},
		{{.message = "abc", .len = 3, .compressed = true}, -EPROTO,
			"the reply is compressed, which was not asked for"},
		{{.message = big, .len = sizeof(big)}, -EMSGSIZE, "the reply is over 1048576 bytes"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct grpc_answer answers[] = {rows[i].answer, {.message = "well", .len = 4}};
		struct bench b;
		struct grpc_server *s;
		char want[256];

		bench_init(&b);
		s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
		snprintf(want, sizeof(want), "%s: %s", b.path, rows[i].text);
		if (call(&b, DEADLINE_MS) != rows[i].want)
			fail_msg("%s: %s", rows[i].text, b.err.text);
		test_assert_text(rows[i].text, b.err.text, want);
		assert_int_equal(b.reply.status, -1);
		/* The next call is not harmed. */
		assert_reply(&b, "well", 4);
		grpc_server_stop(s);
		bench_release(&b);
	}
}

static void silence_ends_with_the_deadline(void **state)
{
	static const struct grpc_answer answers[] = {{.silent = true}, {.message = "well", .len = 4}};
	struct bench b;
	struct grpc_server *s;

	(void)state;
	bench_init(&b);
	s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
	assert_int_equal(call(&b, 50), -ETIMEDOUT);
	assert_non_null(strstr(b.err.text, "/s: no reply within 50 ms"));
	assert_reply(&b, "well", 4);
	assert_int_equal(grpc_server_connections(s), 2);
	grpc_server_stop(s);
	bench_release(&b);
}

static void a_call_under_way_ends_when_cancelled(void **state)
{
	static const struct grpc_answer answers[] = {{.silent = true}, {.message = "well", .len = 4}};
	struct bench b;
	struct grpc_server *s;
	struct timespec from, to;
	pthread_t thread;

	(void)state;
	bench_init(&b);
	s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
	clock_gettime(CLOCK_MONOTONIC, &from);
	thread = test_cancel_soon(&b.cancel);
	assert_int_equal(call(&b, DEADLINE_MS), -ECANCELED);
	clock_gettime(CLOCK_MONOTONIC, &to);
	pthread_join(thread, NULL);
	assert_true(to.tv_sec - from.tv_sec <= 2);
	cancel_release(&b.cancel);
	assert_int_equal(cancel_init(&b.cancel), 0);
	assert_reply(&b, "well", 4);
	grpc_server_stop(s);
	bench_release(&b);
}

static void a_connection_that_ended_is_opened_anew(void **state)
{
	static const struct grpc_answer answers[] = {{.message = "a", .len = 1, .hang_up_after = true},
		{.message = "b", .len = 1}, {.hang_up = true}, {.message = "c", .len = 1}, {.refuse = true},
		{.message = "d", .len = 1}};
	struct bench b;
	struct grpc_server *s;

	(void)state;
	bench_init(&b);
	s = grpc_server_start(b.path, answers, ARRAY_SIZE(answers));
	for (const char *want = "abcd"; *want; want++)
		assert_reply(&b, want, 1);
	assert_int_equal(grpc_server_calls(s), ARRAY_SIZE(answers));
	assert_int_equal(grpc_server_connections(s), 4);
	grpc_server_stop(s);
	bench_release(&b);
}

static void a_replaced_socket_is_noticed(void **state)
{
	static const struct grpc_answer before = {.message = "before", .len = 6},
					after = {.message = "after", .len = 5};
	struct bench b;
	struct grpc_server *first, *second;
	char moved[120];

	(void)state;
	bench_init(&b);
	first = grpc_server_start(b.path, &before, 1);
	assert_reply(&b, "before", 6);
	/* The old server lives on, but another one has its place. */
	snprintf(moved, sizeof(moved), "%s-old", b.path);
	assert_int_equal(rename(b.path, moved), 0);
	second = grpc_server_start(b.path, &after, 1);
	assert_reply(&b, "after", 5);
	grpc_server_stop(second);
	assert_int_equal(call(&b, DEADLINE_MS), -ECONNREFUSED);
	assert_int_equal(rename(moved, b.path), 0);
	assert_reply(&b, "before", 6);
	grpc_server_stop(first);
	bench_release(&b);
}

static void assert_no_way(struct bench *b, int want, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "cannot connect to '%s': %s", b->path, why);
	assert_int_equal(call(b, DEADLINE_MS), want);
	test_assert_text(why, b->err.text, text);
}

static void remove_socket(void *path)
{
	assert_int_equal(unlink(path), 0);
}

/* A kubelet hangs, and the next one has its own socket. */
static void a_socket_that_is_replaced_ends_the_call(void **state)
{
	struct bench b;
	struct grpc_answer answer = {.silent = true, .meanwhile = remove_socket};
	struct grpc_server *s;

	(void)state;
	bench_init(&b);
	answer.data = b.path;
	s = grpc_server_start(b.path, &answer, 1);
	assert_int_equal(call(&b, 12 * DEADLINE_MS), -ECONNRESET);
	grpc_server_stop(s);
	bench_release(&b);
}

static void a_socket_that_cannot_be_had_is_named(void **state)
{
	static const struct grpc_answer answer = {.message = "x", .len = 1};
	struct grpc_channel *none = NULL;
	struct bench b;
	struct grpc_server *s;
	char path[200];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(grpc_channel_new(path, NULL, &none), -ENAMETOOLONG);
	assert_null(none);
	bench_init(&b);
	assert_no_way(&b, -ENOENT, "No such file or directory");
	test_write_file(b.dir, "s", "a file");
	assert_no_way(&b, -ECONNREFUSED, "nobody listens on it");
	s = grpc_server_start(b.path, &answer, 1);
	assert_reply(&b, "x", 1);
	grpc_server_stop(s);
	assert_no_way(&b, -ECONNREFUSED, "nobody listens on it");
	bench_release(&b);
}

static void a_forbidden_socket_is_named(void **state)
{
	static const struct grpc_answer answer = {.message = "x", .len = 1};
	const uid_t nobody = 65534;
	struct bench b;
	struct grpc_server *s;
	bool root = geteuid() == 0;

	(void)state;
	bench_init(&b);
	s = grpc_server_start(b.path, &answer, 1);
	assert_int_equal(chmod(b.path, 0600), 0);
	assert_int_equal(chmod(b.dir, 0755), 0);
	if (root)
		assert_int_equal(seteuid(nobody), 0);
	else
		assert_int_equal(chmod(b.path, 0), 0);
	assert_int_equal(call(&b, DEADLINE_MS), -EACCES);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_non_null(strstr(b.err.text, "/s': Permission denied"));
	assert_int_equal(grpc_server_connections(s), 0);
	grpc_server_stop(s);
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_connection_carries_many_calls),
		cmocka_unit_test(long_replies_come_in_pieces),
		cmocka_unit_test(a_status_comes_with_its_words),
		cmocka_unit_test(bad_peers_get_their_own_error_each),
		cmocka_unit_test(silence_ends_with_the_deadline),
		cmocka_unit_test(a_call_under_way_ends_when_cancelled),
		cmocka_unit_test(a_connection_that_ended_is_opened_anew),
		cmocka_unit_test(a_replaced_socket_is_noticed),
		cmocka_unit_test(a_socket_that_is_replaced_ends_the_call),
		cmocka_unit_test(a_socket_that_cannot_be_had_is_named),
		cmocka_unit_test(a_forbidden_socket_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
