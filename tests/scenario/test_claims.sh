#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What DRA drivers gave to claims, by their CDI spec files: what is available then, who is said to hold it, and what the
# daemon prints when files come, go and break. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
unset NRTD_NODE_NAME NRTD_HTTP NRTD_LOCK NRTD_CDI_DIR KUBECONFIG KUBERNETES_SERVICE_HOST NRTD_KUBECONFIG
. tests/lib/scenario.sh
pid=""
trap '[ -z "$pid" ] || kill -KILL $pid 2>/dev/null; rm -rf "$dir"' EXIT
node=$dir/node
example_node "$node"
cdi=$node/var/run/cdi
cpus() { # cpus UID LIST: as the driver does, into another file that is then renamed
	mkdir -p "$cdi"
	printf '{"cdiVersion":"0.8.0","kind":"dra.k8s.io/cpu","devices":[{"name":"claim-%s","containerEdits":{"env":["DRA_CPUSET_%s=%s"]}}],"containerEdits":{}}' \
		"$1" "$1" "$2" >"$cdi/spec.1.tmp"
	mv "$cdi/spec.1.tmp" "$cdi/dra.k8s.io-cpu_claim-$1.json"
}
memory() { # memory UID VARIABLE...
	uid=$1
	shift
	mkdir -p "$cdi"
	printf '{"cdiVersion":"0.8.0","kind":"dra.k8s.io/memory","devices":[{"name":"claim-%s","containerEdits":{"env":[' "$uid" >"$cdi/dra.memory1"
	comma=""
	for variable; do
		printf '%s"DRAMEMORY_%s_%s"' "$comma" "$uid" "$variable" >>"$cdi/dra.memory1"
		comma=,
	done
	printf ']}}]}' >>"$cdi/dra.memory1"
	mv "$cdi/dra.memory1" "$cdi/dra.memory.json"
}
look() { # look STATUS COMMAND ARGS...
	want=$1
	command=$2
	shift 2
	"$nrtd" "$command" --sysroot "$node" --node-name n "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	check "status $want of $command $*" test "$got" -eq "$want"
}
says() { check "says: $1" grep -qE -- "$1" "$dir/out"; }
warns() { check "warns: $1" grep -qE -- "$1" "$dir/err"; }

# --- CPUs 9 (a container's too), 10 and 11; memory and pages of node 0
look 0 dump
says 'name: cpu, capacity: "16", allocatable: "15", available: "6"'
says 'name: memory, .* available: "130996502528"'
! grep -q "claims=" "$dir/out"
check "without claims the node state has none" test $? -eq 0
cpus 8c1e5d00-1 9-11
memory 77aa "memory=numanode:0,size:1Gi" "hugepages_1Gi=numanode:0,size:2Gi" "NUMANodes=0"
look 0 dump
says 'name: cpu, capacity: "16", allocatable: "15", available: "4"'
says 'name: cpu, capacity: "16", allocatable: "16", available: "7"'
says 'name: memory, .* available: "129922760704"'
says 'name: hugepages-1Gi, .* available: "2147483648"'
says 'claims=dra.k8s.io/cpu::9-11\|dra.k8s.io/memory::/'
warns "both allocate CPUs and do not know each other's allocations: CPUs 9 are allocated twice"
look 0 dump --cdi-dir none
says 'name: cpu, capacity: "16", allocatable: "15", available: "6"'
look 0 dump --cpu-manager-policy none --state-files none
says 'name: cpu, capacity: "16", allocatable: "15", available: "12"'
! grep -q "both give out" "$dir/err"
check "no warning under the policy that the driver wants" test $? -eq 0
look 0 check --cpu-manager-policy none --state-files none
says 'all but those that claims hold count as available'
! grep -q "set cpuManagerPolicy static" "$dir/out"
check "and no remedy that takes this policy away" test $? -eq 0

# --- a driver that gives a CPU to two claims
! grep -q "several claims" "$dir/err" "$dir/out"
check "no CPU belongs to two claims yet" test $? -eq 0
cpus 9d 11-12
look 0 dump
warns 'CPUs 11 belong to several claims of DRA drivers'
says 'name: cpu, capacity: "16", allocatable: "15", available: "3"'
look 0 check
says '^warn +note +CPUs 11 belong to several claims'
rm "$cdi/dra.k8s.io-cpu_claim-9d.json"

# --- whose they are
look 0 show
says 'claim 8c1e5d00 \(dra.k8s.io/cpu\)'
says '3 CPUs 9-11'
says 'claim 77aa \(dra.k8s.io/memory\)'
says 'memory 1Gi on node 0'
look 0 dump --what inventory
says 'uid: 8c1e5d00-1'
look 0 check
says '^warn +note +the kubelet.s CPU manager .policy .static.. and the DRA driver'
says "^ok +claims +2 of DRA drivers, with CPUs '9-11'"

# --- the pod-resources API says which pod and which claim; a device of another driver is nobody else's
if serve_pods "$dir/s" "1{1'web' 2'team' 3{1'c' 5{2'cpus' 3'team' 4{1{1'dra.k8s.io/cpu=claim-8c1e5d00-1'} 2'dra.cpu' 3'n' 4'numa0'}}}} 1{1'train' 2'ai' 3{1'c' 5{2'gpu' 3'ai' 4{1{1'v.com/gpu=0'} 2'gpu.v.com' 3'n' 4'gpu-0' 5'half'}}}}" \
		"2[$(seq -s ' ' 31)]"; then
	look 0 show --pod-resources "$dir/s" --state-files none --width 120
	says 'claim team/cpus \(dra.cpu, pod team/web\)'
	says '3 CPUs 9-11; device n/numa0'
	says 'claim ai/gpu \(gpu.v.com, pod ai/train\)'
	says 'device n/gpu-0/half'
	says 'claim 77aa \(dra.k8s.io/memory\)'
	look 0 dump --pod-resources "$dir/s" --state-files none
	says 'name: cpu, capacity: "16", allocatable: "15", available: "12"'
	says 'claims=dra.cpu:[A-Za-z0-9_-]{6}:9-11\*1\|dra.k8s.io/memory::/[^|]*\|gpu.v.com:[A-Za-z0-9_-]{6}:\*1'
	sed '1,/^zones/d' "$dir/out" >"$dir/zones"
	! grep -q gpu "$dir/zones"
	check "the zones have no such device" test $? -eq 0
	end_pods
fi

# --- a file that cannot be understood: one line that names it
echo '{"kind":"dra.k8s.io/cpu","devices":[{"name":"claim-b","containerEdits":{"env":["DRA_CPUSET_b=most"]}}]}' >"$cdi/broken.json"
for command in dump show; do
	look 1 $command
	warns '^nrtd: /var/run/cdi/broken.json: device .claim-b.: DRA_CPUSET_b: .*; the holdings of its claims are unknown$'
	check "in one line" test "$(wc -l <"$dir/err")" -eq 1
done
look 1 check
says '^FAIL +observation +/var/run/cdi/broken.json: '
echo '{"kind":"vendor.com/gpu","devices":[{' >"$cdi/broken.json"
look 0 dump
rm "$cdi/broken.json"
look 2 dump --cdi-dir run/cdi
warns 'neither an absolute path nor none'

# --- the daemon
until_printed() { check "$1" eventually 30 grep -qE -- "$2" "$dir/out" "$dir/err"; } # NAME TEXT
start() {
	: >"$dir/out"
	: >"$dir/err"
	"$nrtd" run --sysroot "$node" --node-name n --dry-run --http off --poll 0 >"$dir/out" 2>"$dir/err" &
	pid=$!
}
stop() {
	kill "$pid"
	wait "$pid"
	pid=""
}
free() { echo "allocatable: \"15\", available: \"$1\""; }
rm -r "$node/var/run"
start
until_printed "the object without the folder" "$(free 6)"
cpus a 10
until_printed "a folder that comes, and a claim in it" "$(free 5)"
cpus b 11-12
until_printed "another claim" "$(free 3)"
: >"$dir/out"
rm "$cdi/dra.k8s.io-cpu_claim-b.json"
until_printed "a claim that is given back" "$(free 5)"
printf '{"kind":' >"$cdi/dra.k8s.io-cpu_claim-a.json"
until_printed "a broken spec file is named" "claim-a.json: not valid JSON.*; its last content is still used"
: >"$dir/out"
cpus b 11-12
until_printed "and says what it said last" "$(free 3)"
cpus a 10,13
until_printed "until it is mended" "$(free 2)"
stop
printf '{"kind":' >"$cdi/dra.k8s.io-cpu_claim-a.json"
start
until_printed "a broken spec file at the start is named" "claim-a.json: not valid JSON.*; the holdings of its claims are unknown"
check "and nothing is printed" test ! -s "$dir/out"
cpus a 10,13
until_printed "a spec file that is mended is read at once" "$(free 2)"
stop
exit $failed
