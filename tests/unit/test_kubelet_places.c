/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row of the table in doc/kubelet-settings.md: a tree as the distribution makes it, from the sources below, and the settings that
 * nrtd finds there.
 *
 * - k3s: k3s-io/k3s: install.sh, pkg/configfilearg/parser.go, pkg/daemons/agent/agent_linux.go, pkg/util/args.go
 * - RKE2: rancher/rke2 6ce1a80: bundle/lib/systemd/system, pkg/cli/cmds/agent.go
 * - MicroK8s: canonical/microk8s d099c90: microk8s-resources/default-args/kubelet, the patches 0000-Kubelite-integration.patch
 * - k0s: k0sproject/k0s: pkg/component/worker/kubelet.go; docs.k0sproject.io, k0s install worker
 * - EKS, Amazon Linux 2023: awslabs/amazon-eks-ami 81fec2e: templates/al2023, nodeadm/internal/kubelet
 * - EKS, Amazon Linux 2: awslabs/amazon-eks-ami: templates/al2/runtime/kubelet.service, files/bootstrap.sh
 * - Bottlerocket: bottlerocket-os/bottlerocket-core-kit a10182f: packages/kubernetes-1.28
 * - GKE: kubernetes/kubernetes: cluster/gce/gci/configure-helper.sh; GKE's own script is not public
 * - AKS: Azure/AgentBaker 06836ee: parts/linux/cloud-init/artifacts
 * - Talos: siderolabs/talos ad88231: internal/app/machined/pkg/controllers/k8s
 * - kubespray: kubernetes-sigs/kubespray 46dbdd3: roles/kubernetes/node/templates
 * - kubeadm, kind, Flatcar: kubernetes/release f618b2a: cmd/krel/templates/latest; kubernetes-sigs/kind fed2688: images/base/files;
 *   flatcar.org, Getting started with Kubernetes
 * - OpenShift: openshift/machine-config-operator 7ff337a: templates/worker/01-worker-kubelet, templates/common
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/kubelet_places.h"
#include "common/cleanup.h"
#include "common/xalloc.h"
#include "tests/lib/kubelet_tree.h"

#define MAX_FILES 10
#define STATIC    KUBELET_CONFIG_HEAD "cpuManagerPolicy: static\n"
#define ENABLED   "etc/systemd/system/multi-user.target.wants/"

/* kubernetes/release: cmd/krel/templates/latest/kubelet/kubelet.service, .../kubeadm/10-kubeadm.conf */
#define KUBEADM_UNIT \
	"[Unit]\nDescription=kubelet: The Kubernetes Node Agent\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n"
#define KUBEADM_DROP_IN(defaults)                                                                              \
	"# Note: This dropin only works with kubeadm and kubelet v1.11+\n[Service]\n"                          \
	"Environment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf " \
	"--kubeconfig=/etc/kubernetes/kubelet.conf\"\n"                                                        \
	"Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n"                          \
	"EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-" defaults "\nExecStart=\n"     \
	"ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS "      \
	"$KUBELET_EXTRA_ARGS\n"
#define KUBEADM_FLAGS \
	"KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/containerd/containerd.sock\"\n"

/* k3s: install.sh, create_systemd_service_file() */
#define K3S_UNIT(command)                                                                                   \
	"[Unit]\nDescription=Lightweight Kubernetes\n[Service]\nType=notify\n"                              \
	"EnvironmentFile=-/etc/default/%N\nEnvironmentFile=-/etc/sysconfig/%N\n"                            \
	"EnvironmentFile=-/etc/systemd/system/k3s.service.env\nExecStartPre=-/sbin/modprobe br_netfilter\n" \
	"ExecStart=/usr/local/bin/k3s \\\n    " command "\n\n"
#define K3S_DROP_INS "var/lib/rancher/k3s/agent/etc/kubelet.conf.d/"

/* rke2: bundle/lib/systemd/system/rke2-server.service */
#define RKE2_UNIT                                                                             \
	"[Service]\nType=notify\nEnvironmentFile=-/etc/default/%N\n"                          \
	"EnvironmentFile=-/usr/local/lib/systemd/system/%N.env\n"                             \
	"ExecCondition=/bin/sh -c 'if systemctl is-active --quiet rke2-agent.service; then "  \
	"echo \"Error: rke2-agent is running!\"; exit 1; fi'\nExecStart=/usr/local/bin/rke2 " \
	"server\n"

/* kubespray: roles/kubernetes/node/templates/kubelet.service.j2 */
#define KUBESPRAY_UNIT                                                                                         \
	"[Service]\nEnvironmentFile=-/etc/kubernetes/kubelet.env\nExecStart=/usr/local/bin/kubelet \\\n"       \
	"\t\t$KUBE_LOGTOSTDERR \\\n\t\t$KUBE_LOG_LEVEL \\\n\t\t$KUBELET_API_SERVER \\\n\t\t$KUBELET_HOSTNAME " \
	"\\\n\t\t$KUBELET_ARGS \\\n\t\t$DOCKER_SOCKET \\\n\t\t$KUBELET_CLOUDPROVIDER\nRestart=always\n"
/* kubespray: roles/kubernetes/node/templates/kubelet.env.v1beta1.j2 */
#define KUBESPRAY_ENV                                                                                           \
	"KUBE_LOG_LEVEL=\"--v=2\"\nKUBELET_ADDRESS=\"--node-ip=10.0.0.1\"\n"                                    \
	"KUBELET_HOSTNAME=\"--hostname-override=Worker-1\"\n\nKUBELET_ARGS=\"--bootstrap-kubeconfig="           \
	"/etc/kubernetes/bootstrap-kubelet.conf \\\n--config=/etc/kubernetes/kubelet-config.yaml \\\n"          \
	"--kubeconfig=/etc/kubernetes/kubelet.conf \\\n--runtime-cgroups=/system.slice/containerd.service \\\n" \
	" --topology-manager-policy=restricted\"\nKUBELET_CLOUDPROVIDER=\"\"\n"

/* amazon-eks-ami: templates/al2023/runtime/rootfs/etc/systemd/system/kubelet.service */
#define AL2023_UNIT                                                                                         \
	"[Service]\nSlice=runtime.slice\nEnvironmentFile=/etc/eks/kubelet/environment\nExecStartPre="       \
	"/sbin/iptables -P FORWARD ACCEPT -w 5\nExecStart=/usr/bin/kubelet $NODEADM_KUBELET_ARGS\nRestart=" \
	"on-failure\n"
/* nodeadm/internal/kubelet/environment.go */
#define AL2023_ENV                                                                        \
	"NODEADM_KUBELET_ARGS=--config=/etc/kubernetes/kubelet/config.json --config-dir=" \
	"/etc/kubernetes/kubelet/config.json.d --hostname-override=ip-1.internal "        \
	"--node-labels=a=b --topology-manager-policy=best-effort"
#define JSON(fields) \
	"{\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\"kind\":\"KubeletConfiguration\"," fields "}"

/* amazon-eks-ami: templates/al2/runtime/kubelet.service */
#define AL2_UNIT                                                                                                \
	"[Service]\nExecStart=/usr/bin/kubelet \\\n    --config /etc/kubernetes/kubelet/kubelet-config.json "   \
	"\\\n    --kubeconfig /var/lib/kubelet/kubeconfig \\\n    --container-runtime remote \\\n    $KUBELET_" \
	"ARGS \\\n    $KUBELET_EXTRA_ARGS\n\nRestart=always\n"

/* bottlerocket-core-kit: packages/kubernetes-1.28/kubelet.service, kubelet-exec-start-conf */
#define BOTTLEROCKET_UNIT                                                          \
	"[Service]\nSlice=runtime.slice\nEnvironmentFile=/etc/network/proxy.env\n" \
	"EnvironmentFile=/etc/kubernetes/kubelet/env\nExecStart=/usr/bin/false\n\nRestart=always\n"
#define BOTTLEROCKET_DROP_IN                                                                                   \
	"[Service]\nExecStart=\nExecStart=/usr/bin/kubelet \\\n    --cloud-provider external \\\n"             \
	"    --kubeconfig /etc/kubernetes/kubelet/kubeconfig \\\n    --config /etc/kubernetes/kubelet/config " \
	"\\\n    --root-dir /var/lib/kubelet \\\n    --hostname-override br-1 \\\n    --node-ip ${NODE_IP} "   \
	"\\\n    --node-labels \"${NODE_LABELS}\" \\\n    --register-with-taints \"${NODE_TAINTS}\"\n"

/* AgentBaker: parts/linux/cloud-init/artifacts/kubelet.service, cse_config.sh */
#define AKS_UNIT                                                                                                   \
	"[Service]\nRestart=always\nEnvironmentFile=/etc/default/kubelet\nExecStartPre=/bin/bash -c \"if [ "       \
	"$(mount | grep \\\"/var/lib/kubelet\\\" | wc -l) -le 0 ] ; then /bin/mount --bind /var/lib/kubelet "      \
	"/var/lib/kubelet ; fi\"\n\nExecStart=/opt/bin/kubelet \\\n        --enable-server \\\n        "           \
	"--node-labels=\"${KUBELET_NODE_LABELS}\" \\\n        --v=2 \\\n        $KUBELET_TLS_BOOTSTRAP_FLAGS \\\n" \
	"        $KUBELET_CONFIG_FILE_FLAGS \\\n        $KUBELET_CGROUP_FLAGS \\\n        $KUBELET_FLAGS\n"

/* machine-config-operator: templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml */
#define OPENSHIFT_UNIT                                                                                   \
	"[Service]\nType=notify\nExecStartPre=/bin/mkdir --parents /etc/openshift/kubelet.conf.d\n"      \
	"Environment=\"KUBELET_NODE_IP=0.0.0.0\"\nEnvironmentFile=/etc/os-release\nEnvironmentFile=-"    \
	"/etc/kubernetes/kubelet-workaround\nEnvironmentFile=-/etc/kubernetes/kubelet-env\n\nExecStart=" \
	"/usr/local/bin/kubenswrapper \\\n    /usr/bin/kubelet \\\n      --config=/etc/kubernetes/"      \
	"kubelet.conf \\\n      --config-dir=/etc/openshift/kubelet.conf.d \\\n      "                   \
	"--node-labels=node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS} \\\n      "                \
	"--hostname-override=${KUBELET_NODE_NAME} \\\n      --v=${KUBELET_LOG_LEVEL}\n"

/* kubernetes: cluster/gce/gci/configure-helper.sh, create-kubelet-conf() */
#define GKE_UNIT                                                                        \
	"[Unit]\nDescription=Kubernetes kubelet\n[Service]\nRestart=always\n"           \
	"EnvironmentFile=/etc/default/kubelet\nExecStart=/home/kubernetes/bin/kubelet " \
	"$KUBELET_OPTS\n"

static const struct {
	const char *place; /* the row's name */
	const char *what;
	struct test_tree_file files[MAX_FILES];
	const char *source, *gap; /* the gap's beginning; NULL = none */
	const char *want;
} cases[] = {
	{"kubeadm, kind, Flatcar", "packages of pkgs.k8s.io on Debian",
		{{"usr/lib/systemd/system/kubelet.service", KUBEADM_UNIT},
			{"usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
				KUBEADM_DROP_IN("/etc/default/kubelet")},
			{ENABLED "kubelet.service", KUBEADM_UNIT}, {"var/lib/kubelet/config.yaml", STATIC},
			{"var/lib/kubelet/kubeadm-flags.env", KUBEADM_FLAGS},
			{"etc/default/kubelet", "KUBELET_EXTRA_ARGS=--topology-manager-policy=restricted\n"}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"kubeadm, kind, Flatcar", "an administrator's drop-in, without the files that may be missing",
		{{"usr/lib/systemd/system/kubelet.service", KUBEADM_UNIT},
			{"usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
				KUBEADM_DROP_IN("/etc/sysconfig/kubelet")},
			{"etc/systemd/system/kubelet.service.d/20-numa.conf",
				"[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--cpu-manager-policy=static "
				"--topology-manager-policy=single-numa-node\"\n"},
			{"var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of kubelet.service]\n"
		"topologyManagerPolicy=single-numa-node [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"kubeadm, kind, Flatcar", "the drop-in is visible, the unit is not",
		{{"etc/systemd/system/kubelet.service.d/20-numa.conf",
			 "[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--topology-manager-policy=restricted\"\n"},
			{"var/lib/kubelet/config.yaml", STATIC}},
		"/var/lib/kubelet/config.yaml",
		"the command line of the kubelet of '/var/lib/kubelet/config.yaml' is not visible",
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"kubeadm, kind, Flatcar", "its files alone",
		{{"var/lib/kubelet/config.yaml", STATIC},
			{"var/lib/kubelet/kubeadm-flags.env", KUBEADM_FLAGS}},
		"/var/lib/kubelet/config.yaml", NULL,
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\nroot /var/lib/kubelet\n"},
	{"kubeadm, kind, Flatcar", "a script starts the kubelet",
		{{"etc/systemd/system/kubelet.service",
			 "[Service]\nExecStart=/opt/bin/start-kubelet.sh\nEnvironment=KUBELET_X=--root-dir=/r\n"},
			{"var/lib/kubelet/config.yaml", STATIC}},
		"/var/lib/kubelet/config.yaml", "the command line of the kubelet",
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n\nroot /r\n"},
	{"kubeadm, kind, Flatcar", "the kubelet is in a container",
		{{"etc/systemd/system/kubelet.service",
			 "[Service]\nExecStart=/usr/bin/docker run -v /var/lib/kubelet:/var/lib/kubelet:rshared image kubelet "
			 "--config=/var/lib/kubelet/config.yaml --topology-manager-policy=restricted\n"},
			{"var/lib/kubelet/config.yaml", STATIC}},
		"kubelet.service", "kubelet.service runs its kubelet in a container",
		"cpuManagerPolicy=static [/var/lib/kubelet/config.yaml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"k3s", "arguments of the installer",
		{{"etc/systemd/system/k3s.service",
			 K3S_UNIT(
				 "server \\\n\t'--kubelet-arg=cpu-manager-policy=static' \\\n\t'--kubelet-arg' \\\n\t"
				 "'topology-manager-policy=single-numa-node' \\\n")},
			{"etc/systemd/system/k3s.service.env", "K3S_TOKEN='x'\nK3S_NODE_NAME='Worker-A'\n"},
			{"etc/rancher/k3s/config.yaml", "write-kubeconfig-mode: '0644'\n"},
			{K3S_DROP_INS "00-k3s-defaults.conf", KUBELET_CONFIG_HEAD}},
		"k3s.service", NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of k3s.service]\n"
		"topologyManagerPolicy=single-numa-node [--topology-manager-policy of k3s.service]\nroot /var/lib/kubelet\nhost name worker-a [node-name of k3s.service]\n"},
	{"k3s", "a release that has no drop-ins passes its own defaults as flags",
		{{"etc/systemd/system/k3s-agent.service", K3S_UNIT("agent \\\n")},
			{"etc/rancher/k3s/config.yaml", "kubelet-arg: [cpu-manager-policy=static]\n"}},
		"k3s-agent.service",
		"k3s-agent.service: the directory '/var/lib/rancher/k3s/agent/etc/kubelet.conf.d' does not exist",
		"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml]\n"
		"\nroot /var/lib/kubelet\n"},
	{"k3s", "configuration, its drop-ins and the command line, in this order",
		{{"etc/systemd/system/k3s-gpu.service",
			 K3S_UNIT("agent '--kubelet-arg=topology-manager-policy=restricted' --with-node-id")},
			{"etc/rancher/k3s/config.yaml",
				"kubelet-arg: [cpu-manager-policy=none]\nnode-name: a\n"},
			{"etc/rancher/k3s/config.yaml.d/10.yml",
				"kubelet-arg+: [cpu-manager-policy=static, topology-manager-policy=none]\n"},
			{"etc/rancher/k3s/config.yaml.d/20.YAML",
				"kubelet-arg+: [cpu-manager-policy-=none]\n"},
			{"etc/rancher/k3s/config.yaml.d/30.txt", "kubelet-arg: []\n"},
			{K3S_DROP_INS "50.conf", KUBELET_CONFIG_HEAD}},
		"k3s-gpu.service", NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml.d/10.yml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of k3s-gpu.service]\nroot /var/lib/kubelet\n"},
	{"k3s", "other paths",
		{{"etc/systemd/system/k3s.service", K3S_UNIT("server -c /srv/k3s.yaml -d /data")},
			{"srv/k3s.yaml", "kubelet-arg: [cpu-manager-policy=static]\n"},
			{"etc/rancher/k3s/config.yaml", "kubelet-arg: [cpu-manager-policy=none]\n"},
			{"data/agent/etc/kubelet.conf.d/1.conf",
				KUBELET_CONFIG_HEAD "topologyManagerPolicy: restricted\n"}},
		"k3s.service", NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of /srv/k3s.yaml]\n"
		"topologyManagerPolicy=restricted [/data/agent/etc/kubelet.conf.d/1.conf]\nroot /var/lib/kubelet\n"},
	{"k3s", "a configuration that the environment names",
		{{"etc/systemd/system/k3s.service", K3S_UNIT("server")},
			{"etc/default/k3s", "K3S_CONFIG_FILE=/srv/k3s.yaml\n"},
			{K3S_DROP_INS "1.conf", STATIC}},
		"k3s.service", "the configuration file '/srv/k3s.yaml' does not exist",
		"cpuManagerPolicy=static ["
		"/" K3S_DROP_INS "1.conf]\n\nroot /var/lib/kubelet\n"},
	{"k3s", "its files alone",
		{{"etc/rancher/k3s/config.yaml", "kubelet-arg: [cpu-manager-policy=static]\n"}},
		"/etc/rancher/k3s/config.yaml", "the command line of the kubelet",
		"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/k3s/config.yaml]\n"
		"\nroot /var/lib/kubelet\n"},
	{"RKE2", "a server",
		{{"usr/local/lib/systemd/system/rke2-server.service", RKE2_UNIT},
			{"usr/local/lib/systemd/system/rke2-server.env", "HOME=/root\n"},
			{"etc/rancher/rke2/config.yaml",
				"kubelet-arg:\n- topology-manager-policy=best-effort\n"},
			{"var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf", STATIC}},
		"rke2-server.service", NULL,
		"cpuManagerPolicy=static [/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/10.conf]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of /etc/rancher/rke2/config.yaml]\nroot /var/lib/kubelet\n"},
	{"RKE2", "an agent that Rancher has provisioned, its files alone",
		{{"etc/rancher/rke2/config.yaml.d/50-rancher.yaml",
			"{\"kubelet-arg\":[\"cpu-manager-policy=static\"]}"}},
		"/etc/rancher/rke2/config.yaml.d", "the command line of the kubelet",
		"cpuManagerPolicy=static [--cpu-manager-policy of /etc/rancher/rke2/config.yaml.d/50-rancher.yaml]\n"
		"\nroot /var/lib/kubelet\n"},
	{"MicroK8s", "microk8s-resources/default-args/kubelet",
		{{"etc/systemd/system/snap.microk8s.daemon-kubelite.service",
			 "[Service]\nExecStart=/usr/bin/snap run microk8s.daemon-kubelite\n"},
			{"var/snap/microk8s/current/args/kubelet",
				"--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n# comment\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n"
				"--eviction-hard=\"memory.available<100Mi,nodefs.available<1Gi\"\n--cpu-manager-policy=static\n"}},
		"snap.microk8s.daemon-kubelite.service", NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of /var/snap/microk8s/current/args/kubelet]\n"
		"topologyManagerPolicy=none [kubelet default]\nroot /var/snap/microk8s/common/var/lib/kubelet\n"},
	{"k0s", "a worker with more arguments",
		{{"etc/systemd/system/k0sworker.service",
			 "[Service]\nExecStart=/usr/local/bin/k0s worker --token-file=/etc/k0s/token "
			 "\"--kubelet-extra-args=--topology-manager-policy=restricted --v=2\"\n"},
			{"var/lib/k0s/kubelet-config.yaml", STATIC}},
		"k0sworker.service", NULL,
		"cpuManagerPolicy=static [/var/lib/k0s/kubelet-config.yaml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of k0sworker.service]\nroot /var/lib/k0s/kubelet\n"},
	{"k0s", "a controller without a worker",
		{{"etc/systemd/system/k0scontroller.service",
			 "[Service]\nExecStart=/usr/local/bin/k0s controller\n"},
			{"var/lib/k0s/kubelet-config.yaml", STATIC}},
		"/var/lib/k0s/kubelet-config.yaml", "the command line of the kubelet",
		"cpuManagerPolicy=static [/var/lib/k0s/kubelet-config.yaml]\n"
		"\nroot /var/lib/k0s/kubelet\n"},
	{"EKS, Amazon Linux 2023", "nodeadm",
		{{"etc/systemd/system/kubelet.service", AL2023_UNIT},
			{"etc/eks/kubelet/environment", AL2023_ENV},
			{"etc/kubernetes/kubelet/config.json", JSON("\"cpuManagerPolicy\":\"none\"")},
			{"etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf",
				JSON("\"cpuManagerPolicy\":\"static\"")}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"
		"host name ip-1.internal [--hostname-override of kubelet.service]\n"},
	{"EKS, Amazon Linux 2023", "its files alone",
		{{"etc/eks/kubelet/environment", AL2023_ENV},
			{"etc/kubernetes/kubelet/config.json", JSON("\"cpuManagerPolicy\":\"static\"")}},
		"/etc/kubernetes/kubelet/config.json", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet/config.json]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of /etc/eks/kubelet/environment]\nroot /var/lib/kubelet\n"
		"host name ip-1.internal [--hostname-override of /etc/eks/kubelet/environment]\n"},
	{"EKS, Amazon Linux 2", "bootstrap.sh",
		{{"etc/systemd/system/kubelet.service", AL2_UNIT},
			{"etc/systemd/system/kubelet.service.d/10-kubelet-args.conf",
				"[Service]\nEnvironment='KUBELET_ARGS=--node-ip=10.0.0.1 --pod-infra-container-image=p --v=2'\n"},
			{"etc/systemd/system/kubelet.service.d/30-kubelet-extra-args.conf",
				"[Service]\nEnvironment='KUBELET_EXTRA_ARGS=--topology-manager-policy=restricted'\n"},
			{"etc/kubernetes/kubelet/kubelet-config.json",
				JSON("\"cpuManagerPolicy\":\"static\"")}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet/kubelet-config.json]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"Bottlerocket", "the drop-in has the command line",
		{{"usr/lib/systemd/system/kubelet.service", BOTTLEROCKET_UNIT},
			{"etc/systemd/system/kubelet.service.d/exec-start.conf", BOTTLEROCKET_DROP_IN},
			{"etc/network/proxy.env", ""},
			{"etc/kubernetes/kubelet/env", "NODE_IP=10.0.0.1\nNODE_LABELS=a=b\nNODE_TAINTS=\n"},
			{"etc/kubernetes/kubelet/config",
				"---\nkind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\ncpuManagerPolicy: static\n"
				"topologyManagerPolicy: restricted\n"}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet/config]\n"
		"topologyManagerPolicy=restricted [/etc/kubernetes/kubelet/config]\nroot /var/lib/kubelet\nhost name br-1 [--hostname-override of kubelet.service]\n"},
	{"GKE", "configure-helper.sh",
		{{"etc/systemd/system/kubelet.service", GKE_UNIT},
			{"etc/default/kubelet",
				"KUBELET_OPTS=\"--v=2 --kube-reserved=cpu=100m --config /home/kubernetes/kubelet-config.yaml \"\n"
				"KUBE_COVERAGE_FILE=\"/var/log/kubelet.cov\"\n"},
			{"home/kubernetes/kubelet-config.yaml", STATIC}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/home/kubernetes/kubelet-config.yaml]\n"
		"topologyManagerPolicy=none [kubelet default]\nroot /var/lib/kubelet\n"},
	{"AKS", "a custom kubelet configuration",
		{{"etc/systemd/system/kubelet.service", AKS_UNIT},
			{"etc/systemd/system/kubelet.service.d/10-componentconfig.conf",
				"[Service]\nEnvironment=\"KUBELET_CONFIG_FILE_FLAGS=--config /etc/default/kubeletconfig.json\"\n"},
			{"etc/default/kubelet",
				"KUBELET_FLAGS=--address=0.0.0.0 --topology-manager-policy=best-effort\nKUBELET_NODE_LABELS=a=b\n"},
			{"etc/default/kubeletconfig.json", JSON("\"cpuManagerPolicy\":\"static\"")}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/etc/default/kubeletconfig.json]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"AKS", "flags only",
		{{"etc/systemd/system/kubelet.service", AKS_UNIT},
			{"etc/default/kubelet",
				"KUBELET_FLAGS=--cpu-manager-policy=static --topology-manager-policy=best-effort\n"}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [--cpu-manager-policy of kubelet.service]\n"
		"topologyManagerPolicy=best-effort [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\n"},
	{"Talos", "no systemd: the flags of machine.kubelet.extraArgs are in no file",
		{{"etc/kubernetes/kubelet.yaml", STATIC}}, "/etc/kubernetes/kubelet.yaml",
		"the command line of the kubelet",
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet.yaml]\n\nroot /var/lib/kubelet\n"},
	{"kubespray", "beside the configuration that kubeadm join has left",
		{{"etc/systemd/system/kubelet.service", KUBESPRAY_UNIT},
			{"etc/kubernetes/kubelet.env", KUBESPRAY_ENV},
			{"etc/kubernetes/kubelet-config.yaml", STATIC},
			{"etc/kubernetes/kubelet.conf", "kind: Config\n"},
			{"var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: none\n"}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet-config.yaml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of kubelet.service]\nroot /var/lib/kubelet\nhost name worker-1 [--hostname-override of kubelet.service]\n"},
	{"kubespray", "its files alone",
		{{"etc/kubernetes/kubelet.env", KUBESPRAY_ENV},
			{"etc/kubernetes/kubelet-config.yaml", STATIC},
			{"var/lib/kubelet/config.yaml", KUBELET_CONFIG_HEAD "cpuManagerPolicy: none\n"}},
		"/etc/kubernetes/kubelet-config.yaml", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet-config.yaml]\n"
		"topologyManagerPolicy=restricted [--topology-manager-policy of /etc/kubernetes/kubelet.env]\nroot /var/lib/kubelet\n"
		"host name worker-1 [--hostname-override of /etc/kubernetes/kubelet.env]\n"},
	{"OpenShift", "machine-config-operator",
		{{"etc/systemd/system/kubelet.service", OPENSHIFT_UNIT},
			{"etc/os-release", "ID=rhcos\nNAME=\"Red Hat\"\n"},
			{"etc/systemd/system/kubelet.service.d/20-logging.conf",
				"[Service]\nEnvironment=\"KUBELET_LOG_LEVEL=2\"\n"},
			{"etc/systemd/system/kubelet.service.d/20-node-env.conf",
				"[Service]\nEnvironmentFile=/etc/kubernetes/node.env\n"},
			{"etc/kubernetes/node.env", "KUBELET_NODE_NAME=ip-1\n"},
			{"etc/kubernetes/kubelet.conf", STATIC},
			{"etc/openshift/kubelet.conf.d/20-auto-sizing.conf",
				KUBELET_CONFIG_HEAD "topologyManagerPolicy: single-numa-node\n"}},
		"kubelet.service", NULL,
		"cpuManagerPolicy=static [/etc/kubernetes/kubelet.conf]\n"
		"topologyManagerPolicy=single-numa-node [/etc/openshift/kubelet.conf.d/20-auto-sizing.conf]\nroot /var/lib/kubelet\n"
		"host name ip-1 [--hostname-override of kubelet.service]\n"},
};

static void every_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(kubelet_files_release) struct kubelet_files files = {.source = NULL};
		CLEANUP(freep) char *what = xasprintf("%s: %s", cases[i].place, cases[i].what);
		struct err err = {""};

		CLEANUP(freep) char *want = NULL;

		test_write_tree(dir, cases[i].files);
		if (kubelet_places_read(dir, &files, &err) != 1)
			fail_msg("%s: %s", what, err.text);
		want = files.gap ? xasprintf("%s%s: settings that no file mentions are not known",
					   cases[i].want, files.gap)
				 : xstrdup(cases[i].want);
		test_check_policies(what, dir, NULL, want);
		test_assert_text(what, files.source, cases[i].source);
		if (!files.gap != !cases[i].gap ||
			(files.gap && strncmp(files.gap, cases[i].gap, strlen(cases[i].gap)) != 0))
			fail_msg("%s: the gap is '%s', not '%s'", what, files.gap, cases[i].gap);
	}
}

/* ---- several places */

static void expect_source(const char *what, const char *dir, const char *want)
{
	CLEANUP(kubelet_files_release) struct kubelet_files files = {.source = NULL};
	struct err err = {""};
	int r = kubelet_places_read(dir, &files, &err);

	assert_true(r >= 0);
	test_assert_text(what, r > 0 ? files.source : "none", want);
}

static void remove_file(const char *dir, const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s/%s", dir, path);

	assert_int_equal(unlink(full), 0);
}

static void a_service_counts_before_what_others_left(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	test_write_file(dir, "etc/kubernetes/kubelet.yaml", STATIC);
	expect_source("files", dir, "/etc/kubernetes/kubelet.yaml");
	test_write_file(dir, "etc/systemd/system/kubelet.service", KUBEADM_UNIT);
	test_write_file(
		dir, "etc/systemd/system/kubelet.service.d/1.conf", KUBEADM_DROP_IN("/etc/default/kubelet"));
	expect_source("a service whose configuration does not exist", dir, "/etc/kubernetes/kubelet.yaml");
	test_write_file(dir, "var/lib/kubelet/config.yaml", STATIC);
	expect_source("a service", dir, "kubelet.service");
	test_write_file(dir, "usr/lib/systemd/system/k3s.service", K3S_UNIT("server"));
	expect_source("two services: the table's order", dir, "k3s.service");
	test_write_file(dir, ENABLED "kubelet.service", "");
	expect_source("one of them is enabled", dir, "kubelet.service");
	test_write_file(dir, "run/systemd/units/invocation:k3s.service", "");
	expect_source("the other one runs", dir, "k3s.service");
	test_write_file(dir, "etc/systemd/system/k3s.service.d/1.conf",
		"[Service]\nExecStart=\nExecStart=/usr/local/bin/k3s server --disable-agent\n");
	expect_source("but has no kubelet", dir, "kubelet.service");
	remove_file(dir, "var/lib/kubelet/config.yaml");
	expect_source("and the enabled one has no configuration", dir, "/etc/kubernetes/kubelet.yaml");
}

static void paths_of_a_service_begin_at_the_root(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(kubelet_files_release) struct kubelet_files files = {.source = NULL};
	struct err err = {""};

	(void)state;
	test_write_file(dir, "etc/systemd/system/kubelet.service",
		"[Service]\nExecStart=kubelet --config=etc/k.yaml --root-dir=r --config-dir=d\n");
	test_write_file(dir, "etc/k.yaml", STATIC);
	assert_int_equal(kubelet_places_read(dir, &files, &err), 1);
	assert_string_equal(files.args.config, "/etc/k.yaml");
	assert_string_equal(files.args.root_dir, "/r");
	assert_null(files.args.config_dir);
	assert_string_equal(files.gap, "kubelet.service: the directory '/d' does not exist");
}

static void a_malformed_flag_of_a_unit_is_one_clear_line(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(kubelet_files_release) struct kubelet_files files = {.source = NULL};
	struct err err = {""};

	(void)state;
	test_write_file(dir, "etc/systemd/system/kubelet.service",
		"[Service]\nExecStart=/usr/bin/kubelet --kube-reserved=cpu\n");
	assert_int_equal(kubelet_places_read(dir, &files, &err), -EINVAL);
	assert_string_equal(
		err.text, "--kube-reserved of kubelet.service: 'cpu' is not of the form key=value");
}

/* ---- the documentation */

/* The line of a table that begins with this cell, or NULL. The caller frees it. */
static char *find_row(const char *text, const char *name)
{
	CLEANUP(freep) char *begin = xasprintf("\n| %s | ", name);
	const char *row = strstr(text, begin);

	return row ? xstrndup(row + 1, strcspn(row + 1, "\n")) : NULL;
}

static void the_documentation_has_every_place(void **state)
{
	const char *top = getenv("NRTD_TOP");
	CLEANUP(freep) char *path = xasprintf("%s/doc/kubelet-settings.md", top ? top : ".");
	CLEANUP(freep) char *text = test_read_file(path, NULL);
	size_t n = 0, rows = 0;

	(void)state;
	for (;; n++) {
		CLEANUP(strv_release) struct strv place = {0};
		CLEANUP(freep) char *row = NULL;
		bool tested = false;

		if (!kubelet_places_list(n, &place))
			break;
		row = find_row(text, place.items[0]);
		if (!row)
			fail_msg("%s has no row '%s'", path, place.items[0]);
		for (size_t i = 1; i < place.n_items; i++)
			if (!strstr(row, place.items[i]))
				fail_msg("%s: the row '%s' does not mention %s", path, place.items[0],
					place.items[i]);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
			tested = tested || !strcmp(cases[i].place, place.items[0]);
		if (!tested)
			fail_msg("no case tests %s", place.items[0]);
	}
	for (const char *p = strstr(text, "\n|---"); p && p[1] == '|'; p = strchr(p + 1, '\n'))
		rows++;
	assert_int_equal(rows - 1, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place),
		cmocka_unit_test(a_service_counts_before_what_others_left),
		cmocka_unit_test(paths_of_a_service_begin_at_the_root),
		cmocka_unit_test(a_malformed_flag_of_a_unit_is_one_clear_line),
		cmocka_unit_test(the_documentation_has_every_place),
	};

	return cmocka_run_group_tests_name("kubelet_places", tests, NULL, NULL);
}
