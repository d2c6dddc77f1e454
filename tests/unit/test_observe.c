/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"

/* Killed or stopped: either of the two ways in which its API does not answer. */
static void a_kubelet_that_is_killed_changes_nothing(void **state)
{
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;

	/* Pod x is completed. */
	test_write_file(w->dir, "var/lib/kubelet/pods/x/containers", "");
	world_write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"x\":{\"d\":\"3-5\"}");
	world_serve(w, world_list, world_allocatable);
	world_make_old(w, "kubelet.sock");
	world_look(w);
	test_assert_text("notes", w->notes.text, "");
	assert_false(w->settings_kept || w->api_kept);
	world_assert_whole(w);
	before = strdup(w->object.text);
	world_stop_serving(w);
	world_end_kubelet(w);
	for (int i = 0; i < 2; i++) {
		world_look(w);
		test_assert_text("killed", w->object.text, before);
		assert_true(w->settings_kept && w->api_kept);
		world_assert_has(&w->notes, "the kubelet (pid 7) is not running: its last settings are used");
		world_assert_has(&w->notes, "; the API's last answer is still used");
	}
	/* Its socket is gone, too, and a file. */
	world_remove_cpu_state(w);
	assert_int_equal(unlink(w->socket), 0);
	w->config.pod_resources_named = false;
	world_look(w);
	test_assert_text("no socket", w->object.text, before);
	world_assert_has(&w->notes, "; the API's last answer is still used");
}

/* Init container i keeps CPU 3 for its pod; the API does not list it. */
static void a_file_that_is_gone_still_says_what_the_api_does_not(void **state)
{
	static const char four[] = "1{1'p' 2'ns' 3{1'c' 3[1 2 4 5] 4{1'memory' 2:4294967296 " NODE_0
				   "} 2{1'v/nic' 2'a' " NODE_0 "}}}";
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;

	world_write_state(w, "0,4-31", "\"u\":{\"c\":\"1-2\",\"i\":\"3\"}");
	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"12\"}");
	before = strdup(w->object.text);
	world_remove_cpu_state(w);
	for (int i = 0; i < 2; i++) {
		world_look(w);
		test_assert_text("gone", w->object.text, before);
		world_assert_has(&w->notes, "cpu_manager_state: the file is missing");
	}
	/* Until the API says otherwise: then nothing of it holds. */
	world_stop_serving(w);
	world_serve(w, four, world_allocatable);
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"11\"}");
}

static void a_kubelet_that_stands_still_changes_nothing(void **state)
{
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;

	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_assert_whole(w);
	before = strdup(w->object.text);
	world_stop_serving(w);
	w->answers[0] = (struct grpc_answer){.silent = true};
	w->server = grpc_server_start(w->socket, w->answers, 1);
	world_look(w);
	test_assert_text("stopped", w->object.text, before);
	assert_true(w->api_kept && !w->settings_kept);
	world_stop_serving(w);
	world_serve(w, world_list, world_allocatable);
	world_look(w);
	test_assert_text("goes on", w->object.text, before);
	test_assert_text("notes", w->notes.text, "");
}

static void a_kubelet_that_comes_back_is_believed(void **state)
{
	static const char again[] =
		"kubelet\0--config=/etc/k.yaml\0--topology-manager-policy=restricted\0--reserved-cpus=0";
	struct world *w = *state;

	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_stop_serving(w);
	world_end_kubelet(w);
	world_look(w);
	world_assert_whole(w);
	world_write_kubelet(w, again, sizeof(again), 90, -100);
	world_serve(w, world_list,
		"2[1 2 3 " REST "] 1{1'v/nic' 2'a' " NODE_0 "} 3{1'memory' 2:130996502528 " NODE_0 "}");
	world_look(w);
	assert_false(w->settings_kept || w->api_kept);
	assert_null(strstr(w->notes.text, "still used"));
	world_assert_has(&w->object, "{name: topologyManagerPolicy, value: restricted}");
	world_assert_has(&w->object, "{name: v/nic, capacity: \"1\", allocatable: \"1\", available: \"0\"}");
}

/* A kubelet that has just started answers before its managers have started and before it knows its pods. */
static void a_starting_kubelet_frees_nothing_without_state_files(void **state)
{
	static const char held[] = "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}",
			  free_cpus[] =
				  "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"15\"}";
	static const struct {
		const char *list, *allocatable; /* NULL = the API does not answer */
		bool young, kept;
		const char *cpus;
	} answers[] = {
		{world_list, world_allocatable, false, false, held},
		{"", "", true, true, held},
		{"", world_allocatable, true, true, held},
		{NULL, NULL, true, true, held},
		{world_list, world_allocatable, true, false, held},
		{"", world_allocatable, true, true, held},
		{"", world_allocatable, false, false, free_cpus},
	};

	struct world *w = *state;

	w->config.state_files = false;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		if (answers[i].list)
			world_serve(w, answers[i].list, answers[i].allocatable);
		if (answers[i].list && !answers[i].young)
			world_make_old(w, "kubelet.sock");
		world_look(w);
		if (w->api_kept != answers[i].kept)
			fail_msg("answer %zu: %s", i, w->notes.text);
		world_assert_has(&w->object, answers[i].cpus);
		if (answers[i].list && answers[i].kept)
			world_assert_has(
				&w->notes, "the kubelet has just started and does not list everything yet");
		if (answers[i].list)
			world_stop_serving(w);
	}
}

/* ---- one kubelet after the other */

static void remove_folder_of_pod(const struct world *w)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/var/lib/kubelet/pods/u/containers", w->dir);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
}

/* It was drained, and has written its file; its API does not answer yet. */
static void another_kubelet_has_its_own_reserved_cpus(void **state)
{
	struct world *w = *state;

	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_stop_serving(w);
	world_end_kubelet(w);
	world_start_another(w);
	remove_folder_of_pod(w);
	world_write_state(w, "0-31", "");
	world_look(w);
	assert_true(w->api_kept && !w->settings_kept);
	world_assert_has(&w->object, "{name: topologyManagerPolicy, value: restricted}");
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"14\", available: \"14\"}");
}

/* Nobody gives back what a pod held while no kubelet runs, or one that has not written its file yet. */
static void no_pod_ends_between_two_kubelets(void **state)
{
	struct world *w = *state;

	w->config.pod_resources = "none";
	world_look(w);
	world_end_kubelet(w);
	world_remove_cpu_state(w);
	remove_folder_of_pod(w);
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	world_assert_has(&w->object, "available: \"126701535232\"}");
	world_start_another(w);
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"14\", available: \"13\"}");
	world_assert_has(&w->object, "available: \"126701535232\"}");
	world_write_state(w, "0-31", "");
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"14\", available: \"14\"}");
	world_assert_has(&w->object, "available: \"130996502528\"}");
}

/* A kubelet in a mount namespace of its own ends, and another process in another namespace gets its id. */
static void the_files_of_a_process_with_the_same_id_are_not_read(void **state)
{
	static const char stranger[] = "sleep\0"
				       "1";
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;
	char command[2048];

	w->config.pod_resources = "none";
	snprintf(command, sizeof(command), "cd '%s' && mkdir proc/7/root && mv etc var proc/7/root", w->dir);
	assert_int_equal(system(command), 0);
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	before = strdup(w->object.text);
	snprintf(command, sizeof(command),
		"cd '%s/proc/7/root/var/lib/kubelet' && rm -r pods/u && mkdir pods/x && "
		"sed -i 's/3-31/1-31/; s/\"u\".*1-2\"}//' cpu_manager_state && rm memory_manager_state",
		w->dir);
	assert_int_equal(system(command), 0);
	world_write_kubelet(w, stranger, sizeof(stranger), 60, -100);
	for (int i = 0; i < 2; i++) {
		world_look(w);
		test_assert_text("another process", w->object.text, before);
		assert_true(w->settings_kept);
		world_assert_has(
			&w->notes, "cpu_manager_state: the file is missing; its last content is used");
	}
}

/* The kubelet turned pod v down, which never had a folder, and pod u has ended; it was killed before it cleaned
 * up. */
static void what_was_free_is_free_without_a_kubelet(void **state)
{
	struct world *w = *state;

	w->config.pod_resources = "none";
	world_write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"v\":{\"d\":\"3-5\"}");
	world_make_old(w, "var/lib/kubelet/cpu_manager_state");
	world_make_old(w, "var/lib/kubelet/memory_manager_state");
	world_make_old(w, "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint");
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	remove_folder_of_pod(w);
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"15\"}");
	world_end_kubelet(w);
	world_look(w);
	assert_true(w->settings_kept);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"15\"}");
}

/* Between the look for its settings and the question what it has: it comes, or another takes its place. */
static void a_look_is_of_one_kubelet(void **state)
{
	struct world *w = *state;

	for (int none_before = 0; none_before < 2; none_before++) {
		world_write_kubelet(w, COMMAND, sizeof(COMMAND), 50, -100);
		world_serve(w, world_list, world_allocatable);
		world_look(w);
		world_assert_whole(w);
		world_stop_serving(w);
		if (none_before)
			world_end_kubelet(w);
		w->answers[0].meanwhile = world_start_another;
		w->answers[0].data = w;
		w->server = grpc_server_start(w->socket, w->answers, 2);
		world_look(w);
		assert_false(w->settings_kept || w->api_kept);
		world_assert_has(&w->object, "{name: topologyManagerPolicy, value: restricted}");
		world_stop_serving(w);
	}
}

static void drain(void *data)
{
	world_end_kubelet(data);
	world_write_state(data, "0,3-31", "\"u\":{\"c\":\"1-2\"}");
	remove_folder_of_pod(data);
}

/* What was seen with the kubelet that went meanwhile is not taken for what it did. */
static void a_look_that_is_made_again_remembers_nothing(void **state)
{
	struct world *w = *state;

	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_stop_serving(w);
	w->answers[0] = (struct grpc_answer){.status = 2, .text = "ends", .meanwhile = drain, .data = w};
	w->answers[1] = (struct grpc_answer){.status = 2, .text = "has ended"};
	w->server = grpc_server_start(w->socket, w->answers, 2);
	world_look(w);
	world_assert_whole(w);
}

/* Its files say that the kubelet goes on, although its API does not. */
static void files_that_go_on_are_followed(void **state)
{
	struct world *w = *state;

	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_stop_serving(w);
	test_write_file(w->dir, "var/lib/kubelet/pods/v/containers", "");
	world_write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"v\":{\"d\":\"3-5\"}");
	world_look(w);
	assert_true(w->api_kept);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
	world_assert_has(&w->object, "{name: v/nic, capacity: \"2\", allocatable: \"2\", available: \"1\"}");
	world_assert_has(&w->object, "{name: v/nic, capacity: \"1\", allocatable: \"1\", available: \"1\"}");
	world_assert_has(&w->object, "available: \"126701535232\"}");
	world_assert_has(&w->object, "nodeTopologyPodsFingerprint");
	world_write_state(w, "0-2,6-31", "\"v\":{\"d\":\"3-5\"}");
	world_look(w);
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"12\"}");
}

static void who_asks_once_remembers_nothing(void **state)
{
	struct world *w = *state;
	CLEANUP(sources_release) struct sources fresh = {.machine_known = true};

	world_serve(w, world_list, world_allocatable);
	world_look(w);
	world_stop_serving(w);
	world_end_kubelet(w);
	machine_copy(&w->sources.machine, &fresh.machine);
	world_look_with(w, &fresh);
	assert_false(w->settings_kept || w->api_kept);
	world_assert_has(&w->notes, "the state files alone are used");
	/* What the files show counts more than the defaults of a kubelet that nrtd has not seen. */
	world_assert_has(&w->object, "{name: cpuManagerPolicy, value: static}");
	assert_null(strstr(w->object.text, "topologyManagerPolicy"));
}

/* ---- files that the kubelet has not read */

/* Until files that are written now are told from those that were there by their times. */
static void let_a_second_pass(void)
{
	const time_t now = world_now();

	while (time(NULL) <= now)
		usleep(10000);
}

static void a_file_counts_when_the_kubelet_has_read_it(void **state)
{
	struct world *w = *state;
	CLEANUP(sources_release) struct sources fresh = {.machine_known = true};
	CLEANUP(freep) char *before = NULL;

	world_serve(w, world_list, world_allocatable);
	world_write_kubelet(w, COMMAND, sizeof(COMMAND), 50, 1);
	world_look(w);
	test_assert_text("notes", w->notes.text, "");
	before = strdup(w->object.text);
	let_a_second_pass();
	test_write_file(w->dir, "etc/k.yaml", HEAD "cpuManagerPolicy: none\n");
	world_look(w);
	test_assert_text("edited", w->object.text, before);
	test_assert_text("notes", w->notes.text,
		"'/etc/k.yaml' changed after the kubelet (pid 7) started: the old settings apply until the "
		"kubelet restarts");
	/* One who comes later can only warn. */
	machine_copy(&w->sources.machine, &fresh.machine);
	world_look_with(w, &fresh);
	world_assert_has(&w->object, "{name: cpuManagerPolicy, value: none}");
	world_assert_has(&w->notes,
		"'/etc/k.yaml' changed after the kubelet (pid 7) started: the kubelet may run with older "
		"settings; restart it");
	/* Restarted. */
	world_write_kubelet(w, COMMAND, sizeof(COMMAND), 190, -40);
	world_look(w);
	world_assert_has(&w->object, "{name: cpuManagerPolicy, value: none}");
	assert_null(strstr(w->notes.text, "changed"));
}

/* A drop-in that comes, one that is changed and one that goes. */
static void so_do_drop_ins(void **state)
{
	static const char command[] =
		"kubelet\0--config=/etc/k.yaml\0--config-dir=/etc/k.d\0--reserved-cpus=0";
	static const struct {
		const char *file, *text, *named; /* text NULL = it goes */
	} cases[] = {
		{"etc/k.d/20.conf", HEAD "topologyManagerPolicy: none\n", "'/etc/k.d' changed"},
		{"etc/k.d/10.conf", HEAD "topologyManagerPolicy: none\n", "'/etc/k.d/10.conf' changed"},
		{"etc/k.d/sub/30.conf", NULL, "'/etc/k.d/sub' changed"},
	};
	struct world *w = *state;

	world_serve(w, world_list, world_allocatable);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *before = NULL;
		char path[512];

		test_write_file(w->dir, "etc/k.d/10.conf", HEAD "topologyManagerPolicy: best-effort\n");
		test_write_file(w->dir, "etc/k.d/sub/30.conf", HEAD "topologyManagerScope: pod\n");
		world_write_kubelet(w, command, sizeof(command), 200 + i, 1);
		world_look(w);
		test_assert_text("notes", w->notes.text, "");
		before = strdup(w->object.text);
		let_a_second_pass();
		snprintf(path, sizeof(path), "%s/%s", w->dir, cases[i].file);
		if (cases[i].text)
			test_write_file(w->dir, cases[i].file, cases[i].text);
		else
			assert_int_equal(unlink(path), 0);
		world_look(w);
		test_assert_text("not read", w->object.text, before);
		world_assert_has(&w->notes, cases[i].named);
	}
}

static void the_socket_is_found_by_its_flag(void **state)
{
	static const struct {
		const char *value, *sysroot, *xml, *want;
	} cases[] = {
		{"auto", "", NULL, "/k/pod-resources/kubelet.sock"},
		{"auto", "/root", NULL, NULL},
		/* another machine's */ {"auto", "", "m.xml", NULL},
		{"none", "", NULL, NULL},
		{"/run/a.sock", "", NULL, "/run/a.sock"},
		{"unix:///run/a.sock", "/root", "m.xml", "/run/a.sock"},
		{"zauto", "", NULL, "zauto"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct observe_config config = {.pod_resources = cases[i].value,
			.sysroot = cases[i].sysroot,
			.machine_xml = cases[i].xml};
		CLEANUP(freep) char *socket = observe_socket(&config, "/k");

		test_assert_text(
			cases[i].value, socket ? socket : "none", cases[i].want ? cases[i].want : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_kubelet_that_is_killed_changes_nothing, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_gone_still_says_what_the_api_does_not, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_kubelet_that_stands_still_changes_nothing, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_kubelet_that_comes_back_is_believed, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_starting_kubelet_frees_nothing_without_state_files, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			another_kubelet_has_its_own_reserved_cpus, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			no_pod_ends_between_two_kubelets, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			the_files_of_a_process_with_the_same_id_are_not_read, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			what_was_free_is_free_without_a_kubelet, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(a_look_is_of_one_kubelet, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_look_that_is_made_again_remembers_nothing, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(files_that_go_on_are_followed, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(who_asks_once_remembers_nothing, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
			a_file_counts_when_the_kubelet_has_read_it, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(so_do_drop_ins, world_setup, world_teardown),
		cmocka_unit_test(the_socket_is_found_by_its_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
