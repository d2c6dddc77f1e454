#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa plan --apply` against a stand-in for the API server: what it changes, and where it stops. The stand-in has neither a
# scheduler nor controllers: what they would have done is there after the eviction. doc/recipes/make-room.md runs with the real ones, and
# so does tests/upstream/outcome.sh. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
. tests/lib/api_server.sh
need_jq
export LC_ALL=C

# Node a: NUMA node 0 has 6 free CPUs and a pod of 9, NUMA node 1 has 7 and a pod of 9. Node b has one pod, of 9 CPUs on NUMA node 0. The
# wanted pod has a place on node a after the pod "one" has moved to node b.
one=777870b5-c64f-42f5-9296-688b9dc212ba
two=fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd
three=11111111-b6a5-4aaa-8fcd-76c1aa64e6fd
new=22222222-b6a5-4aaa-8fcd-76c1aa64e6fd
late=44444444-b6a5-4aaa-8fcd-76c1aa64e6fd
wide=33333333-b6a5-4aaa-8fcd-76c1aa64e6fd
cpu_state() { # DEFAULT POD CPUS...
	printf '{"policyName":"static","defaultCpuSet":"%s","entries":{' "$1"
	shift
	comma=
	while [ $# -gt 0 ]; do
		printf '%s"%s":{"c":"%s"}' "$comma" "$1" "$2"
		shift 2
		comma=,
	done
	printf '},"checksum":0}'
}
object() { "$nrtd" dump --sysroot "$dir/$1" --node-name "$1" -o json 2>"$dir/dump-err"; }
example_node "$dir/a"
example_node "$dir/b"
cpu_state 0,10-31 $three 1-9 >"$dir/b/var/lib/kubelet/cpu_manager_state"
a=$(object a)
b=$(object b)
cpu_state 0,10-15,25-31 $three 1-9 $new 16-24 >"$dir/b/var/lib/kubelet/cpu_manager_state"
b_after=$(object b)
sed -i "s/$one/$late/; s/\"checksum\":[0-9]*/\"checksum\":0/" "$dir/a/var/lib/kubelet/cpu_manager_state"
a_late=$(object a)
cpu_state 0-15,25-31 $two 16-24 >"$dir/a/var/lib/kubelet/cpu_manager_state"
a_after=$(object a)
cpu_state 0,13-15,25-31 $two 16-24 $wide 1-12 >"$dir/a/var/lib/kubelet/cpu_manager_state"
a_aligned=$(object a)
cpu_state 0,7-15,31 $two 16-24 $wide 1-6,25-30 >"$dir/a/var/lib/kubelet/cpu_manager_state"
a_apart=$(object a)
node() { printf '{"metadata":{"name":"%s","labels":{"n":"%s"}%s},"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}}' "$1" "$1" "${2:-}"; }
pod() { # NAME UID NODE STATUS [CPUS]
	printf '{"metadata":{"name":"%s","namespace":"ml","uid":"%s","creationTimestamp":"2020-01-01T00:00:00Z","ownerReferences":[{"kind":"ReplicaSet","name":"r","uid":"uid-of-%s","controller":true}]},"spec":{%s"priority":%s,"nodeSelector":{%s},"containers":[{"name":"c","env":[{"name":"X","value":"secret"}],"resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]},"status":{%s}}' \
		"$1" "$2" "${1%-2}" "${3:+\"nodeName\":\"$3\",}" "$([ "$1" != two ] && echo 0 || echo 1000)" "$([ "$1" != wide ] || echo '"n":"a"')" "${5:-9}" "$4"
}
runs='"phase":"Running","startTime":"2026-01-01T00:00:00Z"'
waits='"phase":"Pending"'
lease=/apis/coordination.k8s.io/v1/namespaces/nrtd/leases/nrtd-extender
# extender NODES-VERSION SCHEDULER TIME [HOLDER]: the Lease of an extender that has read so much of the Nodes and was asked then. The
# reservations have version 7.
extender() {
	printf '{"metadata":{"name":"nrtd-extender","annotations":{"nrtd.dev/nodes-version":"%s","nrtd.dev/schedulers":"{\\"%s\\":\\"%s\\"}"}},"spec":{"holderIdentity":"%s"}}' \
		"$1" "$2" "$3" "${4-x_1}" | serve $lease
}
at() { printf '%s\n' "$api$1"; }
# begin NEW-POD [STATUS-OF-WIDE]: the cluster before the eviction, and after it, with this new pod of the controller of "one"
begin() {
	rm -rf "$(at /after)" "$(at /changes)"
	find "$api" -name '*.error' -exec rm {} +
	mkdir -p "$(at "${lease%/*}")" "$(at /after$nrt)" "$(at /after/api/v1/namespaces/ml/pods)" "$(at /api/v1/namespaces/ml/pods/one)" "$(at /apis/policy/v1)"
	list NodeResourceTopology "$a" "$b" | serve $nrt
	echo "$b" | serve $nrt/b
	list Node "$(node a)" "$(node b)" | serve /api/v1/nodes
	echo '{"gitVersion":"v1.36.0"}' | serve /version
	list PodDisruptionBudget | serve /apis/policy/v1/poddisruptionbudgets
	list Pod "$(pod one $one a "$runs")" "$(pod two $two a "$runs")" "$(pod three $three b "$runs")" "$(pod wide $wide '' "$waits" 12)" | serve /api/v1/pods
	extender 7 default-scheduler 2026-01-01T00:00:00.000000Z
	pod one $one a "$runs" | serve /api/v1/namespaces/ml/pods/one
	pod wide $wide '' "$waits" 12 | serve /api/v1/namespaces/ml/pods/wide
	list NodeResourceTopology "$a_after" "$b_after" | serve /after$nrt
	echo "$a_after" | serve /after$nrt/a
	echo "$b_after" | serve /after$nrt/b
	echo '404 pods "one" not found' >"$(at /after/api/v1/namespaces/ml/pods/one.error)"
	pod wide $wide a "${2:-$runs}" 12 | serve /after/api/v1/namespaces/ml/pods/wide
	list Pod "$(pod two $two a "$runs")" "$1" | serve /after/api/v1/namespaces/ml/pods
	list Pod "$1" "$(pod two $two a "$runs")" "$(pod three $three b "$runs")" "$(pod wide $wide '' "$waits" 12)" | serve /after/api/v1/pods
}
apply() {
	timeout 60 "$numa" plan --pending --apply "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	cat "$dir/out" "$dir/err" "$(at /changes)" >"$dir/all" 2>/dev/null
}
# holds NAME COMMAND...
holds() {
	held_name=$1
	shift
	if "$@" >/dev/null; then ok "$held_name"; else not_ok "$held_name: $*" "$dir/all"; fi
}
# patches NODE FILTER: the reservations that were written to the Node, in order
patches() { sed -n "s,^PATCH /api/v1/nodes/$1 ,,p" "$(at /changes)" | jq -r ".metadata.annotations | to_entries[] | $2"; }

begin "$(pod one-2 $new b "$runs")"
apply
holds "the plan is carried out" test "$status" -eq 0
holds "what is done is printed" grep -qx '  ml/one-2 runs on b, NUMA 1, CPUs 16-24' "$dir/out"
holds "the wanted pod runs" grep -qx 'start ml/wide: runs on a' "$dir/out"
holds "one eviction, of this pod" sh -c "test \"\$(sed -n 's,^POST ,,p' '$(at /changes)')\" = '/api/v1/namespaces/ml/pods/one/eviction {\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"one\",\"namespace\":\"ml\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"$one\"}}}'"
holds "the places are reserved before the eviction" sh -c "sed '/^POST/q' '$(at /changes)' | grep -c '^PATCH /api/v1/nodes/[ab] ' | grep -qx 2"
holds "the new pod's place is the controller's" test "$(patches b 'select(.value) | .value | fromjson | .controller')" = uid-of-one
holds "the wanted pod's place is its own" test "$(patches a 'select(.value) | .value | fromjson | .uid' | sort -u)" = $wide
holds "no reservation is left" test "$(patches a .value | tail -n 1)$(patches b .value | tail -n 1)" = nullnull
holds "a reservation has requests and nothing else of the pod" sh -c "! grep -q secret '$(at /changes)'"

# stops NAME LINE FLAG...: with this line and status 1
stops() {
	stops_name=$1
	line=$2
	shift 2
	apply "$@"
	holds "stops: $stops_name" test "$status:$(cat "$dir/err")" = "1:kubectl-numa: $line"
}
begin "$(pod one-2 $new c "$runs")"
stops "on another node" "stopped, 0 of 1 moves done: pod 'ml/one-2' started on node 'c' instead of 'b'; the place of 'ml/one' on node 'b' stays reserved for its new pod"
holds "the place of the evicted pod stays reserved" test "$(patches b 'select(.value == null) | .key')" = ''
holds "the place of the wanted pod does not" test "$(patches a .value | tail -n 1)" = null
begin "$(pod one-2 $new b '"phase":"Failed","reason":"TopologyAffinityError"')"
stops "rejected" "stopped, 0 of 1 moves done: the kubelet of node 'b' rejected pod 'ml/one-2': TopologyAffinityError; the place of 'ml/one' on node 'b' stays reserved for its new pod"
begin "$(pod two $two a "$runs")"
stops "no new pod" "stopped, 0 of 1 moves done: the pod in place of 'ml/one' has not started on node 'b' in time; the place of 'ml/one' on node 'b' stays reserved for its new pod" --timeout 8s
holds "reservations are renewed meanwhile" test "$(patches a 'select(.value) | .value | fromjson | .expires' | sort -u | wc -l)" -ge 2
holds "but the one of the evicted pod lasts" test "$(patches b 'select(.value) | .key' | wc -l)" -eq 1
begin "$(pod one-2 $new b "$runs")"
echo "$b" | serve /after$nrt/b
stops "an object that does not report the pod" "stopped, 0 of 1 moves done: the object of node 'b' does not report pod 'ml/one-2' in time; the place of 'ml/one' on node 'b' stays reserved for its new pod" --timeout 1s
begin "$(pod one-2 $new b "$runs")"
echo "$a" | serve /after$nrt/a
stops "an object that still reports the evicted pod" "stopped, 1 of 1 moves done: the object of node 'a' still reports pod 'ml/one', which has ended" --timeout 1s
begin "$(pod one-2 $new b "$runs")" "$waits"
stops "a wanted pod that does not start" "stopped, 1 of 1 moves done: pod 'ml/wide' has not started in time" --timeout 1s
begin "$(pod one-2 $new b "$runs")"
echo '429 Cannot evict pod as it would violate the budget' >"$(at /api/v1/namespaces/ml/pods/one/eviction.POST.error)"
stops "a PodDisruptionBudget" "stopped, 0 of 1 moves done: cannot evict pod 'ml/one': HTTP status 429: Cannot evict pod as it would violate the budget" --timeout 1s
holds "and no place is reserved any more" test "$(patches b .value | tail -n 1)$(patches a .value | tail -n 1)" = nullnull
begin "$(pod one-2 $new b "$runs")"
echo '403 nodes "b" is forbidden' >"$(at /api/v1/nodes/b.PATCH.error)"
stops "no right to patch Nodes" "stopped, 0 of 1 moves done: cannot reserve a place on node 'b': HTTP status 403: nodes \"b\" is forbidden"
holds "nothing was evicted" sh -c "! grep -q ^POST '$(at /changes)'"

# Without an extender that is asked about the pods, nothing is evicted.
# refused NAME LINE FLAG...
refused() {
	refused_name=$1
	line=$2
	shift 2
	apply "$@"
	holds "not carried out: $refused_name" test "$status:$(cat "$dir/err")" = "1:kubectl-numa: not carried out: $line"
	holds "and nothing is changed: $refused_name" test ! -e "$(at /changes)"
}
begin "$(pod one-2 $new b "$runs")"
rm "$(at $lease.json)"
list Lease | serve "${lease%/*}"
refused "no extender" "nrtd-extender has no Lease 'nrtd/nrtd-extender' (--extender-lease)"
refused "no extender of this name" "nrtd-extender has no Lease 'a/b' (--extender-lease)" --extender-lease a/b
echo '403 leases "nrtd-extender" is forbidden' >"$(at $lease.error)"
refused "no right to read the Lease" \
	"cannot read nrtd-extender's Lease 'nrtd/nrtd-extender': leases \"nrtd-extender\" is forbidden"
begin "$(pod one-2 $new b "$runs")"
extender 7 default-scheduler 2026-01-01T00:00:00.000000Z ''
refused "an extender that has stopped" "no nrtd-extender holds the Lease 'nrtd/nrtd-extender'"
echo '{"metadata":{"name":"nrtd-extender"},"spec":{"holderIdentity":"x_1"}}' | serve $lease
refused "an old extender" \
	"the Lease 'nrtd/nrtd-extender' does not name the schedulers that ask nrtd-extender: upgrade nrtd-extender"
extender 7 numa-aware 2026-01-01T00:00:00.000000Z
refused "another scheduler" \
	"scheduler 'default-scheduler' of pod 'ml/one' has never asked nrtd-extender, so it would ignore the places that the plan reserves"
extender 7 default-scheduler 2019-12-31T23:00:00.000000Z
refused "a scheduler that asks no more" \
	"scheduler 'default-scheduler' of pod 'ml/one' does not ask nrtd-extender any more: it has bound pod 'ml/three' since it asked last, at 2019-12-31T23:00:00Z"
begin "$(pod one-2 $new b "$runs")"
extender 7 default-scheduler 2019-12-31T23:00:00.000000Z
jq '.items[] |= if .metadata.name == "two" or .metadata.name == "three" then .metadata.namespace = "tenant" else . end' "$(at /api/v1/pods.json)" >"$dir/pods.json"
cp "$dir/pods.json" "$(at /api/v1/pods.json)"
apply
holds "pods of other namespaces are no evidence, because their users can forge them" grep -qx "move ml/one: a -> b" "$dir/all"
begin "$(pod one-2 $new b "$runs")"
jq '.items[] |= if .metadata.name == "wide" then .spec.schedulerName = "other" else . end' "$(at /api/v1/pods.json)" >"$dir/pods.json"
cp "$dir/pods.json" "$(at /api/v1/pods.json)"
refused "a wanted pod of another scheduler" \
	"scheduler 'other' of pod 'ml/wide' has never asked nrtd-extender, so it would ignore the places that the plan reserves"
begin "$(pod one-2 $new b "$runs")"
extender 6 default-scheduler 2026-01-01T00:00:00.000000Z
stops "a dead extender" "stopped, 0 of 1 moves done: nrtd-extender does not run: it has not read the reservations within 25 s (Lease 'nrtd/nrtd-extender')"
holds "a dead extender: nothing is evicted" sh -c "! grep -q ^POST '$(at /changes)'"
holds "a dead extender: no reservation is left" test "$(patches a .value | tail -n 1)$(patches b .value | tail -n 1)" = nullnull
apply --extender-lease none
holds "unless the extender is not to be checked" test "$status" -eq 0

# A right that is missing in one namespace stops the plan before its first move.
for right in "create pods eviction ml:create pods/eviction in namespace ml" "get pods ml:get pods in namespace ml" "patch nodes:patch nodes"; do
	begin "$(pod one-2 $new b "$runs")"
	echo "${right%%:*}" >"$(at /denied)"
	refused "${right%%:*}" "the right to ${right#*:} is missing"
done
rm "$(at /denied)"

# Ctrl-C while the new pod is awaited.
begin "$(pod two $two a "$runs")"
timeout --foreground 60 "$numa" plan --pending --apply >"$dir/out" 2>"$dir/err" </dev/null &
interrupted=$!
eventually 30 grep -q '^POST' "$(at /changes)"
kill -INT $interrupted
wait $interrupted
status=$?
cat "$dir/out" "$dir/err" "$(at /changes)" >"$dir/all"
holds "Ctrl-C says what is done, what stays reserved and how to go on" test "$status:$(cat "$dir/err")" = "1:kubectl-numa: stopped, 0 of 1 moves done: interrupted; the place of 'ml/one' on node 'b' stays reserved for its new pod
kubectl-numa: the same command goes on; to give the place up: kubectl annotate node b reservation.nrtd.dev/$one-"
holds "and the other place is free" test "$(patches a .value | tail -n 1)" = null

# A plan that was reviewed: only its steps are carried out.
begin "$(pod one-2 $new b "$runs")"
"$numa" plan --pending -o json >"$dir/plan.json"
apply --expect "$dir/plan.json"
holds "a reviewed plan is carried out" test "$status" -eq 0
begin "$(pod one-2 $new b "$runs")"
"$numa" plan --pending -o yaml >"$dir/plan.yaml"
apply --expect "$dir/plan.yaml"
holds "also from YAML" test "$status" -eq 0
for change in '.steps[0].uid = "other"' '.steps[0].to = "c"' '.steps[0].from = "c"' '.steps[0].action = "evict"' '.steps |= .[1:]' '.steps = []'; do
	begin "$(pod one-2 $new b "$runs")"
	jq "$change" "$dir/plan.json" >"$dir/changed.json"
	refused "$change" "step 1 is not in $dir/changed.json: move ml/one from a to b" --expect "$dir/changed.json"
done
jq '.steps |= .[:1]' "$dir/plan.json" >"$dir/changed.json"
refused "a wanted pod that was not reviewed" "step 2 is not in $dir/changed.json: start ml/wide to a" --expect "$dir/changed.json"
# Before the eviction another pod takes the place of "one": the new plan moves it.
begin "$(pod one-2 $new b "$runs")"
echo '404 pods "one" not found' >"$(at /api/v1/namespaces/ml/pods/one/eviction.POST.error)"
list NodeResourceTopology "$a_late" "$b" >"$dir/nrt.json"
sed "s/$one/$late/g; s/\"name\":\"one\"/\"name\":\"uno\"/" "$(at /api/v1/pods.json)" >"$dir/pods.json"
{
	eventually 30 test -s "$(at /changes)"
	cp "$dir/nrt.json" "$(at $nrt.json)" && cp "$dir/pods.json" "$(at /api/v1/pods.json)"
} &
stops "a new plan with another pod" "stopped, 0 of 1 moves done: step 1 is not in $dir/plan.json: move ml/uno from a to b" --expect "$dir/plan.json"
wait $!

# A pod of a file: its place stays reserved.
begin "$(pod one-2 $new b "$runs")"
pod wide '' '' '' 12 | jq '. + {kind: "Pod", apiVersion: "v1"} | del(.metadata.uid, .metadata.ownerReferences)' >"$dir/pod.json"
timeout 60 "$numa" plan -f "$dir/pod.json" --apply --hold 5m >"$dir/out" 2>"$dir/err"
status=$?
cat "$dir/out" "$dir/err" "$(at /changes)" >"$dir/all"
holds "a pod of a file" test "$status" -eq 0
holds "its place is reserved" grep -qx 'start ml/wide: a is reserved for the pod for 300 s' "$dir/out"
holds "for pods with its requests" test "$(patches a '.value | fromjson | [.uid, .controller, .spec.containers[0].resources.limits.cpu] | @csv' | tail -n 1)" = ',,"12"'

# A best-effort kubelet admits the wanted pod also before the move: the place is closed until then.
restricted_a=$a restricted_b=$b restricted_b_after=$b_after restricted_a_after=$a_after
best_effort() { printf '%s' "$1" | sed 's,topology=restricted,topology=best-effort,'; }
a=$(best_effort "$a") b=$(best_effort "$b") a_after=$(best_effort "$a_after") b_after=$(best_effort "$b_after")
begin_aligned() { # OBJECT-OF-a: when the wanted pod runs
	begin "$(pod one-2 $new b "$runs")"
	best_effort "$1" | serve /after$nrt/a
}
begin_aligned "$a_apart"
stops "a pod that is not aligned" "stopped, 1 of 1 moves done: pod 'ml/wide' is not aligned: it runs on NUMA nodes 0-1 of node 'a'" --aligned
begin_aligned "$a_aligned"
apply --aligned
holds "where it runs is printed" grep -qx 'start ml/wide: runs on a, NUMA 0' "$dir/out"
holds "an aligned place is made" test "$status:$(sed -n 's,^POST ,,p' "$(at /changes)" | wc -l)" = 0:1
closed() { sed -n "$1" "$(at /changes)" | sed -n 's,^PATCH /api/v1/nodes/a ,,p' | jq -c '.metadata.annotations[] | select(.) | fromjson | .closed // false' | sort -u; }
holds "no pod may use the place before the move" test "$(closed '1,/^POST/p')" = true
holds "the wanted pod may use the place after the move" test "$(closed '1,/^POST/!p' | head -n 1)" = false
a=$restricted_a b=$restricted_b a_after=$restricted_a_after b_after=$restricted_b_after

# A part of the wanted pods is moved for only if that is allowed.
begin "$(pod one-2 $new b "$runs")"
timeout 60 "$numa" plan -f "$dir/pod.json" --replicas 2 --apply >"$dir/out" 2>"$dir/err"
status=$?
cat "$dir/out" "$dir/err" >"$dir/all"
holds "a partial plan is not carried out" test "$status:$(cat "$dir/err")" = \
	"4:kubectl-numa: not carried out: some of the pods would have no place; --allow-partial carries out such a plan"
holds "and nothing is changed" test ! -e "$(at /changes)"

# Nothing to carry out: the reason is printed, and nothing is changed.
# none NAME LINE FLAG...
none() {
	none_name=$1
	line=$2
	shift 2
	apply "$@"
	holds "nothing to carry out: $none_name" test "$status:$(cat "$dir/err")" = 3:
	holds "and why: $none_name" grep -qx "$line" "$dir/out"
	holds "and nothing is changed: $none_name" test ! -e "$(at /changes)"
}
begin "$(pod one-2 $new b "$runs")"
list NodeResourceTopology "$(printf '%s' "$a" | sed 's,nrtd.dev/node-state,example.com/other,')" "$b" | serve $nrt
none "an object without node state" "left alone: node 'a': the object has no node state: verdicts would be estimates"
# old AGE: the object of node a was written so long ago
old() { printf '%s' "$a" | jq -c --arg time "$(date -u -d "$1 ago" +%Y-%m-%dT%H:%M:%SZ)" '.metadata.managedFields = [{manager: "nrtd", operation: "Apply", time: $time, fieldsV1: {"f:zones": {}}}]'; }
list NodeResourceTopology "$(old '40 minutes')" "$b" | serve $nrt
none "an old object" "left alone: node 'a': the object has not been written for longer than --max-age: nrtd may not run on the node"
apply --max-age 1h
holds "unless it may be older" test "$status" -eq 0
begin "$(pod one-2 $new b "$runs")"
list NodeResourceTopology "$(old '5 minutes')" "$b" | serve $nrt
apply
holds "a recent object" test "$status" -eq 0
begin "$(pod one-2 $new b "$runs")"
list PodDisruptionBudget '{"metadata":{"name":"p","namespace":"ml"},"spec":{"selector":{}},"status":{"disruptionsAllowed":0}}' | serve /apis/policy/v1/poddisruptionbudgets
none "a PodDisruptionBudget that allows nothing" 'not movable: 3 (PodDisruptionBudget)'
begin "$(pod one-2 $new b "$runs")"
list Pod "$(pod one $one a "$runs")" "$(pod two $two a "$runs")" "$(pod three $three b "$runs")" "$(pod wide $wide '' "$waits" 40)" | serve /api/v1/pods
none "a pod that nothing can place" "no place for ml/wide:"
begin "$(pod one-2 $new b "$runs")"
list Pod "$(pod one $one a "$runs")" "$(pod two $two a "$runs")" "$(pod three $three b "$runs")" "$(pod late $late a "$runs" 9)" "$(pod wide $wide '' "$waits" 12)" | serve /api/v1/pods
none "an object that does not report a pod" "left alone: node 'a': the object does not report all of the node's pods yet"

# bad NAME LINE FLAG...
bad() {
	name=$1
	line=$2
	shift 2
	"$numa" plan "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	cat "$dir/err" >"$dir/all"
	holds "wrong usage: $name" test "$got:$(cat "$dir/err")" = "2:kubectl-numa: $line"
}
bad "files" "--apply: files cannot be changed, omit --from" --pending --apply --from x.json
bad "a request" "--apply: name the pods with --filename or --pending" --cpus 4 --apply
bad "standard input" "--apply: the pod is read repeatedly, read from a file instead" -f - --apply
bad "bare pods" "--apply: nothing recreates pods without a controller, omit --allow-bare" --pending --apply --allow-bare
bad "JSON" "--apply: the output is text" --pending --apply -o json
bad "no Lease" "--extender-lease: 'x' is not NAMESPACE/NAME or none" --pending --apply --extender-lease x
bad "a reviewed plan without --apply" "--expect: only with --apply" --pending --expect "$dir/plan.json"
echo '{"items":[]}' >"$dir/other.json"
bad "another file" "$dir/other.json: not a plan of kubectl numa plan -o json: it has no steps" --pending --apply --expect "$dir/other.json"
echo '{' >"$dir/other.json"
bad "a damaged file" "$dir/other.json: not valid JSON at line 2, byte 3" --pending --apply --expect "$dir/other.json"
bad "a long time" "--hold: at most 1h" -f x.yaml --apply --hold 2h
bad "no time for a step" "--timeout: from 1s to 25m" --pending --apply --timeout 0
bad "a longer time than a reservation has" "--timeout: from 1s to 25m" --pending --apply --timeout 26m
apply --expect "$dir/none"
holds "no reviewed plan" test "$status:$(cat "$dir/err")" = "1:kubectl-numa: cannot open '$dir/none': No such file or directory"
exit "$failed"
