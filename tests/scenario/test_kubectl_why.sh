#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa why` against a stand-in for the API server: which objects it requests, what it prints without some of them, the line and
# the status of each error; and what the completion helper offers. B names the build folder.
set -u
B=$(pwd)/${B:-build}
numa=$B/kubectl-numa
. tests/lib/scenario.sh
. tests/lib/api_server.sh
export LC_ALL=C
list NodeResourceTopology "$(nrt_object node-1 2 4)" "$(nrt_object node-2 8 8)" | serve $nrt
nrt_object node-1 2 4 | serve $nrt/node-1
pods=/api/v1/namespaces/x/pods events=/api/v1/namespaces/x/events
mkdir -p "$api$pods"
pod() { # NAMESPACE
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"%s"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"4","memory":"1Gi"}}}]},"status":{"phase":"Pending"}}\n' "$1"
}
pod x | serve $pods/p
list Pod | serve $pods
pod default | serve /api/v1/namespaces/default/pods/p
list Pod | serve /api/v1/namespaces/default/pods
list Event '{"involvedObject":{"kind":"Pod","namespace":"x","name":"p"},"reason":"FailedScheduling","message":"0/2 nodes"}' | serve $events
list Event | serve /api/v1/namespaces/default/events
list Pod | serve /api/v1/pods
cordoned='{"kind":"Node","metadata":{"name":"node-1"},"spec":{"unschedulable":true}}'
echo "$cordoned" | serve /api/v1/nodes/node-1
list Node "$cordoned" '{"kind":"Node","metadata":{"name":"node-2"},"status":{"allocatable":{"cpu":"16","memory":"128Gi"}}}' | serve /api/v1/nodes
list Node "$cordoned" | serve "/api/v1/nodes@a=b"
unfinished=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed
of_the_pod="fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.name%3Dp"
plugin() {
	forget
	timeout 60 "$numa" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
}
# asked NAME PATH...: exactly these requests were made
asked() {
	asked_name=$1
	shift
	printf '%s\n' "$@" | sort >"$dir/want"
	requests | diff "$dir/want" - >"$dir/diff"
	if [ -s "$dir/diff" ]; then not_ok "$asked_name" "$dir/diff"; else ok "$asked_name"; fi
}

plugin why p -n x
check "status" test "$status" -eq 0
check "the pod" grep -q '^pod x/p waits' "$dir/out"
check "its event" grep -q ' FailedScheduling .*0/2 nodes' "$dir/out"
check "the Nodes" grep -q '^node-1  ~admit .* kept away: cordoned' "$dir/out"
check "nothing on standard error" test ! -s "$dir/err"
asked "which objects are requested" $pods/p "$events?$of_the_pod" $nrt /api/v1/nodes "/api/v1/pods?fieldSelector=$unfinished"
plugin why --namespace=x pod/p node-1 -o json
check "one node, which is cordoned" test "$status" -eq 3
check "that node alone" test "$(grep -c keptAway "$dir/out")" -eq 1
asked "its object, its Node and its Pods" $pods/p "$events?$of_the_pod" $nrt/node-1 /api/v1/nodes/node-1 \
	"/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1%2C$unfinished" \
	"/api/v1/pods?fieldSelector=spec.nodeName%3D%2Cstatus.nominatedNodeName%3Dnode-1%2C$unfinished"
for word in pods/p po/p; do
	plugin why $word no/node-1 -n x -o json
	check "$word" test "$(grep -c keptAway "$dir/out")" -eq 1
done
mv "$api$pods/p.json" "$dir/p.json"
jq -c '.spec.nodeName = "node-2" | .status = {phase: "Failed", reason: "TopologyAffinityError"}' "$dir/p.json" | serve $pods/p
plugin why p node-1 -n x
check "a pod that another node has rejected" grep -q "verdict of node 'node-2' now: unknown, the object of the node was not read" "$dir/out"
mv "$dir/p.json" "$api$pods/p.json"
plugin why p -n x node/node-1 -o json
check "also as node/NAME" test "$(grep -c keptAway "$dir/out")" -eq 1
plugin why x/p
check "the namespace before the name" grep -q '^pod x/p waits' "$dir/out"
plugin why p
check "the namespace default" grep -q '^pod default/p waits' "$dir/out"
check "no events at all" grep -q 'no events: Kubernetes keeps events for an hour' "$dir/out"
plugin why p -n x -l a=b -o json
check "a selector: one node" test "$(grep -c keptAway "$dir/out")" -eq 1
check "requests the Nodes that it selects" grep -qxF "/api/v1/nodes?labelSelector=a%3Db" "$api/requests"

refuse_path $events 403 'events is forbidden'
refuse_path /api/v1/nodes 403 'nodes is forbidden'
plugin why p -n x
check "without the right to list them there is an answer" grep -q '^2 of 2 nodes would admit the pod' "$dir/out"
printf 'kubectl-numa: warning: the answer omits %s is forbidden\n' "events: events" "nodes: nodes" >"$dir/want"
check "and a line for each" cmp -s "$dir/want" "$dir/err"
asked "no Pods without Nodes" $pods/p "$events?$of_the_pod" $nrt /api/v1/nodes
plugin why p -n x -o yaml
check "events that may not be listed are not known" grep -q '^events: null' "$dir/out"
refuse_path $events
refuse_path /api/v1/nodes
# says NAME STATUS LINE: the status, nothing on standard output, and this one line
says() {
	[ "$status" -eq "$2" ] && [ ! -s "$dir/out" ] && [ "$(cat "$dir/err")" = "kubectl-numa: $3" ]
	check "$1" test $? -eq 0
}
granted='the ClusterRole kubectl-numa of packaging/kubernetes/rbac-users.yaml grants the right'
refuse_path $pods/p 403 'pods "p" is forbidden'
plugin why p -n x
says "without the right to get the pod" 1 "pods \"p\" is forbidden; $granted"
asked "nothing else is requested" $pods/p
refuse_path $pods/p
plugin why q -n x
says "no such pod" 1 "no pod 'q' in namespace 'x'"
plugin why deploy/q
says "a word of another kind" 1 "'deploy/q' is NAMESPACE/NAME: no pod 'q' in namespace 'deploy'"
refuse_path $nrt 403 'noderesourcetopologies is forbidden'
plugin why p -n x
says "without the right to list objects" 1 "noderesourcetopologies is forbidden; $granted"
refuse_path $nrt
plugin why p node-9 -n x
says "no such node" 1 "no such node: 'node-9'"
plugin why
says "no pod is named" 2 "name the pod: kubectl numa why [NAMESPACE/]POD [NODE] [FLAG...]"
plugin why p node-1 node-2
says "two nodes" 2 "unexpected word 'node-2'"
plugin why p --context
says "a flag without value" 2 "flag '--context' needs a value"
plugin why p -o
says "a letter without value" 2 "flag '-o' needs a value"
plugin why p --bogus
says "an unknown flag" 2 "unknown flag '--bogus'"
plugin why --help
check "--help" grep -qF 'kubectl numa why [NAMESPACE/]POD' "$dir/out"

# --- completion: the helper asks kubectl for names, and kubectl-numa for commands and flags
mkdir "$dir/bin"
cat >"$dir/bin/kubectl" <<'END'
#!/bin/sh
echo "$2/some-$2"
END
chmod +x "$dir/bin/kubectl"
export KUBECTL="$dir/bin/kubectl"
offers() { PATH=$B:$PATH packaging/kubectl_complete-numa "$@" >"$dir/out" 2>"$dir/err"; }
objects=noderesourcetopologies.topology.node.k8s.io
offers ""
for command in top fit score why show; do
	check "completion of the command $command" grep -q "^$command	" "$dir/out"
done
check "no file names" test "$(tail -n 1 "$dir/out")" = :4
offers why ""
check "completion of pods" grep -qx some-pods "$dir/out"
offers why p ""
check "completion of a pod's nodes" grep -qx "some-$objects" "$dir/out"
for command in "show" "top" "top node-1" "fit" "score"; do
	# shellcheck disable=SC2086 # words
	offers $command ""
	check "completion of nodes: $command" grep -qx "some-$objects" "$dir/out"
done
offers why p --na
check "completion of flags" grep -q -- "^--namespace	" "$dir/out"
offers score --st
check "completion of another command's flags" grep -q -- "^--strategy	" "$dir/out"
offers -n x pods -o ""
check "completion of a flag's values, behind a flag before the command" grep -qx wide "$dir/out"
cat >"$dir/bin/kubectl" <<'END'
#!/bin/sh
printf '%s\n' NAME "$*"
END
offers --context west why --token=t -n 'a b' ""
check "kubectl lists pods of the same cluster and namespace" grep -qx 'get pods -o name --context west --token=t -n a b --request-timeout=5s' "$dir/out"
check "and no file names" test "$(tail -n 1 "$dir/out")" = :4
offers top --kubeconfig k --context ""
check "contexts of the same kubeconfig" grep -qx 'config get-contexts -o name --kubeconfig k --request-timeout=5s' "$dir/out"
offers top --user ""
check "users, without the heading" test "$(head -n 1 "$dir/out")" = "config get-users --request-timeout=5s"
offers pods -n ""
check "namespaces" grep -qx 'get namespaces -o name --request-timeout=5s' "$dir/out"
offers fit -f ""
check "file names" test "$(cat "$dir/out")" = :0
exit $failed
