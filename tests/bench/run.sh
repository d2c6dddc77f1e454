#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make bench: time and memory of `nrtd dump` as a process, then every bench_* program that measures functions.
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
for b in "$B"/tests/bench/bench_*; do
	case $b in *.o | *.d | */bench_dump) continue ;; esac
	echo
	"$b"
done
strip -o "$work/stripped" "$B/nrtd"
size=$(wc -c <"$work/stripped")
printf '\nstripped binary: %s bytes (goal under 409600)\n' "$size"
