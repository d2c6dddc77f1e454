/* SPDX-License-Identifier: Apache-2.0 */
/* A kubelet whose API is slow or hangs, while the daemon calls it in the background. */
#include "tests/lib/world.h"

#include <poll.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"
#include "tests/lib/wire.h"

#define LONG_MS 60000 /* longer than any test waits unless it has failed */

/* Pod q has started. */
static const char list_of_two[] = "1{1'p' 2'ns' 3{1'c' 3[1 2] 4{1'memory' 2:4294967296 " NODE_0
				  "} 2{1'v/nic' 2'a' " NODE_0 "}}} 1{1'q' 2'ns' 3{1'd' 3[3 4 5]}}";

static void pass_gate(void *data)
{
	struct gate *gate = data;
	unsigned call = ++gate->n_called;

	while (gate->n_allowed < call)
		usleep(1000);
	gate->n_answered++;
}

static void serve_behind_gate(struct world *w)
{
	world_serve(w, world_list, world_allocatable);
	world_stop_serving(w);
	for (size_t i = 0; i < 2; i++) {
		w->answers[i].meanwhile = pass_gate;
		w->answers[i].data = &w->gate;
	}
	w->server = grpc_server_start(w->socket, w->answers, 2);
	world_make_old(w, "kubelet.sock"); /* the kubelet lists all its pods */
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
}

/* Look after a sign that comes now, and wait for the API for so long. */
static void look_within(struct world *w, int ms)
{
	usleep(1000); /* a call of an earlier look has begun before the sign */
	w->sources.sign_ms = clock_ms(CLOCK_MONOTONIC);
	w->sources.until_ms = w->sources.sign_ms + ms;
	world_look(w);
}

static void wait_for_answer(const struct world *w)
{
	struct pollfd p = {.fd = w->sources.late_fd, .events = POLLIN};
	uint64_t count;

	assert_int_equal(poll(&p, 1, LONG_MS), 1);
	assert_int_equal(read(p.fd, &count, sizeof(count)), sizeof(count));
}

/* As the daemon's loop does when the answer is there: for the same sign. */
static void look_when_answered(struct world *w, int ms)
{
	wait_for_answer(w);
	w->sources.until_ms = clock_ms(CLOCK_MONOTONIC) + ms;
	world_look(w);
}

static void the_files_do_not_wait_for_a_slow_api(void **state)
{
	struct world *w = *state;

	serve_behind_gate(w);
	look_within(w, 10);
	assert_true(sources_await_answer(&w->sources));
	world_assert_has(&w->notes, ": the kubelet has not answered yet; the state files alone are used");
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	assert_null(strstr(w->object.text, "nodeTopologyPodsFingerprint"));
	w->gate.n_allowed = 2;
	look_when_answered(w, LONG_MS);
	assert_false(sources_await_answer(&w->sources) || w->api_kept);
	test_assert_text("notes", w->notes.text, "");
	world_assert_whole(w);
	assert_int_equal(w->gate.n_answered, 2); /* of one pair of calls */
}

static void write_two_pods(const struct world *w)
{
	test_write_file(w->dir, "var/lib/kubelet/pods/x/containers", "");
	world_write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"x\":{\"d\":\"3-5\"}");
}

/* A pod starts while the API hangs: it holds its CPUs, whatever the API has said last. One call hangs, not one per look. */
static void an_api_that_hangs_gives_nothing_away(void **state)
{
	struct world *w = *state;

	w->gate.n_allowed = 2;
	wire_add(&w->gate.later, list_of_two);
	serve_behind_gate(w);
	look_within(w, LONG_MS);
	world_assert_whole(w);
	look_within(w, 10);
	assert_true(w->api_kept);
	world_assert_has(
		&w->notes, ": the kubelet has not answered yet; the API's last answer is still used");
	world_assert_whole(w);
	write_two_pods(w);
	for (int i = 0; i < 3; i++) {
		/* The call began before the write, so that its answer is not awaited. */
		look_within(w, LONG_MS);
		assert_true(w->api_kept && sources_await_answer(&w->sources));
		world_assert_has(
			&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
		world_assert_has(
			&w->object, "{name: v/nic, capacity: \"2\", allocatable: \"2\", available: \"1\"}");
	}
	assert_true(w->gate.n_called <= 3);
	/* The first answer has come too late; the second has the pod. */
	w->answers[0].message = w->gate.later.text;
	w->answers[0].len = w->gate.later.len;
	w->gate.n_allowed = 6;
	look_when_answered(w, LONG_MS);
	assert_false(w->api_kept);
	test_assert_text("notes", w->notes.text, "");
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
	assert_int_equal(w->gate.n_answered, 6);
}

/* The answer of a call that began before the kubelet wrote its files, or before the sign: the next call's answer counts. */
static void an_answer_to_an_older_call_is_not_the_last_one(void **state)
{
	struct world *w = *state;

	serve_behind_gate(w);
	look_within(w, 10);
	write_two_pods(w);
	w->gate.n_allowed = 2;
	look_when_answered(w, 10);
	assert_true(w->api_kept && sources_await_answer(&w->sources));
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
	w->gate.n_allowed = 4;
	wait_for_answer(w);
	look_within(w, 10);
	assert_true(w->api_kept && sources_await_answer(&w->sources));
}

static void an_answer_under_other_settings_is_not_the_last_one(void **state)
{
	struct world *w = *state;

	serve_behind_gate(w);
	look_within(w, 10);
	world_start_another(w);
	w->gate.n_allowed = 2;
	look_when_answered(w, 10);
	assert_true(w->api_kept && sources_await_answer(&w->sources));
}

/* Given up by the kubelet, or by nrtd after half a minute. */
static void a_call_that_ran_out_of_time_is_made_again(void **state)
{
	struct world *w = *state;
	struct grpc_answer answers[3] = {{.status = 4, .meanwhile = pass_gate, .data = &w->gate}};

	world_serve(w, world_list, world_allocatable);
	world_stop_serving(w);
	answers[1] = w->answers[0];
	answers[2] = w->answers[1];
	w->server = grpc_server_start(w->socket, answers, ARRAY_SIZE(answers));
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, 10);
	w->gate.n_allowed = 1;
	look_when_answered(w, LONG_MS);
	world_assert_whole(w);
	assert_int_equal(grpc_server_calls(w->server), 3);
	world_stop_serving(w);
}

static void start_a_pod(void *data)
{
	struct world *w = data;

	if (++w->gate.n_called > 1)
		return;
	write_two_pods(w);
	w->answers[0] = (struct grpc_answer){.message = w->gate.later.text, .len = w->gate.later.len};
}

/* A pod starts during the call, whose answer does not have the pod yet. */
static void files_that_are_written_during_the_call_are_read_again(void **state)
{
	struct world *w = *state;

	wire_add(&w->gate.later, list_of_two);
	world_serve(w, world_list, world_allocatable);
	world_stop_serving(w);
	w->answers[1].meanwhile = start_a_pod;
	w->answers[1].data = w;
	w->server = grpc_server_start(w->socket, w->answers, 2);
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, LONG_MS);
	assert_int_equal(w->gate.n_called, 2);
	assert_false(w->api_kept);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
}

/* A pod gets another CPU during each call. */
static void write_another_cpu(void *data)
{
	struct world *w = data;
	char pool[32], entries[64];
	unsigned last = 2 + ++w->gate.n_called;

	snprintf(pool, sizeof(pool), "0,%u-31", last + 1);
	snprintf(entries, sizeof(entries), "\"u\":{\"c\":\"1-2\"},\"x\":{\"d\":\"3-%u\"}", last);
	world_write_state(w, pool, entries);
}

static void files_that_are_written_during_each_call_are_followed(void **state)
{
	struct world *w = *state;
	char cpus[80];

	world_serve(w, world_list, world_allocatable);
	world_stop_serving(w);
	test_write_file(w->dir, "var/lib/kubelet/pods/x/containers", "");
	w->answers[1].meanwhile = write_another_cpu;
	w->answers[1].data = w;
	w->server = grpc_server_start(w->socket, w->answers, 2);
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, LONG_MS);
	assert_true(w->gate.n_called > 1);
	snprintf(cpus, sizeof(cpus), "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"%u\"}",
		13 - w->gate.n_called);
	world_assert_has(&w->object, cpus);
}

/* The call would go on for half a minute. */
static void an_api_that_hangs_does_not_keep_the_daemon(void **state)
{
	struct world *w = *state;
	int64_t began = clock_ms(CLOCK_MONOTONIC);

	world_serve(w, world_list, world_allocatable);
	world_stop_serving(w);
	w->answers[0].silent = true;
	w->server = grpc_server_start(w->socket, w->answers, 2);
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, 10);
	assert_true(sources_await_answer(&w->sources));
	sources_release(&w->sources);
	assert_true(clock_ms(CLOCK_MONOTONIC) - began < POD_RESOURCES_BACKGROUND_DEADLINE_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_files_do_not_wait_for_a_slow_api, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			an_api_that_hangs_gives_nothing_away, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			an_answer_to_an_older_call_is_not_the_last_one, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			an_answer_under_other_settings_is_not_the_last_one, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_call_that_ran_out_of_time_is_made_again, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			files_that_are_written_during_the_call_are_read_again, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			files_that_are_written_during_each_call_are_followed, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			an_api_that_hangs_does_not_keep_the_daemon, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
