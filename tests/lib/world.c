/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "scoring/node/node_derive.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"
#include "tests/lib/wire.h"

const char world_list[] = "1{1'p' 2'ns' 3{1'c' 3[1 2] 4{1'memory' 2:4294967296 " NODE_0
			  "} 2{1'v/nic' 2'a' " NODE_0 "}}} 1{1'q' 2'ns' 3{1'd'}}";
const char world_allocatable[] =
	"2[1 2 3 " REST "] 1{1'v/nic' 2'a' " NODE_0 "} 1{1'v/nic' 2'b' " NODE_0 "} 1{1'v/nic' 2'e' " NODE_1
	"} 3{1'memory' 2:130996502528 " NODE_0 "} 3{1'memory' 2:130996502528 " NODE_1
	"} 3{1'hugepages-2Mi' 2:2147483648 " NODE_0 "} 3{1'hugepages-2Mi' 2:2147483648 " NODE_1
	"} 3{1'hugepages-1Gi' 2:4294967296 " NODE_0 "} 3{1'hugepages-1Gi' 2:4294967296 " NODE_1 "}";

void world_write_state(const struct world *w, const char *pool, const char *entries)
{
	CLEANUP(freep) char *text = NULL;

	assert_true(
		asprintf(&text,
			"{\"policyName\":\"static\",\"defaultCpuSet\":\"%s\",\"entries\":{%s},\"checksum\":0}",
			pool, entries) > 0);
	test_write_file(w->dir, "var/lib/kubelet/cpu_manager_state", text);
}

time_t world_now(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	return now.tv_sec;
}

/* A kubelet that was started `age` seconds ago, or will have been. */
void world_write_kubelet(const struct world *w, const char *command, size_t len, unsigned start, int age)
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
			    (long long)world_now() - age - (long long)start) > 0);
	test_write_file(w->dir, "proc/stat", text);
}

void world_end_kubelet(const struct world *w)
{
	static const char *const files[] = {"cmdline", "status", "cgroup", "stat"};
	char path[512];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/proc/7/%s", w->dir, files[i]);
		assert_int_equal(unlink(path), 0);
	}
}

void world_remove_cpu_state(const struct world *w)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/var/lib/kubelet/cpu_manager_state", w->dir);
	assert_int_equal(unlink(path), 0);
}

void world_make_old(const struct world *w, const char *name)
{
	const struct timespec earlier[2] = {{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(utimensat(AT_FDCWD, path, earlier, 0), 0);
}

void world_serve(struct world *w, const char *pods, const char *could_be)
{
	const char *const texts[] = {pods, could_be};

	for (size_t i = 0; i < 2; i++) {
		strbuf_release(&w->replies[i]);
		wire_add(&w->replies[i], texts[i]);
		w->answers[i] = (struct grpc_answer){.message = w->replies[i].text, .len = w->replies[i].len};
	}
	w->server = grpc_server_start(w->socket, w->answers, 2);
}

void world_stop_serving(struct world *w)
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

int world_setup(void **state)
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
	world_write_state(w, "0,3-31", "\"u\":{\"c\":\"1-2\"}");
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
	world_write_kubelet(w, COMMAND, sizeof(COMMAND), 50, -100);
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	w->gate.n_allowed = UINT_MAX;
	world_stop_serving(w);
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
void world_look_with(struct world *w, struct sources *sources)
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

void world_look(struct world *w)
{
	world_look_with(w, &w->sources);
}

void world_assert_has(const struct strbuf *text, const char *part)
{
	if (!strstr(text->text, part))
		fail_msg("no '%s' in:\n%s", part, text->text);
}

void world_assert_whole(const struct world *w)
{
	world_assert_has(&w->object, "{name: cpu, capacity: \"16\", allocatable: \"15\", available: \"13\"}");
	world_assert_has(&w->object, "{name: v/nic, capacity: \"2\", allocatable: \"2\", available: \"1\"}");
	world_assert_has(&w->object, "{name: v/nic, capacity: \"1\", allocatable: \"1\", available: \"1\"}");
	world_assert_has(&w->object, "available: \"126701535232\"}");
	world_assert_has(&w->object, "{name: topologyManagerPolicy, value: single-numa-node}");
	world_assert_has(&w->object, "nodeTopologyPodsFingerprint");
}

static const char other_settings[] =
	"kubelet\0--config=/etc/k.yaml\0--topology-manager-policy=restricted\0--reserved-cpus=0-1";

void world_start_another(void *data)
{
	world_write_kubelet(data, other_settings, sizeof(other_settings), 90, -100);
}
