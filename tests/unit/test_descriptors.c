/* SPDX-License-Identifier: Apache-2.0 */
/* While nrtd runs out of file descriptors, an observation fails, or it has everything that it has otherwise. */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/observe/observe.h"
#include "agent/observe/pod_memory.h"
#include "agent/render/dump_doc.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "scoring/node/node_derive.h"

#define ALL_MAX   (1u << 20)
#define ENOUGH    100 /* observations that fail, and as many that are whole */
#define TRIES_MAX 3000
#define POD_UID   "11111111-1111-4111-8111-111111111111"
#define GPU       "0000:17:00.0"
#define KUBELET   "var/lib/kubelet/"

static const struct {
	const char *path, *text;
} files[] = {
	{"etc/hostname", "worker-1\n"},
	{"proc/7/comm", "kubelet\n"},
	{"proc/7/status", "Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t7\n"},
	{"proc/7/cgroup", "0::/system.slice/kubelet.service\n"},
	{"proc/7/cmdline", "kubelet"},
	{"proc/7/stat", "7 (kubelet) S 1 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 9 0 5000 1 2\n"},
	{KUBELET "config.yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
				"cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n"},
	{KUBELET "kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--topology-manager-policy=restricted\"\n"},
	{KUBELET "allocated_pods_state", "{\"data\":\"{\\\"entries\\\":{}}\",\"checksum\":0}"},
	{KUBELET "pods/" POD_UID "/containers", ""},
	{KUBELET "plugins_registry/dra.cpu-reg.sock", ""},
	{KUBELET "cpu_manager_state",
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,3-15\",\"entries\":{\"" POD_UID
		"\":{\"c\":\"1-2\"}},\"checksum\":0}"},
	{KUBELET "device-plugins/kubelet_internal_checkpoint",
		"{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":{\"v.com/gpu\":[\"" GPU
		"\"]}},\"Checksum\":0}"},
	{"var/log/pods/ns_web_" POD_UID "/x", ""},
	{"sys/fs/cgroup/cgroup.controllers", "cpuset memory\n"},
	{"sys/fs/cgroup/kubepods.slice/cgroup.controllers", ""},
	{"sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_1111_4111_8111_111111111111.slice/memory.numa_stat",
		"anon N0=5 N1=4096\nfile N0=0 N1=0\n"},
	{"sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_1111_4111_8111_111111111111.slice/a.scope/memory.numa_stat",
		"anon N0=1 N1=0\nfile N0=0 N1=0\n"},
	{"sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_1111_4111_8111_111111111111.slice/a.scope/cpuset.cpus",
		"1-2\n"},
};

static char *make_node(void)
{
	char *dir = test_tmpdir();
	char command[1024];

	snprintf(command, sizeof(command), "cp -r '%s/.' '%s'", test_machine_tree("gpus"), dir);
	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		test_write_file(dir, files[i].path, files[i].text);
	return dir;
}

/* All that is observed, as text; -errno if the observation fails. hwloc reads nothing: it does not say what it could not read. */
static int observe_all(const char *dir, const struct machine *machine, bool with_process, struct strbuf *ret,
	struct err *err)
{
	const struct derive_config derive = {.reserved_named = false};
	const struct observe_config config = {.sysroot = dir,
		.settings = {.proc = NULL, .kubelet_root = with_process ? NULL : "/var/lib/kubelet"},
		.state_files = true,
		.cdi_dir = "/var/run/cdi",
		.cgroup = "/sys/fs/cgroup"};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(sources_release) struct sources sources = {.machine_known = true};
	CLEANUP(doc_release) struct doc hardware = DOC_INIT, inventory = DOC_INIT, pods = DOC_INIT;
	uint64_t signature = 0;
	int r;

	observation_init(&o);
	machine_copy(machine, &sources.machine);
	pci_devices_release(&sources.machine.pci);
	r = hardware_signature(dir, &signature, err);
	if (r == 0)
		r = kernel_read_pci(dir, &sources.machine, err);
	if (r == 0)
		r = observe_with(&sources, &config, &o, err);
	if (r == 0)
		r = node_derive(&derive, &o.node, &o.notes, err);
	if (r == 0)
		r = pod_memory_read(dir, config.cgroup, &o.node, err);
	/* The amounts of a pod that cannot be read are unknown, and never others. */
	for (size_t i = 0; r == 0 && i < o.node.pods_memory.n_items; i++)
		if (o.node.pods_memory.items[i].unknown)
			r = err_set(err, -EMFILE, "%s", o.node.pods_memory.items[i].unknown);
	if (r < 0)
		return r;
	machine_to_doc(&o.node.machine, &hardware);
	inventory_to_doc(&o, &inventory);
	pods_to_doc(&o, &pods);
	json_print_compact(&hardware, ret);
	json_print_compact(&inventory, ret);
	json_print_compact(&pods, ret);
	for (size_t i = 0; i < o.notes.lines.n_items; i++)
		strbuf_addf(ret, "%s\n", o.notes.lines.items[i]);
	strbuf_addf(ret, "%s %llx", o.node.node_name, (unsigned long long)signature);
	return strbuf_error(ret);
}

/*
 * Takes the file descriptors away and gives them back, for microseconds at a time, at any moment of an observation. The
 * pauses adapt to the results: an observation takes milliseconds, or tens of milliseconds under a sanitizer.
 */
struct thief {
	pthread_t thread;
	atomic_bool stop;
	atomic_uint wait_max_us;
	struct rlimit all, none;
};

static void *steal(void *arg)
{
	struct thief *t = arg;
	uint64_t seed = 1;

	while (!atomic_load(&t->stop)) {
		const unsigned us = (unsigned)(test_random(&seed) % atomic_load(&t->wait_max_us));
		const struct timespec with = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};
		const struct timespec without = {.tv_nsec = (long)(test_random(&seed) % 20000)};

		nanosleep(&with, NULL);
		setrlimit(RLIMIT_NOFILE, &t->none);
		nanosleep(&without, NULL);
		setrlimit(RLIMIT_NOFILE, &t->all);
	}
	return NULL;
}

static void thief_start(struct thief *t)
{
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_not_equal(lowest, -1);
	close(lowest);
	atomic_init(&t->stop, false);
	atomic_init(&t->wait_max_us, 1000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &t->all), 0);
	t->none = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = t->all.rlim_max};
	assert_int_equal(pthread_create(&t->thread, NULL, steal, t), 0);
}

static void thief_stop(struct thief *t)
{
	atomic_store(&t->stop, true);
	assert_int_equal(pthread_join(t->thread, NULL), 0);
}

/* Adapts the pauses so that about half of the observations fail. */
static void thief_adapt(struct thief *t, bool failed)
{
	const unsigned us = atomic_load(&t->wait_max_us);

	if (failed && us < 1000000)
		atomic_store(&t->wait_max_us, us + us / 8 + 1);
	else if (!failed && us > 100)
		atomic_store(&t->wait_max_us, us - us / 8);
}

static void compare(const char *dir, const struct machine *machine, bool with_process, const char *want)
{
	struct thief thief;
	unsigned failed = 0, whole = 0;

	thief_start(&thief);
	for (unsigned i = 0; i < TRIES_MAX && (failed < ENOUGH || whole < ENOUGH); i++) {
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(ALL_MAX);
		struct err err = {""};
		int r = observe_all(dir, machine, with_process, &got, &err);

		if (r < 0 && r != -EMFILE)
			fail_msg("%s", err.text);
		if (r == 0)
			test_assert_text("whole", got.text, want);
		failed += r < 0;
		whole += r == 0;
		thief_adapt(&thief, r < 0);
	}
	thief_stop(&thief);
	if (failed == 0 || whole == 0)
		fail_msg("%u observations failed, %u were whole", failed, whole);
}

static void an_observation_is_whole_or_fails(void **state)
{
	static const char words[] =
		"kubelet\0--config=/var/lib/kubelet/config.yaml\0--hostname-override=node-a";

	(void)state;
	for (int with_process = 0; with_process < 2; with_process++) {
		CLEANUP(test_rmtree) char *dir = make_node();
		CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT(ALL_MAX);
		CLEANUP(closep) int fd = -1;
		CLEANUP(machine_release) struct machine machine;
		struct machine_source source = {.root = dir};
		struct err err = {""};
		char path[4096];

		machine_init(&machine);
		if (machine_discover(&source, &machine, &err) < 0)
			fail_msg("%s", err.text);
		test_write_file(dir, "proc/7/cmdline", "");
		snprintf(path, sizeof(path), "%s/proc/7/cmdline", dir);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (with_process)
			assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
		closep(&fd);
		if (observe_all(dir, &machine, with_process, &whole, &err) < 0)
			fail_msg("%s", err.text);
		assert_non_null(strstr(whole.text, "\"ns\""));
		assert_non_null(strstr(whole.text, with_process ? "node-a" : "worker-1"));
		compare(dir, &machine, with_process, whole.text);
	}
}

/* ---- hwloc, which omits what it cannot read */

#define CACHE "sys/devices/system/cpu/cpu8/cache/index3/shared_cpu_map"

/* What hwloc reads from CACHE, opening by opening; NULL = the file as it is. */
static const char *const *cache_texts;

/* Replaces the C library's function for hwloc too, so that a file can change between two readings. */
int openat(int directory, const char *path, int flags, ...)
{
	if (cache_texts && *cache_texts && !strcmp(path, CACHE)) {
		int fd = (int)syscall(SYS_openat, directory, path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
		size_t n = strlen(*cache_texts);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, *cache_texts++, n), n);
		close(fd);
	}
	assert_int_equal(flags & O_CREAT, 0);
	return (int)syscall(SYS_openat, directory, path, flags, 0);
}

/* The first reading lacks the L3 cache of a socket. */
static void a_machine_that_hwloc_read_in_part_is_an_error(void **state)
{
	static const char *const texts[] = {"", "ff00", NULL};
	CLEANUP(test_rmtree) char *dir = make_node();
	CLEANUP(machine_release) struct machine machine;
	const struct machine_source source = {.root = dir};
	struct err err = {""};
	int r;

	(void)state;
	machine_init(&machine);
	cache_texts = texts;
	r = machine_discover(&source, &machine, &err);
	assert_null(*cache_texts); /* hwloc has opened the file twice */
	cache_texts = NULL;
	assert_int_equal(r, -EAGAIN);
	assert_non_null(strstr(err.text, "two readings by hwloc differ"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_that_hwloc_read_in_part_is_an_error),
		cmocka_unit_test(an_observation_is_whole_or_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
