#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make readme-test: the commands of README.md, line by line as they are in the text, from a clone of the committed tree: those of "Try it"
# and of the packages in a new, minimal Debian with only git, make and sudo; those of the cluster against the real API server. Not run:
# docker (make image-test builds the same Dockerfile). TRY_TEST=: without `make test`, which the gate runs. Each check is a line, the last
# line is "N passed, N failed". What is not available here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
work=$(mktemp -d)
trap '[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# commands HEADING: the indented lines below this heading
commands() { awk -v heading="## $1" '/^## / { on = $0 == heading } on && sub(/^    /, "")' README.md; }
# inside COMMAND: in the clone on the new machine; apt asks before it installs
inside() { yes | ROOT_MOUNT=$PWD packaging/root.sh enter "$root" sh -ec "cd /root/nrtd && $1"; }
clone() {
	rm -rf "$root/root/nrtd"
	# The clone has the owner of the machine; this folder may have another one.
	ROOT_MOUNT=$PWD packaging/root.sh enter "$root" sh -ec 'git config --global --replace-all safe.directory "*" && git clone -q /mnt /root/nrtd'
}
# does COMMAND: the command did what README says
does() {
	case $1 in
	"make run"*) grep -qx 'kind: NodeResourceTopology' "$work/printed" && grep -q '^found: ' "$work/printed" && grep -q '^try next: ' "$work/printed" ;;
	"make demo"*) grep -q '^-> .*no kubelet rejected a pod' "$work/printed" ;;
	"build/nrtd show"*) grep -q '^machine .* NUMA node' "$work/printed" ;;
	"make test"*) grep -qE '^[0-9]+ passed, 0 failed$' "$work/printed" ;;
	"make deb"*) grep -q '^kubectl-numa_.*deb$' "$work/printed" && grep -q '^nrtd_.*deb$' "$work/printed" ;;
	*"/nrtd_"*) inside 'nrtd --version' | grep '^nrtd ' && [ -e "$root/lib/systemd/system/nrtd.service" ] ;;
	*"/kubectl-numa_"*) inside 'kubectl-numa --version' | grep '^kubectl-numa ' ;;
	*) echo "README has a command that nothing checks: $1" && return 1 ;;
	esac
}
machine() {
	local line
	[ "$(id -u)" -eq 0 ] || { echo "skipped: a new machine needs root" && return; }
	line=$(packaging/install-deps.sh roots 2>&1) || { echo "skipped: $(printf '%s\n' "$line" | tail -n 1)" && return; }
	packaging/root.sh make bookworm readme git make sudo >"$work/root" 2>"$work/log" || { echo "skipped: $(tail -n 1 "$work/log")" && return; }
	# A copy, because the commands install packages.
	root=$work/machine
	cp -a "$(cat "$work/root")" "$root" && cp /etc/resolv.conf "$root/etc/"
	check "a clone" clone
	while IFS= read -r line; do
		case $line in
		docker* | kubectl* | helm* | sed*) continue ;;
		"make test"*) [ "${TRY_TEST-1}" ] || { echo "     not run: $line" && continue; } ;;
		esac
		check "$line" inside "$line"
		# shellcheck disable=SC2154 # checks.sh
		[ "$failed" -eq 0 ] || return
		cp "$work/out" "$work/printed"
		check "it does what README says" does "$line"
	done < <(commands "Try it" && commands Install)
}

# ---- the cluster: kubectl and helm of tests/upstream
image() { [ "$(kubectl get daemonset nrtd -n nrtd -o 'jsonpath={.spec.template.spec.containers[0].image}')" = "registry.example/nrtd:$(sed -n 's/^VERSION := //p' Makefile)" ]; }
crd() { kubectl wait --for condition=established --timeout 60s crd/noderesourcetopologies.topology.node.k8s.io; }
start() { tests/upstream/cluster.sh start "$work/cluster" -nodes worker-1 -manifests "" -scheduler "" -agent tests/agent; }
again() { tests/upstream/cluster.sh stop "$work/cluster" && rm -rf "$work/cluster" && start; }
cluster() {
	local line status=0
	tests/upstream/build.sh controlplane kubectl && tests/upstream/build_module.sh helm tool || status=$?
	case $status in 0) ;; 77) return ;; *) check "the programs of tests/upstream" false && return ;; esac
	mkdir "$work/bin" && ln -s "$PWD/build/upstream/kubectl" "$PWD/build/upstream/helm" "$work/bin/"
	PATH=$work/bin:$PATH
	export KUBECONFIG=$work/cluster/admin.kubeconfig HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
	check "a control plane" start
	check "a copy of packaging/" cp -rL packaging "$work/packaging"
	while IFS= read -r line; do
		case $line in
		docker*) echo "     not run: $line" && continue ;;
		sed* | kubectl*) check "$line" sh -ec "cd '$work' && $line" ;;
		helm*)
			check "the CRD" crd
			check "the DaemonSet has the image of the registry" image
			check "another control plane" again
			check "$line" sh -ec "cd '$work' && $line"
			check "the CRD" crd
			check "the DaemonSet has the image of the registry" image
			;;
		esac
	done < <(commands Install)
}
machine
cluster
tally
