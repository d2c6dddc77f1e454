#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# extender_faults.sh: `nrtd-extender` beside the real API server, which is killed, forgets, and comes back; objects that go;
# replicas that end. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
command -v curl >/dev/null || { echo "skipped: curl is not here"; exit 0; }
$here/build.sh controlplane
status=$?
[ "$status" -ne 77 ] || exit 0
[ "$status" -eq 0 ] && [ -x "$B/tests/upstream/steps" ] || exit 1
pids=
cluster=$dir/cluster
trap 'kill $pids 2>/dev/null; [ ! -e "$cluster/controlplane.pid" ] || $here/cluster.sh stop "$cluster"; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
$here/cluster.sh start "$cluster" -nodes node-a,node-b -timeout 1h >/dev/null || exit 1
admin=$cluster/admin.kubeconfig
nrts=/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies
pods=/api/v1/namespaces/default/pods

again() { $here/cluster.sh start "$cluster" -resume -nodes node-a,node-b -timeout 1h >"$dir/resume.out" 2>&1 || { cat "$dir/resume.out" && exit 1; }; }
# as_admin: requests on standard input
as_admin() { "$B/tests/upstream/steps" "$admin" "$admin" node-a >"$dir/steps.out" 2>"$dir/steps.err"; }
# begin NAME FLAG...: an extender; its process is $pid, its port $port
port=$((20000 + $$ % 10000))
begin() {
	name=$1
	shift
	port=$((port + 1))
	"$B/nrtd-extender" --kubeconfig "$admin" --http "127.0.0.1:$port" --advertise 127.0.0.1 --unknown fail "$@" 2>"$dir/$name.log" &
	pid=$!
	pids="$pids $pid"
}
ready() { curl -sf -m 5 "127.0.0.1:$1/readyz" >"$dir/out"; }
# takes PORT UID CPUS NODE: whether a pod may go there; $follow: L where another replica may answer
follow=
takes() {
	printf '{"Pod":{"metadata":{"name":"%s","namespace":"default","uid":"%s"},"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"%s","memory":"1Gi"},"limits":{"cpu":"%s","memory":"1Gi"}}}]}},"Nodes":null,"NodeNames":["%s"]}' \
		"$2" "$2" "$3" "$3" "$4" | curl "-s$follow" -m 10 --data-binary @- "127.0.0.1:$1/filter" >"$dir/out" && grep -qF "\"NodeNames\":[\"$4\"]" "$dir/out"
}
refuses() { ! takes "$@" && grep -qF '"NodeNames":[]' "$dir/out"; }
# refused_when_known PORT CPUS NODE: a pod of another name each time; a pod that does not pass is not assumed
asked=0
refused_when_known() {
	asked=$((asked + 1))
	refuses "$1" "probe-$asked" "$2" "$3"
}

# Each node has 6 and 7 CPUs free on its NUMA nodes.
example_node "$dir/node"
for name in node-a node-b; do
	"$B/nrtd" dump --sysroot "$dir/node" --node-name $name -o json 2>"$dir/err" | tr -d '\n' >"$dir/$name.json"
	printf 'request POST %s application/json %s\n' "$nrts" "$(cat "$dir/$name.json")"
done | as_admin
begin one --assume-timeout 30m
one=$pid at=$port
check "the extender is ready" eventually 90 ready "$at"
check "a pod gets a node" takes "$at" first 7 node-a

# ---- the API server
$here/cluster.sh kill "$cluster"
lost() { grep -q 'cannot watch noderesourcetopologies' "$dir/one.log"; }
check "a killed API server is logged" eventually 90 lost
check "it answers from its cache meanwhile" takes "$at" second 6 node-b
again
echo "request DELETE $nrts/node-b" | as_admin
unknown() { refuses "$at" third 1 node-b; }
check "extender: API server killed" eventually 90 unknown
check "and assumed pods are still assumed" refuses "$at" fourth 7 node-a

# While it does not look, the API server is killed, an object changes, and the API server is killed again: what the extender
# knows is older than what the new one remembers.
kill -STOP "$one"
for step in change forget; do
	[ $step = change ] || $here/cluster.sh compact "$cluster" >"$dir/out"
	$here/cluster.sh kill "$cluster"
	again
	[ $step = forget ] || printf 'request POST %s application/json %s\n' "$nrts" "$(cat "$dir/node-b.json")" | as_admin
done
kill -CONT "$one"
check "extender: what it watches is too old" eventually 90 takes "$at" third 6 node-b
too_old() { grep -q 'listing noderesourcetopologies again: .*too old' "$dir/one.log"; }
check "which the API server says (410)" too_old
measures() { curl -s -m 10 "127.0.0.1:$1/metrics" >"$dir/out" && grep -qE "$2" "$dir/out"; }
check "and is counted" measures "$at" 'watch_total.kind="noderesourcetopologies",what="expired". [1-9]'

# ---- objects
echo "request DELETE $nrts/node-b" | as_admin
check "extender: an object is deleted" eventually 90 unknown
printf 'request POST %s application/json %s\n' "$nrts" "$(cat "$dir/node-b.json")" | as_admin
check "and made again" eventually 90 takes "$at" third 6 node-b

# ---- its own end
# bound NAME NODE: a pod of 7 CPUs that is bound
bound() {
	echo "request POST $pods application/json {\"metadata\":{\"name\":\"$1\"},\"spec\":{\"nodeName\":\"$2\",\"automountServiceAccountToken\":false,\"containers\":[{\"name\":\"app\",\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"7\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"7\",\"memory\":\"1Gi\"}}}]}}"
}
bound running node-b | as_admin
kill -KILL "$one"
taken() { refused_when_known "$1" 7 node-b; }
begin two --lease default/nrtd
two=$pid at=$port
check "with the lease it is ready" eventually 90 ready "$at"
check "extender: killed and started again" taken "$at"
check "what is free is answered" takes "$at" fifth 6 node-b

begin three --lease default/nrtd
three=$pid other=$port
sends_on() { ready "$1" && grep -q 'requests are forwarded to .*, which holds the lease' "$dir/out"; }
check "another replica is ready too" eventually 90 sends_on "$other"
says_holder() { grep -q "the lease 'nrtd' is held by '.*@http://127.0.0.1:$at'" "$dir/three.log"; }
check "and logs once which replica holds the lease" says_holder
told() { [ "$(curl -s -m 10 -d '{}' -o "$dir/out" -w '%{http_code} %{redirect_url}' "127.0.0.1:$other/filter")" = "307 http://127.0.0.1:$at/filter" ]; }
check "a request to it is redirected to the holder of the lease" told
follow=L
check "and is answered there" takes "$other" sixth 1 node-a
follow=
kill -KILL "$two"
check "extender: of two replicas the one with the lease is killed" eventually 90 takes "$other" sixth 1 node-a
check "the other one knows the pods" taken "$other"
begin four --lease default/nrtd
four=$pid last=$port
check "a third one waits" eventually 90 sends_on "$last"
kill "$three" && wait "$three"
check "extender: of two replicas the one with the lease is ended" eventually 90 takes "$last" sixth 1 node-a

# The API server does not answer: what waits for it is cut off, it does not come to its time-out.
kill -STOP "$(cat "$cluster/controlplane.pid")"
sleep 2.5 # a look at the lease every 2 s, which times out after 5 s
ends() {
	kill "$four" && wait "$four" && grep -q 'cannot release the lease' "$dir/four.log" &&
		! grep -v 'cannot release' "$dir/four.log" | grep 'timed out'
}
check "extender: ended while the API server hangs" ends
kill -CONT "$(cat "$cluster/controlplane.pid")"
exit $failed
