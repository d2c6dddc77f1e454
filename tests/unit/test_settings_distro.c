/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "agent/node/observe/settings_find.h"
#include "common/cleanup.h"
#include "tests/lib/kubelet_tree.h"
#include "tests/lib/settings.h"

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
			"root /var/lib/kubelet\n"},
		{"older k3s",
			{{"etc/rancher/k3s/config.yaml", "kubelet-arg:\n- cpu-manager-policy=static\n"}},
			"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml]\n"
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
		{"RKE2",
			{{"var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf",
				 KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"},
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
			"topologyManagerPolicy=none [kubelet default]\n"
			"root /var/lib/kubelet\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();

		test_write_tree(dir, cases[i].files);
		test_check_policies(cases[i].name, dir, NULL, cases[i].want);
	}
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
		cmocka_unit_test(every_distribution),
		cmocka_unit_test(node_sizing_is_a_reservation),
		cmocka_unit_test(a_named_root_has_its_configuration),
	};

	return cmocka_run_group_tests_name("settings_distro", tests, NULL, NULL);
}
