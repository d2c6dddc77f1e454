/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/observe/kubelet_process.h"
#include "agent/observe/settings_find.h"
#include "common/cleanup.h"
#include "tests/lib/kubelet_tree.h"
#include "tests/lib/settings.h"
#include "tests/lib/states.h"

/* ---- processes */

static void write_proc_file(const char *dir, const char *pid, const char *name, const char *text)
{
	char path[4096];

	snprintf(path, sizeof(path), "proc/%s/%s", pid, name);
	test_write_file(dir, path, text);
}

#define HOST_STATUS "Name:\tkubelet\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t12\n"
#define HOST_CGROUP "0::/system.slice/kubelet.service\n"

/* A process of root on the host, in a saved /proc; the words are separated by blanks, as no word of these
 * tests has one. */
static void write_process(const char *dir, const char *pid, const char *command)
{
	char path[4096];
	FILE *f;

	write_proc_file(dir, pid, "comm", "kubelet\n");
	write_proc_file(dir, pid, "status", HOST_STATUS);
	write_proc_file(dir, pid, "cgroup", HOST_CGROUP);
	snprintf(path, sizeof(path), "proc/%s/cmdline", pid);
	test_write_file(dir, path, "");
	snprintf(path, sizeof(path), "%s/proc/%s/cmdline", dir, pid);
	f = fopen(path, "we");
	assert_non_null(f);
	for (const char *p = command; *p; p++)
		assert_int_not_equal(fputc(*p == ' ' ? '\0' : *p, f), EOF);
	if (*command)
		assert_int_not_equal(fputc('\0', f), EOF);
	assert_int_equal(fclose(f), 0);
}

static void write_link(const char *dir, const char *pid, const char *name, const char *target)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/proc/%s/%s", dir, pid, name);
	assert_int_equal(symlink(target, path), 0);
}

static void nothing_found_is_unknown(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_check_find("empty tree", dir, NULL, NULL, 0, "root /var/lib/kubelet\n");
	/* Flag files alone are no kubelet. */
	test_write_file(dir, "etc/default/kubelet", "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static\n");
	test_check_find("no configuration", dir, NULL, NULL, 0, "root /var/lib/kubelet\n");
}

static void explicit_values_alone(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct settings_overrides o = {.kubelet_root = "/k"};

	(void)state;
	o.settings[SETTING_TOPOLOGY_MANAGER_POLICY].value = "restricted";
	o.settings[SETTING_TOPOLOGY_MANAGER_POLICY].from = "--topology-manager-policy of nrtd";
	o.settings[SETTING_RESERVED_SYSTEM_CPUS].value = "0-1";
	o.settings[SETTING_RESERVED_SYSTEM_CPUS].from = "NRTD_RESERVED_CPUS";
	test_check_find("explicit", dir, &o, NULL, 0,
		"topologyManagerPolicy=restricted [--topology-manager-policy of nrtd]\n"
		"reservedSystemCPUs=0-1 [NRTD_RESERVED_CPUS]\n"
		"root /k\n");
	o.settings[SETTING_RESERVED_SYSTEM_CPUS].value = "0-";
	test_check_find(
		"bad", dir, &o, NULL, 0, "NRTD_RESERVED_CPUS: reservedSystemCPUs: not a CPU list: '0-'");
}

static void each_source_beats_the_next(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct settings_overrides o = {.kubelet_config = NULL};
	static const struct test_tree_file files[] = {
		{"var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"},
		{"opt/kubelet.yaml", KUBELET_CONFIG_HEAD
			"topologyManagerPolicy: best-effort\nfeatureGates: {CPUManagerPolicyAlphaOptions: true, MemoryQoS: true}\n"},
		{"opt/conf.d/10.conf", KUBELET_CONFIG_HEAD "topologyManagerPolicy: restricted\n"},
		{NULL, NULL},
	};
	static const enum setting shown[] = {
		SETTING_CPU_MANAGER_POLICY, SETTING_TOPOLOGY_MANAGER_POLICY, SETTING_FEATURE_GATES};

	(void)state;
	test_write_tree(dir, files);
	test_check_policies("usual place", dir, NULL,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "7", "/usr/bin/kubelet --config=/opt/kubelet.yaml");
	test_check_policies("running kubelet", dir, NULL,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=best-effort [/opt/kubelet.yaml]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "7", "/usr/bin/kubelet --config=/opt/kubelet.yaml --config-dir /opt/conf.d");
	test_check_policies("drop-in", dir, NULL,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=restricted [/opt/conf.d/10.conf]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "7",
		"/usr/bin/kubelet --config=/opt/kubelet.yaml --config-dir /opt/conf.d "
		"--topology_manager_policy=none --topology-manager-policy single-numa-node "
		"--feature-gates=MemoryQoS=false,NodeSwap=true --root-dir=/data");
	test_check_find("flags", dir, NULL, shown, ARRAY_SIZE(shown),
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=single-numa-node [--topology-manager-policy of kubelet (pid 7)]\n"
		"featureGates=CPUManagerPolicyAlphaOptions=true,MemoryQoS=false,NodeSwap=true [/opt/kubelet.yaml, --feature-gates of kubelet (pid 7)]\n"
		"root /data\n");
	o.settings[SETTING_TOPOLOGY_MANAGER_POLICY].value = "best-effort";
	o.settings[SETTING_TOPOLOGY_MANAGER_POLICY].from = "me";
	o.kubelet_root = "/mine";
	test_check_policies("explicit", dir, &o,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=best-effort [me]\n"
		"root /mine\n");
	o.kubelet_config = "/var/lib/kubelet/config.yaml";
	test_check_policies("named file", dir, &o,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=best-effort [me]\n"
		"root /mine\n");
	o.kubelet_config = "var/lib/kubelet/config.yaml";
	o.kubelet_root = "mine";
	test_check_policies("paths without a slash are below the sysroot, too", dir, &o,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=best-effort [me]\n"
		"root /mine\n");
	o.kubelet_config = "/nowhere";
	test_check_policies("missing file", dir, &o, "cannot open '/nowhere': No such file or directory");
}

static void kubelets_are_told_from_other_processes(void **state)
{
	static const struct {
		const char *command;
		int found;
	} cases[] = {
		{"kubelet --config=/c", 1},
		{"/var/lib/k0s/bin/kubelet --v=2 --kubeconfig /k", 1},
		{"/hyperkube kubelet --bootstrap-kubeconfig=/b", 1},
		{"kubelet --pod_manifest_path=/m", 1},
		{"kubelet --reserved-cpus=0", 1},
		/* It sets the version that the kubelet reports. */
		{"kubelet --config=/c --version=v1.35.0", 1},
		{"kubelet --config=/c --version=false --help=0", 1},
		{"kubelet --config=/c -- --help", 1},
		/* Programs that print something, or fail at once. */
		{"kubelet", 0},
		{"kubelet --v=2", 0},
		{"kubelet --version", 0},
		{"kubelet --version=raw", 0},
		{"kubelet --config=/c --version=true", 0},
		{"kubelet --config=/c --help", 0},
		{"kubelet -h --kubeconfig=/k", 0},
		{"kubelet --configure=/c", 0},
		{"/hyperkube kubelet --version", 0},
		{"/hyperkube", 0},
		{"/hyperkube proxy", 0},
		{"/usr/bin/kubelet-wrapper", 0},
		{"/usr/local/bin/k3s server", 0},
		{"bash /usr/bin/kubelet", 0},
		{"grep kubelet", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
		struct err err = {""};

		write_process(dir, "12", cases[i].command);
		write_process(dir, "self", "kubelet");
		test_write_file(dir, "proc/13/status", "gone");
		if (kubelet_process_find(dir, NULL, &p, NULL, &err) != cases[i].found)
			fail_msg("'%s' is%s a kubelet", cases[i].command, cases[i].found ? "" : " not");
		assert_int_equal(p.pid, cases[i].found ? 12 : 0);
	}
}

/* What a pod can make: a process of that name, with files of its own at places that the host has, too. */
static void only_the_hosts_own_is_the_kubelet(void **state)
{
	static const char uid[] = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
	static const struct {
		const char *what, *status, *cgroup, *reason; /* NULL = no such file; is one */
	} cases[] = {
		{"the host's", HOST_STATUS, HOST_CGROUP, NULL},
		{"in the first control group", HOST_STATUS, "0::/\n", NULL},
		{"of version 1", HOST_STATUS, "2:cpu:/system.slice\n1:name=systemd:/system.slice/k.service\n",
			NULL},
		{"seen from a pod", HOST_STATUS, "0::/../../../../system.slice/kubelet.service\n", NULL},
		{"kind's, from a pod", HOST_STATUS, "0::/../../../../kubelet.service\n", NULL},
		{"Talos'", HOST_STATUS, "0::/podruntime/kubelet\n", NULL},
		{"no PID namespaces", "Uid:\t0\t0\t0\t0\n", HOST_CGROUP, NULL},
		{"a user's", "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t12\n", HOST_CGROUP,
			"its user is not root"},
		{"for root", "Uid:\t1000\t0\t0\t0\nNSpid:\t12\n", HOST_CGROUP, "its user is not root"},
		{"root's for a user", "Uid:\t0\t1000\t0\t0\nNSpid:\t12\n", HOST_CGROUP,
			"its user is not root"},
		{"nobody's", "Name:\tkubelet\n", HOST_CGROUP, "its user is not root"},
		{"a container's", "Uid:\t0\t0\t0\t0\nNSpid:\t12\t1\n", HOST_CGROUP,
			"it is in a PID namespace of its own"},
		{"a pod's with hostPID", HOST_STATUS,
			"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-c.scope\n",
			"it is in a pod"},
		{"by cgroupfs", HOST_STATUS, "0::/kubepods/burstable/pod1/c\n", "it is in a pod"},
		{"below a group of the kubelet", HOST_STATUS, "0::/kubelet.slice/kubelet-kubepods.slice/c\n",
			"it is in a pod"},
		{"of version 1 in a pod", HOST_STATUS, "2:cpu:/\n1:name=systemd:/kubepods/pod1/c\n",
			"it is in a pod"},
		{"seen from another pod", HOST_STATUS,
			"0::/../../podaaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee/c\n", "it is in a pod"},
		{"a static one", HOST_STATUS, "0::/../../../pod0123456789abcdef0123456789abcdef/c\n",
			"it is in a pod"},
		{"a zombie", "Name:\tkubelet\nState:\tZ (zombie)\nUid:\t0\t0\t0\t0\nNSpid:\t12\n",
			HOST_CGROUP, "it has ended"},
		{"a vanished one", NULL, HOST_CGROUP, "its user cannot be read"},
		{"another vanished one", HOST_STATUS, NULL, "its control group cannot be read"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(freep) char *command = NULL;
		CLEANUP(freep) char *want = NULL;
		char path[4096];

		test_write_file(
			dir, "var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: none\n");
		snprintf(path, sizeof(path),
			"var/lib/kubelet/pods/%s/volumes/kubernetes.io~empty-dir/v/c.yaml", uid);
		test_write_file(dir, path, KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
		assert_true(asprintf(&command, "kubelet --config=/%s", path) > 0);
		write_process(dir, "12", command);
		for (size_t file = 0; file < 2; file++) {
			const char *text = file == 0 ? cases[i].status : cases[i].cgroup;

			snprintf(path, sizeof(path), "%s/proc/12/%s", dir, file == 0 ? "status" : "cgroup");
			assert_int_equal(unlink(path), 0);
			if (text)
				write_proc_file(dir, "12", file == 0 ? "status" : "cgroup", text);
		}
		if (cases[i].reason)
			assert_true(asprintf(&want,
					    "cpuManagerPolicy=none [/var/lib/kubelet/config.yaml]\n"
					    "topologyManagerPolicy=none [kubelet default]\n"
					    "root /var/lib/kubelet\n"
					    "process 12 is named kubelet but is not this node's kubelet: %s",
					    cases[i].reason) > 0);
		else
			assert_true(
				asprintf(&want,
					"cpuManagerPolicy=static "
					"[/var/lib/kubelet/pods/%s/volumes/kubernetes.io~empty-dir/v/c.yaml]\n"
					"topologyManagerPolicy=none [kubelet default]\n"
					"root /var/lib/kubelet\n",
					uid) > 0);
		test_check_policies(cases[i].what, dir, NULL, want);
	}
}

/* Beside the node's kubelet they change nothing, and nothing is said. */
static void others_beside_the_kubelet_are_passed_over(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_process(dir, "4", "kubelet --cpu-manager-policy=none");
	write_proc_file(dir, "4", "cgroup", "0::/kubepods/pod1/c\n");
	write_process(dir, "30", "kubelet --cpu-manager-policy=static");
	write_process(dir, "31", "kubelet --cpu-manager-policy=none");
	write_proc_file(dir, "31", "status", "Uid:\t7\t7\t7\t7\n");
	test_check_policies("one", dir, NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of kubelet (pid 30)]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /var/lib/kubelet\n");
}

/* The owner of a process decides how long a read of its command line blocks. Here such a read fails. */
static void command_lines_of_others_are_not_read(void **state)
{
	static const struct {
		const char *comm, *status, *cgroup;
	} cases[] = {
		{"kubelet\n", "Name:\tkubelet\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t12\n", HOST_CGROUP},
		{"kubelet\n", HOST_STATUS, "0::/kubepods/pod1/c\n"},
		{"kubelet\n", "Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t12\t1\n", HOST_CGROUP},
		{"mount.fuse\n", "Name:\tmount.fuse\nUid:\t0\t0\t0\t0\nNSpid:\t12\n", HOST_CGROUP},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
		CLEANUP(closep) int writer = -1;
		struct err err = {""};
		char path[4096];

		write_process(dir, "30", "kubelet --config=/c");
		write_process(dir, "12", "");
		write_proc_file(dir, "12", "comm", cases[i].comm);
		write_proc_file(dir, "12", "status", cases[i].status);
		write_proc_file(dir, "12", "cgroup", cases[i].cgroup);
		snprintf(path, sizeof(path), "%s/proc/12/cmdline", dir);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(mkfifo(path, 0600), 0);
		writer = open(path, O_RDWR | O_CLOEXEC);
		assert_int_not_equal(writer, -1);
		if (kubelet_process_find(dir, NULL, &p, NULL, &err) != 1)
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(p.pid, 30);
	}
}

static void several_kubelets_are_not_believed(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
	write_process(dir, "30", "kubelet --cpu-manager-policy=static");
	/* A child on its way to another program. */
	write_process(dir, "31", "kubelet --cpu-manager-policy=static");
	test_check_policies("one and its child", dir, NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of kubelet (pid 30)]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "4", "kubelet --cpu-manager-policy=none");
	test_check_find("two", dir, NULL, NULL, 0,
		"root /var/lib/kubelet\n"
		"2 kubelets run here (the first is pid 4), and nrtd cannot tell which is this node's: name its "
		"configuration with --kubelet-config");
}

static void paths_of_a_process(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "opt/k/c.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
	write_process(dir, "9", "kubelet --config=c.yaml --root-dir state");
	test_check_policies("no directory", dir, NULL,
		"kubelet (pid 9): its working directory is unknown, and the path 'c.yaml' is relative");
	write_link(dir, "9", "cwd", "/opt/k");
	/* A link out of the saved tree is not followed. */
	write_link(dir, "9", "root", "/");
	test_check_policies("relative", dir, NULL,
		"cpuManagerPolicy=static [/opt/k/c.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /opt/k/state\n");
}

static void a_kubelet_in_a_container(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_process(dir, "9", "kubelet --config=/c.yaml");
	test_write_file(dir, "proc/9/root/c.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
	test_write_file(dir, "c.yaml", KUBELET_CONFIG_HEAD "topologyManagerPolicy: restricted\n");
	test_check_policies("its own root", dir, NULL,
		"cpuManagerPolicy=static [/c.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /proc/9/root/var/lib/kubelet\n");
}

/* A kubelet in a mount namespace of its own has ended, and another process has its id. */
static void a_process_with_the_id_of_the_last_kubelet_is_another_one(void **state)
{
	static const struct settings_overrides none = {.kubelet_config = NULL};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(settings_finding_release) struct settings_finding last = {.found = false};

	(void)state;
	test_write_file(dir, "proc/9/root/c.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
	for (int step = 0; step < 3; step++) {
		CLEANUP(settings_release) struct settings s;
		CLEANUP(kubelet_place_release) struct kubelet_place place = {.root = NULL};

		if (step < 2) {
			write_process(dir, "9", step == 0 ? "kubelet --config=/c.yaml" : "sleep 1");
			write_proc_file(dir, "9", "comm", step == 0 ? "kubelet\n" : "sleep\n");
		}
		write_proc_file(dir, "9", "stat",
			step != 1 ? "9 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0 0\n"
				  : "9 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2000 0 0\n");
		settings_init(&s);
		assert_int_equal(settings_find(dir, &none, &last, &s, &place, NULL, NULL), 0);
		assert_string_equal(place.root, "/proc/9/root/var/lib/kubelet");
		assert_int_equal(place.kept, step > 0);
		assert_int_equal(place.root_ended, step == 1);
		assert_int_equal(s.cpu_manager, CPU_MANAGER_STATIC);
	}
}

static void set_kubelet(const char *dir, const char *pid, const char *policy)
{
	char command[128], text[128];

	snprintf(command, sizeof(command), "kubelet --topology-manager-policy=%s", policy);
	write_process(dir, pid, command);
	snprintf(text, sizeof(text), "%s (kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %s0 0 0\n", pid,
		pid);
	write_proc_file(dir, pid, "stat", text);
}

static void remove_process(const char *dir, const char *pid)
{
	static const char *const files[] = {"comm", "status", "cgroup", "stat", "cmdline"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/proc/%s/%s", dir, pid, files[i]);
		assert_int_equal(unlink(path), 0);
	}
}

static void look(
	const char *dir, struct settings_finding *last, enum topology_manager_policy policy, bool kept)
{
	static const struct settings_overrides none = {.kubelet_config = NULL};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(kubelet_place_release) struct kubelet_place place = {.root = NULL};

	settings_init(&s);
	assert_int_equal(settings_find(dir, &none, last, &s, &place, NULL, NULL), 0);
	assert_int_equal(s.topology.policy, policy);
	assert_int_equal(place.kept, kept);
}

/* Fewer fields than the kernel writes: the start is unknown, and the settings are known. */
static void a_stat_file_may_be_cut(void **state)
{
	static const char *const texts[] = {
		"", "12", "12 (kubelet)", "12 (kubelet) S 1 1", "12 (kubelet) S "};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(settings_finding_release) struct settings_finding last = {.found = false};

		write_process(dir, "12", "kubelet --topology-manager-policy=restricted");
		write_proc_file(dir, "12", "stat", texts[i]);
		look(dir, &last, TOPOLOGY_MANAGER_RESTRICTED, false);
		assert_int_equal(last.pid, 12);
		assert_int_equal(last.start, 0);
	}
}

/* Its pods still run under the settings of the kubelet before it. */
static void a_kubelet_that_ends_at_once_does_not_replace_the_last_one(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(settings_finding_release) struct settings_finding last = {.found = false};

	(void)state;
	set_kubelet(dir, "8", "restricted");
	look(dir, &last, TOPOLOGY_MANAGER_RESTRICTED, false);
	remove_process(dir, "8");
	look(dir, &last, TOPOLOGY_MANAGER_RESTRICTED, true);
	/* Two that fail, one after the other. */
	set_kubelet(dir, "9", "best-effort");
	look(dir, &last, TOPOLOGY_MANAGER_BEST_EFFORT, false);
	remove_process(dir, "9");
	set_kubelet(dir, "10", "none");
	look(dir, &last, TOPOLOGY_MANAGER_NONE, false);
	remove_process(dir, "10");
	look(dir, &last, TOPOLOGY_MANAGER_RESTRICTED, true);
	assert_int_equal(last.pid, 8);
	/* One that runs. */
	set_kubelet(dir, "11", "best-effort");
	look(dir, &last, TOPOLOGY_MANAGER_BEST_EFFORT, false);
	last.since_ms -= SETTINGS_PROOF_MS;
	look(dir, &last, TOPOLOGY_MANAGER_BEST_EFFORT, false);
	remove_process(dir, "11");
	look(dir, &last, TOPOLOGY_MANAGER_BEST_EFFORT, true);
}

static void the_kubelet_names_the_node(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_process(dir, "9", "kubelet --root-dir=/r --hostname-override \tNode-A");
	test_check_policies("by a flag", dir, NULL,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /r\n"
		"host name node-a [--hostname-override of kubelet (pid 9)]\n");
	write_process(dir, "9", "kubelet --root-dir=/r --hostname-override=");
	test_check_policies("not by an empty one", dir, NULL,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /r\n");
}

/* As in a container that has the host's /proc and /var/lib/kubelet mounted. */
static void proc_may_be_elsewhere(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(test_rmtree) char *host = test_tmpdir();
	CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
	CLEANUP(freep) char *proc = NULL;
	struct err err = {""};

	(void)state;
	test_write_file(host, "proc/9/root/c.yaml", "");
	write_process(host, "9", "kubelet --config=/c.yaml");
	write_process(dir, "1", "kubelet --config=/other.yaml");
	assert_true(asprintf(&proc, "%s/proc", host) > 0);
	assert_int_equal(kubelet_process_find(dir, proc, &p, NULL, &err), 1);
	assert_int_equal(p.pid, 9);
	assert_string_equal(p.root, dir);
	kubelet_process_release(&p);
	assert_int_equal(kubelet_process_find(dir, "/nonexistent/proc", &p, NULL, &err), -ENOENT);
	test_assert_text("error", err.text, "cannot read '/nonexistent/proc': No such file or directory");
}

static void a_kubelet_with_a_bad_configuration(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_process(dir, "9", "kubelet --config=/c.yaml");
	test_check_policies("missing", dir, NULL, "cannot open '/c.yaml': No such file or directory");
	test_write_file(dir, "c.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: statik\n");
	test_check_policies(
		"bad", dir, NULL, "/c.yaml: cpuManagerPolicy: 'statik' is not one of: none, static");
	write_process(dir, "9", "kubelet --reserved-cpus=x");
	test_check_policies("bad flag", dir, NULL,
		"--reserved-cpus of kubelet (pid 9): reservedSystemCPUs: not a CPU list: 'x'");
}

/* ---- the live system */

/* A process that /proc calls "kubelet", in `dir`; it ends when *ret_pipe is closed. */
static pid_t start_kubelet(const char *dir, int *ret_pipe)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		if (chdir(dir) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO)
			execl("./kubelet", "kubelet", "-c", "read x", "x", "--config=c.yaml", NULL);
		_exit(127);
	}
	close(ends[0]);
	*ret_pipe = ends[1];
	return pid;
}

static int make_link_in(const char *dir, const char *target, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return symlink(target, path);
}

/* False when another kubelet runs besides. */
static bool read_live_kubelet(const char *dir)
{
	CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
	CLEANUP(closep) int end = -1;
	pid_t pid = start_kubelet(dir, &end);
	char want[4096];
	int n = 0;

	for (int i = 0; i < 1000 && n == 0; i++) {
		usleep(10000);
		n = kubelet_process_find("", NULL, &p, NULL, NULL);
	}
	if (n == 1 && p.pid == (unsigned)pid) {
		/* /proc tells the directory without symbolic links and "." in it. */
		snprintf(want, sizeof(want),
			"cpuManagerPolicy=static [%s/c.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n",
			p.cwd);
		test_check_policies("live", "", NULL, want);
	}
	closep(&end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_not_equal(n, 0);
	return n == 1 && p.pid == (unsigned)pid;
}

static bool in_a_pod(void)
{
	CLEANUP(freep) char *cgroup = test_read_file("/proc/self/cgroup", NULL);

	return strstr(cgroup, "kubepods") != NULL;
}

static bool a_kubelet_runs(void)
{
	CLEANUP(kubelet_process_release) struct kubelet_process p = {0};

	return kubelet_process_find("", NULL, &p, NULL, NULL) != 0;
}

static void a_live_kubelet_is_read(void **state)
{
	CLEANUP(test_rmtree) char *dir = NULL;
	bool alone = !a_kubelet_runs();

	(void)state;
	if (geteuid() != 0 || in_a_pod())
		test_skip("what this user starts here is no kubelet");
	if (alone) {
		dir = test_tmpdir();
		test_write_file(dir, "c.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
		assert_int_equal(make_link_in(dir, "/bin/sh", "kubelet"), 0);
		alone = read_live_kubelet(dir);
		test_rmtree(&dir);
	}
	/* A skipped test does not come back to its cleanups, so there must be nothing left. */
	if (!alone)
		test_skip("another kubelet runs here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_found_is_unknown),
		cmocka_unit_test(explicit_values_alone),
		cmocka_unit_test(each_source_beats_the_next),
		cmocka_unit_test(kubelets_are_told_from_other_processes),
		cmocka_unit_test(only_the_hosts_own_is_the_kubelet),
		cmocka_unit_test(others_beside_the_kubelet_are_passed_over),
		cmocka_unit_test(command_lines_of_others_are_not_read),
		cmocka_unit_test(several_kubelets_are_not_believed),
		cmocka_unit_test(a_process_with_the_id_of_the_last_kubelet_is_another_one),
		cmocka_unit_test(a_kubelet_that_ends_at_once_does_not_replace_the_last_one),
		cmocka_unit_test(the_kubelet_names_the_node),
		cmocka_unit_test(paths_of_a_process),
		cmocka_unit_test(a_kubelet_in_a_container),
		cmocka_unit_test(proc_may_be_elsewhere),
		cmocka_unit_test(a_kubelet_with_a_bad_configuration),
		cmocka_unit_test(a_live_kubelet_is_read),
		cmocka_unit_test(a_stat_file_may_be_cut),
	};

	return cmocka_run_group_tests_name("settings_find", tests, NULL, NULL);
}
