#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which CPUs the kubelet reserves of a count depends on its release, which `nrtd run` learns from the Node: the published amounts follow
# it, also when the kubelet is upgraded. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
. tests/lib/scenario.sh
. tests/lib/api_server.sh
need_jq
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC
nrtd_pid=""
trap '[ -z "$nrtd_pid" ] || kill -KILL $nrtd_pid 2>/dev/null; kill $api_pid 2>/dev/null; rm -rf "$dir"' EXIT

# Two NUMA nodes of four cores in one socket; siblings are neighbours.
mkdir -p "$dir/node" && printf '%s\n' 'node 0 4194304 0-7' 'node 1 4194304 8-15' 'socket 0 0-15' 'smt 2 adjacent' >"$dir/spec"
awk -v out="$dir/node" -f tests/fixtures/machines/make.awk "$dir/spec"
mkdir -p "$dir/node/var/lib/kubelet"
printf '%s' '{"policyName":"static","defaultCpuSet":"0-15","checksum":0}' >"$dir/node/var/lib/kubelet/cpu_manager_state"
printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: static' 'kubeReserved: {cpu: "6"}' \
	'cpuManagerPolicyOptions: {distribute-cpus-across-cores: "true"}' >"$dir/node/var/lib/kubelet/config.yaml"

# allocatable VERSION: the CPUs of each zone
allocatable() {
	"$nrtd" dump --sysroot "$dir/node" --node-name n1 -o json ${1:+--kubelet-version "$1"} 2>"$dir/err" >"$dir/out"
	jq -r '[.zones[] | select(.type == "Node") | .resources[] | select(.name == "cpu") | .allocatable] | join(" ")' "$dir/out"
}
check "1.37 reserves the lowest ids" test "$(allocatable v1.37.2)" = "2 8"
check "1.38 reserves a CPU of each core" test "$(allocatable v1.38.0-beta.0)" = "4 6"
check "without the release all of them are reserved" test "$(allocatable "")" = "1 6"

node() { # VERSION
	echo "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u1\"},\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"$1\"}}}" | serve /api/v1/nodes/n1
}
# published AMOUNTS: the last object that was written has them
published() {
	test "$(sed -n "s|^P[A-Z]* ${nrt}[^ ]* ||p" "$api/changes" 2>/dev/null | tail -n 1 |
		jq -r '[.zones[] | select(.type == "Node") | .resources[] | select(.name == "cpu") | .allocatable] | join(" ")')" = "$1"
}
node v1.37.2
"$nrtd" run --sysroot "$dir/node" --node-name n1 --lock none --http off --poll 100ms --kubeconfig "$dir/kubeconfig" 2>"$dir/err" &
nrtd_pid=$!
check "the Node's release decides what is published" eventually 30 published "2 8"
kill "$nrtd_pid"
wait "$nrtd_pid"
node v1.38.0-beta.0
"$nrtd" run --sysroot "$dir/node" --node-name n1 --lock none --http off --poll 100ms --kubeconfig "$dir/kubeconfig" 2>"$dir/err" &
nrtd_pid=$!
check "and another release after an upgrade" eventually 30 published "4 6"
kill "$nrtd_pid"
wait "$nrtd_pid"
nrtd_pid=""
exit $failed
