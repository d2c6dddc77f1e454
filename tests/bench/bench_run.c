/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nrtd run` as a process, with a kubelet whose pod-resources API a thread of this program plays. B names the build folder.
 *
 * The time from a pod's start (the rename of cpu_manager_state) to the object that has the pod's CPUs as taken, while each
 * call of the API takes long or is never answered. The kubelet's part cannot be shown here: a real API is slow because the
 * kubelet's managers or its disk are, and then the state files are late, too.
 *
 * The peak resident memory with many devices, which the API lists and the device manager's checkpoint has.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/xalloc.h"
#include "tests/bench/bench.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/test.h"
#include "tests/lib/wire.h"

#define PODS          3
#define RUNS          5
#define GOAL_MS       600
#define WAIT_MS       30000
#define DEVICES       50000u
#define RESOURCES     8u
#define HELD          64u /* containers, with a device of each resource */
#define GOAL_MIB      24.0
#define ALL_CPUS      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"
#define DEVICE_FORMAT "%s-%08x-0000-4000-8000"

struct node {
	char *dir, *socket;
	struct strbuf lists[PODS], allocatable;
	struct grpc_answer answers[2];
	struct grpc_server *server;
	atomic_uint call_us, n_pods; /* of the API */
	atomic_bool ends;            /* this program */
	pid_t pid;
	int out;
	struct strbuf text; /* what nrtd has printed since the last look */
};

static void write_cpus(const struct node *n, const char *pool, const char *entries)
{
	CLEANUP(freep)
	char *text = xasprintf(
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"%s\",\"entries\":{%s},\"checksum\":0}", pool,
		entries);
	CLEANUP(freep) char *from = NULL, *to = NULL;

	test_write_file(n->dir, "var/lib/kubelet/new", text);
	from = xasprintf("%s/var/lib/kubelet/new", n->dir);
	to = xasprintf("%s/var/lib/kubelet/cpu_manager_state", n->dir);
	if (rename(from, to) < 0)
		exit(1);
}

/* Before each answer, in the server's thread. A kubelet lists the pods of the moment when its answer begins. */
static void take_time(void *data)
{
	struct node *n = data;
	const struct strbuf *list = &n->lists[n->n_pods - 1];

	for (unsigned us = 0; us < n->call_us && !n->ends; us += 10000)
		usleep(10000);
	n->answers[0].message = list->text;
	n->answers[0].len = list->len;
}

/* The state files and the API have this many pods. Their CPUs, and the CPUs that are left. */
static void start_pods(struct node *n, unsigned n_pods)
{
	static const char *const entries[PODS] = {"\"u1\":{\"c\":\"1-4\"}",
		"\"u1\":{\"c\":\"1-4\"},\"u2\":{\"c\":\"5-6\"}",
		"\"u1\":{\"c\":\"1-4\"},\"u2\":{\"c\":\"5-6\"},\"u3\":{\"c\":\"7\"}"};
	static const char *const pools[PODS] = {"0,5-31", "0,7-31", "0,8-31"};

	n->n_pods = n_pods;
	write_cpus(n, pools[n_pods - 1], entries[n_pods - 1]);
}

#define ONE_POD    "available: \"11\""
#define TWO_PODS   "available: \"9\""
#define THREE_PODS "available: \"8\""

static void node_init(struct node *n)
{
	CLEANUP(freep) char *copy = NULL;

	*n = (struct node){.dir = test_tmpdir(), .out = -1};
	n->socket = xasprintf("%s/api", n->dir);
	for (size_t i = 0; i < PODS; i++)
		n->lists[i] = (struct strbuf)STRBUF_INIT(16u << 20);
	n->allocatable = (struct strbuf)STRBUF_INIT(16u << 20);
	for (size_t i = 0; i < PODS; i++) {
		wire_add(&n->lists[i], "1{1'a' 2'ns' 3{1'c' 3[1 2 3 4]}}");
		if (i > 0)
			wire_add(&n->lists[i], "1{1'b' 2'ns' 3{1'c' 3[5 6]}}");
		if (i > 1)
			wire_add(&n->lists[i], "1{1'c' 2'ns' 3{1'c' 3[7]}}");
	}
	wire_add(&n->allocatable, "2[" ALL_CPUS "]");
	n->text = (struct strbuf)STRBUF_INIT(64u << 20);
	copy = xasprintf("cp -r '%s/.' '%s'", test_machine_tree("seed-2s-32cpu"), n->dir);
	if (system(copy) != 0)
		exit(1);
	test_write_file(n->dir, "var/lib/kubelet/config.yaml",
		"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
		"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n");
	for (unsigned i = 1; i <= PODS; i++) {
		CLEANUP(freep) char *name = xasprintf("var/lib/kubelet/pods/u%u/x", i);

		test_write_file(n->dir, name, "");
	}
	start_pods(n, 1);
}

static void node_start(struct node *n)
{
	CLEANUP(freep) char *nrtd = xasprintf("%s/nrtd", getenv("B") ? getenv("B") : "build");
	int fds[2];

	n->answers[0] = (struct grpc_answer){.meanwhile = take_time, .data = n};
	n->answers[1] = (struct grpc_answer){.message = n->allocatable.text, .len = n->allocatable.len};
	n->answers[1].meanwhile = take_time;
	n->answers[1].data = n;
	n->server = grpc_server_start(n->socket, n->answers, 2);
	if (pipe(fds) < 0)
		exit(1);
	n->pid = fork();
	if (n->pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		execl(nrtd, nrtd, "run", "--dry-run", "--http", "off", "--poll", "0", "--node-name", "n",
			"--sysroot", n->dir, "--pod-resources", n->socket, NULL);
		_exit(127);
	}
	close(fds[1]);
	n->out = fds[0];
}

/* The time until nrtd prints the text; negative if it does not. */
static double until_printed(struct node *n, const char *text)
{
	double start = bench_ms();

	strbuf_reset(&n->text);
	while (bench_ms() - start < WAIT_MS) {
		struct pollfd p = {.fd = n->out, .events = POLLIN};
		char piece[4096];
		ssize_t got;

		if (poll(&p, 1, 100) <= 0)
			continue;
		got = read(n->out, piece, sizeof(piece));
		if (got <= 0)
			return -1;
		strbuf_add(&n->text, piece, (size_t)got);
		if (strstr(n->text.text, text))
			return bench_ms() - start;
	}
	return -1;
}

static void node_release(struct node *n)
{
	n->ends = true;
	if (n->pid > 0) {
		kill(n->pid, SIGTERM);
		waitpid(n->pid, NULL, 0);
	}
	grpc_server_stop(n->server);
	closep(&n->out);
	for (size_t i = 0; i < PODS; i++)
		strbuf_release(&n->lists[i]);
	strbuf_release(&n->allocatable);
	strbuf_release(&n->text);
	free(n->socket);
	test_rmtree(&n->dir);
}

/* ---- an API that is slow */

static double measure_start(struct node *n, unsigned n_pods, const char *text)
{
	double start = bench_ms();

	start_pods(n, n_pods);
	return until_printed(n, text) < 0 ? -1 : bench_ms() - start;
}

/* The longer of two times: the API becomes slow with the start of a pod, and another pod starts during the slow call. */
static double measure_starts(unsigned call_ms)
{
	CLEANUP(node_release) struct node n;
	double first, second;

	node_init(&n);
	node_start(&n);
	if (until_printed(&n, ONE_POD) < 0)
		return -1;
	usleep(1500000); /* until the daemon may publish two changes at once */
	n.call_us = call_ms * 1000;
	first = measure_start(&n, 2, TWO_PODS);
	usleep(100000);
	second = measure_start(&n, 3, THREE_PODS);
	return first < 0 || second < 0 ? -1 : first > second ? first : second;
}

static int measure_slow(const char *name, unsigned call_ms)
{
	double ms[RUNS], worst;

	for (int i = 0; i < RUNS; i++) {
		ms[i] = measure_starts(call_ms);
		if (ms[i] < 0) {
			fprintf(stderr, "bench_run: nothing is printed\n");
			return 1;
		}
	}
	bench_median(ms, RUNS);
	worst = ms[RUNS - 1];
	printf("pod's start to the object, the API's calls take %s: %.0f ms at most (goal %d ms, %s)\n", name,
		worst, GOAL_MS, worst <= GOAL_MS ? "ok" : "missed");
	return 0;
}

/* ---- many devices */

static const char *device_resource(unsigned i)
{
	static const char *const names[RESOURCES] = {"vendor.com/a", "vendor.com/b", "vendor.com/c",
		"vendor.com/d", "vendor.com/e", "vendor.com/f", "vendor.com/g", "vendor.com/h"};

	return names[i % RESOURCES];
}

static void add_devices(struct node *n)
{
	CLEANUP(strbuf_release) struct strbuf file = STRBUF_INIT(16u << 20);

	for (unsigned i = 0; i < DEVICES; i++) {
		CLEANUP(freep)
		char *text = xasprintf("1{1'%s' 2'" DEVICE_FORMAT "' 3{1{1:%u}}}", device_resource(i),
			"device-0123456789abc", i, i / RESOURCES % 2);

		wire_add(&n->allocatable, text);
	}
	strbuf_addstr(&file, "{\"Data\":{\"PodDeviceEntries\":[");
	for (unsigned i = 0; i < HELD; i++) {
		CLEANUP(freep)
		char *text = xasprintf("1{1'pod-%u' 2'ns' 3{1'c' 2{1'%s' 2'" DEVICE_FORMAT "' 3{1{1:%u}}}}}",
			i, device_resource(i), "device-0123456789abc", i, i / RESOURCES % 2);

		for (size_t p = 0; p < PODS; p++)
			wire_add(&n->lists[p], text);
		strbuf_addf(&file,
			"%s{\"PodUID\":\"u%u\",\"ContainerName\":\"c\",\"ResourceName\":\"%s\",\"DeviceIDs\":"
			"{\"%u\":[\"" DEVICE_FORMAT "\"]},\"AllocResp\":\"\"}",
			i ? "," : "", i, device_resource(i), i / RESOURCES % 2, "device-0123456789abc", i);
	}
	strbuf_addstr(&file, "],\"RegisteredDevices\":{");
	for (unsigned r = 0; r < RESOURCES; r++) {
		strbuf_addf(&file, "%s\"%s\":[", r ? "," : "", device_resource(r));
		for (unsigned i = r; i < DEVICES; i += RESOURCES)
			strbuf_addf(&file, "%s\"" DEVICE_FORMAT "\"", i > r ? "," : "",
				"device-0123456789abc", i);
		strbuf_addstr(&file, "]");
	}
	strbuf_addstr(&file, "}},\"Checksum\":0}");
	test_write_file(n->dir, "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", file.text);
}

static double peak_mib(pid_t pid)
{
	CLEANUP(freep) char *path = xasprintf("/proc/%d/status", (int)pid);
	CLEANUP(fclosep) FILE *f = fopen(path, "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld kB", &kib) == 1)
			break;
	return (double)kib / 1024;
}

static int measure_devices(void)
{
	CLEANUP(node_release) struct node n;
	double peak;

	node_init(&n);
	add_devices(&n);
	node_start(&n);
	if (until_printed(&n, ONE_POD) < 0)
		return 1;
	usleep(1500000);
	if (measure_start(&n, 2, TWO_PODS) < 0)
		return 1;
	usleep(1000000); /* a change and what follows it */
	peak = peak_mib(n.pid);
	printf("nrtd run, peak memory at %u devices: %.1f MiB (goal %.0f MiB, %s)\n", DEVICES, peak, GOAL_MIB,
		peak <= GOAL_MIB ? "ok" : "missed");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "devices"))
		return measure_devices();
	return measure_slow("0.1 s", 100) || measure_slow("0.5 s", 500) || measure_slow("1.8 s", 1800) ||
	       measure_slow("for ever", UINT32_MAX / 1000) || measure_devices();
}
