#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make bench: time and memory of `nrtd dump` and of kubectl-numa as processes, then every bench_* program that measures functions.
set -eu
B=${B:-build}
fixtures=build/fixtures/machines
# shellcheck disable=SC1091 # the system's own file
printf 'machine: %s, %s CPUs, %s, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
	"$(. /etc/os-release && echo "$PRETTY_NAME")" "$(${CC:-cc} --version | head -n 1)"
dump() { "$B/tests/bench/bench_dump" "$@"; }
dump "dump, this machine" 10 8 "$B/nrtd" dump
dump "dump, 2 sockets 32 CPUs" 10 8 "$B/nrtd" dump --sysroot "$fixtures/seed-2s-32cpu"
dump "dump, 2 sockets 8 NUMA" none none "$B/nrtd" dump --sysroot "$fixtures/2s-snc4"
dump "dump, 64 NUMA 1024 CPUs" none none "$B/nrtd" dump --sysroot "$fixtures/64-nodes-1024-cpus"
# The same with 110 pods, told by the real kubelet's managers and pod-resources server where there is Go.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export B work
# shellcheck disable=SC2016 # expanded by the inner shell
tests/bench/pods.sh "$work" sh -c '
	pods() {
		name=$1
		shift
		"$B/tests/bench/bench_dump" "dump, 110 pods, $name" 20 8 "$B/nrtd" dump --sysroot "$work/tree" \
			--kubelet-root /k --kubelet-config /k/config.yaml --node-name n "$@"
	}
	socket=$work/tree/k/pod-resources/kubelet.sock
	pods "files"
	pods "API" --pod-resources "$socket" --state-files none
	pods "both" --pod-resources "$socket"' || [ $? -eq 77 ]
# A cluster of nodes with eight NUMA nodes, from a file.
for n in 167 1000 5000; do "$B/tests/bench/bench_cluster" $n "$work/cluster-$n.json"; done
dump "top, 1000 nodes of 8 NUMA" 500 48 "$B/kubectl-numa" top --from "$work/cluster-1000.json"
dump "top, 5000 nodes of 8 NUMA" 1000 128 "$B/kubectl-numa" top --from "$work/cluster-5000.json"
dump "pods, 2004 pods on 167 nodes" 300 16 "$B/kubectl-numa" pods -A --from "$work/cluster-167.json"
for command in score fit; do
	dump "$command, 1000 nodes of 8 NUMA" 500 48 "$B/kubectl-numa" $command --from "$work/cluster-1000.json" --cpus 4 --memory 1Gi
	dump "$command, 5000 nodes of 8 NUMA" 1000 128 "$B/kubectl-numa" $command --from "$work/cluster-5000.json" --cpus 4 --memory 1Gi
done
for b in "$B"/tests/bench/bench_*; do
	case $b in *.o | *.d | */bench_dump) continue ;; esac
	echo
	"$b"
done
strip -o "$work/stripped" "$B/nrtd"
size=$(wc -c <"$work/stripped")
printf '\nstripped binary: %s bytes\n' "$size"
