#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nodes that have no NodeResourceTopology object, as those of a control plane: `kubectl numa top` has a row for each behind all others, plan
# leaves them alone, and the other commands have a line with their number. From files, and from a stand-in for the API server. B names the build folder.
# shellcheck disable=SC2086,SC2154,SC2317 # $source is words; $api and $nrt are those of api_server.sh; functions called by name
set -u
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
need_jq
. tests/lib/api_server.sh
export LC_ALL=C
unset COLUMNS NO_COLOR
numa() { "$numa" "$@" >"$dir/out" 2>"$dir/err"; }
node() { # NAME POOL: a Node that is ready
	printf '{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s","labels":{"pool":"%s"}},"status":{"allocatable":{"cpu":"16","memory":"128Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}' "$1" "$2"
}
nodes() { list Node "$(node cp-10 control)" "$(node node-1 hpc)" "$(node cp-2 control)" "$(node node-2 hpc)" "$(node web-1 web)"; }
waits='{"apiVersion":"v1","kind":"Pod","metadata":{"name":"waits","namespace":"default","uid":"u"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"4","memory":"1Gi"}}}]},"status":{"phase":"Pending"}}'
echo "$waits" >"$dir/pod.json"
echo "$waits" | serve /api/v1/namespaces/default/pods/waits
list Pod | serve /api/v1/pods
list Event | serve /api/v1/namespaces/default/events
mkdir -p "$api/apis/policy/v1"
list PodDisruptionBudget | serve /apis/policy/v1/poddisruptionbudgets
nodes | serve /api/v1/nodes
list Node "$(node node-1 hpc)" "$(node node-2 hpc)" | serve '/api/v1/nodes@pool=hpc'
list Node "$(node node-1 hpc)" "$(node node-2 hpc)" "$(node web-1 web)" | serve '/api/v1/nodes@pool in (hpc, web)'
list NodeResourceTopology "$(nrt_object node-1 2 4)" "$(nrt_object node-2 8 8)" | serve $nrt
node node-1 hpc | serve /api/v1/nodes/node-1
nrt_object node-1 2 4 | serve $nrt/node-1
for source in "--from $api/api/v1/nodes.json --from $api$nrt.json" "--kubeconfig $dir/kubeconfig"; do
	name=${source%% *} pod_source=$source
	[ "$name" != --from ] || pod_source="$source --from $dir/pod.json"
	numa top $source
	check "$name: rows behind the others" test "$(awk '/^[a-z]+-[0-9]/ { print $1 }' "$dir/out" | tr '\n' ' ')" = "node-1 node-2 cp-2 cp-10 web-1 "
	check "$name: a row has its status and no number" grep -qE '^cp-2 +NoObject ( +-){10}$' "$dir/out"
	check "$name: the totals are those of the others" grep -qE '^5 nodes +22/32 ' "$dir/out"
	check "$name: one line has their number" grep -qx '3 Nodes have no object' "$dir/out"
	numa top $source --sort-by free
	check "$name: last in any order" test "$(awk '/^[a-z]+-[0-9]/ { print $1 }' "$dir/out" | tr '\n' ' ')" = "node-2 node-1 cp-2 cp-10 web-1 "
	numa top $source -o wide -L pool
	check "$name: with its label" grep -qE '^web-1 +NoObject +web ' "$dir/out"
	numa top $source -o name
	check "$name: names are of nodes that other commands can show" test "$(tr '\n' ' ' <"$dir/out")" = "node/node-1 node/node-2 "
	numa top $source -o json
	check "$name: unknown values are null" has '.nodes[] | select(.name == "cp-2") |
		.status == "NoObject" and (.cpus | length == 6 and ([.[]] | unique) == [null]) and .largestPods == [null,null] and
		.topologyManager.policy == null and .reason == "the Node has no NodeResourceTopology object"'
	check "$name: the number of a document" has '.totals | .nodes == 5 and .withoutObject == 3 and .unusable == 0 and .cpus.free == 22'
	numa top $source -o html --by pool
	check "$name: the page has the row, without a picture" test "$(grep -c '<th scope="row">cp-2</th>' "$dir/out") $(grep -c '<details' "$dir/out")" = "1 2"
	check "$name: and the line" grep -q '>3 Nodes have no object<' "$dir/out"

	numa top $source --by pool --sort-by free
	check "$name: pools do not count them" test "$(awk '/ [0-9]+.[0-9]+ / { print $1, $2 }' "$dir/out" | tr '\n' ';')" = "hpc 2/2;control 0/2;web 0/1;3 pools;"

	numa fit $source --cpus 4 --memory 1Gi
	check "$name: fit has a line" grep -qx '3 Nodes have no object' "$dir/out"
	check "$name: of nodes that fit it counts none" grep -q '^fits 2 of 2 nodes' "$dir/out"
	numa fit $source --cpus 4 --memory 1Gi -o wide
	check "$name: -o wide has the names" grep -qx '3 Nodes have no object: cp-2, cp-10, web-1' "$dir/out"
	numa fit $source --cpus 4 --memory 1Gi -o json
	check "$name: a document has them" has '.withoutObject == ["cp-2", "cp-10", "web-1"] and .nodes == 2'
	numa fit $source --cpus 4 --memory 1Gi --no-headers
	check "$name: rows alone are rows alone" test "$(wc -l <"$dir/out")" -eq 2
	numa fit node-1 $source --cpus 4 --memory 1Gi
	check "$name: the report on one node does not speak of others" sh -c "grep -q '^copies ' '$dir/out' && ! grep -q 'no object' '$dir/out'"
	numa score $source --cpus 4 --memory 1Gi
	check "$name: score has a line" grep -qx '3 Nodes have no object' "$dir/out"
	numa score $source --cpus 4 --memory 1Gi -o json
	check "$name: and its document has them" has '.withoutObject == ["cp-2", "cp-10", "web-1"]'

	numa config $source
	check "$name: config has a line" grep -qx '3 Nodes have no object' "$dir/out"
	numa config $source -o json
	check "$name: and its document has them" has '.withoutObject == ["cp-2", "cp-10", "web-1"] and .nodes == 2'
	numa config $source --no-headers
	check "$name: rows of config are rows alone" sh -c "! grep -q 'no object' '$dir/out'"
	numa config $source -l pool=hpc
	check "$name: config of selected nodes" sh -c "grep -q '^2 nodes' '$dir/out' && ! grep -q 'no object' '$dir/out'"
	numa config node-1 $source
	check "$name: config of one node" sh -c "grep -q '^1 node: ' '$dir/out' && ! grep -q 'no object' '$dir/out'"
	numa why waits $pod_source
	check "$name: why has a line" grep -qx '3 Nodes have no object' "$dir/out"
	numa why waits $pod_source -o json
	check "$name: and why's document has them" has '.withoutObject == ["cp-2", "cp-10", "web-1"] and (.nodes | length) == 2'
	numa plan $pod_source --cpus 4
	check "$name: plan leaves them alone" test "$(grep -c "^left alone: node '.*': the node has no NodeResourceTopology object$" "$dir/out")" -eq 3

	numa top $source -l pool=hpc
	check "$name: the selected nodes" grep -q '^2 nodes' "$dir/out"
	check "$name: those that are not selected are not missed" sh -c "! grep -qE 'NoObject|no object' '$dir/out'"
	numa fit $source -l 'pool in (hpc, web)' --cpus 4 --memory 1Gi
	check "$name: one node" grep -qx '1 Node has no object' "$dir/out"
	numa top $source --objects-only
	check "$name: the objects" grep -q '^2 nodes' "$dir/out"
	check "$name: without Nodes nothing is said about them" sh -c "! grep -qE 'NoObject|no object' '$dir/out'"
done
exit $failed
