/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's loop around a target that does as it is told: what the service manager and the probes hear. */
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent/run/loop.h"
#include "agent/run/resident.h"
#include "cli/nrtd/stage_config.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/log.h"

#define HEARD_MAX (256u << 10)

enum behaviour { SUCCEEDS, WRITES, FAILS, WAITS };

struct bench {
	pthread_t thread;
	bool running;
	struct options options;
	struct reconcile_config reconcile;
	struct stage_lists lists;
	struct metrics *metrics;
	struct reconciler reconciler;
	struct loop_config config;
	uint64_t trim_ms;  /* 0: longer than the test */
	uint64_t ready_ms; /* 0: the default */
	struct cancel cancel;
	_Atomic enum behaviour behaviour;
	atomic_uint n_calls, n_released, n_failures_logged;
	int notify; /* the service manager's end */
	char heard[HEARD_MAX];
	size_t n_heard;
	char *dir;
	int result;
};

static atomic_uint n_trims;

/* In place of the daemon's. */
void resident_trim(void)
{
	n_trims++;
}

void resident_prepare(void)
{
}

void resident_trim_large(void)
{
}

static void nap(void)
{
	const struct timespec ten_ms = {.tv_nsec = 10000000};

	nanosleep(&ten_ms, NULL);
}

/* What the publisher does, with a server that is there, away, or does not answer until the test says so.
 * While the server is away every other call is one that waits for the end of a backoff. */
static int publish(void *ctx, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	struct bench *b = ctx;
	unsigned call = atomic_fetch_add(&b->n_calls, 1) + 1;

	(void)request;
	*ret = (struct publish_result){.nrt = PUBLISH_UNCHANGED,
		.node = PUBLISH_UNCHANGED,
		.current = true,
		.call_again_ms = UINT64_MAX};
	if (b->behaviour == WAITS)
		while (!cancel_requested(&b->cancel) && b->n_released < call)
			nap();
	if (b->behaviour == WRITES)
		ret->nrt = PUBLISH_WRITTEN;
	if (b->behaviour != FAILS)
		return 0;
	*ret = (struct publish_result){
		.nrt = PUBLISH_DEFERRED, .node = PUBLISH_DEFERRED, .call_again_ms = now_ms + 20};
	if (call % 2)
		return 0;
	ret->nrt = PUBLISH_UNREACHABLE;
	return err_set(err, -ECONNREFUSED, "no server after %u ms", call);
}

static void forget(void *ctx)
{
	(void)ctx;
}

static void note_failure(enum log_level level, const char *line, void *data)
{
	struct bench *b = data;

	(void)level;
	if (!strncmp(line, "no server", 9))
		b->n_failures_logged++;
}

static void *run(void *data)
{
	struct bench *b = data;
	struct err err = {""};

	b->result = loop_run(&b->config, &err);
	return NULL;
}

/* ---- the service manager */

static void open_notify(struct bench *b)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", b->dir);
	b->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(b->notify >= 0);
	assert_int_equal(bind(b->notify, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
}

/* Listen for so long, or until `text` is heard (NULL = for as long as told). Whether it was. */
static bool listen_for(struct bench *b, const char *text, int ms)
{
	struct timespec now;
	int64_t until, left;

	b->n_heard = 0;
	b->heard[0] = '\0';
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do {
		struct pollfd p = {.fd = b->notify, .events = POLLIN};

		clock_gettime(CLOCK_MONOTONIC, &now);
		left = until - (int64_t)now.tv_sec * 1000 - now.tv_nsec / 1000000;
		if (left > 0 && poll(&p, 1, (int)left) > 0) {
			ssize_t n = recv(b->notify, b->heard + b->n_heard, HEARD_MAX - b->n_heard - 2, 0);

			assert_true(n > 0);
			b->n_heard += (size_t)n;
			b->heard[b->n_heard++] = '\n';
			b->heard[b->n_heard] = '\0';
		}
		if (text && strstr(b->heard, text))
			return true;
	} while (left > 0);
	return false;
}

/* ---- a probe */

static uint16_t free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

static int status_of(const struct bench *b, const char *path)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(b->config.http.port)};
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[1024] = "";
	int n, status = 0;

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return 0;
	n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	assert_int_equal(write(fd, text, (size_t)n), n);
	n = (int)read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

/* The service manager listens meanwhile: where nobody does, a few datagrams fill its socket and the loop waits
 * (net.unix.max_dgram_qlen is 10). */
static bool becomes(struct bench *b, const char *path, int status)
{
	for (int i = 0; i < 1000; i++) {
		if (status_of(b, path) == status)
			return true;
		listen_for(b, NULL, 10);
	}
	return false;
}

/* ---- life */

static void bench_open(struct bench *b, enum behaviour behaviour)
{
	static char line[640];
	struct err err = {""};
	char *argv[16], *save = NULL;
	int argc = 0;

	*b = (struct bench){.dir = test_tmpdir(),
		.behaviour = behaviour,
		.notify = -1,
		.trim_ms = b->trim_ms,
		.ready_ms = b->ready_ms};
	snprintf(line, sizeof(line), "nrtd run --dry-run --node-name n1 --sysroot %s",
		test_machine_tree("seed-2s-32cpu"));
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	if (options_parse(&program_nrtd, argc, argv, &b->options, &err) < 0 ||
		stage_hints(&b->options, &b->reconcile.render.hints, &err) < 0)
		fail_msg("%s", err.text);
	b->reconcile.observe = stage_observe(&b->options);
	b->reconcile.derive = stage_derive(&b->options, &b->lists);
	b->reconcile.render.nrt = stage_nrt(&b->options);
	metrics_new(&reconcile_labels, &b->metrics);
	b->reconciler = (struct reconciler){.config = &b->reconcile,
		.metrics = b->metrics,
		.target = {.ctx = b, .publish = publish, .forget = forget},
		.sources.cancel = &b->cancel};
	b->config = (struct loop_config){.reconciler = &b->reconciler,
		.metrics = b->metrics,
		.cancel = &b->cancel,
		.http = {.address = "127.0.0.1", .port = free_port()},
		.coalesce_ms = 5,
		.changes = {.interval_ms = 10, .burst = 1},
		.poll_ms = 50,
		.check_ms = 50,
		.run_max_ms = 300,
		.stale_ms = 300,
		.ready_ms = b->ready_ms,
		.trim_ms = b->trim_ms ? b->trim_ms : 600000};
	assert_int_equal(cancel_init(&b->cancel), 0);
	open_notify(b);
	log_set_sink(note_failure, b);
	assert_int_equal(pthread_create(&b->thread, NULL, run, b), 0);
	b->running = true;
}

/* It ends when the service manager asks, and says so. */
static void bench_stop(struct bench *b)
{
	kill(getpid(), SIGTERM);
	assert_true(listen_for(b, "STOPPING=1", 10000));
	pthread_join(b->thread, NULL);
	b->running = false;
	assert_int_equal(b->result, 0);
}

/* The end of a loop whose test has failed, so that it does not take the signals, the log and the service manager's socket
 * of the next one. Whether it ended. */
static bool bench_abandon(struct bench *b)
{
	const struct timespec at_once = {0};
	sigset_t term;

	b->behaviour = SUCCEEDS;
	b->n_released = UINT32_MAX;
	kill(getpid(), SIGTERM);
	for (int i = 0; i < 1000 && b->running; i++) {
		listen_for(b, NULL, 10);
		b->running = pthread_tryjoin_np(b->thread, NULL) != 0;
	}
	/* Where the loop had ended by itself, nobody has taken the signal. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigtimedwait(&term, NULL, &at_once);
	return !b->running;
}

static int bench_new(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->notify = -1;
	*state = b;
	return 0;
}

static int bench_free(void **state)
{
	struct bench *b = *state;

	if (b->running && !bench_abandon(b)) {
		fprintf(stderr, "the loop does not end\n");
		return -1;
	}
	log_set_sink(NULL, NULL);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	closep(&b->notify);
	reconciler_release(&b->reconciler);
	metrics_free(b->metrics);
	hints_config_release(&b->reconcile.render.hints);
	cancel_release(&b->cancel);
	test_rmtree(&b->dir);
	free(b);
	return 0;
}

/* ---- tests */

static void a_server_that_is_away_makes_it_unready(void **state)
{
	struct bench *b = *state;

	bench_open(b, SUCCEEDS);
	assert_true(listen_for(b, "READY=1", 10000));
	assert_true(becomes(b, "/readyz", 200));
	b->behaviour = FAILS;
	assert_true(listen_for(b, "STATUS=no server", 10000));
	listen_for(b, NULL, 500);
	if (strstr(b->heard, "NUMA nodes"))
		fail_msg("the reason is not what is said all the time: %s", b->heard);
	assert_true(becomes(b, "/readyz", 503));
	for (int i = 0; i < 20; i++) { /* and does not come back of itself */
		assert_int_equal(status_of(b, "/readyz"), 503);
		listen_for(b, NULL, 10);
	}
	assert_int_equal(status_of(b, "/healthz"), 200);
	assert_int_equal(b->n_failures_logged, 1);
	b->behaviour = SUCCEEDS;
	assert_true(becomes(b, "/readyz", 200));
	assert_true(listen_for(b, "NUMA nodes", 10000));
	bench_stop(b);
}

/* Whoever starts the service gets an answer: it runs and retries, and its status has the reason. */
static void what_cannot_publish_is_started_and_says_why(void **state)
{
	struct bench *b = *state;

	b->ready_ms = 1000;
	bench_open(b, FAILS);
	if (listen_for(b, "READY=1", 500))
		fail_msg("before it had the time to try: %s", b->heard);
	assert_true(listen_for(b, "READY=1", 10000));
	assert_non_null(strstr(b->heard, "STATUS=nothing is published yet: no server after"));
	listen_for(b, NULL, 1500);
	if (strstr(b->heard, "READY=1"))
		fail_msg("twice: %s", b->heard);
	assert_non_null(strstr(b->heard, "STATUS=no server after"));
	assert_int_equal(status_of(b, "/readyz"), 503);
	kill(getpid(), SIGHUP);
	assert_true(listen_for(b, "RELOADING=1", 10000));
	assert_true(listen_for(b, "READY=1", 10000));
	b->behaviour = SUCCEEDS;
	assert_true(listen_for(b, "NUMA nodes", 10000));
	assert_true(becomes(b, "/readyz", 200));
	bench_stop(b);
}

/* A run that hangs is not reported as one that fails. */
static void a_first_run_that_does_not_end_is_said(void **state)
{
	struct bench *b = *state;

	b->ready_ms = 1000;
	bench_open(b, WAITS);
	assert_true(listen_for(b, "READY=1", 10000));
	assert_non_null(strstr(b->heard, "STATUS=a run has not ended for "));
	b->n_released = UINT32_MAX;
	assert_true(listen_for(b, "NUMA nodes", 10000));
	bench_stop(b);
}

static void the_watchdog_rests_while_a_run_does_not_end(void **state)
{
	struct bench *b = *state;

	setenv("WATCHDOG_USEC", "200000", 1);
	bench_open(b, WAITS);
	assert_true(listen_for(b, "WATCHDOG=1", 10000));
	assert_true(becomes(b, "/healthz", 503));
	listen_for(b, NULL, 1000);
	listen_for(b, NULL, 1000);
	if (strstr(b->heard, "WATCHDOG=1"))
		fail_msg("the worker is stuck, yet: %s", b->heard);
	b->behaviour = SUCCEEDS;
	b->n_released = UINT32_MAX;
	assert_true(listen_for(b, "READY=1", 10000));
	assert_true(becomes(b, "/healthz", 200));
	assert_true(listen_for(b, "WATCHDOG=1", 2000));
	bench_stop(b);
}

/* It had published, and a later run waits. */
static void a_run_that_does_not_end_makes_it_unready(void **state)
{
	struct bench *b = *state;

	bench_open(b, SUCCEEDS);
	assert_true(listen_for(b, "READY=1", 10000));
	assert_true(becomes(b, "/readyz", 200));
	b->behaviour = WAITS;
	assert_true(becomes(b, "/readyz", 503));
	b->behaviour = SUCCEEDS;
	b->n_released = UINT32_MAX;
	assert_true(becomes(b, "/readyz", 200));
	bench_stop(b);
}

static void a_reload_is_answered_by_a_run_after_it(void **state)
{
	struct bench *b = *state;

	bench_open(b, WAITS);
	while (b->n_calls < 1)
		nap();
	b->n_released = 1;
	assert_true(listen_for(b, "READY=1", 10000));
	while (b->n_calls < 2) /* the next one is under way */
		nap();
	kill(getpid(), SIGHUP);
	assert_true(listen_for(b, "RELOADING=1", 10000));
	b->n_released = 2;
	while (b->n_calls < 3)
		nap();
	if (listen_for(b, "READY=1", 200))
		fail_msg("answered by the run that SIGHUP found: %s", b->heard);
	b->n_released = 3;
	assert_true(listen_for(b, "READY=1", 10000));
	bench_stop(b);
}

/* So many more runs. */
static void let_run(struct bench *b, unsigned n)
{
	for (unsigned until = b->n_calls + n; b->n_calls < until;)
		listen_for(b, NULL, 10);
}

static void memory_is_given_back_after_requests(void **state)
{
	struct bench *b = *state;
	bool still = false;
	unsigned before;

	n_trims = 0;
	bench_open(b, SUCCEEDS);
	let_run(b, 10);
	assert_int_equal(n_trims, 0);
	b->behaviour = WRITES;
	for (int i = 0; i < 3000 && n_trims == 0; i++)
		listen_for(b, NULL, 10);
	assert_true(n_trims > 0);
	b->behaviour = SUCCEEDS;
	/* Once for the last of the runs that wrote. */
	for (int i = 0; i < 5 && !still; i++) {
		before = n_trims;
		let_run(b, 10);
		still = n_trims == before;
	}
	assert_true(still);
	bench_stop(b);
}

/* Runs without requests leave memory behind, too. */
static void memory_is_given_back_without_requests_now_and_then(void **state)
{
	struct bench *b = *state;
	int64_t first;

	n_trims = 0;
	b->trim_ms = 500;
	bench_open(b, SUCCEEDS);
	for (int i = 0; i < 3000 && n_trims == 0; i++)
		listen_for(b, NULL, 10);
	assert_true(n_trims == 1);
	first = clock_ms(CLOCK_MONOTONIC);
	for (int i = 0; i < 3000 && n_trims == 1; i++)
		listen_for(b, NULL, 10);
	assert_true(n_trims == 2);
	assert_in_range(clock_ms(CLOCK_MONOTONIC) - first, 400, 30000); /* and not after each run */
	bench_stop(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_server_that_is_away_makes_it_unready, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(
			a_run_that_does_not_end_makes_it_unready, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(
			the_watchdog_rests_while_a_run_does_not_end, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(
			a_reload_is_answered_by_a_run_after_it, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(
			what_cannot_publish_is_started_and_says_why, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(a_first_run_that_does_not_end_is_said, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(memory_is_given_back_after_requests, bench_new, bench_free),
		cmocka_unit_test_setup_teardown(
			memory_is_given_back_without_requests_now_and_then, bench_new, bench_free),
	};

	/* Not by the test: where one fails, cmocka restores the signals it had before. */
	if (signals_hold() < 0)
		return 1;
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
