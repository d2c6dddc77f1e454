#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd run --dry-run` as a service manager runs it, on a made-up machine: what it prints when the kubelet's files change,
# go and come back, how it ends, who publishes when there are two, what it serves and tells systemd. What only an API
# server can show is in tests/upstream. B names the build folder.
set -u
nrtd=$(realpath "${B:-build}")/nrtd
machines=build/fixtures/machines
. tests/lib/scenario.sh
pid=""
trap '[ -z "$pid" ] || kill -KILL $pid 2>/dev/null; rm -rf "$dir"' EXIT
export LC_ALL=C
unset NRTD_NODE_NAME NRTD_HTTP NRTD_LOCK NRTD_SHAPE JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC

root=$dir/machine
kubelet=$root/var/lib/kubelet
cp -r "$machines/seed-2s-32cpu/." "$root"
mkdir -p "$kubelet"
state() { # state POOL ENTRIES: as the kubelet writes it, into another file that is then renamed
	printf '{"policyName":"static","defaultCpuSet":"%s","entries":{%s},"checksum":0}' "$1" "$2" >"$kubelet/.new"
	mv "$kubelet/.new" "$kubelet/cpu_manager_state"
}
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\n' \
	>"$kubelet/config.yaml"
state 0-31 ""

start() { # start FLAG...: the daemon in the background
	: >"$dir/out"
	: >"$dir/err"
	"$nrtd" run --sysroot "$root" --node-name n1 "$@" >"$dir/out" 2>"$dir/err" &
	pid=$!
}
until_printed() { check "$1" eventually "$2" grep -q -- "$3" "$dir/out"; } # NAME SECONDS TEXT
objects() { grep -c '^kind: NodeResourceTopology' "$dir/out"; }
# shellcheck disable=SC2317 # called by name
test_objects() { test "$(objects)" "$@"; }
stop() { # stop NAME SIGNAL: it ends well within 2 seconds
	began=$(date +%s%N)
	kill "-$2" "$pid"
	wait "$pid"
	status=$?
	took=$((($(date +%s%N) - began) / 1000000))
	pid=""
	if [ $status -eq 0 ] && [ $took -lt 2000 ]; then ok "$1"; else not_ok "$1 (status $status, $took ms)" "$dir/err"; fi
}

# --- changes
start --dry-run --http off --shape small=cpu=4,memory=1Gi --poll 0
until_printed "the object at once" 30 'name: cpu, capacity: "16", allocatable: "15", available: "15"'
until_printed "the Node's hints" 30 'nrtd.dev/fit-score.small'
sleep 0.3
before=$(objects)
files=$(find /proc/"$pid"/fd -mindepth 1 | wc -l)
check "one object for one state" test "$before" -eq 1
check "documents begin and end" test "$(grep -cx -e --- "$dir/out") $(grep -cx '\.\.\.' "$dir/out") $(tail -n 1 "$dir/out")" = "2 2 ..."
state 0,5-31 '"uid-1":{"app":"1-4"}'
until_printed "CPUs that are taken" 30 'allocatable: "15", available: "11"'
state 0-31 ""
eventually 30 test_objects -ge 3
check "CPUs that come back" test "$(objects)" -eq 3

i=0
began=$(date +%s%N)
while [ $i -lt 100 ]; do # 100 changes in about 2 seconds
	state "0,$((i % 10 + 2))-31" "\"uid-2\":{\"app\":\"1-$((i % 10 + 1))\"}"
	sleep 0.015
	i=$((i + 1))
done
state 0,12-31 '"uid-3":{"app":"1-11"}' # as none of them
until_printed "the end of a storm" 1 'allocatable: "15", available: "4"'
sleep 0.8
during=$(($(objects) - 3))
most=$((3 + ($(date +%s%N) - began) / 500000000))
check "a storm of 100 changes is at most two objects a second ($during, at most $most)" test "$during" -le "$most"
check "the last object is the last state" sh -c "tac '$dir/out' | grep -m 1 'name: cpu, capacity: \"16\", allocatable: \"15\"' | grep -q 'available: \"4\"'"

rm -rf "$kubelet"
sleep 1
mkdir -p "$kubelet"
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\n' \
	>"$kubelet/config.yaml"
state 0,13-31 '"uid-4":{"app":"1-12"}'
until_printed "the kubelet's folder goes and comes back" 30 'allocatable: "15", available: "3"'

mv "$kubelet" "$root/data"
ln -s /data "$kubelet"
kubelet=$root/data
sleep 1.2
state 0,14-31 '"uid-5":{"app":"1-13"}'
until_printed "the kubelet's folder is a link now: what happens behind it" 30 'allocatable: "15", available: "2"'
kubelet=$root/var/lib/kubelet
rm "$kubelet"
mv "$root/data" "$kubelet"
sleep 1.2
state 0,8-31 '"uid-4":{"app":"1-7"}'

sleep 0.7
before=$(objects)
kill -HUP "$pid"
eventually 30 test_objects -gt "$before"
sleep 0.7
check "SIGHUP prints everything anew" test "$(objects)" -eq $((before + 1))
check "no file descriptor is left behind" sh -c "test \"\$(ls /proc/$pid/fd | wc -l)\" -le $files"
stop "SIGTERM ends it" TERM

# --- broken sources leave what was published
start --dry-run --http off --poll 0
until_printed "the object" 30 'available: "8"'
echo '{"policyName":' >"$kubelet/.new"
mv "$kubelet/.new" "$kubelet/cpu_manager_state"
check "a broken state file is named" eventually 30 grep -q 'cpu_manager_state' "$dir/err"
check "a broken state file prints no object" test "$(objects)" -eq 1
state 0,5-31 '"uid-1":{"app":"1-4"}'
until_printed "a whole one does" 30 'available: "11"'
stop "SIGINT ends it" INT

# --- broken from the start: mended, it is read at once and not when a backoff ends
echo '{"policyName":' >"$kubelet/.new"
mv "$kubelet/.new" "$kubelet/cpu_manager_state"
start --dry-run --http off --poll 0
sleep 6
check "a state file that is broken from the start prints no object" test "$(objects)" -eq 0
check "mended, it is read at once: its folder is watched" grep -qs '^inotify wd' /proc/"$pid"/fdinfo/*
state 0,5-31 '"uid-1":{"app":"1-4"}'
until_printed "mended, it is read at once" 30 'available: "11"'
stop "it ends" TERM

# --- signals before there is a loop, and while a plugin does not answer
kubeconfig() { # kubeconfig USER: of a server that is never reached
	printf 'apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: %s}]\n' "$1" >"$dir/kubeconfig"
}
mkdir "$dir/lib"
mkfifo "$dir/lib/libcurl.so.4" # whose open() takes until somebody writes
kubeconfig '{token: t}'
LD_LIBRARY_PATH=$dir/lib
export LD_LIBRARY_PATH
start --http off --lock none --kubeconfig "$dir/kubeconfig"
unset LD_LIBRARY_PATH
sleep 0.7
kill -HUP "$pid"
sleep 0.1
timeout 5 sh -c ": >'$dir/lib/libcurl.so.4'"
wait "$pid"
status=$?
pid=""
check "SIGHUP before there is a loop does not end it (status $status)" test $status -eq 1
check "it goes on with what it was at" grep -q 'cannot load libcurl' "$dir/err"
kubeconfig "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, 'echo \$\$ >$dir/plugin; sleep 60']}}"
start --http off --lock none --kubeconfig "$dir/kubeconfig"
check "the credential plugin runs" eventually 30 test -s "$dir/plugin"
stop "SIGTERM while it does not answer" TERM
check "the plugin has ended too" sh -c "! kill -0 \$(cat '$dir/plugin')"

# --- no inotify instance or watch left
for limit in instances watches; do
	if ! unshare -Ur sh -c "echo 0 >/proc/sys/user/max_inotify_$limit" 2>/dev/null; then
		echo "skipped: user namespaces are not allowed here"
		break
	fi
	state 0-31 ""
	: >"$dir/out"
	# shellcheck disable=SC2016 # the other shell expands it
	B=${B:-build} root=$root dir=$dir limit=$limit unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_inotify_$limit
		"$B/nrtd" run --dry-run --http off --poll 0 --sysroot "$root" --node-name n1 >"$dir/out" 2>"$dir/err" &
		sleep 3
		echo 1000 >/proc/sys/user/max_inotify_$limit
		sleep 7
		printf "{\"policyName\":\"static\",\"defaultCpuSet\":\"0,3-31\",\"entries\":{\"u\":{\"app\":\"1-2\"}},\"checksum\":0}" >"$root/var/lib/kubelet/cpu_manager_state"
		sleep 2
		kill $!
		wait $!'
	check "without inotify $limit it polls and says so" grep -q max_user_$limit "$dir/err"
	check "files are watched once that is possible ($limit)" grep -q 'available: "13"' "$dir/out"
	state 0,5-31 '"uid-1":{"app":"1-4"}'
done

# --- two for one node, and an API server that is not there
kubeconfig '{token: t}'
start --http off --lock "$dir/lock" --kubeconfig "$dir/kubeconfig"
older=$pid
eventually 30 grep -q 127.0.0.1 "$dir/err"
mv "$dir/err" "$dir/older" # which is open: it goes on writing there
start --http off --lock "$dir/lock" --kubeconfig "$dir/kubeconfig"
sleep 5
check "the younger waits and says for whom" grep -q "waiting: .*pid $older" "$dir/err"
check "and does nothing else" test "$(grep -c 127.0.0.1 "$dir/err")" -eq 0
check "the failure of each attempt is logged once" test "$(grep -c 127.0.0.1 "$dir/older")" -eq 1
kill -KILL "$older"
wait "$older" 2>/dev/null
check "it begins when the older is gone" eventually 30 grep -q 127.0.0.1 "$dir/err"
stop "it ends" TERM

# --- without a lock
start --dry-run --http off --lock "$dir/lock"
until_printed "a dry run needs no lock" 30 'available: "11"'
stop "it ends" TERM

# --- what it serves
port=$((28000 + $$ % 4000)) # scripts run at the same time: each has ports of its own, below the kernel's
if command -v curl >/dev/null; then
	start --dry-run --http "127.0.0.1:$port" --shape small=cpu=2,memory=1Gi
	until_printed "with HTTP" 30 'available: "11"'
	check "healthz" eventually 30 sh -c "curl -sf http://127.0.0.1:$port/healthz | grep -q '^ok'"
	check "readyz" sh -c "curl -sf http://127.0.0.1:$port/readyz | grep -q '^ok'"
	# shellcheck disable=SC2317 # called by name
	measured() { curl -sf "http://127.0.0.1:$port/metrics" >"$dir/metrics" && grep -q '^nrtd_stranded_cpus ' "$dir/metrics"; }
	check "metrics have the stranded CPUs, after publishing" eventually 30 measured
	check "metrics count the publication" grep -q '^nrtd_publishes_total{target="nrt",result="written"} 1$' "$dir/metrics"
	check "metrics have the amounts" grep -q '^nrtd_resource_available{.*resource="cpu".*} 11$' "$dir/metrics"
	check "metrics have the largest container" grep -q '^nrtd_max_exclusive_cpus{numa_nodes="1"} [0-9]' "$dir/metrics"
	check "metrics have the copies of a shape" grep -q '^nrtd_shape_copies{shape="small"} [1-9]' "$dir/metrics"
	check "metrics have when it last worked" grep -q '^nrtd_last_success_timestamp_seconds{target="nrt"} [1-9]' "$dir/metrics"
	check "metrics have whether it is ready" grep -q '^nrtd_ready 1$' "$dir/metrics"
	check "metrics have when it started" grep -q '^process_start_time_seconds [1-9]' "$dir/metrics"
	if command -v promtool >/dev/null; then
		check "promtool finds nothing" sh -c "promtool check metrics <'$dir/metrics'"
	else
		echo "skipped: promtool is not here"
	fi
	stop "with HTTP it ends" TERM
else
	echo "skipped: curl is not here"
fi

# --- where the memory of pods is, at an interval of its own
if command -v curl >/dev/null; then
	state 0,5-31 '"uid-9":{"app":"1-4"}'
	start --dry-run --http "127.0.0.1:$port" --poll 0 --pod-memory 100ms
	eventually 30 grep -q "no cgroup v2 is mounted" "$dir/err"
	check "without cgroup v2 the memory of pods is not reported" test $? -eq 0
	sleep 0.5
	check "and this is logged once" test "$(grep -c "no cgroup v2 is mounted" "$dir/err")" -eq 1
	pod=$root/sys/fs/cgroup/kubepods/poduid-9
	mkdir -p "$pod"
	printf 'anon N0=1000 N1=0\nfile N0=0 N1=0\n' >"$pod/memory.numa_stat"
	echo memory >"$root/sys/fs/cgroup/cgroup.controllers"
	# shellcheck disable=SC2317 # called by name
	remote() { curl -sf "http://127.0.0.1:$port/metrics" | grep -qx "nrtd_pod_memory_pods{locality=\"remote\"} $1"; }
	check "a pod with local memory" eventually 30 remote 0
	printf 'anon N0=1000 N1=500\nfile N0=0 N1=0\n' >"$pod/memory.numa_stat"
	check "a pod whose memory becomes remote" eventually 30 remote 1
	check "the object says which pod it is" eventually 30 grep -q ';?remote=0' "$dir/out"
	printf 'anon N0=1000 N1=700\nfile N0=0 N1=0\n' >"$pod/memory.numa_stat"
	sleep 0.5
	check "other amounts change no object" test "$(objects)" -eq 3
	stop "after the readings it ends" TERM
	rm -r "$root/sys/fs/cgroup"
else
	echo "skipped: curl is not here"
fi

# --- when its client certificate ends, whether or not the API server answers
if command -v curl >/dev/null && command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=node -days 3 -keyout "$dir/node.key" \
		-out "$dir/node.crt" 2>"$dir/openssl"
	end=$(date -d "$(openssl x509 -noout -enddate -in "$dir/node.crt" | cut -d= -f2)" +%s)
	kubeconfig "{client-certificate: $dir/node.crt, client-key: $dir/node.key}"
	start --http "127.0.0.1:$port" --lock none --kubeconfig "$dir/kubeconfig"
	# shellcheck disable=SC2317 # called by name
	ends() {
		curl -sf "http://127.0.0.1:$port/metrics" >"$dir/metrics"
		grep -qx "nrtd_certificate_expiry_timestamp_seconds{use=\"client\"} $end" "$dir/metrics"
	}
	check "metrics have when the client certificate ends" eventually 30 ends
	check "nothing is published, so it is not ready" grep -q '^nrtd_ready 0$' "$dir/metrics"
	check "nor has it ever been" grep -q '^nrtd_last_success_timestamp_seconds{target="nrt"} 0$' "$dir/metrics"
	stop "with a certificate it ends" TERM
else
	echo "skipped: curl or openssl is not here"
fi

# --- the kernel's reports of its hardware, which it repeats when asked
report=/sys/devices/system/cpu/cpu0/uevent
if command -v curl >/dev/null && [ -w $report ]; then
	start --dry-run --http "127.0.0.1:$port" --poll 0
	until_printed "with nothing to poll" 30 'available: "11"'
	# shellcheck disable=SC2317 # called by name
	reported() { curl -sf "http://127.0.0.1:$port/metrics" | grep -q '^nrtd_dirty_marks_total{cause="hardware"} [1-9]'; }
	echo change >$report
	check "a report makes it look again" eventually 30 reported
	stop "after the report it ends" TERM
else
	echo "skipped: curl is not here, or a file below /sys cannot be written"
fi

# --- a pod-resources API that hangs: what the files say is published, and the API's part when it answers
mkdir -p "$kubelet/pods/uid-1" "$kubelet/pods/uid-2"
if serve_pods "$dir/api" "1{1'one' 2'ns' 3{1'app' 3[1 2 3 4]}}" "2[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]" "$dir/gate"; then
	state 0,5-31 '"uid-1":{"app":"1-4"}'
	start --dry-run --http off --poll 0 --pod-resources "$dir/api"
	until_printed "an API that hangs: the object from the files" 30 'available: "11"'
	check "an API that hangs is logged" eventually 30 grep -q 'has not answered yet; the state files alone are used' "$dir/err"
	check "without the API no fingerprint" sh -c "! grep -q nodeTopologyPodsFingerprint '$dir/out'"
	state 0,7-31 '"uid-1":{"app":"1-4"},"uid-2":{"app":"5-6"}'
	until_printed "CPUs that are taken while the API hangs" 30 'available: "9"'
	state 0,5-31 '"uid-1":{"app":"1-4"}'
	check "CPUs that come back while the API hangs" eventually 30 test_objects -eq 3
	: >"$dir/gate"
	until_printed "the API's part follows" 30 'name: nodeTopologyPodsFingerprint'
	rm "$dir/gate"
	sleep 0.3
	state 0,7-31 '"uid-1":{"app":"1-4"},"uid-2":{"app":"5-6"}'
	check "the API's last answer is used" eventually 30 grep -q "has not answered yet; the API's last answer is still used" "$dir/err"
	check "nothing is given away" sh -c "tail -n 200 '$dir/out' | grep 'name: cpu, capacity' | tail -n 2 | grep -q 'available: \"9\"'"
	stop "with an API that hangs it ends" TERM
	end_pods
fi
rmdir "$kubelet/pods/uid-1" "$kubelet/pods/uid-2" "$kubelet/pods"
state 0,5-31 '"uid-1":{"app":"1-4"}'

# --- a root directory relative to the working directory
(
	cd "$dir" || exit 1
	exec "$nrtd" run --sysroot machine --node-name n1 --dry-run --http off --poll 0 >"$dir/out" 2>"$dir/err"
) &
pid=$!
until_printed "a relative root" 30 'available: "11"'
sleep 0.3
state 0,6-31 '"uid-1":{"app":"1-5"}'
until_printed "a relative root is watched" 5 'available: "10"'
stop "it ends" TERM
state 0,5-31 '"uid-1":{"app":"1-4"}'

# --- no file descriptor is left for a while
if command -v prlimit >/dev/null; then
	start --dry-run --http off --poll 200ms
	until_printed "the object" 30 'available: "11"'
	sleep 0.3
	prlimit --pid "$pid" --nofile=5:1024
	check "without file descriptors a run fails" eventually 30 grep -q 'Too many open files' "$dir/err"
	state 0,7-31 '"uid-1":{"app":"1-6"}'
	sleep 1
	check "without file descriptors nothing is published" test "$(objects)" -eq 1
	check "without file descriptors no hardware has changed" sh -c "! grep -q 'hardware changed' '$dir/err'"
	prlimit --pid "$pid" --nofile=1024:1024
	until_printed "with file descriptors again" 30 'available: "9"'
	stop "it ends" TERM
	state 0,5-31 '"uid-1":{"app":"1-4"}'
else
	echo "skipped: prlimit is not here"
fi

# --- a run that waits: nobody reads standard output, and the object does not fit into the pipe
mkfifo "$dir/pipe"
exec 9<>"$dir/pipe"
"$nrtd" run --sysroot "$machines/64-nodes-1024-cpus" --node-name n1 --dry-run --http off --lock none >"$dir/pipe" 2>"$dir/err" &
pid=$!
eventually 30 sh -c "cat /proc/$pid/task/*/wchan 2>/dev/null | grep -q pipe" || sleep 3
began=$(date +%s)
kill -TERM "$pid"
check "a run that does not end does not keep nrtd from ending" eventually 15 sh -c "! kill -0 $pid"
kill -KILL "$pid" 2>/dev/null
wait "$pid"
status=$?
pid=""
check "it takes seconds ($(($(date +%s) - began)))" test $(($(date +%s) - began)) -lt 10
check "its status is that of an end (status $status)" test $status -eq 0
check "it says so" grep -q 'ending without the run' "$dir/err"
exec 9>&-

# --- the kubelet that starts later names the Node
mkdir -p "$root/etc"
echo worker-1 >"$root/etc/hostname"
process() { # process PID FLAG...
	mkdir -p "$root/proc/$1"
	printf 'Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t%s\n' "$1" >"$root/proc/$1/status"
	echo 0::/system.slice/kubelet.service >"$root/proc/$1/cgroup"
	echo "$1 (kubelet) S 1 $1 $1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 $1 0 0" >"$root/proc/$1/stat"
	process=$1
	shift
	printf '%s\0' kubelet "$@" >"$root/proc/$process/.new"
	mv "$root/proc/$process/.new" "$root/proc/$process/cmdline"
}
: >"$dir/out"
"$nrtd" run --sysroot "$root" --dry-run --http off --poll 200ms >"$dir/out" 2>"$dir/err" &
pid=$!
until_printed "the object of the host's name" 30 'name: worker-1'
process 700 --version
sleep 0.7
check "a kubelet that prints its version changes nothing" test "$(objects)" -eq 1
process 701 --config=/var/lib/kubelet/config.yaml --hostname-override=Node-A
check "nrtd ends when the kubelet names the Node" eventually 30 sh -c "! kill -0 $pid"
kill -KILL "$pid" 2>/dev/null
wait "$pid"
status=$?
pid=""
check "as with a failure (status $status)" test $status -eq 1
check "it says which name" grep -q "was 'worker-1' when nrtd started, and now it is 'node-a'" "$dir/err"
check "nothing was published under the other name" test "$(objects)" -eq 1
"$nrtd" dump --sysroot "$root" >"$dir/out" 2>"$dir/err"
check "then the kubelet names the object" grep -q '^  name: node-a' "$dir/out"
"$nrtd" dump --sysroot "$root" --node-name n1 >"$dir/out" 2>"$dir/err"
check "a given name that differs is told" grep -q "registers this host as the Node 'node-a'.*'n1'" "$dir/err"
rm -r "$root/proc/700" "$root/proc/701"

# --- wrong usage
usage() { # usage NAME TEXT FLAG...
	name=$1
	text=$2
	shift 2
	timeout 5 "$nrtd" run --sysroot "$root" --node-name n1 "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -eq 2 ] && grep -qF -- "$text" "$dir/err"; then ok "$name"; else not_ok "$name (status $status)" "$dir/err"; fi
}
usage "a bad duration" "is not a duration" --coalesce 50
usage "a bad address" "--http" --http here
usage "a bad shape" "RESOURCE=QUANTITY" --dry-run --shape small=cpu
usage "a shape without name" "is not of the form NAME=REQUEST" --dry-run --shape cpu
usage "a shape twice" "appears twice" --dry-run --shape a=cpu=1 --shape a=cpu=2
usage "both of Koordinator" "leaves to another program" --dry-run --coexist koordinator --koordinator on
usage "annotations of an object of nri-plugins" "--coexist=nri-plugins leaves" --dry-run --coexist nri-plugins --koordinator on
usage "an unknown exporter" "nri-plugins" --dry-run --coexist somebody
timeout 5 "$nrtd" run --sysroot "$root" --node-name n1 --kubeconfig "$dir/none" --lock none >"$dir/out" 2>"$dir/err"
check "no kubeconfig" grep -q "$dir/none" "$dir/err"
exit $failed
