#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accepts.sh: the real API server, with the published CRD and the agent's rights only, takes what `nrtd dump` prints for
# this machine and for every recorded machine (../shared/machines, where present), as YAML and as JSON, without a
# warning, and stores it as sent. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
nrtd=${B:-build}/nrtd
work=$(mktemp -d)
trap 'tests/upstream/cluster.sh stop "$work/cluster" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

tests/upstream/build.sh accepts >"$work/build" 2>&1
status=$?
cat "$work/build"
[ "$status" -ne 77 ] || exit 0
[ "$status" -eq 0 ] || exit 1
tests/upstream/cluster.sh start "$work/cluster" >/dev/null || exit 1

failed=0
passed=0
# accept NAME OPTION...: what `nrtd dump OPTION...` prints is accepted in both formats
accept() {
	name=$1
	shift
	for format in yaml json; do
		if "$nrtd" dump --node-name node-a -o "$format" "$@" 2>"$work/err" >"$work/object" &&
			build/upstream/accepts -kubeconfig "$work/cluster/agent-node-a.kubeconfig" <"$work/object" >"$work/out"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "not ok accepts: $name as $format"
			cat "$work/err" "$work/out"
		fi
	done
}

settings="--topology-manager-policy single-numa-node --topology-manager-scope pod --cpu-manager-policy static
	--cpu-manager-policy-options full-pcpus-only=true --memory-manager-policy None --pcie-roots on"
accept "this machine"
# shellcheck disable=SC2086 # a list of options
accept "this machine with settings" $settings
tests/fixtures/machines/make.sh "$work/machines" || exit 1
# shellcheck disable=SC2086
accept "a machine with PCIe roots" --sysroot "$work/machines/gpus" $settings
if ! grep -q '"type": *"PCIeRoot"' "$work/object"; then
	failed=$((failed + 1))
	echo "not ok accepts: the object has no zone of a PCIe root"
fi
seed=$work/machines/seed-2s-32cpu
mkdir -p "$seed/var/lib/kubelet"
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$seed/var/lib/kubelet/cpu_manager_state"
# shellcheck disable=SC2086
accept "a machine for Koordinator" --sysroot "$seed" --koordinator on --reserved-cpus 0 $settings
if ! grep -q node.koordinator.sh/pod-cpu-allocs "$work/object"; then
	failed=$((failed + 1))
	echo "not ok accepts: the object has no annotation of Koordinator's"
fi
for archive in "${NRTD_SHARED:-../shared}"/machines/*.tar.bz2; do
	[ -e "$archive" ] || { echo "skipped: the recorded machines (../shared/machines) are not here"; break; }
	rm -rf "$work/machine"
	mkdir "$work/machine"
	tar -xjf "$archive" -C "$work/machine" --strip-components=1
	# shellcheck disable=SC2086
	accept "$(basename "$archive" .tar.bz2)" --sysroot "$work/machine" $settings
done
echo "accepts: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
