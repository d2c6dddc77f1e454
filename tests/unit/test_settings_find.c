/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/settings_find.h"
#include "agent/settings_proc.h"
#include "common/cleanup.h"
#include "tests/lib/settings.h"
#include "tests/lib/states.h"

#define HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

/* ---- trees */

struct tree_file {
	const char *path, *text;
};

static void write_tree(const char *dir, const struct tree_file *files)
{
	for (; files->path; files++)
		test_write_file(dir, files->path, files->text);
}

/* A process of a saved /proc; the words are separated by blanks, as no word of these tests has one. */
static void write_process(const char *dir, const char *pid, const char *command)
{
	char path[4096];
	FILE *f;

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

/* Everything found, "root DIR\n" and notes behind it; or the error, without the tree's own path. */
static void check_find(const char *what, const char *dir, const struct settings_overrides *overrides,
	const enum setting *only, size_t n_only, const char *want)
{
	static const struct settings_overrides none = {.kubelet_config = NULL};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	CLEANUP(freep) char *root = NULL;
	struct err err = {""};
	int r;

	settings_init(&s);
	r = settings_find(dir, overrides ? overrides : &none, &s, &root, &notes, &err);
	if (r < 0) {
		const char *at = strstr(err.text, dir);

		assert_null(root);
		strbuf_add(&got, err.text, at ? (size_t)(at - err.text) : strlen(err.text));
		strbuf_addstr(&got, at ? at + strlen(dir) : "");
		test_assert_text(what, got.text, want);
		return;
	}
	for (size_t i = 0; i < n_only; i++) {
		CLEANUP(freep) char *line = test_setting_line(&s, only[i]);

		strbuf_addf(&got, "%s\n", line);
	}
	if (!only)
		test_settings_text(&s, &got);
	strbuf_addf(&got, "root %s\n", root);
	test_notes_text(&notes, &got);
	test_assert_text(what, got.text, want);
}

static const enum setting policies[] = {SETTING_CPU_MANAGER_POLICY, SETTING_TOPOLOGY_MANAGER_POLICY};

static void check_policies(
	const char *what, const char *dir, const struct settings_overrides *overrides, const char *want)
{
	check_find(what, dir, overrides, policies, ARRAY_SIZE(policies), want);
}

static void nothing_found_is_unknown(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	check_find("empty tree", dir, NULL, NULL, 0, "root /var/lib/kubelet\n");
	/* Flag files alone are no kubelet. */
	test_write_file(dir, "etc/default/kubelet", "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static\n");
	check_find("no configuration", dir, NULL, NULL, 0, "root /var/lib/kubelet\n");
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
	check_find("explicit", dir, &o, NULL, 0,
		"topologyManagerPolicy=restricted [--topology-manager-policy of nrtd]\n"
		"reservedSystemCPUs=0-1 [NRTD_RESERVED_CPUS]\n"
		"root /k\n");
	o.settings[SETTING_RESERVED_SYSTEM_CPUS].value = "0-";
	check_find("bad", dir, &o, NULL, 0, "NRTD_RESERVED_CPUS: reservedSystemCPUs: not a CPU list: '0-'");
}

static void each_source_beats_the_next(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct settings_overrides o = {.kubelet_config = NULL};
	static const struct tree_file files[] = {
		{"var/lib/kubelet/config.yaml", HEAD "cpuManagerPolicy: static\n"},
		{"opt/kubelet.yaml",
			HEAD "topologyManagerPolicy: best-effort\nfeatureGates: {A: true, B: true}\n"},
		{"opt/conf.d/10.conf", HEAD "topologyManagerPolicy: restricted\n"},
		{NULL, NULL},
	};
	static const enum setting shown[] = {
		SETTING_CPU_MANAGER_POLICY, SETTING_TOPOLOGY_MANAGER_POLICY, SETTING_FEATURE_GATES};

	(void)state;
	write_tree(dir, files);
	check_policies("usual place", dir, NULL,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "7", "/usr/bin/kubelet --config=/opt/kubelet.yaml");
	check_policies("running kubelet", dir, NULL,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=best-effort [/opt/kubelet.yaml]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "7", "/usr/bin/kubelet --config=/opt/kubelet.yaml --config-dir /opt/conf.d");
	check_policies("drop-in", dir, NULL,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=restricted [/opt/conf.d/10.conf]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "7",
		"/usr/bin/kubelet --config=/opt/kubelet.yaml --config-dir /opt/conf.d "
		"--topology_manager_policy=none --topology-manager-policy single-numa-node "
		"--feature-gates=B=false,C=true --root-dir=/data");
	check_find("flags", dir, NULL, shown, ARRAY_SIZE(shown),
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=single-numa-node [--topology-manager-policy of kubelet (pid 7)]\n"
		"featureGates=A=true,B=false,C=true [/opt/kubelet.yaml, --feature-gates of kubelet (pid 7)]\n"
		"root /data\n");
	o.settings[SETTING_TOPOLOGY_MANAGER_POLICY].value = "best-effort";
	o.settings[SETTING_TOPOLOGY_MANAGER_POLICY].from = "me";
	o.kubelet_root = "/mine";
	check_policies("explicit", dir, &o,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=best-effort [me]\n"
		"root /mine\n");
	o.kubelet_config = "/var/lib/kubelet/config.yaml";
	check_policies("named file", dir, &o,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=best-effort [me]\n"
		"root /mine\n");
	o.kubelet_config = "/nowhere";
	check_policies("missing file", dir, &o, "cannot open '/nowhere': No such file or directory");
}

static void kubelets_are_told_from_other_processes(void **state)
{
	static const struct {
		const char *command;
		int found;
	} cases[] = {
		{"kubelet", 1},
		{"/var/lib/k0s/bin/kubelet --v=2", 1},
		{"/hyperkube kubelet --v=2", 1},
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
		if (kubelet_process_find(dir, NULL, &p, &err) != cases[i].found)
			fail_msg("'%s' is%s a kubelet", cases[i].command, cases[i].found ? "" : " not");
		assert_int_equal(p.pid, cases[i].found ? 12 : 0);
	}
}

static void several_kubelets_are_not_believed(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "var/lib/kubelet/config.yaml", HEAD "cpuManagerPolicy: static\n");
	write_process(dir, "30", "kubelet --cpu-manager-policy=static");
	/* A child on its way to another program. */
	write_process(dir, "31", "kubelet --cpu-manager-policy=static");
	check_policies("one and its child", dir, NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of kubelet (pid 30)]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /var/lib/kubelet\n");
	write_process(dir, "4", "kubelet --cpu-manager-policy=none");
	check_find("two", dir, NULL, NULL, 0,
		"root /var/lib/kubelet\n"
		"2 kubelets run here (the first is pid 4), and which one is this node's is unknown: name its "
		"configuration with --kubelet-config");
}

static void paths_of_a_process(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "opt/k/c.yaml", HEAD "cpuManagerPolicy: static\n");
	write_process(dir, "9", "kubelet --config=c.yaml --root-dir state");
	check_policies("no directory", dir, NULL,
		"kubelet (pid 9): its working directory is unknown, and the path 'c.yaml' is relative");
	write_link(dir, "9", "cwd", "/opt/k");
	/* A link out of the saved tree is not followed. */
	write_link(dir, "9", "root", "/");
	check_policies("relative", dir, NULL,
		"cpuManagerPolicy=static [/opt/k/c.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /opt/k/state\n");
}

static void a_kubelet_in_a_container(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_process(dir, "9", "kubelet --config=/c.yaml");
	test_write_file(dir, "proc/9/root/c.yaml", HEAD "cpuManagerPolicy: static\n");
	test_write_file(dir, "c.yaml", HEAD "topologyManagerPolicy: restricted\n");
	check_policies("its own root", dir, NULL,
		"cpuManagerPolicy=static [/c.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"root /proc/9/root/var/lib/kubelet\n");
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
	assert_int_equal(kubelet_process_find(dir, proc, &p, &err), 1);
	assert_int_equal(p.pid, 9);
	assert_string_equal(p.root, dir);
	kubelet_process_release(&p);
	assert_int_equal(kubelet_process_find(dir, "/nonexistent/proc", &p, &err), -ENOENT);
	test_assert_text("error", err.text, "cannot read '/nonexistent/proc': No such file or directory");
}

static void a_kubelet_with_a_bad_configuration(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	write_process(dir, "9", "kubelet --config=/c.yaml");
	check_policies("missing", dir, NULL, "cannot open '/c.yaml': No such file or directory");
	test_write_file(dir, "c.yaml", HEAD "cpuManagerPolicy: statik\n");
	check_policies("bad", dir, NULL, "/c.yaml: cpuManagerPolicy: 'statik' is none of: none, static");
	write_process(dir, "9", "kubelet --reserved-cpus=x");
	check_policies("bad flag", dir, NULL,
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
			execl("/bin/sh", "kubelet", "-c", "read x", "x", "--config=c.yaml", NULL);
		_exit(127);
	}
	close(ends[0]);
	*ret_pipe = ends[1];
	return pid;
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
		n = kubelet_process_find("", NULL, &p, NULL);
	}
	if (n == 1 && p.pid == (unsigned)pid) {
		/* /proc tells the directory without symbolic links and "." in it. */
		snprintf(want, sizeof(want),
			"cpuManagerPolicy=static [%s/c.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n",
			p.cwd);
		check_policies("live", "", NULL, want);
	}
	closep(&end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_not_equal(n, 0);
	return n == 1 && p.pid == (unsigned)pid;
}

static bool a_kubelet_runs(void)
{
	CLEANUP(kubelet_process_release) struct kubelet_process p = {0};

	return kubelet_process_find("", NULL, &p, NULL) != 0;
}

static void a_live_kubelet_is_read(void **state)
{
	CLEANUP(test_rmtree) char *dir = NULL;
	bool alone = !a_kubelet_runs();

	(void)state;
	if (alone) {
		dir = test_tmpdir();
		test_write_file(dir, "c.yaml", HEAD "cpuManagerPolicy: static\n");
		alone = read_live_kubelet(dir);
		test_rmtree(&dir);
	}
	/* A skipped test does not come back to its cleanups, so there must be nothing left. */
	if (!alone)
		test_skip("another kubelet runs here");
}

/* ---- the distributions */

static void every_distribution(void **state)
{
	static const struct {
		const char *name;
		struct tree_file files[6];
		const char *want;
	} cases[] = {
		{"kubeadm",
			{{"var/lib/kubelet/config.yaml", HEAD "cpuManagerPolicy: static\n"},
				{"var/lib/kubelet/kubeadm-flags.env",
					"KUBELET_KUBEADM_ARGS=\"--topology-manager-policy=none\"\n"},
				{"etc/default/kubelet",
					"KUBELET_EXTRA_ARGS=--topology-manager-policy=restricted\n"}},
			"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
			"topologyManagerPolicy=restricted [--topology-manager-policy of "
			"/etc/default/kubelet]\n"
			"root /var/lib/kubelet\n"},
		{"kubeadm on Fedora",
			{{"var/lib/kubelet/config.yaml", HEAD},
				{"etc/sysconfig/kubelet",
					"KUBELET_EXTRA_ARGS=\"--cpu-manager-policy static\"\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/sysconfig/kubelet]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"k3s",
			{{"var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf",
				 HEAD "topologyManagerPolicy: best-effort\n"},
				{"var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-mine.conf",
					HEAD "topologyManagerPolicy: restricted\n"},
				{"etc/rancher/k3s/config.yaml", "kubelet-arg:\n- cpu-manager-policy=none\n"},
				{"etc/rancher/k3s/config.yaml.d/10.yaml",
					"kubelet-arg+: [cpu-manager-policy=static]\n"},
				{"etc/rancher/k3s/config.yaml.d/20.txt",
					"kubelet-arg: [cpu-manager-policy=none]\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of "
			"/etc/rancher/k3s/config.yaml.d/10.yaml]\n"
			"topologyManagerPolicy=restricted "
			"[/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-mine.conf]\n"
			"root /var/lib/kubelet\n"},
		{"older k3s",
			{{"etc/rancher/k3s/config.yaml", "kubelet-arg:\n- cpu-manager-policy=static\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"RKE2",
			{{"var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf",
				 HEAD "cpuManagerPolicy: static\n"},
				{"etc/rancher/rke2/config.yaml",
					"kubelet-arg: topology-manager-policy=best-effort\n"}},
			"cpuManagerPolicy=static [/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf]\n"
			"topologyManagerPolicy=best-effort [--topology-manager-policy of "
			"/etc/rancher/rke2/config.yaml]\n"
			"root /var/lib/kubelet\n"},
		{"MicroK8s",
			{{"var/snap/microk8s/current/args/kubelet",
				"--cpu-manager-policy=static\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of "
			"/var/snap/microk8s/current/args/kubelet]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/snap/microk8s/common/var/lib/kubelet\n"},
		{"k0s", {{"var/lib/k0s/kubelet-config.yaml", HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/var/lib/k0s/kubelet-config.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/k0s/kubelet\n"},
		{"EKS, nodeadm",
			{{"etc/kubernetes/kubelet/config.json", "{\"apiVersion\":\"kubelet.config.k8s.io/"
								"v1beta1\",\"kind\":\"KubeletConfiguration\","
								"\"cpuManagerPolicy\":\"static\"}"},
				{"etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf",
					"{\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\"kind\":"
					"\"KubeletConfiguration\",\"topologyManagerPolicy\":"
					"\"restricted\"}"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet/config.json]\n"
			"topologyManagerPolicy=restricted "
			"[/etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf]\n"
			"root /var/lib/kubelet\n"},
		{"EKS", {{"etc/kubernetes/kubelet/kubelet-config.json", HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet/kubelet-config.json]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"Bottlerocket", {{"etc/kubernetes/kubelet/config", HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet/config]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"GKE",
			{{"home/kubernetes/kubelet-config.yaml", HEAD "cpuManagerPolicy: none\n"},
				{"etc/default/kubelet", "KUBELET_OPTS=\"--v=2 --cpu-manager-policy=static "
							"--config /home/kubernetes/kubelet-config.yaml\"\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/default/kubelet]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"AKS",
			{{"etc/default/kubeletconfig.json", HEAD "cpuManagerPolicy: static\n"},
				{"etc/default/kubelet",
					"KUBELET_FLAGS=--topology-manager-policy=best-effort\n"
					"KUBELET_CONFIG_FILE_FLAGS=\"--config "
					"/etc/default/kubeletconfig.json\"\n"}},
			"cpuManagerPolicy=static [/etc/default/kubeletconfig.json]\n"
			"topologyManagerPolicy=best-effort [--topology-manager-policy of "
			"/etc/default/kubelet]\n"
			"root /var/lib/kubelet\n"},
		{"OpenShift",
			{{"etc/kubernetes/kubelet.conf", HEAD "cpuManagerPolicy: static\n"},
				{"etc/openshift/kubelet.conf.d/10.conf",
					HEAD "topologyManagerPolicy: single-numa-node\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet.conf]\n"
			"topologyManagerPolicy=single-numa-node [/etc/openshift/kubelet.conf.d/10.conf]\n"
			"root /var/lib/kubelet\n"},
		{"Talos", {{"etc/kubernetes/kubelet.yaml", HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();

		write_tree(dir, cases[i].files);
		check_policies(cases[i].name, dir, NULL, cases[i].want);
	}
}

static void node_sizing_is_a_reservation(void **state)
{
	static const enum setting shown[] = {SETTING_SYSTEM_RESERVED};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "etc/kubernetes/kubelet.conf", HEAD "systemReserved: {cpu: 100m}\n");
	test_write_file(dir, "etc/node-sizing.env",
		"SYSTEM_RESERVED_MEMORY=3Gi\nSYSTEM_RESERVED_CPU=0.08\nSYSTEM_RESERVED_ES=1Gi\n");
	check_find("sizing", dir, NULL, shown, 1,
		"systemReserved=cpu=80m,memory=3Gi [--system-reserved of /etc/node-sizing.env]\n"
		"root /var/lib/kubelet\n");
}

static void a_named_root_has_its_configuration(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	const struct settings_overrides o = {.kubelet_root = "/data/kubelet"};

	(void)state;
	test_write_file(dir, "var/lib/kubelet/config.yaml", HEAD "topologyManagerPolicy: restricted\n");
	check_policies("only the usual one", dir, &o,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=restricted [/var/lib/kubelet/config.yaml]\n"
		"root /data/kubelet\n");
	test_write_file(dir, "data/kubelet/config.yaml", HEAD "cpuManagerPolicy: static\n");
	test_write_file(dir, "data/kubelet/kubeadm-flags.env",
		"KUBELET_KUBEADM_ARGS=\"--topology-manager-policy=best-effort\"\n");
	check_policies("its own", dir, &o,
		"cpuManagerPolicy=static [/data/kubelet/config.yaml]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of "
		"/data/kubelet/kubeadm-flags.env]\n"
		"root /data/kubelet\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_found_is_unknown),
		cmocka_unit_test(explicit_values_alone),
		cmocka_unit_test(each_source_beats_the_next),
		cmocka_unit_test(kubelets_are_told_from_other_processes),
		cmocka_unit_test(several_kubelets_are_not_believed),
		cmocka_unit_test(paths_of_a_process),
		cmocka_unit_test(a_kubelet_in_a_container),
		cmocka_unit_test(proc_may_be_elsewhere),
		cmocka_unit_test(a_kubelet_with_a_bad_configuration),
		cmocka_unit_test(a_live_kubelet_is_read),
		cmocka_unit_test(every_distribution),
		cmocka_unit_test(node_sizing_is_a_reservation),
		cmocka_unit_test(a_named_root_has_its_configuration),
	};

	return cmocka_run_group_tests_name("settings_find", tests, NULL, NULL);
}
