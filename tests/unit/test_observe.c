/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/time.h"
#include "agent/base/yaml.h"
#include "agent/node/observe/discover.h"
#include "agent/node/render/render.h"
#include "agent/state/node_derive.h"
#include "common/cleanup.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"
#include "tests/lib/wire.h"

/*
 * A node with a kubelet: policies by file and by flag, one container with CPUs, memory and a device, another pod
 * with nothing, and of three devices two free. Both sources say it.
 */
#define HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
#define CONFIG \
	HEAD "cpuManagerPolicy: static\nmemoryManagerPolicy: Static\ntopologyManagerPolicy: restricted\n"
#define COMMAND "kubelet\0--config=/etc/k.yaml\0--topology-manager-policy=single-numa-node\0--reserved-cpus=0"
#define NODE_0  "3{1{}}"
#define NODE_1  "3{1{1:1}}"
#define REST    "4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"

static const char list[] = "1{1'p' 2'ns' 3{1'c' 3[1 2] 4{1'memory' 2:4294967296 " NODE_0
			   "} 2{1'v/nic' 2'a' " NODE_0 "}}} 1{1'q' 2'ns' 3{1'd'}}";
static const char allocatable[] =
	"2[1 2 3 " REST "] 1{1'v/nic' 2'a' " NODE_0 "} 1{1'v/nic' 2'b' " NODE_0 "} 1{1'v/nic' 2'e' " NODE_1
	"} 3{1'memory' 2:130996502528 " NODE_0 "} 3{1'memory' 2:130996502528 " NODE_1
	"} 3{1'hugepages-2Mi' 2:2147483648 " NODE_0 "} 3{1'hugepages-2Mi' 2:2147483648 " NODE_1
	"} 3{1'hugepages-1Gi' 2:4294967296 " NODE_0 "} 3{1'hugepages-1Gi' 2:4294967296 " NODE_1 "}";

/* Calls of the API are answered one by one, each when the test says so. */
struct gate {
	struct strbuf later; /* an answer for later */
	atomic_uint n_called, n_answered, n_allowed;
};

struct world {
	char *dir, *socket;
	struct gate gate;
	struct sources sources;
	struct observe_config config;
	struct grpc_server *server;
	struct strbuf replies[2];
	struct grpc_answer answers[2];
	/* The last observation: the object, the notes. */
	struct strbuf object, notes;
	bool settings_kept, api_kept;
};

static void write_state(const struct world *w, const char *pool, const char *entries)
{
	CLEANUP(freep) char *text = NULL;

	assert_true(
		asprintf(&text,
			"{\"policyName\":\"static\",\"defaultCpuSet\":\"%s\",\"entries\":{%s},\"checksum\":0}",
			pool, entries) > 0);
	test_write_file(w->dir, "var/lib/kubelet/cpu_manager_state", text);
}

/* A kubelet that was started `age` seconds ago, or will have been. */
static void write_kubelet(const struct world *w, const char *command, size_t len, unsigned start, int age)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(fclosep) FILE *f = NULL;
	char path[512];
	long hz = sysconf(_SC_CLK_TCK);

	test_write_file(w->dir, "proc/7/cmdline", "");
	snprintf(path, sizeof(path), "%s/proc/7/cmdline", w->dir);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(command, 1, len, f), len);
	test_write_file(w->dir, "proc/7/status", "Uid:\t0\t0\t0\t0\nNSpid:\t7\n");
	test_write_file(w->dir, "proc/7/cgroup", "0::/system.slice/kubelet.service\n");
	assert_true(asprintf(&text, "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 %ld 1 2\n",
			    (long)start * hz) > 0);
	test_write_file(w->dir, "proc/7/stat", text);
	freep(&text);
	assert_true(asprintf(&text, "cpu 1 2\nbtime %lld\nprocesses 9\n",
			    (long long)time(NULL) - age - (long long)start) > 0);
	test_write_file(w->dir, "proc/stat", text);
}

static void end_kubelet(const struct world *w)
{
	static const char *const files[] = {"cmdline", "status", "cgroup", "stat"};
	char path[512];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/proc/7/%s", w->dir, files[i]);
		assert_int_equal(unlink(path), 0);
	}
}

static void remove_cpu_state(const struct world *w)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/var/lib/kubelet/cpu_manager_state", w->dir);
	assert_int_equal(unlink(path), 0);
}

static void make_old(const struct world *w, const char *name)
{
	const struct timespec earlier[2] = {{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(utimensat(AT_FDCWD, path, earlier, 0), 0);
}

static void serve(struct world *w, const char *pods, const char *could_be)
{
	const char *const texts[] = {pods, could_be};

	for (size_t i = 0; i < 2; i++) {
		strbuf_release(&w->replies[i]);
		wire_add(&w->replies[i], texts[i]);
		w->answers[i] = (struct grpc_answer){.message = w->replies[i].text, .len = w->replies[i].len};
	}
	w->server = grpc_server_start(w->socket, w->answers, 2);
}

static void stop_serving(struct world *w)
{
	if (w->server)
		grpc_server_stop(w->server);
	w->server = NULL;
}

/* The hugepages of a NUMA node in the memory manager's state. */
#define PAGES                                                                                      \
	"\"hugepages-2Mi\":{\"total\":2147483648,\"systemReserved\":0,\"allocatable\":2147483648," \
	"\"reserved\":0,\"free\":2147483648},\"hugepages-1Gi\":{\"total\":4294967296,"             \
	"\"systemReserved\":0,\"allocatable\":4294967296,\"reserved\":0,\"free\":4294967296},"

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct machine_source source = {.root = test_machine_tree("seed-2s-32cpu")};

	assert_non_null(w);
	w->dir = test_tmpdir();
	assert_true(asprintf(&w->socket, "%s/kubelet.sock", w->dir) > 0);
	w->replies[0] = w->replies[1] = (struct strbuf)STRBUF_INIT(1u << 16);
	w->object = w->notes = (struct strbuf)STRBUF_INIT(1u << 16);
	w->gate.later = (struct strbuf)STRBUF_INIT(1u << 16);
	assert_int_equal(machine_discover(&source, &w->sources.machine, NULL), 0);
	w->sources.machine_known = true;
	w->config = (struct observe_config){.sysroot = w->dir,
		.node_name = "n",
		.pod_resources = w->socket,
		.pod_resources_named = true,
		.state_files = true};
	test_write_file(w->dir, "etc/k.yaml", CONFIG);
	/* What a node without a kubelet's process would be taken to have. */
	test_write_file(w->dir, "var/lib/kubelet/config.yaml", HEAD "cpuManagerPolicy: none\n");
	test_write_file(w->dir, "var/lib/kubelet/pods/u/containers", "");
	write_state(w, "0,3-31", "\"u\":{\"c\":\"1-2\"}");
	test_write_file(w->dir, "var/lib/kubelet/memory_manager_state",
		"{\"policyName\":\"Static\",\"machineState\":{\"0\":{\"numberOfAssignments\":1,\"memoryMap\":{" PAGES
		"\"memory\":"
		"{\"total\":137438953472,\"systemReserved\":0,\"allocatable\":130996502528,"
		"\"reserved\":4294967296,\"free\":126701535232}},\"cells\":[0]},\"1\":{\"numberOfAssignments\":0,"
		"\"memoryMap\":{" PAGES
		"\"memory\":{\"total\":137438953472,\"systemReserved\":0,\"allocatable\":130996502528,"
		"\"reserved\":0,\"free\":130996502528}},\"cells\":[1]}},\"entries\":{\"u\":{\"c\":[{\"numaAffinity\":"
		"[0],\"type\":\"memory\",\"size\":4294967296}]}},\"checksum\":0}");
	test_write_file(w->dir, "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
		"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"c\",\"ResourceName\":\"v/nic\","
		"\"DeviceIDs\":{\"0\":[\"a\"]},\"AllocResp\":\"\"}],\"RegisteredDevices\":{\"v/nic\":[\"a\",\"b\",\"e\"]}},"
		"\"Checksum\":0}");
	write_kubelet(w, COMMAND, sizeof(COMMAND), 50, -100);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	w->gate.n_allowed = UINT_MAX;
	stop_serving(w);
	strbuf_release(&w->gate.later);
	sources_release(&w->sources);
	for (size_t i = 0; i < 2; i++)
		strbuf_release(&w->replies[i]);
	strbuf_release(&w->object);
	strbuf_release(&w->notes);
	free(w->socket);
	test_rmtree(&w->dir);
	free(w);
	return 0;
}

/* What `sources` know, as it would be published. */
static void look_with(struct world *w, struct sources *sources)
{
	static const struct derive_config derive = {.reserved_named = false};
	static const struct nrt_config config = {.fingerprint = FINGERPRINT_ALL};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	struct err err = {""};

	observation_init(&o);
	if (observe_with(sources, &w->config, &o, &err) < 0 ||
		node_derive(&derive, &o.node, &o.notes, &err) < 0)
		fail_msg("%s", err.text);
	nrt_render(&o.node, &config, &nrt, &o.notes);
	strbuf_reset(&w->object);
	strbuf_reset(&w->notes);
	assert_int_equal(yaml_print(&nrt, &w->object), 0);
	test_notes_text(&o.notes, &w->notes);
	w->settings_kept = o.kubelet.kept;
	w->api_kept = o.api_kept;
}

static void look(struct world *w)
{
	look_with(w, &w->sources);
}

static void assert_has(const struct strbuf *text, const char *part)
{
	if (!strstr(text->text, part))
		fail_msg("no '%s' in:\n%s", part, text->text);
}

static void assert_whole(const struct world *w)
{
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	assert_has(&w->object, "{name: v/nic, capacity: \"2\", allocatable: \"2\", available: \"1\"}");
	assert_has(&w->object, "{name: v/nic, capacity: \"1\", allocatable: \"1\", available: \"1\"}");
	assert_has(&w->object, "available: \"126701535232\"}");
	assert_has(&w->object, "{name: topologyManagerPolicy, value: single-numa-node}");
	assert_has(&w->object, "nodeTopologyPodsFingerprint");
}

/* Killed or stopped: either of the two ways in which its API does not answer. */
static void a_kubelet_that_is_killed_changes_nothing(void **state)
{
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;

	/* Pod x is completed. */
	test_write_file(w->dir, "var/lib/kubelet/pods/x/containers", "");
	write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"x\":{\"d\":\"3-5\"}");
	serve(w, list, allocatable);
	make_old(w, "kubelet.sock");
	look(w);
	test_assert_text("notes", w->notes.text, "");
	assert_false(w->settings_kept || w->api_kept);
	assert_whole(w);
	before = strdup(w->object.text);
	stop_serving(w);
	end_kubelet(w);
	for (int i = 0; i < 2; i++) {
		look(w);
		test_assert_text("killed", w->object.text, before);
		assert_true(w->settings_kept && w->api_kept);
		assert_has(&w->notes, "the kubelet (pid 7) is not running: its last settings are used");
		assert_has(&w->notes, "; the API's last answer is still used");
	}
	/* Its socket is gone, too, and a file. */
	remove_cpu_state(w);
	assert_int_equal(unlink(w->socket), 0);
	w->config.pod_resources_named = false;
	look(w);
	test_assert_text("no socket", w->object.text, before);
	assert_has(&w->notes, "; the API's last answer is still used");
}

/* Init container i keeps CPU 3 for its pod; the API does not list it. */
static void a_file_that_is_gone_still_says_what_the_api_does_not(void **state)
{
	static const char four[] = "1{1'p' 2'ns' 3{1'c' 3[1 2 4 5] 4{1'memory' 2:4294967296 " NODE_0
				   "} 2{1'v/nic' 2'a' " NODE_0 "}}}";
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;

	write_state(w, "0,4-31", "\"u\":{\"c\":\"1-2\",\"i\":\"3\"}");
	serve(w, list, allocatable);
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"12\"}");
	before = strdup(w->object.text);
	remove_cpu_state(w);
	for (int i = 0; i < 2; i++) {
		look(w);
		test_assert_text("gone", w->object.text, before);
		assert_has(&w->notes, "cpu_manager_state: the file is missing");
	}
	/* Until the API says otherwise: then nothing of it holds. */
	stop_serving(w);
	serve(w, four, allocatable);
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"11\"}");
}

static void a_kubelet_that_stands_still_changes_nothing(void **state)
{
	struct world *w = *state;
	CLEANUP(freep) char *before = NULL;

	serve(w, list, allocatable);
	look(w);
	assert_whole(w);
	before = strdup(w->object.text);
	stop_serving(w);
	w->answers[0] = (struct grpc_answer){.silent = true};
	w->server = grpc_server_start(w->socket, w->answers, 1);
	look(w);
	test_assert_text("stopped", w->object.text, before);
	assert_true(w->api_kept && !w->settings_kept);
	stop_serving(w);
	serve(w, list, allocatable);
	look(w);
	test_assert_text("goes on", w->object.text, before);
	test_assert_text("notes", w->notes.text, "");
}

static void a_kubelet_that_comes_back_is_believed(void **state)
{
	static const char again[] =
		"kubelet\0--config=/etc/k.yaml\0--topology-manager-policy=restricted\0--reserved-cpus=0";
	struct world *w = *state;

	serve(w, list, allocatable);
	look(w);
	stop_serving(w);
	end_kubelet(w);
	look(w);
	assert_whole(w);
	write_kubelet(w, again, sizeof(again), 90, -100);
	serve(w, list,
		"2[1 2 3 " REST "] 1{1'v/nic' 2'a' " NODE_0 "} 3{1'memory' 2:130996502528 " NODE_0 "}");
	look(w);
	assert_false(w->settings_kept || w->api_kept);
	assert_null(strstr(w->notes.text, "still used"));
	assert_has(&w->object, "{name: topologyManagerPolicy, value: restricted}");
	assert_has(&w->object, "{name: v/nic, capacity: \"1\", allocatable: \"1\", available: \"0\"}");
}

/* ---- one kubelet after the other */

static const char other_settings[] =
	"kubelet\0--config=/etc/k.yaml\0--topology-manager-policy=restricted\0--reserved-cpus=0-1";

static void start_another(void *data)
{
	write_kubelet(data, other_settings, sizeof(other_settings), 90, -100);
}

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

	serve(w, list, allocatable);
	look(w);
	stop_serving(w);
	end_kubelet(w);
	start_another(w);
	remove_folder_of_pod(w);
	write_state(w, "0-31", "");
	look(w);
	assert_true(w->api_kept && !w->settings_kept);
	assert_has(&w->object, "{name: topologyManagerPolicy, value: restricted}");
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"14\", available: \"14\"}");
}

/* Nobody gives back what a pod held while no kubelet runs, or one that has not written its file yet. */
static void no_pod_ends_between_two_kubelets(void **state)
{
	struct world *w = *state;

	w->config.pod_resources = "none";
	look(w);
	end_kubelet(w);
	remove_cpu_state(w);
	remove_folder_of_pod(w);
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	assert_has(&w->object, "available: \"126701535232\"}");
	start_another(w);
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"14\", available: \"13\"}");
	assert_has(&w->object, "available: \"126701535232\"}");
	write_state(w, "0-31", "");
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"14\", available: \"14\"}");
	assert_has(&w->object, "available: \"130996502528\"}");
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
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	before = strdup(w->object.text);
	snprintf(command, sizeof(command),
		"cd '%s/proc/7/root/var/lib/kubelet' && rm -r pods/u && mkdir pods/x && "
		"sed -i 's/3-31/1-31/; s/\"u\".*1-2\"}//' cpu_manager_state && rm memory_manager_state",
		w->dir);
	assert_int_equal(system(command), 0);
	write_kubelet(w, stranger, sizeof(stranger), 60, -100);
	for (int i = 0; i < 2; i++) {
		look(w);
		test_assert_text("another process", w->object.text, before);
		assert_true(w->settings_kept);
		assert_has(&w->notes, "cpu_manager_state: the file is missing; its last content is used");
	}
}

/* The kubelet turned pod v down, which never had a folder, and pod u has ended; it was killed before it cleaned
 * up. */
static void what_was_free_is_free_without_a_kubelet(void **state)
{
	struct world *w = *state;

	w->config.pod_resources = "none";
	write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"v\":{\"d\":\"3-5\"}");
	make_old(w, "var/lib/kubelet/cpu_manager_state");
	make_old(w, "var/lib/kubelet/memory_manager_state");
	make_old(w, "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint");
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	remove_folder_of_pod(w);
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"15\"}");
	end_kubelet(w);
	look(w);
	assert_true(w->settings_kept);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"15\"}");
}

/* Between the look for its settings and the question what it has: it comes, or another takes its place. */
static void a_look_is_of_one_kubelet(void **state)
{
	struct world *w = *state;

	for (int none_before = 0; none_before < 2; none_before++) {
		write_kubelet(w, COMMAND, sizeof(COMMAND), 50, -100);
		serve(w, list, allocatable);
		look(w);
		assert_whole(w);
		stop_serving(w);
		if (none_before)
			end_kubelet(w);
		w->answers[0].meanwhile = start_another;
		w->answers[0].data = w;
		w->server = grpc_server_start(w->socket, w->answers, 2);
		look(w);
		assert_false(w->settings_kept || w->api_kept);
		assert_has(&w->object, "{name: topologyManagerPolicy, value: restricted}");
		stop_serving(w);
	}
}

static void drain(void *data)
{
	end_kubelet(data);
	write_state(data, "0,3-31", "\"u\":{\"c\":\"1-2\"}");
	remove_folder_of_pod(data);
}

/* What was seen with the kubelet that went meanwhile is not taken for what it did. */
static void a_look_that_is_made_again_remembers_nothing(void **state)
{
	struct world *w = *state;

	serve(w, list, allocatable);
	look(w);
	stop_serving(w);
	w->answers[0] = (struct grpc_answer){.status = 2, .text = "ends", .meanwhile = drain, .data = w};
	w->answers[1] = (struct grpc_answer){.status = 2, .text = "has ended"};
	w->server = grpc_server_start(w->socket, w->answers, 2);
	look(w);
	assert_whole(w);
}

/* Its files say that the kubelet goes on, although its API does not. */
static void files_that_go_on_are_followed(void **state)
{
	struct world *w = *state;

	serve(w, list, allocatable);
	look(w);
	stop_serving(w);
	test_write_file(w->dir, "var/lib/kubelet/pods/v/containers", "");
	write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"v\":{\"d\":\"3-5\"}");
	look(w);
	assert_true(w->api_kept);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
	assert_has(&w->object, "{name: v/nic, capacity: \"2\", allocatable: \"2\", available: \"1\"}");
	assert_has(&w->object, "{name: v/nic, capacity: \"1\", allocatable: \"1\", available: \"1\"}");
	assert_has(&w->object, "available: \"126701535232\"}");
	assert_has(&w->object, "nodeTopologyPodsFingerprint");
	write_state(w, "0-2,6-31", "\"v\":{\"d\":\"3-5\"}");
	look(w);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"12\"}");
}

/* ---- an API that is slow */

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
	serve(w, list, allocatable);
	stop_serving(w);
	for (size_t i = 0; i < 2; i++) {
		w->answers[i].meanwhile = pass_gate;
		w->answers[i].data = &w->gate;
	}
	w->server = grpc_server_start(w->socket, w->answers, 2);
	make_old(w, "kubelet.sock"); /* the kubelet lists all its pods */
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
}

/* Look after a sign that comes now, and wait for the API for so long. */
static void look_within(struct world *w, int ms)
{
	usleep(1000); /* a call of an earlier look has begun before the sign */
	w->sources.sign_ms = clock_ms(CLOCK_MONOTONIC);
	w->sources.until_ms = w->sources.sign_ms + ms;
	look(w);
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
	look(w);
}

static void the_files_do_not_wait_for_a_slow_api(void **state)
{
	struct world *w = *state;

	serve_behind_gate(w);
	look_within(w, 10);
	assert_true(sources_await_answer(&w->sources));
	assert_has(&w->notes, ": the kubelet has not answered yet; the state files alone are used");
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	assert_null(strstr(w->object.text, "nodeTopologyPodsFingerprint"));
	w->gate.n_allowed = 2;
	look_when_answered(w, LONG_MS);
	assert_false(sources_await_answer(&w->sources) || w->api_kept);
	test_assert_text("notes", w->notes.text, "");
	assert_whole(w);
	assert_int_equal(w->gate.n_answered, 2); /* of one pair of calls */
}

static void write_two_pods(const struct world *w)
{
	test_write_file(w->dir, "var/lib/kubelet/pods/x/containers", "");
	write_state(w, "0,6-31", "\"u\":{\"c\":\"1-2\"},\"x\":{\"d\":\"3-5\"}");
}

/* A pod starts while the API hangs: it holds its CPUs, whatever the API has said last. One call hangs, not one per look. */
static void an_api_that_hangs_gives_nothing_away(void **state)
{
	struct world *w = *state;

	w->gate.n_allowed = 2;
	wire_add(&w->gate.later, list_of_two);
	serve_behind_gate(w);
	look_within(w, LONG_MS);
	assert_whole(w);
	look_within(w, 10);
	assert_true(w->api_kept);
	assert_has(&w->notes, ": the kubelet has not answered yet; the API's last answer is still used");
	assert_whole(w);
	write_two_pods(w);
	for (int i = 0; i < 3; i++) {
		/* The call began before the write, so that its answer is not awaited. */
		look_within(w, LONG_MS);
		assert_true(w->api_kept && sources_await_answer(&w->sources));
		assert_has(
			&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
		assert_has(
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
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
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
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
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
	start_another(w);
	w->gate.n_allowed = 2;
	look_when_answered(w, 10);
	assert_true(w->api_kept && sources_await_answer(&w->sources));
}

/* Given up by the kubelet, or by nrtd after half a minute. */
static void a_call_that_ran_out_of_time_is_made_again(void **state)
{
	struct world *w = *state;
	struct grpc_answer answers[3] = {{.status = 4, .meanwhile = pass_gate, .data = &w->gate}};

	serve(w, list, allocatable);
	stop_serving(w);
	answers[1] = w->answers[0];
	answers[2] = w->answers[1];
	w->server = grpc_server_start(w->socket, answers, ARRAY_SIZE(answers));
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, 10);
	w->gate.n_allowed = 1;
	look_when_answered(w, LONG_MS);
	assert_whole(w);
	assert_int_equal(grpc_server_calls(w->server), 3);
	stop_serving(w);
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
	serve(w, list, allocatable);
	stop_serving(w);
	w->answers[1].meanwhile = start_a_pod;
	w->answers[1].data = w;
	w->server = grpc_server_start(w->socket, w->answers, 2);
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, LONG_MS);
	assert_int_equal(w->gate.n_called, 2);
	assert_false(w->api_kept);
	assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"10\"}");
}

/* A pod gets another CPU during each call. */
static void write_another_cpu(void *data)
{
	struct world *w = data;
	char pool[32], entries[64];
	unsigned last = 2 + ++w->gate.n_called;

	snprintf(pool, sizeof(pool), "0,%u-31", last + 1);
	snprintf(entries, sizeof(entries), "\"u\":{\"c\":\"1-2\"},\"x\":{\"d\":\"3-%u\"}", last);
	write_state(w, pool, entries);
}

static void files_that_are_written_during_each_call_are_followed(void **state)
{
	struct world *w = *state;
	char cpus[80];

	serve(w, list, allocatable);
	stop_serving(w);
	test_write_file(w->dir, "var/lib/kubelet/pods/x/containers", "");
	w->answers[1].meanwhile = write_another_cpu;
	w->answers[1].data = w;
	w->server = grpc_server_start(w->socket, w->answers, 2);
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, LONG_MS);
	assert_true(w->gate.n_called > 1);
	snprintf(cpus, sizeof(cpus), "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"%u\"}",
		13 - w->gate.n_called);
	assert_has(&w->object, cpus);
}

/* The call would go on for half a minute. */
static void an_api_that_hangs_does_not_keep_the_daemon(void **state)
{
	struct world *w = *state;
	int64_t began = clock_ms(CLOCK_MONOTONIC);

	serve(w, list, allocatable);
	stop_serving(w);
	w->answers[0].silent = true;
	w->server = grpc_server_start(w->socket, w->answers, 2);
	assert_int_equal(sources_call_in_background(&w->sources, NULL), 0);
	look_within(w, 10);
	assert_true(sources_await_answer(&w->sources));
	sources_release(&w->sources);
	assert_true(clock_ms(CLOCK_MONOTONIC) - began < POD_RESOURCES_BACKGROUND_DEADLINE_MS);
}

static void who_asks_once_remembers_nothing(void **state)
{
	struct world *w = *state;
	CLEANUP(sources_release) struct sources fresh = {.machine_known = true};

	serve(w, list, allocatable);
	look(w);
	stop_serving(w);
	end_kubelet(w);
	machine_copy(&w->sources.machine, &fresh.machine);
	look_with(w, &fresh);
	assert_false(w->settings_kept || w->api_kept);
	assert_has(&w->notes, "the state files alone are used");
	/* What the files show counts more than the defaults of a kubelet that nrtd has not seen. */
	assert_has(&w->object, "{name: cpuManagerPolicy, value: static}");
	assert_null(strstr(w->object.text, "topologyManagerPolicy"));
}

/* ---- files that the kubelet has not read */

/* Until files that are written now are told from those that were there by their times. */
static void let_a_second_pass(void)
{
	const time_t now = time(NULL);

	while (time(NULL) == now)
		usleep(10000);
}

static void a_file_counts_when_the_kubelet_has_read_it(void **state)
{
	struct world *w = *state;
	CLEANUP(sources_release) struct sources fresh = {.machine_known = true};
	CLEANUP(freep) char *before = NULL;

	serve(w, list, allocatable);
	write_kubelet(w, COMMAND, sizeof(COMMAND), 50, 1);
	look(w);
	test_assert_text("notes", w->notes.text, "");
	before = strdup(w->object.text);
	let_a_second_pass();
	test_write_file(w->dir, "etc/k.yaml", HEAD "cpuManagerPolicy: none\n");
	look(w);
	test_assert_text("edited", w->object.text, before);
	test_assert_text("notes", w->notes.text,
		"'/etc/k.yaml' changed after the kubelet (pid 7) started: the old settings apply until the "
		"kubelet restarts");
	/* One who comes later can only warn. */
	machine_copy(&w->sources.machine, &fresh.machine);
	look_with(w, &fresh);
	assert_has(&w->object, "{name: cpuManagerPolicy, value: none}");
	assert_has(&w->notes,
		"'/etc/k.yaml' changed after the kubelet (pid 7) started: the kubelet may run with older "
		"settings; restart it");
	/* Restarted. */
	write_kubelet(w, COMMAND, sizeof(COMMAND), 190, -40);
	look(w);
	assert_has(&w->object, "{name: cpuManagerPolicy, value: none}");
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

	serve(w, list, allocatable);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *before = NULL;
		char path[512];

		test_write_file(w->dir, "etc/k.d/10.conf", HEAD "topologyManagerPolicy: best-effort\n");
		test_write_file(w->dir, "etc/k.d/sub/30.conf", HEAD "topologyManagerScope: pod\n");
		write_kubelet(w, command, sizeof(command), 200 + i, 1);
		look(w);
		test_assert_text("notes", w->notes.text, "");
		before = strdup(w->object.text);
		let_a_second_pass();
		snprintf(path, sizeof(path), "%s/%s", w->dir, cases[i].file);
		if (cases[i].text)
			test_write_file(w->dir, cases[i].file, cases[i].text);
		else
			assert_int_equal(unlink(path), 0);
		look(w);
		test_assert_text("not read", w->object.text, before);
		assert_has(&w->notes, cases[i].named);
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
		cmocka_unit_test_setup_teardown(a_kubelet_that_is_killed_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_gone_still_says_what_the_api_does_not, setup, teardown),
		cmocka_unit_test_setup_teardown(a_kubelet_that_stands_still_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_kubelet_that_comes_back_is_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(another_kubelet_has_its_own_reserved_cpus, setup, teardown),
		cmocka_unit_test_setup_teardown(no_pod_ends_between_two_kubelets, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_files_of_a_process_with_the_same_id_are_not_read, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_free_is_free_without_a_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(a_look_is_of_one_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(a_look_that_is_made_again_remembers_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(files_that_go_on_are_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(the_files_do_not_wait_for_a_slow_api, setup, teardown),
		cmocka_unit_test_setup_teardown(an_api_that_hangs_gives_nothing_away, setup, teardown),
		cmocka_unit_test_setup_teardown(
			files_that_are_written_during_each_call_are_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_that_ran_out_of_time_is_made_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_answer_under_other_settings_is_not_the_last_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_answer_to_an_older_call_is_not_the_last_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			files_that_are_written_during_the_call_are_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(an_api_that_hangs_does_not_keep_the_daemon, setup, teardown),
		cmocka_unit_test_setup_teardown(who_asks_once_remembers_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_counts_when_the_kubelet_has_read_it, setup, teardown),
		cmocka_unit_test_setup_teardown(so_do_drop_ins, setup, teardown),
		cmocka_unit_test(the_socket_is_found_by_its_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
