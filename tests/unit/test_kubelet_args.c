/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/kubelet_args.h"
#include "agent/observe/kubelet_k3s.h"
#include "agent/observe/kubelet_places.h"
#include "agent/observe/settings_find.h"
#include "common/cleanup.h"
#include "tests/lib/kubelet_tree.h"
#include "tests/lib/settings.h"

enum file_kind { KIND_ENV, KIND_ARGS, KIND_K3S };

static int add_k3s(struct kubelet_args *args, const char *text, size_t len, struct err *err)
{
	CLEANUP(k3s_options_release) struct k3s_options options = {.node_name = NULL};
	int r = k3s_options_add_file(&options, text, len, "F", err);

	return r < 0 ? r : k3s_options_apply(&options, args, err);
}

static int add_text(enum file_kind kind, struct kubelet_args *args, const char *text, struct err *err)
{
	static const char *const variables[] = {"SNAP_DATA", "/d", "SNAP", "/s", NULL};
	size_t len = strlen(text);

	switch (kind) {
	case KIND_ENV:
		return kubelet_args_add_env(args, text, len, "F", err);
	case KIND_ARGS:
		return kubelet_args_add_file(args, text, len, variables, "F", err);
	case KIND_K3S:
	default:
		return add_k3s(args, text, len, err);
	}
}

/* "policy=... config=... config-dir=... root-dir=...": what is there of it. */
static void describe_args(const struct kubelet_args *args, struct strbuf *out)
{
	const struct doc *policy = &args->flags.values[SETTING_CPU_MANAGER_POLICY];

	if (doc_string(policy))
		strbuf_addf(out, "policy=%s ", policy->text);
	if (args->config)
		strbuf_addf(out, "config=%s ", args->config);
	if (args->config_dir)
		strbuf_addf(out, "config-dir=%s ", args->config_dir);
	if (args->root_dir)
		strbuf_addf(out, "root-dir=%s ", args->root_dir);
}

static void files_of_flags_are_read(void **state)
{
	static const struct {
		enum file_kind kind;
		const char *text, *want;
	} cases[] = {
		{KIND_ENV, "", ""},
		{KIND_ENV, "KUBELET_EXTRA_ARGS=", ""},
		{KIND_ENV, "PATH=--config=/x", ""},
		{KIND_ENV, "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static\n", "policy=static "},
		{KIND_ENV, "KUBELET_KUBEADM_ARGS=\"--x=y --cpu-manager-policy static --config '/a b'\"\n",
			"policy=static config=/a b "},
		{KIND_ENV,
			"# --cpu-manager-policy=none\n; KUBELET_A=--config=/x\n\n  KUBELET_B=--root-dir=/r # "
			"c\n",
			"root-dir=/r "},
		{KIND_ENV,
			"PATH=--config=/x\nexport KUBELET_A=--config=/x\nnonsense\nKUBELET_C=--config=/y\n",
			"config=/y "},
		{KIND_ENV, "KUBELET_A=--config=/x \\\n --root-dir=/r\nKUBELET_B=--config=/y",
			"config=/y root-dir=/r "},
		{KIND_ENV, "KUBELET_A=\"--config=/x\\\"q\\\"\"", "config=/xq "},
		{KIND_ENV, "KUBELET_A='--config=\"/x y\" --config-dir=/d'", "config=/x y config-dir=/d "},
		{KIND_ENV, "KUBELET_A=-- --config=/x", ""},
		{KIND_ENV, "KUBELET_A=- x '' --config=/x", "config=/x "},
		{KIND_ENV, "KUBELET_A=-config=/x config --v=2 --confi=/y --configs=/z", ""},
		{KIND_ARGS,
			"--config=${SNAP_DATA}/c\n#--root-dir=/x\n--root-dir \"$SNAP/r\"\n--x=${OTHER}$\n",
			"config=/d/c root-dir=/s/r "},
		{KIND_ARGS, "--config=$SNAP_DATAX/c --config-dir=${SNAP",
			"config=$SNAP_DATAX/c config-dir=${SNAP "},
		{KIND_K3S, "", ""},
		{KIND_K3S, "# nothing\n", ""},
		{KIND_K3S, "write-kubeconfig-mode: 644\n", ""},
		{KIND_K3S, "kubelet-arg: cpu-manager-policy=static\n", "policy=static "},
		{KIND_K3S, "kubelet-arg:\n- v=2\n- --cpu-manager-policy=static\n- root-dir=/r\n",
			"policy=static root-dir=/r "},
		{KIND_K3S, "kubelet-arg:\n- config=/a\nkubelet-arg+:\n- config-dir=/b\n",
			"config=/a config-dir=/b "},
		{KIND_K3S, "kubelet-arg: null\n", ""},
		{KIND_K3S, "kubelet-arg=v: 2\nkubelet-arg=cpu-manager-policy: static\n", "policy=static "},
		{KIND_K3S, "kubelet-arg+:\n- cpu-manager-policy-=none\n- cpu-manager-policy+=static\n",
			"policy=static "},
		{KIND_K3S, "kubelet-arg: cpu-manager-policy-=static\n", "policy=static "},
		{KIND_K3S, "kubelet-arg+:\n- cpu-manager-policy=static\n- cpu-manager-policy-=none\n",
			"policy=static "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);
		struct err err = {""};

		if (add_text(cases[i].kind, &args, cases[i].text, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		describe_args(&args, &got);
		test_assert_text(cases[i].text, got.text, cases[i].want);
	}
}

static void later_k3s_files_replace_or_add(void **state)
{
	static const char *const files[] = {"kubelet-arg: [config=/a, root-dir=/r]\n", "token: x\n",
		"kubelet-arg+: [config-dir=/d]\n", "kubelet-arg: [config=/b]\n"};
	static const char *const want[] = {"config=/a root-dir=/r ", "config=/a root-dir=/r ",
		"config=/a config-dir=/d root-dir=/r ", "config=/b "};
	CLEANUP(k3s_options_release) struct k3s_options options = {.node_name = NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

		assert_int_equal(k3s_options_add_file(&options, files[i], strlen(files[i]), "F", NULL), 0);
		assert_int_equal(k3s_options_apply(&options, &args, NULL), 0);
		describe_args(&args, &got);
		test_assert_text(files[i], got.text, want[i]);
	}
}

static void bad_flag_files_are_one_clear_line(void **state)
{
	static const struct {
		enum file_kind kind;
		const char *text, *want;
	} cases[] = {
		{KIND_ENV, "KUBELET_A=--config", "F: --config has no value"},
		{KIND_ENV, "KUBELET_A=--kube-reserved=cpu",
			"--kube-reserved of F: 'cpu' is not of the form key=value"},
		{KIND_ARGS, "--feature-gates=A=x", "--feature-gates of F: A: 'x' is not a boolean"},
		{KIND_K3S, "kubelet-arg: {a: b}", "F: kubelet-arg: a string expected, not a map"},
		{KIND_K3S, "kubelet-arg: [1]", "F: kubelet-arg: a string expected, not a number"},
		{KIND_K3S, "kubelet-arg: [config]", "F: --config has no value"},
		{KIND_K3S, "kubelet-arg=v: [1]", "F: kubelet-arg=v: a string expected, not a list"},
		{KIND_K3S, "data-dir: [1]", "F: data-dir: a string expected, not a list"},
		{KIND_K3S, "kubelet-arg: [",
			"F: not valid YAML at line 2, column 1: did not find expected node "
			"content"},
	};
	static const char nul[] = "KUBELET_A=\0--config=/x";
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(add_text(cases[i].kind, &args, cases[i].text, &err), -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].want);
	}
	assert_int_equal(kubelet_args_add_env(&args, nul, sizeof(nul) - 1, "F", &err), -EINVAL);
	test_assert_text("NUL", err.text, "F: has a NUL byte");
}

#define KUBECONFIG "apiVersion: v1\nkind: Config\ncurrent-context: c\n"

static void every_distribution(void **state)
{
	static const struct {
		const char *name;
		struct test_tree_file files[6];
		const char *want;
	} cases[] = {
		{"kubeadm",
			{{"var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"},
				{"var/lib/kubelet/kubeadm-flags.env",
					"KUBELET_KUBEADM_ARGS=\"--topology-manager-policy=none\"\n"},
				{"etc/default/kubelet",
					"KUBELET_EXTRA_ARGS=--topology-manager-policy=restricted\n"}},
			"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
			"topologyManagerPolicy=restricted [--topology-manager-policy of "
			"/etc/default/kubelet]\n"
			"root /var/lib/kubelet\n"},
		{"kubeadm on Fedora",
			{{"var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD},
				{"etc/sysconfig/kubelet",
					"KUBELET_EXTRA_ARGS=\"--cpu-manager-policy static\"\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/sysconfig/kubelet]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"k3s",
			{{"var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf",
				 KUBELET_CONFIG_HEAD "topologyManagerPolicy: best-effort\n"},
				{"var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-mine.conf",
					KUBELET_CONFIG_HEAD "topologyManagerPolicy: restricted\n"},
				{"etc/rancher/k3s/config.yaml", "kubelet-arg:\n- cpu-manager-policy=none\n"},
				{"etc/rancher/k3s/config.yaml.d/10.yaml",
					"kubelet-arg+: [cpu-manager-policy=static]\n"},
				{"etc/rancher/k3s/config.yaml.d/20.txt",
					"kubelet-arg: [cpu-manager-policy=none]\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of "
			"/etc/rancher/k3s/config.yaml.d/10.yaml]\n"
			"topologyManagerPolicy=restricted "
			"[/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/50-mine.conf]\n"
			"root /var/lib/kubelet\n"
			"the command line of the kubelet of '/var/lib/rancher/k3s/agent/etc/kubelet.conf.d' is not visible: settings that no file mentions are not known"},
		{"k3s that names its node",
			{{"etc/rancher/k3s/config.yaml", "node-name: Worker-A\n"},
				{"etc/rancher/k3s/config.yaml.d/10.yaml",
					"kubelet-arg: [cpu-manager-policy=static]\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml.d/10.yaml]\n"
			"\n"
			"root /var/lib/kubelet\nhost name worker-a [node-name of /etc/rancher/k3s/config.yaml]\n"
			"the command line of the kubelet of '/etc/rancher/k3s/config.yaml' is not visible: settings that no file mentions are not known"},
		{"k3s that passes a name",
			{{"etc/rancher/k3s/config.yaml", "node-name: a\nkubelet-arg: hostname-override=b\n"}},
			"\n"
			"\n"
			"root /var/lib/kubelet\nhost name b [--hostname-override of /etc/rancher/k3s/config.yaml]\n"
			"the command line of the kubelet of '/etc/rancher/k3s/config.yaml' is not visible: settings that no file mentions are not known"},
		{"k3s that appends an id to the name",
			{{"etc/rancher/k3s/config.yaml", "node-name: a\nwith-node-id: true\n"}},
			"\n"
			"\n"
			"root /var/lib/kubelet\n"
			"the command line of the kubelet of '/etc/rancher/k3s/config.yaml' is not visible: settings that no file mentions are not known"},
		{"k3s with a name that is none", {{"etc/rancher/k3s/config.yaml", "node-name: [a]\n"}},
			"/etc/rancher/k3s/config.yaml: node-name: a string expected, not a list"},
		{"older k3s",
			{{"etc/rancher/k3s/config.yaml", "kubelet-arg:\n- cpu-manager-policy=static\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml]\n"
			"\n"
			"root /var/lib/kubelet\n"
			"the command line of the kubelet of '/etc/rancher/k3s/config.yaml' is not visible: settings that no file mentions are not known"},
		{"RKE2",
			{{"var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf",
				 KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"},
				{"etc/rancher/rke2/config.yaml",
					"kubelet-arg: topology-manager-policy=best-effort\n"}},
			"cpuManagerPolicy=static [/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf]\n"
			"topologyManagerPolicy=best-effort [--topology-manager-policy of "
			"/etc/rancher/rke2/config.yaml]\n"
			"root /var/lib/kubelet\n"
			"the command line of the kubelet of '/var/lib/rancher/rke2/agent/etc/kubelet.conf.d' is not visible: settings that no file mentions are not known"},
		{"MicroK8s",
			{{"var/snap/microk8s/current/args/kubelet",
				"--cpu-manager-policy=static\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of "
			"/var/snap/microk8s/current/args/kubelet]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/snap/microk8s/common/var/lib/kubelet\n"},
		{"k0s",
			{{"var/lib/k0s/kubelet-config.yaml",
				KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"}},
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
		{"EKS",
			{{"etc/kubernetes/kubelet/kubelet-config.json",
				KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet/kubelet-config.json]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"Bottlerocket",
			{{"etc/kubernetes/kubelet/config", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet/config]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"GKE",
			{{"home/kubernetes/kubelet-config.yaml",
				 KUBELET_CONFIG_HEAD "cpuManagerPolicy: none\n"},
				{"etc/default/kubelet", "KUBELET_OPTS=\"--v=2 --cpu-manager-policy=static "
							"--config /home/kubernetes/kubelet-config.yaml\"\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/default/kubelet]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"AKS",
			{{"etc/default/kubeletconfig.json", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"},
				{"etc/default/kubelet",
					"KUBELET_FLAGS=--topology-manager-policy=best-effort\n"
					"KUBELET_CONFIG_FILE_FLAGS=\"--config "
					"/etc/default/kubeletconfig.json\"\n"}},
			"cpuManagerPolicy=static [/etc/default/kubeletconfig.json]\n"
			"topologyManagerPolicy=best-effort [--topology-manager-policy of "
			"/etc/default/kubelet]\n"
			"root /var/lib/kubelet\n"},
		{"OpenShift",
			{{"etc/kubernetes/kubelet.conf", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"},
				{"etc/openshift/kubelet.conf.d/10.conf",
					KUBELET_CONFIG_HEAD "topologyManagerPolicy: single-numa-node\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet.conf]\n"
			"topologyManagerPolicy=single-numa-node [/etc/openshift/kubelet.conf.d/10.conf]\n"
			"root /var/lib/kubelet\n"},
		{"kubeadm, whose kubeconfig has the name of OpenShift's file",
			{{"etc/kubernetes/kubelet.conf", KUBECONFIG},
				{"var/lib/kubelet/config.yaml",
					KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"the kubeconfig alone", {{"etc/kubernetes/kubelet.conf", KUBECONFIG}},
			"\n\nroot /var/lib/kubelet\n"},
		{"Talos", {{"etc/kubernetes/kubelet.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"}},
			"cpuManagerPolicy=static [/etc/kubernetes/kubelet.yaml]\n"
			"\n"
			"root /var/lib/kubelet\n"
			"the command line of the kubelet of '/etc/kubernetes/kubelet.yaml' is not visible: settings that no file mentions are not known"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();

		test_write_tree(dir, cases[i].files);
		test_check_policies(cases[i].name, dir, NULL, cases[i].want);
	}
}

/* What is in it may be settings. */
static void a_directory_that_may_not_be_read_is_not_an_empty_one(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(kubelet_files_release) struct kubelet_files files = {.source = NULL};
	bool root = geteuid() == 0;
	struct err err = {""};
	char path[4096];
	int r;

	(void)state;
	test_write_file(dir, "etc/rancher/k3s/config.yaml", "kubelet-arg: [cpu-manager-policy=static]\n");
	test_write_file(dir, "etc/rancher/k3s/config.yaml.d/10.yaml", "");
	snprintf(path, sizeof(path), "%s/etc/rancher/k3s/config.yaml.d", dir);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(root ? seteuid(65534) : 0, 0);
	r = kubelet_places_read(dir, &files, &err);
	assert_int_equal(root ? seteuid(0) : 0, 0);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(r, -EACCES);
	assert_non_null(strstr(err.text, "config.yaml.d'"));
}

static void node_sizing_is_a_reservation(void **state)
{
	static const enum setting shown[] = {SETTING_SYSTEM_RESERVED};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(
		dir, "etc/kubernetes/kubelet.conf", KUBELET_CONFIG_HEAD "systemReserved: {cpu: 100m}\n");
	test_write_file(dir, "etc/node-sizing.env",
		"SYSTEM_RESERVED_MEMORY=3Gi\nSYSTEM_RESERVED_CPU=0.08\nSYSTEM_RESERVED_ES=1Gi\n");
	test_check_find("sizing", dir, NULL, shown, 1,
		"systemReserved=cpu=80m,memory=3Gi [--system-reserved of /etc/node-sizing.env]\n"
		"root /var/lib/kubelet\n");
}

static void a_named_root_has_its_configuration(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	const struct settings_overrides o = {.kubelet_root = "/data/kubelet"};

	(void)state;
	test_write_file(dir, "var/lib/kubelet/config.yaml",
		KUBELET_CONFIG_HEAD "topologyManagerPolicy: restricted\n");
	test_check_policies("only the usual one", dir, &o,
		"cpuManagerPolicy=none [kubelet default]\n"
		"topologyManagerPolicy=restricted [/var/lib/kubelet/config.yaml]\n"
		"root /data/kubelet\n");
	test_write_file(dir, "data/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n");
	test_write_file(dir, "data/kubelet/kubeadm-flags.env",
		"KUBELET_KUBEADM_ARGS=\"--topology-manager-policy=best-effort\"\n");
	test_check_policies("its own", dir, &o,
		"cpuManagerPolicy=static [/data/kubelet/config.yaml]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of "
		"/data/kubelet/kubeadm-flags.env]\n"
		"root /data/kubelet\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_flags_are_read),
		cmocka_unit_test(later_k3s_files_replace_or_add),
		cmocka_unit_test(bad_flag_files_are_one_clear_line),
		cmocka_unit_test(every_distribution),
		cmocka_unit_test(a_directory_that_may_not_be_read_is_not_an_empty_one),
		cmocka_unit_test(node_sizing_is_a_reservation),
		cmocka_unit_test(a_named_root_has_its_configuration),
	};

	return cmocka_run_group_tests_name("settings_args", tests, NULL, NULL);
}
