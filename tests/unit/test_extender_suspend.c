/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the extender's clock includes suspend, during which CLOCK_BOOTTIME advances and CLOCK_MONOTONIC does not; and intervals
 * by the same clock. This file's clock_gettime() replaces the C library's and simulates the suspend.
 */
#include "tests/lib/test.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cluster/extender/server.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/log.h"
#include "tests/lib/api_server.h"

static time_t suspended_s;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret);

	if (r == 0 && clock == CLOCK_BOOTTIME)
		ret->tv_sec += suspended_s;
	return r;
}

static int wake(void **state)
{
	(void)state;
	suspended_s = 0;
	return 0;
}

static void the_cache_is_stale_after_suspend(void **state)
{
	const struct server_config config = {.replica.max_stale_ms = 60000, .cluster = {.assume_ms = 60000}};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);

	(void)state;
	server_new(&config, NULL, &s);
	for (enum object_kind kind = 0; kind < CLUSTER_KINDS; kind++) {
		server_list_end(s, kind, 0);
		replica_note_alive(server_replica(s), kind);
	}
	assert_true(replica_ready(server_replica(s), &line));
	suspended_s = 100;
	assert_false(replica_ready(server_replica(s), &line));
}

static void bad_objects_do_not_flood_the_log(void **state)
{
	static const struct server_config config = {.replica.max_stale_ms = 0};
	CLEANUP(server_freep) struct server *s = NULL;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	const struct err why = {"bad quantity"};
	struct metrics_source from = {.lease = NULL};
	struct test_log_lines lines;

	(void)state;
	server_new(&config, NULL, &s);
	test_log_begin(&lines);
	for (unsigned i = 0; i < 6000; i++) {
		suspended_s = i / 102; /* up to 58 s */
		server_skip(s, OBJECT_POD, &why);
	}
	assert_int_equal(lines.n, 1);
	test_assert_text("line", lines.last, "Pods: skipped an object: bad quantity");
	suspended_s = 60;
	server_skip(s, OBJECT_POD, &why);
	test_log_end();
	assert_int_equal(lines.n, 2);
	test_assert_text(
		"line", lines.last, "Pods: skipped 6000 objects, the last one because: bad quantity");
	assert_int_equal(server_metrics(s, &from, &out), 0);
	assert_non_null(strstr(out.text, "nrtd_extender_skipped_objects_total{kind=\"pods\"} 6001\n"));
}

/* The API server has no Lease and accepts this replica's new Lease. */
static void a_lease_is_lost_during_suspend(void **state)
{
	static const struct api_answer script[] = {
		{.status = 404, .body = "{\"kind\":\"Status\",\"code\":404}"},
		{.status = 201,
			.body = "{\"metadata\":{\"name\":\"nrtd\",\"resourceVersion\":\"1\"},\"spec\":{"
				"\"holderIdentity\":\"me\"}}"}};
	const struct lease_options options = {.namespace = "kube-system", .name = "nrtd", .identity = "me"};
	CLEANUP(lease_freep) struct lease *lease = NULL;
	struct credentials_options credentials = {.api_server = NULL};
	struct api_server server;
	struct lease_state now;
	struct err err = {""};
	char url[64];

	(void)state;
	api_server_start(&server, script, ARRAY_SIZE(script));
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
	credentials.api_server = url;
	unsetenv("KUBECONFIG");
	setenv("NO_PROXY", "*", 1);
	if (lease_new(&options, &credentials, NULL, &lease, &err) < 0 || lease_step(lease, &now, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(lease_held(lease));
	suspended_s = 100;
	assert_false(lease_held(lease));
	api_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_cache_is_stale_after_suspend, wake),
		cmocka_unit_test_teardown(bad_objects_do_not_flood_the_log, wake),
		cmocka_unit_test_teardown(a_lease_is_lost_during_suspend, wake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
