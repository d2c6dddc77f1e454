#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd check` as a user runs it: each source by itself, what is missing with its remedy, exit status. B names the build
# folder.
set -u
nrtd=${B:-build}/nrtd
machines=build/fixtures/machines
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
check() { # NAME COMMAND...: the command's success; what was printed last is shown when it fails
	check_name=$1
	shift
	if "$@"; then
		echo "ok $check_name"
	else
		echo "not ok $check_name"
		sed 's/^/# /' "$dir/out"
		failed=1
	fi
}
run() { # STATUS ARGS...
	want=$1
	shift
	"$nrtd" check --node-name n "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	check "status $want of check $*" test "$got" -eq "$want"
}
said() { check "says: $1" grep -qE -- "$1" "$dir/out"; }

tree=$dir/tree
cp -r "$machines/seed-2s-32cpu/." "$tree"
mkdir -p "$tree/var/lib/kubelet/device-plugins"

# --- nothing but hardware: all of it is missing, and nothing stops nrtd
run 0 --sysroot "$tree"
said "^ok +machine +2 packages, 2 NUMA nodes"
said "^warn +CPU state +$tree/var/lib/kubelet/cpu_manager_state: absent"
said "^ +remedy: in a container mount the kubelet's root directory"
said "^ok +pod-resources +not asked"
said "^warn +setting +topologyManagerPolicy is unknown"
said "^ok +accounting +from the hardware alone"

# --- files in their formats
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$tree/var/lib/kubelet/cpu_manager_state"
cp tests/fixtures/states/device_v2.json "$tree/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
run 0 --sysroot "$tree"
said "cpu_manager_state: read, v2, written [0-9]+ s ago, policy 'static', 2 containers"
said "kubelet_internal_checkpoint: read, v2, .*2 resources of device plugins"
said "^ok +accounting +from the state files"
for format in 3_pod_level 4; do
	cp "tests/fixtures/states/cpu_v$format.json" "$tree/var/lib/kubelet/cpu_manager_state"
	run 0 --sysroot "$tree" -o json
	said "\"format\": \"v${format%%_*}\""
done
said '"state": "absent"'
said '"level": "warn"'

# --- what stops nrtd
run 1 --sysroot "$tree" --state-files none --cpu-manager-policy static
said "^FAIL +accounting +policy static, and no source tells which CPUs containers hold"
said "remedy: make the state files or the pod-resources socket readable"
run 1 --sysroot "$dir/nothing"
said "^FAIL +machine"
said "remedy: in a container mount the host's /sys"
printf '{"policyName"' >"$tree/var/lib/kubelet/cpu_manager_state"
run 1 --sysroot "$tree"
said "cpu_manager_state: broken"
said "^FAIL +observation"

# --- a socket that is named, and is none
run 1 --sysroot "$tree" --state-files none --pod-resources "$dir/none.sock"
said "^warn +pod-resources +$dir/none.sock: absent"
said "remedy: in a container mount the kubelet's pod-resources directory"
: >"$dir/file"
run 1 --sysroot "$tree" --state-files none --pod-resources "unix://$dir/file"
said "^warn +pod-resources +$dir/file: fails"
exit $failed
