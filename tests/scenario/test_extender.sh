#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nrtd-extender: a scheduler's questions over HTTP, answered from a file.
# shellcheck disable=SC2317 # functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
# shellcheck source=tests/lib/extender.sh
. tests/lib/extender.sh
export HWLOC_HIDE_ERRORS=2

example_node "$dir/node"
for name in node-1 node-2; do
	"$B/nrtd" dump --sysroot "$dir/node" --node-name $name 2>/dev/null && echo ---
done >"$dir/nodes.yaml"

start() { start_extender "$dir/nodes.yaml" -v "$@" && wait_until_ready; } # start FLAG...

# ask VERB UID CPUS NODE...: what a scheduler asks with nodeCacheCapable
ask() {
	verb=$1 uid=$2 cpus=$3
	shift 3
	names=$(printf '"%s",' "$@")
	printf '{"Pod":{"metadata":{"name":"%s","namespace":"default","uid":"%s"},"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"%s","memory":"1Gi"},"limits":{"cpu":"%s","memory":"1Gi"}}}]}},"Nodes":null,"NodeNames":[%s]}' \
		"$uid" "$uid" "$cpus" "$cpus" "${names%,}" |
		curl -s -w '\n%{http_code}\n' --data-binary @- "127.0.0.1:$port/$verb" >"$dir/out" 2>"$dir/err"
}

says() { grep -qF -- "$1" "$dir/out"; }
logs() { grep -qF -- "$1" "$dir/log"; }

port=$((20000 + $$ % 4000)) # scripts run at the same time: each has ports of its own, below the kernel's
check "starts from a file and is ready" start
# Each node has 6 and 7 CPUs free on its NUMA nodes.
ask filter a 6 node-1 node-2
check "one node is answered" says '"NodeNames":["node-1"]'
ask filter b 6 node-1 node-2
check "it fills the NUMA node that it fits best" says '"NodeNames":["node-2"]'
ask filter c 6 node-1 node-2
check "an assumed pod counts" says '"NodeNames":["node-1"]'
ask filter d 8 node-1 node-2
check "no node is an empty list" says '"NodeNames":[]'
check "the kubelet's reason is given" says 'restricted: '
check "preemption may help there" says '"FailedAndUnresolvableNodes":{}'
ask filter d 64 node-1 node-2
check "a node that is too small is beyond preemption" says '"FailedNodes":{},"FailedAndUnresolvableNodes":{"node-1":"'
ask filter b 6 node-1 node-2
check "a question again replaces its assumed node" says '"NodeNames":["node-2"]'
ask filter e 500m node-1 node-2 node-9
check "a pod without exclusive CPUs goes anywhere" says '"NodeNames":["node-1","node-2","node-9"]'
ask prioritize f 6 node-1 node-2
check "prioritize gives scores" says '{"Host":"node-2","Score":9}'
check "a node that is full has none" says '{"Host":"node-1","Score":0}'
printf '{"Pod":{"metadata":{"name":"g","namespace":"default","uid":"g"},"spec":{"priority":9,"containers":[{"name":"app","resources":{"limits":{"cpu":"8","memory":"1Gi"}}}]}},"NodeNameToMetaVictims":{"node-1":{"Pods":[{"UID":"777870b5-c64f-42f5-9296-688b9dc212ba"}]}}}' |
	curl -s "127.0.0.1:$port/preempt" --data-binary @- >"$dir/out" 2>"$dir/err"
check "preempt answers" says '"NodeNameToMetaVictims"'
echo nonsense | curl -s -w '%{http_code}' "127.0.0.1:$port/filter" --data-binary @- >"$dir/out" 2>"$dir/err"
check "what is no question is refused" says '400'
curl -s -w '%{http_code}' "127.0.0.1:$port/bind" -d '{}' >"$dir/out" 2>"$dir/err"
check "there is no bind" says '404'
curl -s "127.0.0.1:$port/" >"$dir/out" 2>"$dir/err"
check "the paths are named" says 'there are /healthz, /readyz and /metrics, and by POST /filter, /prioritize, /preempt, /v1/choose, /v1/admit and /v1/forget'
check "the loopback interface needs no TLS" sh -c "! grep -q warning '$dir/log'"
curl -s "127.0.0.1:$port/metrics" >"$dir/out" 2>"$dir/err"
check "assumed pods are counted" says 'nrtd_extender_requests_total{verb="filter",result="assumed"} 4'
check "and so are those that hold" says 'nrtd_extender_assumed_pods 3'
check "and the nodes" says 'nrtd_extender_nodes{state="exact"} 2'
if command -v promtool >/dev/null; then
	cp "$dir/out" "$dir/metrics"
	check "promtool finds nothing" sh -c "promtool check metrics <'$dir/metrics' >'$dir/out' 2>&1"
else
	echo "skipped: promtool is not here"
fi
check "with --verbose each question is logged" logs "pod 'default/a': at least 1 of 2 nodes admit the pod; assumed on node-1"
check "SIGTERM ends it well" stop

check "starts with --answer all and --unknown fail" start --answer all --unknown fail
ask filter a 6 node-1 node-2 node-9
check "all nodes that take the pod are answered" says '"NodeNames":["node-1","node-2"]'
ask filter b 6 node-9
check "an unknown node is refused" says '"node-9":"the extender knows no Node or NodeResourceTopology object of this name"'
check "it ends" stop
check "starts on all interfaces" start --http "0.0.0.0:$port"
check "which is a warning without TLS" logs 'warning: any client that reaches 0.0.0.0 may send requests'
check "ends" stop

"$B/nrtd-extender" --nrt "$dir/none.yaml" >"$dir/out" 2>&1
check "a file that is not there is named" says "$dir/none.yaml"
"$B/nrtd-extender" --nrt "$dir/nodes.yaml" --lease a/b >"$dir/out" 2>&1
check "a file needs no lease" says '--lease and --nrt exclude each other'
"$B/nrtd-extender" --nrt "$dir/nodes.yaml" --lease b >"$dir/out" 2>&1
check "a lease has a namespace" says "'b' is not NAMESPACE/NAME"
"$B/nrtd-extender" --nrt "$dir/nodes.yaml" --advertise '[::1]' >"$dir/out" 2>&1
check "an address has no brackets" says "'[::1]' is not a numeric address"
exit $failed
