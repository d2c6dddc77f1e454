/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reflector against an HTTP server that answers by a script: what it hands on, what it asks for next, and what it
 * says, after each thing that can go wrong.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/kube/reflector.h"
#include "common/log.h"
#include "common/text.h"
#include "tests/lib/api_server.h"

/* What the reflector does, as text: "[" and "]VERSION" around a list, "a" an object, "-a" one that is gone, "!" one that is
 * passed over. */
struct bench {
	struct api_server server;
	struct reflector *reflector;
	struct cancel cancel;
	char url[64];
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	char seen[400], lines[2000];
	unsigned n_alive;
	int refuse; /* what the next object is answered with, once */
};

static void note(struct bench *bench, char *to, size_t size, const char *sign, const char *text)
{
	pthread_mutex_lock(&bench->lock);
	text_addf(to, size, "%s%s ", sign, text);
	pthread_cond_broadcast(&bench->changed);
	pthread_mutex_unlock(&bench->lock);
}

static int on_begin(void *ctx)
{
	struct bench *bench = ctx;

	note(bench, bench->seen, sizeof(bench->seen), "[", "");
	return 0;
}

static int on_end(void *ctx, const char *version)
{
	struct bench *bench = ctx;

	note(bench, bench->seen, sizeof(bench->seen), "]", version);
	return 0;
}

static const char *name_of(const struct doc *object)
{
	const char *name = doc_object_name(object);

	return name ? name : "?";
}

static int on_object(void *ctx, struct doc *object)
{
	struct bench *bench = ctx;
	int r = bench->refuse;

	bench->refuse = 0;
	note(bench, bench->seen, sizeof(bench->seen), "", name_of(object));
	doc_release(object);
	return r;
}

static int on_gone(void *ctx, struct doc *object)
{
	struct bench *bench = ctx;

	note(bench, bench->seen, sizeof(bench->seen), "-", name_of(object));
	return 0;
}

static void on_skip(void *ctx, const struct err *why)
{
	struct bench *bench = ctx;

	(void)why;
	note(bench, bench->seen, sizeof(bench->seen), "!", "");
}

static void on_alive(void *ctx)
{
	struct bench *bench = ctx;

	pthread_mutex_lock(&bench->lock);
	bench->n_alive++;
	pthread_mutex_unlock(&bench->lock);
}

static void on_line(enum log_level level, const char *line, void *data)
{
	struct bench *bench = data;

	(void)level;
	note(bench, bench->lines, sizeof(bench->lines), line, "\n");
}

static struct bench b;

static uint64_t no_random(void)
{
	return 0;
}

/* `at_once`: waits take a millisecond. */
static void bench_open(const struct api_answer *script, size_t n, unsigned idle_ms, bool at_once)
{
	static const struct reflector_events events = {.begin = on_begin,
		.object = on_object,
		.deleted = on_gone,
		.skip = on_skip,
		.end = on_end,
		.alive = on_alive};
	struct reflector_options options = {.path = "/api/v1/pods",
		.query = "x=y",
		.page = 2,
		.watch_s = 60,
		.idle_ms = idle_ms,
		.random = at_once ? no_random : NULL};
	struct credentials_options credentials = {.api_server = b.url};
	struct err err = {""};

	b = (struct bench){0};
	pthread_mutex_init(&b.lock, NULL);
	pthread_cond_init(&b.changed, NULL);
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(on_line, &b);
	api_server_start(&b.server, script, n);
	snprintf(b.url, sizeof(b.url), "http://127.0.0.1:%u", b.server.port);
	unsetenv("KUBECONFIG");
	setenv("NO_PROXY", "*", 1);
	assert_int_equal(cancel_init(&b.cancel), 0);
	if (reflector_new(&options, &credentials, &events, &b, &b.cancel, &b.reflector, &err) < 0)
		fail_msg("%s", err.text);
}

static void bench_close(void)
{
	if (!b.reflector)
		return;
	cancel_request(&b.cancel);
	reflector_freep(&b.reflector);
	cancel_release(&b.cancel);
	api_server_stop(&b.server);
	log_set_sink(NULL, NULL);
}

/* After every test, also after one that failed. */
static int teardown(void **state)
{
	(void)state;
	bench_close();
	return 0;
}

/* Wait until `where` has this text in it. */
static void wait_for(const char *where, const char *text)
{
	struct timespec limit;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 30;
	pthread_mutex_lock(&b.lock);
	while (!strstr(where, text) && r == 0)
		r = pthread_cond_timedwait(&b.changed, &b.lock, &limit);
	pthread_mutex_unlock(&b.lock);
	if (r != 0)
		fail_msg("'%s' did not come, but '%s'; lines: %s", text, b.seen, b.lines);
}

static struct reflector_counts counts(void)
{
	struct reflector_counts c;

	reflector_counts(b.reflector, &c);
	return c;
}

#define META(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, next, items)                                                                 \
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
	"\",\"continue\":\"" next "\"},\"items\":[" items "]}\n"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" META(name, version) "}\n"
#define ERROR_EVENT(code, message)                                                                       \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"" message "\",\"code\":" code \
	"}}\n"
#define STATUS(message) "{\"kind\":\"Status\",\"message\":\"" message "\"}"
#define WATCH           "watch=true&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion="

/* A list of one object `a` at version 5, and a watch that says nothing and does not end. */
static const char *const silence[] = {API_SERVER_WAIT, NULL};
#define ONE                                                          \
	{                                                            \
		.status = 200, .body = LIST("5", "", META("a", "3")) \
	}
#define QUIET                                    \
	{                                        \
		.status = 200, .pieces = silence \
	}

static void query_is(size_t request, const char *query)
{
	test_assert_text("query", b.server.query[request], query);
}

static unsigned count_of(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* ---- tests */

static void pages_then_events(void **state)
{
	static const char *const events[] = {EVENT("ADDED", "d", "10"), "{\"type\":\"MODIFIED\",\"object\"",
		":" META("a", "12") "}" EVENT("DELETED", "b", "13"), EVENT("BOOKMARK", "", "20"), NULL};
	static const struct api_answer script[] = {
		{.status = 200, .body = LIST("9", "n/+", META("a", "3") "," META("b", "4"))},
		{.status = 200, .body = LIST("9", "", META("c", "5"))}, {.status = 200, .pieces = events},
		QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 4);
	assert_string_equal(b.seen, "[ a b c ]9 d a -b ");
	query_is(0, "limit=2&x=y");
	query_is(1, "limit=2&continue=n/+&x=y");
	query_is(2, WATCH "9&x=y");
	query_is(3, WATCH "20&x=y");
	assert_string_equal(b.server.url[3], "/api/v1/pods");
	assert_string_equal(b.lines, "");
	assert_int_equal(counts().lists, 1);
	assert_int_equal(counts().objects, 3);
	assert_int_equal(counts().events, 3);
	assert_int_equal(counts().bookmarks, 1);
	assert_int_equal(counts().errors, 0);
	assert_true(b.n_alive >= 7);
}

static void an_empty_list_is_a_list(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":null}"}, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 2);
	assert_string_equal(b.seen, "[ ]7 ");
	query_is(1, WATCH "7&x=y");
}

static void a_page_that_is_too_old_begins_the_list_again(void **state)
{
	static const struct api_answer script[] = {
		{.status = 200, .body = LIST("9", "n", META("a", "3") "," META("b", "4"))},
		{.status = 410, .body = STATUS("the continue token has expired")},
		{.status = 200, .body = LIST("11", "m", META("b", "4"))},
		{.status = 200, .body = LIST("11", "", META("c", "10"))}, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 5);
	assert_string_equal(b.seen, "[ a b [ b c ]11 ");
	query_is(2, "limit=2&x=y");
	query_is(4, WATCH "11&x=y");
	assert_int_equal(counts().expired, 1);
	assert_int_equal(counts().errors, 0);
}

/* By its status, and by an event: both ways the API server says it. */
static void a_watch_that_is_too_old_lists_again(void **state)
{
	static const char *const expired[] = {
		EVENT("ADDED", "b", "6"), ERROR_EVENT("410", "too old resource version"), NULL};
	static const struct api_answer script[] = {ONE, {.status = 410, .body = STATUS("too old")}, ONE,
		{.status = 200, .pieces = expired}, ONE, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 6);
	assert_string_equal(b.seen, "[ a ]5 [ a ]5 b [ a ]5 ");
	query_is(5, WATCH "5&x=y");
	assert_int_equal(counts().expired, 2);
	assert_int_equal(count_of(b.lines, "listing pods again: "), 2);
}

static void an_error_event_lists_again(void **state)
{
	static const char *const error[] = {ERROR_EVENT("500", "unable to decode"), NULL};
	static const struct api_answer script[] = {
		ONE, {.status = 200, .pieces = error}, ONE, {.status = 200, .pieces = error}, ONE, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 6);
	assert_string_equal(b.seen, "[ a ]5 [ a ]5 [ a ]5 ");
	assert_int_equal(
		count_of(b.lines, "cannot watch pods, retrying: the API server ended the watch (500): "
				  "unable to decode"),
		1);
	assert_int_equal(counts().errors, 2);
}

/* Nothing is lost, so nothing is listed or said; also if the last event has no version. */
static void a_watch_that_the_server_ends_goes_on_where_it_was(void **state)
{
	static const char *const first[] = {EVENT("ADDED", "b", "6"), NULL};
	static const char *const second[] = {EVENT("DELETED", "b", "8"),
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"}}}\n", NULL};
	static const struct api_answer script[] = {
		ONE, {.status = 200, .pieces = first}, {.status = 200, .pieces = second}, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 4);
	assert_string_equal(b.seen, "[ a ]5 b -b c ");
	query_is(2, WATCH "6&x=y");
	query_is(3, WATCH "8&x=y");
	assert_string_equal(b.lines, "");
}

static void an_event_that_is_cut_off_comes_again(void **state)
{
	static const char *const cut[] = {
		EVENT("ADDED", "b", "6"), "{\"type\":\"ADDED\",\"object\":{\"meta", API_SERVER_CUT, NULL};
	static const char *const ended[] = {"{\"type\":\"ADDED\",\"object\":{\"meta", NULL};
	static const char *const whole[] = {EVENT("ADDED", "c", "7"), API_SERVER_WAIT, NULL};
	static const struct api_answer script[] = {ONE, {.status = 200, .pieces = cut},
		{.status = 200, .pieces = ended}, {.status = 200, .pieces = whole}};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	wait_for(b.seen, "[ a ]5 b c ");
	query_is(2, WATCH "6&x=y");
	query_is(3, WATCH "6&x=y");
	assert_int_equal(count_of(b.lines, "cannot watch pods"), 1);
	assert_true(count_of(b.lines, "watching pods again") >= 1);
	assert_int_equal(counts().lists, 1);
}

static void a_page_that_is_cut_off_is_asked_for_again(void **state)
{
	static const char *const cut[] = {"{\"items\":[" META("a", "1") ",{", API_SERVER_CUT, NULL};
	static const struct api_answer script[] = {{.status = 200, .pieces = cut}, ONE, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	wait_for(b.lines, "watching pods again");
	assert_string_equal(b.seen, "[ a [ a ]5 ");
	assert_int_equal(count_of(b.lines, "cannot list pods"), 1);
}

/* A connection that is dead has no other sign, a server without anything to say neither. */
static void silence_is_followed_by_another_request(void **state)
{
	static const char *const event[] = {EVENT("ADDED", "b", "6"), API_SERVER_WAIT, NULL};
	static const struct api_answer script[] = {
		ONE, {.status = 200, .pieces = event}, QUIET, QUIET, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 1000, true);
	api_server_wait(&b.server, 4);
	query_is(3, WATCH "6&x=y");
	assert_string_equal(b.seen, "[ a ]5 b ");
	assert_string_equal(b.lines, "");
}

/* The CRD comes later, the rights come later, the token is renewed: one line each, and it goes on. */
static void refusals_are_said_once(void **state)
{
	static const struct {
		int status;
		const char *line;
	} cases[] = {{404, "answers 404: no such thing"}, {403, "answers 403: no such thing"},
		{401, "answers 401: no such thing"}, {400, "answers 400: no such thing"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct api_answer no = {.status = cases[i].status, .body = STATUS("no such thing")};
		const struct api_answer script[] = {no, no, no, ONE, no, ONE, QUIET};

		bench_open(script, ARRAY_SIZE(script), 0, true);
		wait_for(b.lines, "watching pods again");
		assert_string_equal(b.seen, "[ [ [ [ a ]5 [ a ]5 ");
		assert_int_equal(count_of(b.lines, cases[i].line), 1);
		assert_int_equal(count_of(b.lines, "\n"), 2);
		assert_int_equal(counts().errors, 4);
		bench_close();
	}
}

/* The list is complete, so it is the watch that waits, and not less than it is asked to. */
static void a_server_that_is_busy_is_left_alone(void **state)
{
	static const struct api_answer script[] = {ONE,
		{.status = 429, .body = STATUS("too many"), .retry_after = "1"}, {.status = 503, .body = ""},
		QUIET};
	int64_t from;

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 2);
	from = clock_ms(CLOCK_MONOTONIC);
	api_server_wait(&b.server, 3);
	assert_true(clock_ms(CLOCK_MONOTONIC) - from > 500);
	wait_for(b.lines, "watching pods again");
	assert_int_equal(counts().lists, 1);
	assert_int_equal(count_of(b.lines, "\n"), 2);
	query_is(3, WATCH "5&x=y");
}

static void a_server_that_comes_back_is_watched_from_there(void **state)
{
	static const char *const event[] = {EVENT("ADDED", "b", "6"), API_SERVER_WAIT, NULL};
	static const char *const later[] = {EVENT("DELETED", "a", "7"), API_SERVER_WAIT, NULL};
	static const struct api_answer before[] = {ONE, {.status = 200, .pieces = event}};
	static const struct api_answer after[] = {{.status = 200, .pieces = later}};

	(void)state;
	bench_open(before, ARRAY_SIZE(before), 0, false);
	wait_for(b.seen, "[ a ]5 b ");
	api_server_stop(&b.server);
	wait_for(b.lines, "cannot watch pods");
	api_server_start_again(&b.server, after, ARRAY_SIZE(after));
	wait_for(b.seen, "[ a ]5 b -a ");
	query_is(2, WATCH "6&x=y");
	assert_int_equal(count_of(b.lines, "cannot watch pods"), 1);
	assert_int_equal(count_of(b.lines, "watching pods again"), 1);
	assert_int_equal(counts().lists, 1);
}

/* It may have been restored from a copy, in which what was seen never happened. */
static void a_server_that_was_away_for_long_is_listed(void **state)
{
	static const struct api_answer before[] = {ONE, QUIET};
	static const struct api_answer after[] = {
		{.status = 200, .body = LIST("2", "", META("c", "1"))}, QUIET};

	(void)state;
	bench_open(before, ARRAY_SIZE(before), 0, true);
	api_server_wait(&b.server, 2);
	api_server_stop(&b.server);
	wait_for(b.lines, "cannot watch pods");
	while (counts().errors < 20)
		usleep(10000);
	api_server_start_again(&b.server, after, ARRAY_SIZE(after));
	wait_for(b.lines, "watching pods again");
	assert_non_null(strstr(b.seen, "[ c ]"));
	assert_int_equal(count_of(b.lines, "\n"), 2);
}

static void what_is_no_kubernetes_is_refused(void **state)
{
	static const char *const no_watch[] = {"{\"kind\":\"Pod\"}", NULL};
	static const char *const no_type[] = {EVENT("NONSENSE", "b", "6"), NULL};
	static const char *const nothing[] = {NULL};
	static const struct api_answer script[] = {{.status = 200, .body = "<html>"},
		{.status = 200, .body = "{\"kind\":\"Pod\"}"}, {.status = 200, .pieces = nothing}, ONE,
		{.status = 200, .pieces = no_watch}, ONE, {.status = 200, .pieces = no_type}, ONE,
		{.status = 200, .pieces = nothing}, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, ARRAY_SIZE(script));
	assert_string_equal(b.seen, "[ [ [ [ a ]5 [ a ]5 [ a ]5 ");
	assert_int_equal(counts().errors, 6);
}

#define BAD_UTF8   "{\"metadata\":{\"name\":\"\xff\",\"resourceVersion\":\"7\"}}"
#define BAD_NUMBER "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"8\"},\"spec\":1e999}"
#define BAD_ESCAPE "{\"metadata\":{\"name\":\"\\ud80\",\"resourceVersion\":\"9\"}}"

/* One object with something that cannot be read, in the list or of the watch, does not hold up the others; nothing is listed
 * again. */
static void a_bad_object_costs_no_other(void **state)
{
	static const char *const events[] = {EVENT("ADDED", "c", "6"),
		"{\"type\":\"MODIFIED\",\"object\":" BAD_UTF8 "}\n",
		"{\"type\":\"DELETED\",\"object\":" BAD_ESCAPE "}\n",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"d\"}}}\n",
		EVENT("ADDED", "e", "10"), NULL};
	static const struct api_answer script[] = {
		{.status = 200,
			.body = LIST("5", "", META("a", "3") "," BAD_UTF8 "," BAD_NUMBER "," META("b", "4"))},
		{.status = 200, .pieces = events}, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 3);
	assert_string_equal(b.seen, "[ a ! ! b ]5 c ! ! d e ");
	query_is(2, WATCH "10&x=y");
	assert_int_equal(counts().lists, 1);
	assert_int_equal(counts().errors, 0);
	assert_string_equal(b.lines, "");
}

static void an_object_that_is_not_taken_is_listed_again(void **state)
{
	static const char *const event[] = {EVENT("ADDED", "b", "6"), API_SERVER_WAIT, NULL};
	static const struct api_answer script[] = {
		ONE, {.status = 200, .pieces = silence}, {.status = 200, .pieces = event}, ONE, QUIET};

	(void)state;
	bench_open(script, ARRAY_SIZE(script), 0, true);
	api_server_wait(&b.server, 2);
	b.refuse = -ENOMEM;
	api_server_go_on(&b.server);
	api_server_wait(&b.server, 5);
	assert_string_equal(b.seen, "[ a ]5 b [ a ]5 ");
	assert_int_equal(count_of(b.lines, "cannot process an object: Cannot allocate memory"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(pages_then_events, teardown),
		cmocka_unit_test_teardown(an_empty_list_is_a_list, teardown),
		cmocka_unit_test_teardown(a_page_that_is_too_old_begins_the_list_again, teardown),
		cmocka_unit_test_teardown(a_watch_that_is_too_old_lists_again, teardown),
		cmocka_unit_test_teardown(an_error_event_lists_again, teardown),
		cmocka_unit_test_teardown(a_watch_that_the_server_ends_goes_on_where_it_was, teardown),
		cmocka_unit_test_teardown(an_event_that_is_cut_off_comes_again, teardown),
		cmocka_unit_test_teardown(a_page_that_is_cut_off_is_asked_for_again, teardown),
		cmocka_unit_test_teardown(silence_is_followed_by_another_request, teardown),
		cmocka_unit_test_teardown(refusals_are_said_once, teardown),
		cmocka_unit_test_teardown(a_server_that_is_busy_is_left_alone, teardown),
		cmocka_unit_test_teardown(a_server_that_comes_back_is_watched_from_there, teardown),
		cmocka_unit_test_teardown(a_server_that_was_away_for_long_is_listed, teardown),
		cmocka_unit_test_teardown(what_is_no_kubernetes_is_refused, teardown),
		cmocka_unit_test_teardown(a_bad_object_costs_no_other, teardown),
		cmocka_unit_test_teardown(an_object_that_is_not_taken_is_listed_again, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
