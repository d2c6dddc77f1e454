/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/observe/allocations.h"
#include "common/cleanup.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/states.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/wire.h"

#define HALF          "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"checksum\":0}"
#define NONE_ADMITTED "{\"data\":\"{\\\"entries\\\":{}}\",\"checksum\":1}"
/* Format v2 without the entries of v1, as 1.39 is to write it: the pod 'u'. */
#define U_ADMITTED "{\"version\":\"v2\",\"data\":\"{\\\"podList\\\":\\\"EgUKAyoBdQ==\\\"}\",\"checksum\":1}"
#define WHOLE                                                                                       \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"u\":{\"c\":\"4-5\"}}," \
	"\"checksum\":0}"

struct world {
	char *dir;
	struct machine machine;
	struct allocations_answer answer;
	struct notes notes;
	struct err err;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->dir = test_tmpdir();
	bare_machine(&w->machine, "0-5", "", "0-1");
	allocations_answer_init(&w->answer);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	allocations_answer_release(&w->answer);
	notes_release(&w->notes);
	machine_release(&w->machine);
	test_rmtree(&w->dir);
	free(w);
	return 0;
}

static int ask(struct world *w, struct pod_resources_client *api, bool named, bool files)
{
	const struct allocations_query q = {.sysroot = w->dir,
		.kubelet_root = "/k",
		.files = files,
		.api = api,
		.api_named = named,
		.machine = &w->machine};

	return allocations_read(&q, &w->answer, &w->notes, &w->err);
}

static struct pod_resources_client *client(const struct world *w, const char *name)
{
	struct pod_resources_client *api = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(pod_resources_client_new(path, NULL, &api), 0);
	return api;
}

static void nothing_there_is_nothing_known(void **state)
{
	struct world *w = *state;
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *api = client(w, "none.sock");

	assert_int_equal(ask(w, api, false, true), 0);
	assert_false(w->answer.from_files || w->answer.from_api || w->answer.all.cpus_known);
	assert_int_equal(w->notes.lines.n_items, 0);
}

static void a_named_socket_that_is_not_there_is_told(void **state)
{
	struct world *w = *state;
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *api = client(w, "none.sock");

	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	assert_int_equal(ask(w, api, true, true), 0);
	assert_true(w->answer.from_files);
	assert_int_equal(w->notes.lines.n_items, 1);
	assert_non_null(strstr(w->notes.lines.items[0], "none.sock"));
	assert_non_null(strstr(w->notes.lines.items[0], "the state files alone are used"));
	assert_int_equal(ask(w, api, true, false), -ENOENT);
	assert_non_null(strstr(w->err.text, "none.sock"));
}

static void what_is_no_socket_is_told_and_broken_files_are_errors_then(void **state)
{
	struct world *w = *state;
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *api = client(w, "file");

	test_write_file(w->dir, "file", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	assert_int_equal(ask(w, api, false, true), 0);
	assert_int_equal(w->notes.lines.n_items, 1);
	test_write_file(w->dir, "k/cpu_manager_state", "{}");
	assert_int_equal(ask(w, api, false, true), -EINVAL);
	assert_non_null(strstr(w->err.text, "cpu_manager_state: no policyName"));
}

/* Between the kubelet's two writes CPUs 4-5 are neither in the pool nor held. */
/* The kubelet's second write comes a little later than the first, while nrtd asks. True: it was waited for. */
static bool is_waited_for(struct world *w)
{
	CLEANUP(freep) char *got = NULL;
	pid_t child;
	int status;

	test_write_file(w->dir, "k/cpu_manager_state", HALF);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct timespec pause = {.tv_nsec = 8000000};
		char from[256], to[256];

		nanosleep(&pause, NULL);
		test_write_file(w->dir, "k/.new", WHOLE);
		snprintf(from, sizeof(from), "%s/k/.new", w->dir);
		snprintf(to, sizeof(to), "%s/k/cpu_manager_state", w->dir);
		_exit(rename(from, to) == 0 ? 0 : 1);
	}
	assert_int_equal(ask(w, NULL, false, true), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	if (w->answer.all.n_items == 0)
		return false;
	assert_int_equal(w->answer.all.n_items, 1);
	got = cpuset_print(w->answer.all.items[0].cpus);
	test_assert_text("held", got, "4-5");
	return true;
}

/* On a machine with other work the second write may come too late, but not each time. */
static void the_kubelets_second_write_is_waited_for(void **state)
{
	struct world *w = *state;

	for (unsigned turn = 0; turn < 200 && !is_waited_for(w); turn++)
		allocations_answer_release(&w->answer);
	assert_int_equal(w->answer.all.n_items, 1);
}

static void a_file_that_stays_so_is_taken_as_it_is(void **state)
{
	struct world *w = *state;

	test_write_file(w->dir, "k/cpu_manager_state", HALF);
	assert_int_equal(ask(w, NULL, false, true), 0);
	assert_true(w->answer.all.cpus_known);
	assert_int_equal(w->answer.all.n_items, 0);
}

/* Nobody has given back what it lists: that a file is not there is not that nothing is held. */
static void a_file_that_vanishes_counts_as_it_was(void **state)
{
	struct world *w = *state;
	CLEANUP(state_texts_release) struct state_texts last = {0};
	const struct allocations_query q = {.sysroot = w->dir,
		.kubelet_root = "/k",
		.files = true,
		.last = &last,
		.machine = &w->machine};
	char path[256];

	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	assert_int_equal(w->notes.lines.n_items, 0);
	snprintf(path, sizeof(path), "%s/k/cpu_manager_state", w->dir);
	assert_int_equal(unlink(path), 0);
	allocations_answer_release(&w->answer);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	assert_true(w->answer.from_files && w->answer.all.cpus_known);
	assert_int_equal(w->answer.all.n_items, 1);
	assert_int_equal(w->notes.lines.n_items, 1);
	assert_non_null(strstr(w->notes.lines.items[0], "/k/cpu_manager_state: the file is missing"));
	test_write_file(w->dir, "k/cpu_manager_state", HALF);
	allocations_answer_release(&w->answer);
	assert_int_equal(allocations_read(&q, &w->answer, NULL, &w->err), 0);
	assert_int_equal(w->answer.all.n_items, 0);
}

static void another_kubelets_file_is_not_remembered(void **state)
{
	struct world *w = *state;
	CLEANUP(state_texts_release) struct state_texts last = {0};
	struct allocations_query q = {.sysroot = w->dir,
		.kubelet_root = "/k",
		.files = true,
		.last = &last,
		.machine = &w->machine};

	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	q.kubelet_root = "/other";
	allocations_answer_release(&w->answer);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	assert_false(w->answer.from_files);
}

/* The files know UIDs; the folder of a pod's logs has all three. */
static void pods_get_their_names_from_their_logs(void **state)
{
	static const struct {
		const char *logs, *namespace, *pod;
	} cases[] = {
		{"ns_web_other", "", ""}, {"n\xc5_web_u", "", ""}, /* no name of a namespace */
		{"ns_web_u", "ns", "web"}, {"ns_web-1_u", "", ""}, /* two folders: which one is not known */
	};
	struct world *w = *state;
	char path[256];

	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct allocation *item;

		snprintf(path, sizeof(path), "var/log/pods/%s/x", cases[i].logs);
		test_write_file(w->dir, path, "");
		allocations_answer_release(&w->answer);
		assert_int_equal(ask(w, NULL, false, true), 0);
		assert_int_equal(w->answer.all.n_items, 1);
		item = w->answer.all.items;
		test_assert_text(cases[i].logs, item->namespace, cases[i].namespace);
		test_assert_text(cases[i].logs, item->pod, cases[i].pod);
		assert_int_equal(item->named_by_logs, *cases[i].pod != '\0');
	}
}

static void set_age(const struct world *w, const char *path, long seconds)
{
	char full[256];
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	snprintf(full, sizeof(full), "%s/%s", w->dir, path);
	assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

/* It has no folder, and is not among those that were admitted, which the kubelet writes last. */
static void a_pod_of_fresh_files_may_be_on_its_way(void **state)
{
	struct world *w = *state;

	test_write_file(w->dir, "k/pods/other/x", "");
	test_write_file(w->dir, "k/allocated_pods_state", NONE_ADMITTED);
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	set_age(w, "k/cpu_manager_state", -30); /* in the future: young, however long this takes */
	assert_int_equal(ask(w, NULL, false, true), 0);
	assert_int_equal(w->answer.all.n_items, 1);
	set_age(w, "k/cpu_manager_state", 60);
	allocations_answer_release(&w->answer);
	assert_int_equal(ask(w, NULL, false, true), 0);
	assert_int_equal(w->answer.all.n_items, 0);
}

/* As above, but the kubelet has admitted the pod: it is waiting for its folder. */
static void an_admitted_pod_of_fresh_files_counts(void **state)
{
	struct world *w = *state;

	test_write_file(w->dir, "k/pods/other/x", "");
	test_write_file(w->dir, "k/allocated_pods_state", U_ADMITTED);
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	set_age(w, "k/cpu_manager_state", 5);
	assert_int_equal(ask(w, NULL, false, true), 0);
	assert_int_equal(w->notes.lines.n_items, 0);
	assert_int_equal(w->answer.all.n_items, 1);
}

static size_t count_held(struct world *w, struct file_ages *ages)
{
	struct allocations_query q = {
		.sysroot = w->dir, .kubelet_root = "/k", .files = true, .machine = &w->machine, .ages = ages};

	allocations_answer_release(&w->answer);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	return w->answer.all.n_items;
}

/* Pod u has no folder: it has ended, unless its file was just written. */
static void a_clock_that_is_set_does_not_change_the_age(void **state)
{
	struct world *w = *state;
	struct file_ages ages = {.socket = {0}};

	test_write_file(w->dir, "k/pods/other/x", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	/* Set back by an hour at some time before the first reading. */
	set_age(w, "k/cpu_manager_state", -3600);
	assert_int_equal(count_held(w, NULL), 0);
	assert_int_equal(count_held(w, &ages), 1);
	ages.files[0].since_ms -= 14000;
	assert_int_equal(count_held(w, &ages), 1);
	ages.files[0].since_ms -= 1000;
	assert_int_equal(count_held(w, &ages), 0);
	/* Written between two readings, and then the clock was set on a little. */
	set_age(w, "k/cpu_manager_state", 50);
	assert_int_equal(count_held(w, NULL), 0);
	assert_int_equal(count_held(w, &ages), 1);
	ages.files[0].since_ms -= 15000;
	assert_int_equal(count_held(w, &ages), 0);
	/* A file of an hour ago was restored. */
	set_age(w, "k/cpu_manager_state", 3600);
	assert_int_equal(count_held(w, &ages), 0);
	/* Written long before the first reading. */
	ages = (struct file_ages){.socket = {0}};
	assert_int_equal(count_held(w, &ages), 0);
}

/* While the file of admitted pods cannot be read, pod u may be one of them. */
static void a_damaged_file_of_admitted_pods_is_not_an_absent_one(void **state)
{
	struct world *w = *state;
	struct pods_seen seen = {0};
	struct allocations_query q = {.sysroot = w->dir,
		.kubelet_root = "/k",
		.files = true,
		.machine = &w->machine,
		.seen = &seen};

	test_write_file(w->dir, "k/pods/other/x", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	assert_int_equal(w->answer.all.n_items, 1);
	set_age(w, "k/cpu_manager_state", 60);
	for (int damaged = 1; damaged >= 0; damaged--) {
		char path[256];

		snprintf(path, sizeof(path), "%s/k/allocated_pods_state", w->dir);
		if (damaged)
			test_write_file(w->dir, "k/allocated_pods_state", "{");
		else
			assert_int_equal(unlink(path), 0);
		allocations_answer_release(&w->answer);
		assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
		assert_int_equal(w->answer.all.n_items, damaged);
	}
	pods_seen_release(&seen);
}

/* How old the socket and the state file are, in seconds; what is young is of the future, however long this takes. */
struct ages {
	const struct world *w;
	long socket, file;
};
#define OLD   100
#define YOUNG (-30)

static void set_ages(void *data)
{
	const struct ages *ages = data;

	set_age(ages->w, "socket", ages->socket);
	set_age(ages->w, "k/cpu_manager_state", ages->file);
}

/* The API lists no pod, of which there is one in the files: is it not there any more, or not there yet? */
static void ages_before_and_after_the_answer_count(void **state)
{
	static const struct {
		const char *name;
		bool folder;
		struct ages before, after;
		size_t held;
	} cases[] = {
		{"an old kubelet", true, {NULL, OLD, OLD}, {NULL, OLD, OLD}, 0},
		{"it grows old meanwhile", true, {NULL, YOUNG, OLD}, {NULL, OLD, OLD}, 1},
		{"it is started anew meanwhile", true, {NULL, OLD, OLD}, {NULL, YOUNG, OLD}, 1},
		{"a young kubelet, a pod without a folder", false, {NULL, YOUNG, OLD}, {NULL, YOUNG, OLD}, 0},
		{"its file grows old meanwhile", false, {NULL, YOUNG, YOUNG}, {NULL, YOUNG, OLD}, 1},
		{"its file is written meanwhile", false, {NULL, YOUNG, OLD}, {NULL, YOUNG, YOUNG}, 1},
	};
	struct world *w = *state;
	CLEANUP(strbuf_release) struct strbuf allocatable = STRBUF_INIT(1024);
	CLEANUP(strbuf_release) struct strbuf socket = STRBUF_INIT(256), listener = STRBUF_INIT(256);

	wire_add(&allocatable, "2[0 1 2 3 4 5]");
	strbuf_addf(&socket, "%s/socket", w->dir);
	strbuf_addf(&listener, "%s/kubelet.sock", w->dir);
	test_write_file(w->dir, "socket", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	test_write_file(w->dir, "k/allocated_pods_state", NONE_ADMITTED);
	test_write_file(w->dir, "k/pods/other/x", "");
	for (size_t i = ARRAY_SIZE(cases); i-- > 0;) {
		CLEANUP(pod_resources_client_freep)
		struct pod_resources_client *api = client(w, "kubelet.sock");
		struct ages before = cases[i].before, after = cases[i].after;
		const struct grpc_answer answers[] = {{.meanwhile = set_ages, .data = &after},
			{.message = allocatable.text, .len = allocatable.len}};
		struct grpc_server *server = grpc_server_start(listener.text, answers, ARRAY_SIZE(answers));
		const struct allocations_query q = {.sysroot = w->dir,
			.kubelet_root = "/k",
			.files = true,
			.api = api,
			.socket = socket.text,
			.machine = &w->machine};

		before.w = after.w = w;
		set_ages(&before);
		if (cases[i].folder)
			test_write_file(w->dir, "k/pods/u/x", "");
		assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
		assert_int_equal(grpc_server_calls(server), 2);
		grpc_server_stop(server);
		assert_true(w->answer.from_api && w->answer.from_files);
		if (w->answer.all.n_items != cases[i].held)
			fail_msg("%s: %zu containers hold something", cases[i].name, w->answer.all.n_items);
		allocations_answer_release(&w->answer);
	}
}

/* A kubelet ends that has just been started: what it said last lists no pod yet, and they still hold what they held. */
static void pods_that_a_young_kubelet_did_not_list_hold_while_it_is_away(void **state)
{
	struct world *w = *state;
	CLEANUP(strbuf_release) struct strbuf allocatable = STRBUF_INIT(1024);
	CLEANUP(strbuf_release) struct strbuf socket = STRBUF_INIT(256), listener = STRBUF_INIT(256);
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *api = client(w, "kubelet.sock");

	wire_add(&allocatable, "2[0 1 2 3 4 5]");
	strbuf_addf(&socket, "%s/socket", w->dir);
	strbuf_addf(&listener, "%s/kubelet.sock", w->dir);
	test_write_file(w->dir, "socket", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	test_write_file(w->dir, "k/pods/u/x", "");
	for (int young = 0; young < 2; young++) {
		struct ages ages = {w, young ? YOUNG : OLD, OLD};
		struct state_files then = {0};
		struct grpc_answer answers[] = {{0}, {.message = allocatable.text, .len = allocatable.len}};
		struct grpc_server *server = grpc_server_start(listener.text, answers, ARRAY_SIZE(answers));
		struct allocations_query q = {.sysroot = w->dir,
			.kubelet_root = "/k",
			.files = true,
			.api = api,
			.socket = socket.text,
			.files_before_answer = &then,
			.machine = &w->machine};

		set_ages(&ages);
		assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
		grpc_server_stop(server);
		assert_int_equal(w->answer.all.n_items, young);
		allocations_answer_release(&w->answer);
		set_age(w, "socket", OLD);
		q.down = true;
		assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
		assert_true(w->answer.api_kept);
		assert_int_equal(w->answer.all.n_items, young);
		allocations_answer_release(&w->answer);
	}
}

/* What contradicts a kubelet that has just started: its API has no devices yet, which the files have. */
#define DEVICES \
	"{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":{\"v.com/d\":[\"a\"]}},\"Checksum\":0}"

/* Ask an API that answers as said; `then` and `last` are kept. */
static void ask_keeping(struct world *w, struct pod_resources_client *api, const struct grpc_answer *answers,
	size_t n_answers, struct state_files *then, struct state_texts *last)
{
	CLEANUP(strbuf_release) struct strbuf socket = STRBUF_INIT(256), listener = STRBUF_INIT(256);
	struct allocations_query q = {.sysroot = w->dir,
		.kubelet_root = "/k",
		.files = true,
		.api = api,
		.files_before_answer = then,
		.last = last,
		.machine = &w->machine};
	struct grpc_server *server;

	strbuf_addf(&socket, "%s/socket", w->dir);
	strbuf_addf(&listener, "%s/kubelet.sock", w->dir);
	q.socket = socket.text;
	server = grpc_server_start(listener.text, answers, n_answers);
	allocations_answer_release(&w->answer);
	assert_int_equal(allocations_read(&q, &w->answer, &w->notes, &w->err), 0);
	grpc_server_stop(server);
}

/* It is asked again because it contradicts the files, and does not answer then. */
static void a_young_kubelets_answer_that_was_to_be_repeated_is_a_young_ones(void **state)
{
	struct world *w = *state;
	CLEANUP(strbuf_release) struct strbuf allocatable = STRBUF_INIT(1024);
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *api = client(w, "kubelet.sock");
	struct state_files then = {0};
	struct ages ages = {w, OLD, OLD};

	wire_add(&allocatable, "2[0 1 2 3 4 5]");
	test_write_file(w->dir, "socket", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	test_write_file(w->dir, "k/device-plugins/kubelet_internal_checkpoint", DEVICES);
	test_write_file(w->dir, "k/pods/u/x", "");
	set_ages(&ages);
	for (int young = 0; young < 2; young++) {
		const struct grpc_answer answers[] = {{0},
			{.message = allocatable.text, .len = allocatable.len}, {.hang_up = young},
			{.hang_up = young}};

		set_age(w, "socket", young ? YOUNG : OLD);
		ask_keeping(w, api, answers, young ? ARRAY_SIZE(answers) : 2, &then, NULL);
		assert_int_equal(w->answer.api_kept, young);
		assert_int_equal(w->answer.all.n_items, young);
	}
}

/* A state file is gone, and a kubelet that has just started contradicts another one. */
static void a_file_that_is_gone_holds_what_no_contradiction_is_about(void **state)
{
	struct world *w = *state;
	CLEANUP(state_texts_release) struct state_texts last = {0};
	CLEANUP(strbuf_release) struct strbuf allocatable = STRBUF_INIT(1024);
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *api = client(w, "kubelet.sock");
	struct state_files then = {0};
	struct ages ages = {w, YOUNG, OLD};
	char path[256];

	wire_add(&allocatable, "2[0 1 2 3 4 5]");
	test_write_file(w->dir, "socket", "");
	test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
	test_write_file(w->dir, "k/device-plugins/kubelet_internal_checkpoint", DEVICES);
	test_write_file(w->dir, "k/pods/u/x", "");
	set_ages(&ages);
	for (int gone = 0; gone < 2; gone++) {
		const struct grpc_answer answers[] = {
			{0}, {.message = allocatable.text, .len = allocatable.len}};

		ask_keeping(w, api, answers, ARRAY_SIZE(answers), &then, &last);
		assert_int_equal(w->answer.contradictions, 1);
		assert_int_equal(w->answer.all.n_items, 1);
		snprintf(path, sizeof(path), "%s/k/cpu_manager_state", w->dir);
		assert_int_equal(unlink(path), gone ? -1 : 0);
	}
}

/* A folder of logs without a namespace or a name names nobody. */
static void folders_without_a_name_name_nobody(void **state)
{
	static const char *const logs[] = {"_web_u", "ns__u", "u", "ns_u", "ns_web_"};

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		struct world *w = NULL;
		void *own = NULL;
		char path[256];

		assert_int_equal(setup(&own), 0);
		w = own;
		test_write_file(w->dir, "k/cpu_manager_state", WHOLE);
		snprintf(path, sizeof(path), "var/log/pods/%s/x", logs[i]);
		test_write_file(w->dir, path, "");
		assert_int_equal(ask(w, NULL, false, true), 0);
		assert_int_equal(w->answer.all.n_items, 1);
		assert_false(w->answer.all.items[0].named_by_logs);
		test_assert_text(logs[i], w->answer.all.items[0].namespace, "");
		teardown(&own);
	}
	(void)state;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_there_is_nothing_known),
		TEST(a_named_socket_that_is_not_there_is_told),
		TEST(what_is_no_socket_is_told_and_broken_files_are_errors_then),
		TEST(the_kubelets_second_write_is_waited_for),
		TEST(a_file_that_stays_so_is_taken_as_it_is),
		TEST(a_file_that_vanishes_counts_as_it_was),
		TEST(another_kubelets_file_is_not_remembered),
		TEST(pods_get_their_names_from_their_logs),
		TEST(a_pod_of_fresh_files_may_be_on_its_way),
		TEST(an_admitted_pod_of_fresh_files_counts),
		TEST(a_clock_that_is_set_does_not_change_the_age),
		TEST(a_damaged_file_of_admitted_pods_is_not_an_absent_one),
		TEST(ages_before_and_after_the_answer_count),
		TEST(pods_that_a_young_kubelet_did_not_list_hold_while_it_is_away),
		TEST(a_young_kubelets_answer_that_was_to_be_repeated_is_a_young_ones),
		TEST(a_file_that_is_gone_holds_what_no_contradiction_is_about),
		cmocka_unit_test(folders_without_a_name_name_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
