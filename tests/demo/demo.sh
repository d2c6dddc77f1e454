#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make demo: a cluster of four nodes on this machine, without Kubernetes, network or root. Real: the programs nrtd, nrtd-extender and
# kubectl-numa, and the requests over HTTP. Simulated: the machines (tests/fixtures/machines), the API server (files), kube-scheduler
# (this script sends its requests), and the kubelets (this script writes their state files; the CPUs are those that `nrtd fit` predicts).
# Every statement is checked: a wrong statement ends the demo with status 1. The objects remain in KEEP, by default $B/demo. B names the
# build folder.
set -eu -o pipefail
export HWLOC_HIDE_ERRORS=2
unset COLUMNS NODE_NAME KUBECONFIG
cd "$(dirname "$0")/../.."
B=${B:-build}
work=$(mktemp -d)
extender=
trap '[ -z "$extender" ] || kill "$extender" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/demo/print.sh
. tests/demo/print.sh
# shellcheck source=tests/demo/nodes.sh
. tests/demo/nodes.sh

# ---- the simulated scheduler

# post VERB BODY: what kube-scheduler sends to its extender; the response is in $work/response. bash's own sockets: curl may be missing
post() {
	exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
	printf 'POST /%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
		"$1" ${#2} "$2" >&3
	timeout 10 cat <&3 >"$work/response"
	exec 3>&-
}
# schedule POD CPUS: ask the extender for a node, then bind the pod
schedule() {
	local chosen list
	pod "$1" "$2"
	list=$(printf '"%s",' "${names[@]}")
	post filter "{\"Pod\":$(cat "$work/$1.json"),\"NodeNames\":[${list%,}]}"
	chosen=$(sed -n 's/.*"NodeNames":\["\([^"]*\)"\].*/\1/p' "$work/response")
	if [ -n "$chosen" ]; then
		bind "$1" "$2" "$chosen"
		printf '%-10s %2d CPUs  nrtd-extender answers %s; %s\n' "$1" "$2" "$chosen" "$answer"
	else
		cp "$work/$1.json" "$work/cluster/pod-$1.json"
		printf '%-10s %2d CPUs  nrtd-extender answers no node; the pod stays pending\n' "$1" "$2"
	fi | tee -a "$work/scheduled"
}
start_extender() {
	local tries
	port=$((20000 + RANDOM % 10000)) # a port that another program has: one more try
	for tries in {1..200}; do
		if [ -z "$extender" ] || ! kill -0 "$extender" 2>/dev/null; then
			[ "$tries" -lt 100 ] || break
			port=$((port + 1))
			"$B/nrtd-extender" --nrt "$work/cluster" --http "127.0.0.1:$port" 2>"$work/extender.log" &
			extender=$!
		fi
		sleep 0.1
		if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && kill -0 "$extender" 2>/dev/null; then return 0; fi
	done
	echo "demo: nrtd-extender does not start:" >&2
	cat "$work/extender.log" >&2
	exit 1
}

# ---- the demo
prepare_keep
make_machines seed-2s-32cpu ccx 2s-snc4

section "A cluster of four nodes in two pools. The machines, the API server, the scheduler and the kubelets are simulated"
node worker-1 seed-2s-32cpu batch 32 restricted
node worker-2 seed-2s-32cpu batch 32 restricted
node worker-3 ccx hpc 32 single-numa-node
node worker-4 2s-snc4 hpc 96 single-numa-node
for p in "train-a 9 worker-1" "train-b 9 worker-1" "train-c 13 worker-2" "train-d 5 worker-2" "sim-a 11 worker-3" "sim-b 6 worker-3"; do
	# shellcheck disable=SC2086 # three words
	bind $p
done
for i in 0 1 2 3 4 5 6 7; do bind "rank-$i" 8 worker-4; done
run "$B/kubectl-numa" top --from "$work/cluster"
that "worker-4 has the most free CPUs, but on no NUMA node more than 4" '^worker-4 .* 31/95 +4 '

section "A scheduler that counts CPUs per node selects worker-4 for a pod with 11 exclusive CPUs"
bind db-0 11 worker-4
echo "db-0       11 CPUs  kube-scheduler selects worker-4; $answer" | tee "$work/out"
that "the kubelet rejects the pod, and Kubernetes does not retry it" 'rejected by its kubelet: TopologyAffinityError'
run "$B/kubectl-numa" why db-0 --from "$work/cluster"
that "why names the reason, and the nodes whose kubelets would admit the pod" '^worker-2 +admit'
rm "$work/cluster/pod-db-0.json"

section "Pods with nrtd-extender, which listens on the loopback interface"
start_extender
for p in "db-1 11" "web-0 4" "web-1 4" "web-2 4" "cache-0 6" "wide-0 12"; do
	# shellcheck disable=SC2086 # two words
	schedule $p
done
cp "$work/scheduled" "$work/out"
[ "$(grep -c 'runs there' "$work/out")" -eq 5 ] || { echo "demo: not every pod runs" >&2 && exit 1; }
if grep -q rejected "$work/out"; then echo "demo: a kubelet rejected a pod" >&2 && exit 1; fi
that "five pods run, no kubelet rejected a pod, and wide-0 waits: no NUMA node has 12 free CPUs" '^wide-0 .*stays pending'
run 3 "$B/kubectl-numa" fit -f "$work/wide-0.json" --from "$work/cluster"
that "fit explains each node's verdict" '^fits 0 of 4 nodes'
run "$B/kubectl-numa" plan -f "$work/wide-0.json" --from "$work/cluster"
that "plan finds a pod to move, so that a kubelet admits wide-0" '^full: 1 of 1 pod placed, 1 move'
run "$B/kubectl-numa" show worker-1 --from "$work/cluster"
that "show draws the node" '^node +worker-1'

cp "$work/cluster/"* "$keep"
try_next "the commands of doc/questions.md with your own cluster's kubeconfig, or with Go installed 'make demo CLUSTER=1' for a real control plane"
