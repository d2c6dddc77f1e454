#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa score --from`: the documents' examples with the documents' numbers, every way to give it nodes,
# bad input, and a cluster of 5000 nodes. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
examples=tests/fixtures/examples
. tests/lib/scenario.sh
need_jq
score() { "$numa" score "$@" >"$dir/out" 2>"$dir/err"; }
json() { score "$@" -o json; }
first_is() { [ "$(value '.nodes[0].name')" = "\"$1\"" ]; }

# --- KEP 454: 94 to 82, and the node that wins comes first
json --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml
check "KEP example, node 1" is node-1 .scores.LeastNUMANodes 82
check "KEP example, node 2" is node-2 .scores.LeastNUMANodes 94
check "KEP example, the winner" first_is node-2

# --- Volcano's table: 9 best-effort -> node 1; 11 restricted -> none; 17 restricted -> node 3; 17 single -> none
only() { [ "$(value '[.nodes[] | select(.volcano.admitted) | .name]')" = "$1" ]; }
json --from $examples/volcano-nodes.yaml -f $examples/volcano-9-best-effort.yaml --strategy Volcano
check "Volcano, 9 CPUs best-effort" only '["node-1"]'
json --from $examples/volcano-nodes.yaml -f $examples/volcano-11-restricted.yaml --strategy Volcano
check "Volcano, 11 CPUs restricted" only '[]'
json --from $examples/volcano-nodes.yaml -f $examples/volcano-17-restricted.yaml --strategy Volcano
check "Volcano, 17 CPUs restricted" only '["node-3"]'
json --from $examples/volcano-nodes.yaml -f $examples/volcano-17-single-numa-node.yaml --strategy Volcano
check "Volcano, 17 CPUs single-numa-node" only '[]'
json --from $examples/volcano-abc-nodes.yaml -f $examples/volcano-abc-pod.yaml --strategy Volcano --volcano-weight 10
check "Volcano, node A" is node-a .scores.Volcano 750
check "Volcano, node B" is node-b .scores.Volcano 500
check "Volcano, node C" is node-c .scores.Volcano 0

# --- JSON, and the same objects as a directory, on standard input, as a List
json --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml
cp "$dir/out" "$dir/want"
check "JSON has the NUMA nodes" is node-1 .numaNodes '[0,1]'
mkdir "$dir/nodes"
awk -v RS='---\n' -v dir="$dir/nodes" '{printf "%s", $0 > (dir "/node" NR ".yaml")}' $examples/kep-nodes.yaml
score --from "$dir/nodes" -f $examples/kep-pod.yaml -o json
check "a directory gives the same" cmp -s "$dir/out" "$dir/want"
"$numa" score --from - -f $examples/kep-pod.yaml -o json <$examples/kep-nodes.yaml >"$dir/out" 2>"$dir/err"
check "standard input gives the same" cmp -s "$dir/out" "$dir/want"
score node-2 node/node-1 --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml -o json
check "every node by name gives the same" cmp -s "$dir/out" "$dir/want"
score node-1 --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml -o name
check "one node by name" test "$(cat "$dir/out")" = node/node-1
# --- Nodes: a node that no scheduler chooses is not named
printf 'kind: Node\nmetadata: {name: node-1}\n---\nkind: Node\nmetadata: {name: node-2}\nspec: {unschedulable: true}\n' >"$dir/two.yaml"
score --from $examples/kep-nodes.yaml --from "$dir/two.yaml" -f $examples/kep-pod.yaml -o name
check "a cordoned node is not named" test "$(cat "$dir/out")" = node/node-1
score --from $examples/kep-nodes.yaml --from "$dir/two.yaml" -f $examples/kep-pod.yaml
check "and the table says why" grep -qE '^node-2 +~?Unschedulable .*cordoned' "$dir/out"
score --from $examples/kep-nodes.yaml --from "$dir/two.yaml" -f $examples/kep-pod.yaml -o name --objects-only
check "without Nodes it is" test "$(wc -l <"$dir/out")" -eq 2
{
	echo 'apiVersion: v1'
	echo 'kind: List'
	echo 'items:'
	sed -e '/^#/d' -e '/^---$/d' -e 's/^/  /' -e 's/^  apiVersion/- apiVersion/' $examples/kep-nodes.yaml
} >"$dir/list.yaml"
score --from "$dir/list.yaml" -f $examples/kep-pod.yaml -o json
check "a List gives the same" cmp -s "$dir/out" "$dir/want"
sed 's/v1alpha2/v1alpha1/; s/^attributes:/x:/; s/^- {name: topologyManagerPolicy.*/topologyPolicies: [SingleNUMANodePodLevel]/; /^- {name: topologyManagerScope/d; /^x:/d' \
	$examples/kep-nodes.yaml >"$dir/v1alpha1.yaml"
json --from "$dir/v1alpha1.yaml" -f $examples/kep-pod.yaml
check "v1alpha1 with topologyPolicies: node 1 is filtered" is node-1 .filter.passed false
check "v1alpha1 with topologyPolicies: node 2 passes" is node-2 .filter.passed true
"$nrtd" dump --sysroot build/fixtures/machines/2s-snc4 2>/dev/null >"$dir/self.yaml"
score --from "$dir/self.yaml" -f $examples/kep-pod.yaml
[ $? -ne 2 ]
check "our own object is read" test $? -eq 0
# nothing there says how the kubelet is set up: it has no answer
score --from "$dir/self.yaml" --cpus 2 -o name
check "no verdict, no status of one" test $? -eq 1
check "-o name: no node whose kubelet's answer is not known" test ! -s "$dir/out"
check "which it says" grep -q "no verdict: the kubelet's verdict is unknown for 1 node that the scheduler allows" "$dir/err"
json --from "$dir/self.yaml" --cpus 2
check "an answer that is not known rests on nothing" test "$(value '.nodes[0].kubelet.basis')" = '"unknown"'

# --- what to print, and in which order
score --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml -o name
check "-o name: the nodes that take the pod, the best first" test "$(cat "$dir/out")" = "$(printf 'node/node-2\nnode/node-1')"
sed 's/^spec:/&\n  runtimeClassName: kata/' $examples/kep-pod.yaml >"$dir/kata.yaml"
score --from $examples/kep-nodes.yaml -f "$dir/kata.yaml" -o name
check "-o name: nothing else" test "$(cat "$dir/out")" = "$(printf 'node/node-2\nnode/node-1')"
score --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml -o yaml
check "-o yaml" grep -q '^    LeastNUMANodes: 94$' "$dir/out"
score --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml -o wide
check "-o wide has every strategy" grep -q 'LeastNUMANodes  MostAllocated  LeastAllocated  BalancedAllocation  Volcano  REASON$' "$dir/out"
score --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml --no-headers --sort-by name
check "--no-headers, --sort-by name" test "$(awk '{print $1}' "$dir/out" | tr '\n' ' ')" = "node-1 node-2 "
json --from $examples/kep-nodes.yaml --cpus 5
check "a request without a file" is node-1 .scores.LeastNUMANodes 82
json --from $examples/kep-nodes.yaml --cpus 500
check "no node takes the pod: status 3" test $? -eq 3
check "the kubelet's reason" is node-1 .kubelet.rejection '"UnexpectedAdmissionError"'
sed 's/^  name: node-2$/  name: node-10/; s/^  name: node-1$/  name: node-9/' $examples/kep-nodes.yaml >"$dir/names.yaml"
json --from "$dir/names.yaml" --cpus 1 --sort-by name
check "node-9 is before node-10" first_is node-9

# --- an object that cannot be read keeps no other from being judged
{ cat $examples/kep-nodes.yaml && for i in 1 2 3 4 5; do printf -- '---\nkind: NodeResourceTopology\nmetadata: {name: bad-%s}\n' $i; done; } >"$dir/some.yaml"
score --from "$dir/some.yaml" -f $examples/kep-pod.yaml -o name
check "the others are ranked" test "$(cat "$dir/out")" = "$(printf 'node/node-2\nnode/node-1')"
check "three of five are named" test "$(grep -c "skipped: NodeResourceTopology 'bad-[123]': no zones in it" "$dir/err")" -eq 3
check "the others are counted" grep -q 'skipped: 2 other objects that cannot be read' "$dir/err"

# --- bad input: status 2, one line, nothing printed
refuse() { # NAME MESSAGE ARGS...
	refuse_name=$1
	message=$2
	shift 2
	score "$@"
	[ $? -eq 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -qF -- "$message" "$dir/err"
	check "$refuse_name" test $? -eq 0
}
pod=$examples/kep-pod.yaml
nodes=$examples/kep-nodes.yaml
refuse "no pod" "give a file with -f" --from $nodes
refuse "file that is not there" "cannot open" --from "$dir/none" -f $pod
refuse "a pod as node" "$pod: no NodeResourceTopology in it" --from $pod -f $pod
refuse "a node as pod" "kep-nodes.yaml" --from $nodes -f $nodes
refuse "bad weight" "--weight: 'cpu'" --from $nodes -f $pod --weight cpu
printf '{' >"$dir/broken.json"
refuse "not JSON" "broken.json: not valid JSON at line 1" --from "$dir/broken.json" -f $pod
printf 'a: [\n' >"$dir/broken.yaml"
refuse "not YAML" "broken.yaml: not valid YAML at line 2" --from "$dir/broken.yaml" -f $pod
printf 'kind: NodeResourceTopology\nmetadata: {name: n1}\n' >"$dir/zoneless.yaml"
refuse "no zones" "NodeResourceTopology 'n1': no zones in it" --from "$dir/zoneless.yaml" -f $pod
printf 'kind: List\nitems: []\n' >"$dir/empty.yaml"
refuse "empty list" "no NodeResourceTopology in it" --from "$dir/empty.yaml" -f $pod
sed 's/available: "[28]"/available: "two"/' $nodes >"$dir/quantity.yaml"
refuse "bad quantity" "zone 'node-0', resource 'cpu': available" --from "$dir/quantity.yaml" -f $pod
mkdir "$dir/nothing"
refuse "empty directory" "contains no .yaml, .yml or .json file" --from "$dir/nothing" -f $pod
yes 'a: 1' | head -n 10000 >"$dir/long.yaml"
refuse "10 000 lines of something else" "long.yaml" --from "$dir/long.yaml" -f $pod
refuse "10 000 lines of something else as pod" "'$dir/long.yaml': not a Kubernetes object: it has no kind" --from $nodes -f "$dir/long.yaml"
refuse "a pod that is not YAML" "'$dir/broken.yaml': not valid YAML at line 2" --from $nodes -f "$dir/broken.yaml"
printf '{kind: Pod, spec: {containers: []}}' >"$dir/pod.yaml"
refuse "a pod without containers" "spec: no containers in it" --from $nodes -f "$dir/pod.yaml"
printf '{kind: Pod, spec: {containers: [{resources: {requests: {cpu: -2}}}]}}' >"$dir/pod.yaml"
refuse "a pod that asks for less than nothing" "resources.requests: cpu: '-2' is negative" --from $nodes -f "$dir/pod.yaml"
printf '{kind: Pod, spec: {containers: [{resources: {requests: {gpu: 2}}}]}}' >"$dir/pod.yaml"
refuse "a pod with an unknown resource" "gpu: unknown resource 'gpu'" --from $nodes -f "$dir/pod.yaml"
refuse "two standard inputs" "--filename and --from cannot both be standard input" --from - -f -
printf '{"kind":"Pod","metadata":{"name":"p","annotations":{"a":"\\ud83d\\ude00"}},"spec":{"containers":[{"name":"c"}]}}' \
	>"$dir/pod.json"
score --from $nodes -f "$dir/pod.json"
check "a JSON pod with a surrogate pair is read" test $? -eq 0

# --- 5000 nodes of eight NUMA nodes, answered within a generous bound (make bench has the real number)
awk 'BEGIN {
	printf "{\"kind\":\"List\",\"items\":["
	for (n = 0; n < 5000; n++) {
		printf "%s{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n%d\"},\"zones\":[", n ? "," : "", n
		for (z = 0; z < 8; z++) {
			printf "%s{\"name\":\"node-%d\",\"type\":\"Node\",\"costs\":[", z ? "," : "", z
			for (c = 0; c < 8; c++)
				printf "%s{\"name\":\"node-%d\",\"value\":%d}", c ? "," : "", c, c == z ? 10 : 20
			printf "],\"resources\":[{\"name\":\"cpu\",\"capacity\":\"16\",\"allocatable\":\"16\",\"available\":\"%d\"},", (n + z) % 17
			printf "{\"name\":\"memory\",\"capacity\":\"64Gi\",\"allocatable\":\"64Gi\",\"available\":\"64Gi\"}]}"
		}
		printf "]}"
	}
	print "]}"
}' >"$dir/cluster.json"
score --from "$dir/cluster.json" -f $pod
check "5000 nodes: status" test $? -eq 0
check "5000 nodes: every one ranked" test "$(wc -l <"$dir/out")" -eq 5001
exit $failed
