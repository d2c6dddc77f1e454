# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Functions that simulate a cluster as files: machines with the kubelet's files in $work/machines, objects in $work/cluster. The CPUs of a
# pod are those that `nrtd fit` predicts.
# shellcheck disable=SC2154,SC2034 # the scripts set $work and $B, and use $answer
names=() uids=0 answer=

# make_machines NAME...: the machines of tests/fixtures/machines that node() may use
make_machines() {
	mkdir -p "$work/machines" "$work/cluster" "$work/pods"
	tests/fixtures/machines/make.sh "$work/made" "$@"
}
# node NAME MACHINE POOL CPUS POLICY: a machine whose kubelet has the static CPU manager and reserves CPU 0
node() {
	local tree=$work/machines/$1
	cp -r "$work/made/$2" "$tree"
	mkdir -p "$tree/var/lib/kubelet" "$work/pods/$1"
	printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\ntopologyManagerPolicy: %s\n' \
		"$5" >"$tree/var/lib/kubelet/config.yaml"
	printf '{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s","labels":{"pool":"%s"}},"status":{"nodeInfo":{"kubeletVersion":"v1.37.2"},"allocatable":{"cpu":"%d","memory":"60Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}\n' \
		"$1" "$3" $(($4 - 1)) >"$work/cluster/node-$1.json"
	echo "$4" >"$work/pods/$1.cpus"
	kubelet "$1"
	names+=("$1")
}
# kubelet NODE: write the CPU manager's state file, and publish the node's object
kubelet() {
	local tree=$work/machines/$1
	{ cat "$work/pods/$1/"* 2>/dev/null || :; } | awk -v cpus="$(cat "$work/pods/$1.cpus")" '
		{ n = split($2, ranges, ","); entries = entries (NR > 1 ? "," : "") "\"" $1 "\":{\"main\":\"" $2 "\"}"
		  for (i = 1; i <= n; i++) { m = split(ranges[i], ends, "-"); for (c = ends[1]; c <= ends[m] + 0; c++) held[c + 0] = 1 } }
		END { for (c = 0; c < cpus; c++) if (!(c in held)) free = free (free == "" ? "" : ",") c
		  printf "{\"policyName\":\"static\",\"defaultCpuSet\":\"%s\",\"entries\":{%s},\"checksum\":0}", free, entries }' \
		>"$tree/var/lib/kubelet/cpu_manager_state"
	"$B/nrtd" dump --sysroot "$tree" --node-name "$1" --kubelet-version v1.37.2 >"$work/cluster/nrt-$1.yaml" 2>/dev/null
}
# pod NAME CPUS [SPEC [STATUS]]: a Guaranteed pod of a ReplicaSet, as a file
pod() {
	[ -e "$work/uid-$1" ] || printf '00000000-0000-4000-8000-%012d' $((++uids)) >"$work/uid-$1"
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"default","uid":"%s","ownerReferences":[{"kind":"ReplicaSet","name":"%s","controller":true}]},"spec":{%s"containers":[{"name":"main","image":"example.com/app","resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]},"status":{%s}}\n' \
		"$1" "$(cat "$work/uid-$1")" "${1%-*}" "${3:-}" "$2" "${4:-\"phase\":\"Pending\"}" >"$work/$1.json"
}
# bind POD CPUS NODE: the scheduler binds the pod, and the kubelet admits or rejects it. $answer = what the kubelet did
bind() {
	local cpus
	pod "$1" "$2" "\"nodeName\":\"$3\","
	if "$B/nrtd" fit --sysroot "$work/machines/$3" -f "$work/$1.json" >"$work/fit" 2>/dev/null; then
		cpus=$(awk '$1 == "main" {print $NF}' "$work/fit")
		echo "$(cat "$work/uid-$1") $cpus" >"$work/pods/$3/$1"
		pod "$1" "$2" "\"nodeName\":\"$3\"," '"phase":"Running"'
		kubelet "$3"
		answer="runs there on CPUs $cpus"
	else
		pod "$1" "$2" "\"nodeName\":\"$3\"," '"phase":"Failed","reason":"TopologyAffinityError","message":"Pod was rejected: Resources cannot be allocated with Topology locality"'
		answer="rejected by its kubelet: TopologyAffinityError"
	fi
	cp "$work/$1.json" "$work/cluster/pod-$1.json"
}
