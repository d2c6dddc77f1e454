#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl-numa against a stand-in for the API server: which objects it requests, what it prints without some of them, and the line and
# the status of each error. The stand-in cannot show that kubectl finds the plugin, nor the words of a real API server;
# tests/upstream/kubectl_numa.sh does. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
numa=$(pwd)/${B:-build}/kubectl-numa
examples=tests/fixtures/examples
. tests/lib/scenario.sh
. tests/lib/api_server.sh
need_jq
export LC_ALL=C
unset COLUMNS NO_COLOR
mkdir "$dir/tmp"
export TMPDIR="$dir/tmp"
cp $examples/kep-pod.yaml "$dir/it's a pod.yaml"
objects() { list NodeResourceTopology "$@" | serve $nrt; }
both() { objects "$(nrt_object node-1 2 4)" "$(nrt_object node-2 8 8)"; }
both
nrt_object node-1 2 4 | serve $nrt/node-1
nrt_object node-2 8 8 | serve $nrt/node-2
for i in 1 2; do
	eval "node$i='{\"kind\":\"Node\",\"metadata\":{\"name\":\"node-$i\"},\"status\":{\"allocatable\":{\"cpu\":\"16\",\"memory\":\"128Gi\",\"pods\":\"110\"}}}'"
done
# shellcheck disable=SC2154 # node1 and node2 are set above
{
	list Node "$node1" "$node2" | serve /api/v1/nodes
	echo "$node1" | serve /api/v1/nodes/node-1
	echo "$node2" | serve /api/v1/nodes/node-2
	list Node "$node2" | serve "/api/v1/nodes@pool=hpc,zone!=b"
}
list Pod '{"metadata":{"name":"p","namespace":"x"},"spec":{"nodeName":"node-2","containers":[{"name":"c","resources":{"requests":{"cpu":"15"}}}]}}' |
	serve /api/v1/pods
unfinished=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed
# The lists of the Pods of a node, and of those that are nominated for it.
pods_of() { echo "/api/v1/pods?fieldSelector=spec.nodeName%3D$1%2C$unfinished"; }
nominated_for() { echo "/api/v1/pods?fieldSelector=spec.nodeName%3D%2Cstatus.nominatedNodeName%3D$1%2C$unfinished"; }

plugin() {
	forget
	timeout 60 "$numa" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
}
# says NAME STATUS LINE: the status, nothing on standard output, and this one line
says() {
	[ "$status" -eq "$2" ] && [ ! -s "$dir/out" ] && [ "$(cat "$dir/err")" = "kubectl-numa: $3" ]
	check "$1" test $? -eq 0
}
# asked NAME PATH...: exactly these requests were made
asked() {
	asked_name=$1
	shift
	if [ $# -gt 0 ]; then printf '%s\n' "$@"; fi | sort >"$dir/want"
	requests | diff "$dir/want" - >"$dir/diff"
	if [ -s "$dir/diff" ]; then not_ok "$asked_name" "$dir/diff"; else ok "$asked_name"; fi
}

# --- score: the nodes' objects, the Nodes and the Pods
both_pods="/api/v1/pods?fieldSelector=$unfinished"
plugin score -f "$dir/it's a pod.yaml" --bogus
says "an unknown flag" 2 "unknown flag '--bogus'"
plugin score -f "$dir/it's a pod.yaml" -o json
check "score" has '[.nodes[].scores.LeastNUMANodes] == [82, 94]'
check "score counts what other pods request" has '.nodes[1].kubelet.rejection == "OutOfcpu"'
asked "score requests the objects, Nodes and Pods" $nrt /api/v1/nodes "$both_pods"
plugin score -f "$dir/it's a pod.yaml" -o json --objects-only
check "score --objects-only" has '[.nodes[].scores.LeastNUMANodes] == [94, 82]'
asked "requests the objects only" $nrt
plugin score -f "$dir/it's a pod.yaml" -o json --context east
check "score: another context" has '[.nodes[].scores.LeastNUMANodes] == [82, 94]'
asked "has another server" /east$nrt /east/api/v1/nodes "/east$both_pods"
plugin score node/node-1 -f "$dir/it's a pod.yaml" -o name
check "score of one node" test "$(cat "$dir/out")" = node/node-1
asked "requests its object, its Node and its Pods" $nrt/node-1 /api/v1/nodes/node-1 "$(pods_of node-1)" "$(nominated_for node-1)"

# --- fit: the nodes' objects, the Nodes and the Pods
plugin fit -f "$dir/it's a pod.yaml" -o json
check "fit" has '.fits == 1 and (.items | length) == 2'
check "fit counts what other pods request" has '[.items[] | select(.name == "node-2") | .rejection] == ["OutOfcpu"]'
asked "fit requests objects, Nodes and Pods" $nrt /api/v1/nodes "/api/v1/pods?fieldSelector=$unfinished"
plugin fit --cpus 4 --objects-only -o name
check "fit --objects-only" test "$(tr '\n' ' ' <"$dir/out")" = "node/node-2 node/node-1 "
asked "requests nothing else" $nrt
refuse_path /api/v1/nodes 403 'nodes is forbidden: User "someone" cannot list resource "nodes"'
plugin fit --cpus 4 -o name
check "without the right to list Nodes there is an answer" test "$status" -eq 0 -a "$(wc -l <"$dir/out")" -eq 2
check "and a line" test "$(cat "$dir/err")" = \
	"kubectl-numa: warning: the answer omits nodes: nodes is forbidden: User \"someone\" cannot list resource \"nodes\""
asked "no Pods without Nodes" $nrt /api/v1/nodes
refuse_path /api/v1/nodes
refuse_path /api/v1/pods 403 'pods is forbidden'
plugin fit -f "$dir/it's a pod.yaml"
check "without the right to list Pods there is an answer" grep -q '^fits 2 of 2 nodes' "$dir/out"
check "and a line, too" grep -qx 'kubectl-numa: warning: the answer omits pods: pods is forbidden' "$dir/err"
refuse_path /api/v1/pods
plugin fit --cpus 500
check "fit: no node" test "$status" -eq 3
plugin fit node-2 --cpus 4
check "fit of one node" grep -q '^basis        estimated' "$dir/out"
asked "requests its object, its Node and its Pods" $nrt/node-2 /api/v1/nodes/node-2 \
	"$(pods_of node-2)" "$(nominated_for node-2)"
plugin fit node/node-2 --cpus 4
asked "also as node/NAME" $nrt/node-2 /api/v1/nodes/node-2 "$(pods_of node-2)" "$(nominated_for node-2)"
mv "$api/api/v1/pods.json" "$dir/pods.json"
list Pod '{"metadata":{"name":"p","namespace":"x","uid":"u"},"spec":{"priority":1,"containers":[{"name":"c","resources":{"limits":{"cpu":"15","memory":"1Gi"}}}]},"status":{"nominatedNodeName":"node-2"}}' |
	serve /api/v1/pods
plugin fit --cpus 4 -o name
check "fit counts nominated pods" test "$(cat "$dir/out")" = node/node-1
plugin fit node-2 --cpus 4
check "fit of one node does, too" test "$status" -eq 3
mv "$dir/pods.json" "$api/api/v1/pods.json"
plugin fit node-2 --cpus 500 --what-frees --below-priority 10
check "fit: which pods would have to go" grep -q '^  no set of pods: ' "$dir/out"
plugin fit -f "$dir/it's a pod.yaml" --without-pod x/p
check "fit: without a pod its requests are free" grep -q '^fits 2 of 2 nodes' "$dir/out"
check "and what it may hold is not" grep -q "node 'node-2': the object does not list pods" "$dir/err"
plugin fit --cpus 1 --without-pod x/q
says "fit: without a pod that is not there" 2 "--without-pod: no pod 'x/q' holds anything exclusively"
plugin fit -f "$dir/absent.yaml"
says "fit: a file that is not there" 2 "cannot open '$dir/absent.yaml': No such file or directory"
plugin fit --cpus 4 -l 'pool=hpc,zone!=b' -o name --objects-only
check "a selector" test "$(cat "$dir/out")" = node/node-2
asked "requests the Nodes that it selects" $nrt "/api/v1/nodes?labelSelector=pool%3Dhpc%2Czone%21%3Db"
plugin fit --cpus 4 -l 'pool=none'
check "a selector that the API server rejects" test "$status" -eq 1 -a ! -s "$dir/out" -a "$(grep -c '^kubectl-numa: --selector: ' "$dir/err")" -eq 1

# --- errors: one line, status 1
refuse_path $nrt 500 'no leader'
plugin score -f $examples/kep-pod.yaml
says "the API server's message" 1 'no leader'
refuse_path $nrt 403 'noderesourcetopologies.topology.node.k8s.io is forbidden'
plugin top
says "without the right to list objects" 1 "noderesourcetopologies.topology.node.k8s.io is forbidden; the ClusterRole kubectl-numa of packaging/kubernetes/rbac-users.yaml grants the right"
refuse_path $nrt
echo '<html>' | serve $nrt
plugin score -f $examples/kep-pod.yaml
says "an answer that is not JSON" 1 "not valid JSON at line 1: an object is expected"
echo '{"kind":"Status","status":"Success"}' | serve $nrt
plugin top
says "an answer that is not a list" 1 "the API server's response is not a list"
objects "$(nrt_object node-1 2 x)"
plugin top
says "an object with a wrong amount" 1 "the API server: NodeResourceTopology 'node-1': zone 'node-1', resource 'cpu': available: not a quantity: 'x'"
echo '{"items":[' | serve $nrt
plugin score -f $examples/kep-pod.yaml
check "half a list" test "$status" -eq 1 -a ! -s "$dir/out" -a "$(wc -l <"$dir/err")" -eq 1
both
refuse_path $nrt/node-1 hang
plugin show node-1 --request-timeout 300ms
check "--request-timeout" test "$status" -eq 1 -a ! -s "$dir/out" -a "$(grep -ci 'timed out\|timeout' "$dir/err")" -eq 1
refuse_path $nrt/node-1
rm "$api$nrt.json"
mv "$api$nrt" "$dir/away"
mkdir "$api$nrt"
no_crd="the cluster has no NodeResourceTopology objects: the CRD noderesourcetopologies.topology.node.k8s.io is not installed"
plugin show node-1
says "no CRD" 1 "$no_crd"
plugin top
says "no CRD, all nodes" 1 "$no_crd"
plugin fit node-1 --cpus 1
says "no CRD, one node" 1 "$no_crd"
plugin score --cpus 1 node-1 node-2
says "no CRD, two nodes" 1 "$no_crd"
rmdir "$api$nrt"
mv "$dir/away" "$api$nrt"
both
plugin show node-3
says "no such node" 1 "no such node: 'node-3'"
plugin fit node-3 --cpus 1
says "no such node to fit" 1 "no such node: 'node-3'"
echo '{"kind":"Node","metadata":{"name":"node-3"}}' | serve /api/v1/nodes/node-3
no_object="node 'node-3' has no NodeResourceTopology object: is an exporter, such as nrtd, running there?"
plugin show node-3
says "no object" 1 "$no_object"
plugin fit node-3 --cpus 1
says "no object to fit" 1 "$no_object"
refuse_path /api/v1/nodes/node-3 403 'nodes "node-3" is forbidden'
plugin show node-3
says "no object, without the right to get the Node" 1 "$no_object"
objects
for command in top "score --cpus 1" "fit --cpus 1"; do
	# shellcheck disable=SC2086 # words
	plugin $command
	says "no object yet: $command" 1 "the cluster has no NodeResourceTopology objects yet: is an exporter, such as nrtd, running?"
done
both
plugin top node-1 "it's 2"
says "of two nodes one is not there" 1 "the API server: no object of node 'it's 2'"
plugin top --context west
check "nobody listens" test "$status" -eq 1 -a ! -s "$dir/out" -a "$(grep -c '^kubectl-numa: http://127.0.0.1:1: ' "$dir/err")" -eq 1
plugin top --context north
check "no such context" test "$status" -eq 1 -a ! -s "$dir/out" -a "$(grep -c "^kubectl-numa: .*'north'" "$dir/err")" -eq 1
plugin top --kubeconfig "$dir/absent"
says "no kubeconfig file" 1 "cannot open '$dir/absent': No such file or directory"
asked "and nobody is asked"

# --- the credentials
mkdir -p "$dir/a b/.kube"
kubeconfig "$dir/a b/.kube/config"
(unset KUBECONFIG && HOME=$dir timeout 60 "$numa" top >"$dir/out" 2>"$dir/err")
check "no credentials" test $? -eq 1 -a ! -s "$dir/out" -a "$(grep -c '^kubectl-numa: no credentials for the API server: ' "$dir/err")" -eq 1
(unset KUBECONFIG && HOME="$dir/a b" timeout 60 "$numa" top -o json >"$dir/out" 2>"$dir/err")
check "the kubeconfig file in the home directory" test "$(names)" = "node-1 node-2 "
sed 's/user: {}/user: {token: t}/' "$dir/kubeconfig" >"$dir/token"
plugin top --kubeconfig "$dir/token"
says "a token without TLS" 1 "'$dir/token': cluster 'here': server '$server' is rejected: credentials require https://"
asked "is not sent"
plugin top -o json --kubeconfig "$dir/kubeconfig" --context west --server "$server"
check "--server beats the kubeconfig file" test "$(names)" = "node-1 node-2 "
plugin top -o html --context east
check "a page has the cluster's name" grep -q '^<h1>NUMA nodes of cluster east</h1>$' "$dir/out"
plugin top -o html --context west --server "$server"
check "unless --server names another server" grep -q '^<h1>NUMA nodes of the cluster</h1>$' "$dir/out"

# --- show
plugin show node-1 --kubeconfig "$dir/a b/.kube/config" --width 100
check "show" grep -q '^node  *node-1$' "$dir/out"
asked "show requests the node's object, the Node and its pods" $nrt/node-1 /api/v1/nodes/node-1 \
	"$(pods_of node-1)" "$(nominated_for node-1)"
"$numa" show --from "$api$nrt/node-1.json" --width 100 >"$dir/want"
check "show prints what it prints of the file" cmp -s "$dir/want" "$dir/out"
plugin show node-1 --objects-only --kubeconfig "$dir/a b/.kube/config"
asked "show --objects-only requests the node's object" $nrt/node-1
mkdir -p "$api$nrt/a b"
plugin show "a b/../node-1?x"
says "a name cannot leave its place in the path" 1 "no such node: 'a b/../node-1?x'"
check "it is escaped" grep -qxF "$nrt/a%20b%2F..%2Fnode-1%3Fx" "$api/requests"
plugin show --width 100
says "show without a node" 2 "name the node: kubectl numa show NODE [FLAG...]"
plugin show node-1 node-2
says "show of two nodes" 2 "unexpected word 'node-2'"

# --- top
plugin top -o json --sort-by free
check "top" test "$(names)" = "node-2 node-1 "
asked "top requests objects, Nodes and Pods" $nrt /api/v1/nodes "/api/v1/pods?fieldSelector=$unfinished"
"$numa" top --from "$api$nrt.json" --from "$api/api/v1/nodes.json" --from "$api/api/v1/pods.json" >"$dir/want"
plugin top
check "top counts what pods request" cmp -s "$dir/out" "$dir/want"
plugin top --objects-only
"$numa" top --from "$api$nrt.json" >"$dir/want"
check "top of the objects prints what it prints of the file" cmp -s "$dir/out" "$dir/want"
asked "and requests nothing else" $nrt
plugin top node-2 node/node-1 -o json
check "top of nodes" has '[.nodes[].name] == ["node-1", "node-2"]'
plugin top node-1 -o json
check "top of one node" test "$(names)" = "node-1 "
asked "requests this one" $nrt/node-1 /api/v1/nodes/node-1 "$(pods_of node-1)" "$(nominated_for node-1)"
written=$(date -u -d "@$(($(date +%s) - 7200))" +%Y-%m-%dT%H:%M:%SZ)
objects "$(nrt_object node-1 2 4 | sed "s/\"name\":\"node-1\"}/\"name\":\"node-1\",\"managedFields\":[{\"manager\":\"nrtd\",\"operation\":\"Apply\",\"time\":\"$written\"}]}/")"
plugin top -o json
check "top has the age of an object" has '.nodes[0].ageSeconds | 7200 <= . and . < 7300'
both
# A list in pieces: items before kind, as some servers print them.
printf '{"items":[%s],"metadata":{},"kind":"NodeResourceTopologyList"}' "$(nrt_object node-1 2 4)" | serve $nrt
plugin top -o json --objects-only
check "a list whose items come first" test "$(names)" = "node-1 "
both

# --- a picture that follows the object. Without timeout(1): it passes SIGTERM on and then sends SIGCONT, which undoes the stop by which
# LeakSanitizer searches an ending program.
"$numa" show node-1 --watch=1 >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_said() { eventually 30 grep -q "$1" "$dir/out"; }
check "--watch draws" until_said '^node  *node-1$'
nrt_object node-1 1 4 | serve $nrt/node-1
check "--watch draws what has changed" until_said '1 of 8 free'
mv "$api$nrt/node-1.json" "$dir/gone.json"
mv "$api/api/v1/nodes/node-1.json" "$dir/gone-node.json"
check "--watch says that the node is gone" until_said "^kubectl-numa: error: no such node: 'node-1'"
mv "$dir/gone-node.json" "$api/api/v1/nodes/node-1.json"
check "--watch says that the object is gone" until_said "^kubectl-numa: error: node 'node-1' has no NodeResourceTopology object"
nrt_object node-1 3 4 | serve $nrt/node-1
check "--watch draws the object when it is back" until_said '3 of 8 free'
kill -TERM $pid
wait $pid
check "--watch ends well on SIGTERM" test $? -eq 0
"$numa" top --watch=1 >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
check "top --watch draws" until_said '^node-1 '
objects "$(nrt_object node-9 2 4)"
check "top --watch draws what has changed" until_said '^node-9 '
kill -TERM $pid
wait $pid
check "top --watch ends well on SIGTERM" test $? -eq 0
check "and nothing is on standard error" test ! -s "$dir/err"
both

# --- usage, installation, completion
plugin --help
check "--help needs no cluster" test "$status" -eq 0 -a -s "$dir/out"
asked "and asks none"
plugin
check "usage" test "$status" -eq 2 -a ! -s "$dir/out"
plugin bogus
check "unknown command" test "$status" -eq 2 -a ! -s "$dir/out"
plugin show node-1 --context
says "a flag without value" 2 "flag '--context' needs a value"
# As krew and the tarball install them: two files in one folder, and links in PATH.
mkdir "$dir/apart" "$dir/path"
cp packaging/kubectl_complete-numa "$dir/apart/"
printf '#!/bin/sh\necho --beside; echo :4\n' >"$dir/apart/kubectl-numa"
chmod +x "$dir/apart/kubectl-numa"
ln -s ../apart/kubectl-numa ../apart/kubectl_complete-numa "$dir/path/"
"$dir/path/kubectl_complete-numa" show -- >"$dir/out" 2>"$dir/err"
check "completion asks the kubectl-numa of its own folder" grep -qx -- --beside "$dir/out"
"$numa" top --from - <"$api$nrt.json" >"$dir/out" 2>"$dir/err"
check "objects on standard input" grep -q '^node-1 ' "$dir/out"
# shellcheck disable=SC2012 # a number
check "nothing is left in TMPDIR" test "$(ls "$TMPDIR" | wc -l)" -eq 0
check "the stand-in had no trouble" test -z "$(grep -v '^ConnectionResetError\|^BrokenPipeError' "$dir/api.log" | grep 'Error')"
exit $failed
