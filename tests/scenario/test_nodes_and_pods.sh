#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What Nodes and Pods add to `kubectl numa top`, `fit` and `show`: reserved places, nodes that are not ready, labels, and the names of pods.
# B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
need_jq
export LC_ALL=C
unset COLUMNS KUBECONFIG

# Node a: NUMA node 0 has 6 free CPUs and a pod of 9, NUMA node 1 has 7 and a pod of 9. Node b has the second pod only.
one=777870b5-c64f-42f5-9296-688b9dc212ba
two=fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd
example_node "$dir/a"
example_node "$dir/b"
printf '{"policyName":"static","defaultCpuSet":"0-15,25-31","entries":{"%s":{"c":"16-24"}},"checksum":0}' $two >"$dir/b/var/lib/kubelet/cpu_manager_state"
mkdir "$dir/cluster"
for n in a b; do "$nrtd" dump --sysroot "$dir/$n" --node-name $n >"$dir/cluster/$n.yaml" 2>/dev/null; done

soon=$(date -u -d '+10 minutes' +%Y-%m-%dT%H:%M:%SZ)
reservation() { # ID CPUS [MEMBER,...]: an annotation
	printf 'reservation.nrtd.dev/%s: '"'"'{"namespace":"ml","pod":"web-0",%s"created":"2020-01-01T00:00:00Z","expires":"%s","spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]}}'"'"', ' \
		"$1" "${3:-}" "$soon" "$2"
}
nodes() { # ANNOTATIONS-OF-A [SPEC-OF-B [READY-OF-B]]
	cat >"$dir/cluster/nodes.yaml" <<-END
		kind: Node
		metadata: {name: a, labels: {example.com/pool: hpc}, annotations: {$1}}
		status: {allocatable: {cpu: "31", memory: 60Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
		---
		kind: Node
		metadata: {name: b, labels: {example.com/pool: batch}}
		spec: {${2:-}}
		status: {allocatable: {cpu: "31", memory: 60Gi, pods: "110"}, conditions: [{type: Ready, status: "${3:-True}"}]}
	END
}
cat >"$dir/cluster/pods.yaml" <<END
kind: Pod
metadata: {name: first, namespace: ml, uid: $one}
spec: {nodeName: a, containers: [{name: c, resources: {limits: {cpu: 9, memory: 1Gi}}}]}
status: {phase: Running}
---
kind: Pod
metadata: {name: second, namespace: ml, uid: $two}
spec: {nodeName: b, containers: [{name: c, resources: {limits: {cpu: 9, memory: 1Gi}}}]}
status: {phase: Running}
---
kind: Pod
metadata: {name: waits, namespace: ml, uid: 3}
spec: {containers: [{name: c, resources: {limits: {cpu: 8, memory: 1Gi}}}]}
status: {phase: Pending}
END
run() { "$numa" "$@" --from "$dir/cluster" >"$dir/out" 2>"$dir/err"; }
says() { grep -qE -- "$1" "$dir/out"; }

# --- reserved places count as held
nodes "" && run top -o json
check "without reservations" is a .cpus.free 13
check "and without a line" is a .reservations '[]'
nodes "$(reservation x 7)" && run top -o json
check "a reserved place counts as held" is a '[.cpus.free, .largestPods[0]]' '[6,6]'
check "and is shown" is a '.reservations[0] | [.pod, .placed, .secondsLeft > 500]' '["ml/web-0",true,true]'
run top
check "as a line" says '^reserved: a for ml/web-0, (9|10)m left$'
run fit a --cpus 7 --memory 1Gi
check "fit counts it" test $? -eq 3
check "and says so" says '^  counts as held: 1 reservation for other pods'
run fit --cpus 6 --memory 1Gi -o json
check "for each node" has '[.items[] | [.name, .reservations]] | sort == [["a",1],["b",0]]'
check "what it leaves is admitted" has '.items[] | select(.name == "a").admitted'
run fit --cpus 6 --memory 1Gi
check "a line for all nodes" says '^count as held: reservations for other pods on 1 node '
printf 'kind: Pod\nmetadata: {name: web-1, namespace: %%s}\nspec: {containers: [{name: c, resources: {limits: {cpu: 7, memory: 1Gi}}}]}\n' >"$dir/web"
sed 's/%s/ml/' "$dir/web" >"$dir/own.yaml"
sed 's/%s/other/' "$dir/web" >"$dir/other.yaml"
run fit a -f "$dir/other.yaml"
check "the pod of another namespace may not use it" test $? -eq 3
run fit a -f "$dir/own.yaml"
check "the pods that the place is for may use it" test $? -eq 0
run fit a --cpus 9 --memory 1Gi --what-frees
check "what frees CPUs of a node with reserved places is unknown" says 'which pods must be evicted is unknown'
run fit a --cpus 7 --memory 1Gi --objects-only
check "--objects-only counts no reservations" test $? -eq 0
run show a
check "show draws the place" says '  ml/web-0 \(reserved\)'
check "on its NUMA node" says '7 CPUs 25-31'
nodes "$(reservation x 7 "\"uid\":\"$one\",")" && run top -o json
check "the place of a pod that has arrived counts once" is a .cpus.free 13
# A pod uses one reservation: of equal requests, or of two for its controller.
cat >"$dir/cluster/arrived.yaml" <<END
kind: Pod
metadata: {name: first, namespace: ml, uid: $one, creationTimestamp: "2020-01-01T00:00:01Z", ownerReferences: [{uid: set-1, controller: true}]}
spec: {nodeName: a, containers: [{name: c, resources: {limits: {cpu: 9, memory: 1Gi}}}]}
status: {phase: Running}
END
mv "$dir/cluster/pods.yaml" "$dir/pods.yaml"
both_say() { # NAME NODES: fit and plan admit a pod of 7 CPUs on node a, or neither does
	run fit a --cpus 7 --memory 1Gi -o json
	check "fit: $1" has ".admitted == $2"
	run plan --cpus 7 --memory 1Gi -o json
	check "plan: $1" has "(.steps | length > 0) == $2"
}
nodes "$(reservation x 9)" "unschedulable: true"
both_say "the pod of equal requests has arrived" true
nodes "$(reservation x 7 '"controller":"set-1",')" "unschedulable: true"
both_say "the controller's pod has arrived" true
nodes "$(reservation x 7 '"controller":"set-1",')$(reservation y 7 '"controller":"set-1",')" "unschedulable: true"
both_say "one of the controller's two pods has arrived" false
nodes "$(reservation x 7 '"controller":"set-2",')" "unschedulable: true"
both_say "another controller's pod has not arrived" false
mv "$dir/pods.yaml" "$dir/cluster/pods.yaml"
rm "$dir/cluster/arrived.yaml"
nodes "$(reservation x 12)" && run top -o json
check "while room is being made" is a '[.reservations[0].placed, .largestPods[0]]' '[false,0]'
run top
check "which is said" says 'left, other pods must leave first$'
run fit a --cpus 1 --memory 1Gi
check "no pod is admitted" says '  the node is reserved: room is being made for another pod .* \(Unschedulable\)$'
run show a
check "show has a note" says "reserved for pod 'ml/web-0' .*: other pods"
soon=2020-01-01T00:00:00Z
nodes "$(reservation x 12)" && run top -o json
check "an expired reservation holds nothing" is a .cpus.free 13

# --- nodes that are not ready or not schedulable
nodes "" "unschedulable: true" && run top -o json
check "a cordoned node" is b .status '"Ready,SchedulingDisabled"'
check "is not in the totals" has '[.totals.cpus.free, .totals.unusable, .totals.nodes] == [13, 1, 2]'
run top
check "the table names its status" says '^b +SchedulingDisabled '
check "and what the totals omit" says '^the totals omit 1 node that is not ready, not schedulable or without a Node object$'
check "the totals' CPUs" says '^2 nodes .* 13/31 '
nodes "" "" Unknown && run top
check "a node that is not ready" says '^b +NotReady '
nodes "" && sed -i '/^---/,$d' "$dir/cluster/nodes.yaml" && run top -o json
check "an object without a Node" is b .status '"NoNode"'
check "is not in the totals either" has '[.totals.cpus.free, .totals.unusable, .totals.nodes] == [13, 1, 2]'
run top
check "the table says so" says '^b +NoNode '
nodes "" && run top
check "no column without such nodes" says '^NODE  +POLICY'

# --- the pool column
run top -L example.com/pool
check "-L has a column" says '^NODE  +POOL +POLICY'
check "with the label" says '^a +hpc +restricted'
run top -L example.com/pool -o json
check "and a member" is b .label '"batch"'
run top -L example.com/pool --sort-by label --no-headers
check "--sort-by label" test "$(awk '{print $1}' "$dir/out" | tr '\n' ' ')" = "b a "
# shellcheck disable=SC2016 # the dollar is the manual's prompt
sed -n '/^Columns of your own:/,/^\.Ed/p' man/kubectl-numa-top.1 | grep -E '^(\$| {6})' | sed 's/^\$ kubectl numa top/run_json/' >"$dir/example.sh"
run_json() { "$numa" top --from "$dir/cluster" "$@"; }
# shellcheck disable=SC1091 # written above
sed 's/-L pool/-L example.com\/pool/' "$dir/example.sh" >"$dir/custom.sh" && . "$dir/custom.sh" >"$dir/out"
check "the manual's columns" test "$(tr '\t' ' ' <"$dir/out" | tr '\n' ' ')" = "a hpc restricted 13 b batch restricted 22 "

# --- the table fits a terminal
if command -v script >/dev/null; then
	for columns in 80 60; do
		script -qec "stty cols $columns; TERM=dumb $numa top --from $dir/cluster -L example.com/pool" /dev/null </dev/null 2>"$dir/err" | tr -d '\r' >"$dir/out"
		check "a terminal of $columns columns" awk -v max=$columns 'length > max {bad = 1} END {exit bad || NR < 3}' "$dir/out"
	done
	wide() { awk 'length > 80 {n++} END {exit !n}' "$dir/out"; }
	on_terminal() { script -qec "stty cols 80; TERM=dumb $numa $* --from $dir/cluster" /dev/null </dev/null 2>"$dir/err" | tr -d '\r' >"$dir/out"; }
	for command in "fit --cpus 8 --memory 1Gi" "score --cpus 8 --memory 1Gi" "plan --cpus 8 --memory 1Gi --replicas 3" "simulate --set reservedCPUs=8 --cpus 4 --memory 1Gi" "why waits"; do
		on_terminal "$command"
		check "${command%% *} on a terminal of 80 columns" awk '/^[A-Z]+  +[A-Z]/ {table = 1} /^$/ {table = 0} table && length > 80 {bad = 1} table {n++} END {exit bad || n < 2}' "$dir/out"
		on_terminal "$command -o wide"
		check "${command%% *} -o wide has all columns" wide
	done
fi

# --- names of pods
run show a
check "show names the pods" says '^B  ml/first'
check "except those whose Pod was not read" says "pods with '#' are named by hashes"
run show b
check "no note if all are named" sh -c "! grep -q \"pods with '#'\" '$dir/out'"
run show b --objects-only
check "--objects-only has hashes" says '^A  pod #'

# --- another exporter's object, and a pod that runs on the node
zones() { # METADATA
	cat >"$dir/zones.yaml" <<-END
		kind: NodeResourceTopology
		metadata: {name: z, creationTimestamp: "2026-01-01T00:00:00Z"$1}
		attributes: [{name: topologyManagerPolicy, value: single-numa-node}, {name: topologyManagerScope, value: container}]
		zones: [{name: node-0, type: Node, costs: [{name: node-0, value: 10}], resources: [{name: cpu, capacity: "8", allocatable: "8", available: "8"}]}]
		---
		kind: Pod
		metadata: {name: runs, namespace: ml, uid: 9, creationTimestamp: "2026-01-02T00:00:00Z"}
		spec: {nodeName: z, containers: [{name: c, resources: {limits: {cpu: 4, memory: 1Gi}}}]}
		status: {phase: Running, startTime: "2026-01-02T00:00:01Z"}
	END
}
fits_on_z() { "$numa" fit z --from "$dir/zones.yaml" --memory 1Gi --cpus "$1" >"$dir/out" 2>"$dir/err"; }
zones ""
fits_on_z 8
check "without times it is unknown whether the object counts the pod" test $? = 1
check "the reason names it" says 'fits only if the object.s amounts already count 1 running pod: .*--show-managed-fields'
check "and what counts as held" says 'counts as held: 1 pod that the node.s object may not report yet'
check "a pod that fits beside it is admitted" fits_on_z 4
fits_on_z 9
check "a pod that does not fit in any case is rejected" test $? = 3
written() { zones ", managedFields: [{manager: nfd, operation: Apply, time: \"$1\", fieldsV1: {'f:zones': {}}}]"; }
written 2026-01-01T12:00:00Z
fits_on_z 8
check "an older object does not count the pod" test $? = 3
check "which is said" says 'counts as held: 1 pod that the node.s object does not report yet'
written 2026-01-02T12:00:00Z
check "a later one does" fits_on_z 8
exit $failed
