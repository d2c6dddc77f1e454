#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Too little memory ends nrtd and nrtd-extender with one line. What is published stays, a publication is never less than with enough
# memory, and a restart goes on. The limits are RLIMIT_DATA and, as root, the memory cgroup's, which systemd sets for MemoryMax= and
# Kubernetes for limits.memory. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
if nm -D "$B/nrtd" 2>/dev/null | grep -qE '__(asan|tsan)_init'; then
	echo "skipped: a sanitizer needs memory of its own"
	exit 0
fi
case ${RUNNER:-} in *qemu*)
	echo "skipped: the emulator has the same limit, and runs out of memory first"
	exit 0
	;;
esac
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
# shellcheck source=tests/lib/api_server.sh
. tests/lib/api_server.sh
pid=
group=
trap '[ -z "$pid" ] || kill -KILL $pid 2>/dev/null; kill $api_pid 2>/dev/null; [ -z "$group" ] || rmdir "$group"; rm -rf "$dir"' EXIT
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset NRTD_NODE_NAME NRTD_HTTP NRTD_LOCK JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC
path=$nrt/node-1
object=$api$path.json
cp -r build/fixtures/machines/64-nodes-1024-cpus "$dir/node"
mkdir -p "$dir/node/var/lib/kubelet"
# pods N: the CPU manager's state, with N pods of one CPU
pods() {
	{
		printf '{"policyName":"static","defaultCpuSet":"0-7,%s-1023","entries":{' $(($1 + 8))
		i=0
		while [ $i -lt "$1" ]; do
			[ $i -eq 0 ] || printf ,
			printf '"%08x-0000-0000-0000-000000000000":{"app":"%s"}' $i $((i + 8))
			i=$((i + 1))
		done
		printf '},"checksum":0}'
	} >"$dir/state"
	mv "$dir/state" "$dir/node/var/lib/kubelet/cpu_manager_state"
}
pods 1000
printf '{"kind":"Node","apiVersion":"v1","metadata":{"name":"node-1","uid":"6d1d8e5c-0000-4000-8000-000000000001","resourceVersion":"1"}}' |
	serve /api/v1/nodes/node-1

no_limit() { exec "$@"; }
# start [COMMAND...]: nrtd run in the background, by a command that limits its memory and executes it
start() {
	[ $# -gt 0 ] || set -- no_limit
	(
		"$@" "$B/nrtd" run --sysroot "$dir/node" --node-name node-1 --kubeconfig "$KUBECONFIG" --http off --lock none --poll 0
	) >"$dir/out" 2>"$dir/err" &
	pid=$!
}
stop() {
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	status=$?
	pid=
}
published() { [ -s "$object" ]; }
ended() { ! kill -0 "$pid" 2>/dev/null; }
published_or_ended() { published || ended; }
all_published() { cmp -s "$object" "$dir/full"; }
# before_or_all: what was published before, or all of the new state
before_or_all() { cmp -s "$object" "$dir/before" || all_published; }
# aborted PROGRAM: it ends by abort, with one line
aborted() {
	eventually 30 ended || return 1
	stop
	[ "$status" -eq 134 ] && one_line "$1"
}
one_line() { [ "$(grep -c 'out of memory' "$dir/err")" -eq 1 ] && [ "$(tail -n 1 "$dir/err")" = "$1: out of memory" ]; }
restrict() { # PID [KB]: no more data than now, or this much more
	prlimit --pid "$1" --data="$(awk -v more="${2:-0}" '/VmData/ { print ($2 + more) * 1024 }' "/proc/$1/status")" 2>"$dir/check.err"
}

# --- a running nrtd needs more memory
command -v prlimit >/dev/null || {
	echo "skipped: there is no prlimit here"
	exit 0
}
prlimit --pid $$ --core=0
start
check "published" eventually 30 published
cp "$object" "$dir/full"
stop
pods 1
rm -f "$object"
start
check "published with few pods" eventually 30 published
cp "$object" "$dir/before"
restrict "$pid"
pods 1000
check "a running nrtd that needs more memory ends with one line" aborted nrtd
check "what is published stays" before_or_all
start
check "restarted, it publishes all" eventually 30 all_published
stop

# --- nrtd that has too little memory from the start, as when systemd starts it again and again

# start_with LIMIT KB...: start nrtd with each of these limits. It publishes all or ends; counts both, and the ends with the line
start_with() {
	limit=$1
	shift
	n_full=0 n_ended=0 n_line=0
	for kb; do
		rm -f "$object"
		start "$limit" "$kb"
		eventually 30 published_or_ended || not_ok "$limit $kb kB: it neither publishes nor ends" "$dir/err"
		stop
		if published; then
			n_full=$((n_full + 1))
			all_published || not_ok "$limit $kb kB: published less" "$dir/err"
		else
			n_ended=$((n_ended + 1))
			! one_line nrtd || n_line=$((n_line + 1)) # a library may end it in another way
		fi
	done
}
limit_data() { # KB COMMAND...
	bytes=$(($1 * 1024))
	shift
	exec prlimit --data="$bytes" "$@"
}
start_with limit_data 1000 6000 9000 10000 11000 12000 13000 14000 16000 20000 60000
check "with enough memory it publishes all ($n_full of 11)" [ "$n_full" -ge 1 ]
check "with less it ends with the line ($n_line of 11)" [ "$n_line" -ge 1 ]

# --- the same in a memory cgroup, whose limit the kernel enforces by SIGKILL
if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
	group=/sys/fs/cgroup/memory/nrtd-test-$$
	max=memory.limit_in_bytes
elif [ -w /sys/fs/cgroup/cgroup.subtree_control ] && grep -qw memory /sys/fs/cgroup/cgroup.subtree_control; then
	group=/sys/fs/cgroup/nrtd-test-$$
	max=memory.max
fi
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
	limit_group() { # KB COMMAND...
		echo "${1}K" >"$group/$max"
		shift
		# shellcheck disable=SC2016 # the other shell expands it
		exec sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
	}
	start_with limit_group 1000 3000 100000
	check "the kernel kills it, or it publishes all ($n_ended, $n_full of 3)" [ $((n_full > 0 && n_ended > 0)) -eq 1 ]
else
	group=
	echo "skipped: no memory cgroup can be created here"
fi

# --- a running nrtd-extender needs more memory
if ! command -v curl >/dev/null; then
	echo "skipped: curl is not here"
	exit $failed
fi
port=$((32000 + $$ % 700)) # scripts run at the same time: each has ports of its own, below the kernel's
extender() {
	"$B/nrtd-extender" --nrt "$dir/full.json" --http "127.0.0.1:$port" 2>"$dir/err" &
	pid=$!
	eventually 30 curl -sf "http://127.0.0.1:$port/readyz" -o "$dir/out"
}
# ask [VALUES]: whether node-1 admits a pod, in a request that has at least this number of values
ask() {
	{
		printf '{"Pod":{"x":['
		[ $# -eq 0 ] || yes '0,' | head -n "$1" | tr -d '\n'
		printf '0],"metadata":{"name":"p","namespace":"default","uid":"u"},"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"4","memory":"1Gi"}}}]}},"Nodes":null,"NodeNames":["node-1"]}'
	} | curl -s -m 30 --data-binary @- "http://127.0.0.1:$port/filter" >"$dir/out"
}
admitted() { ask && grep -q '"NodeNames":\["node-1"\]' "$dir/out"; }
cp "$dir/full" "$dir/full.json"
check "the extender is ready" extender
check "it answers" admitted
restrict "$pid" 8192 # for the connection's thread
ask 900000
check "a running extender that needs more memory ends with one line" aborted nrtd-extender
check "restarted, the extender is ready" extender
check "it answers as before" admitted
stop
exit $failed
