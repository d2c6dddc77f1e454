#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nrtd-extender: /v1 for schedulers that name no nodes, compared with /filter and /prioritize on random clusters, and with its schema.
# shellcheck disable=SC2317 # functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
# shellcheck source=tests/lib/extender.sh
. tests/lib/extender.sh
command -v python3 >/dev/null || { echo "skipped: python3 is not here"; exit 0; }
python3 -c 'import jsonschema' 2>/dev/null || echo "skipped: the schema, because python3-jsonschema is not here"
export HWLOC_HIDE_ERRORS=2

example_node "$dir/node"
names=
while read -r name policy; do
	"$B/nrtd" dump --sysroot "$dir/node" --node-name "$name" --topology-manager-policy "$policy" 2>/dev/null && echo ---
	names="$names $name"
done >"$dir/objects.yaml" <<-END
	a restricted
	b single-numa-node
	c best-effort
	d restricted
	e single-numa-node
	f restricted
	g single-numa-node
END

start() { # FILE...: the extender with these objects
	cat "$@" >"$dir/input.yaml"
	start_extender "$dir/input.yaml" --unknown fail && wait_until_ready
}

ask() { # VERB MEMBERS: a request for a pod of 4 CPUs
	printf '{"pod":{"metadata":{"name":"p","namespace":"default","uid":"p"},"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"4","memory":"1Gi"}}}]}}%s}' "$2" |
		curl -s --data-binary @- "127.0.0.1:$port/v1/$1" >"$dir/out" 2>"$dir/err"
}
says() { grep -qF -- "$1" "$dir/out"; }

port=$((24000 + $$ % 4000)) # scripts run at the same time: each has ports of its own, below the kernel's
for seed in ${SEEDS:-1 2 3}; do
	check "starts" start "$dir/objects.yaml"
	# shellcheck disable=SC2086 # words
	check "seed $seed: /v1 agrees with /filter, /prioritize and the schema" python3 tests/lib/extender_v1.py "$port" "$seed" $names
	check "ends" stop
done

cat >"$dir/nodes.yaml" <<-'END'
	apiVersion: v1
	kind: Node
	metadata: {name: a}
	spec: {unschedulable: true}
	---
	apiVersion: v1
	kind: Node
	metadata: {name: b, labels: {disk: ssd}}
	spec: {taints: [{key: k, value: v, effect: NoSchedule}]}
	---
	apiVersion: v1
	kind: Node
	metadata: {name: d}
END
check "starts with Nodes" start "$dir/objects.yaml" "$dir/nodes.yaml"
ask choose ''
check "/v1/choose: no cordoned and no tainted node, and none without a Node" says '{"nodeNames":["d"],"assumed":false,"reasons":[],"unreachedNodes":0}'
ask admit ''
check "/v1/admit: constraints do not count" says '{"failedNodeNames":[],"reasons":[],"unreachedNodes":0}'
ask choose ',"nodeNames":["a"],"assume":true'
check "the scheduler has evaluated the constraints of named nodes" says '{"nodeNames":["a"],"assumed":true,'
ask choose ',"assume":true}'
check "a request with more than an object is refused" says '{"error":"not a JSON object"}'
curl -s "127.0.0.1:$port/metrics" >"$dir/out" 2>"$dir/err"
check "requests are counted" says 'nrtd_extender_requests_total{verb="choose",result="assumed"} 1'
check "ends" stop
exit $failed
