#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# events.sh DIR: the agent's Events about its Node against the control plane in DIR (cluster.sh start, nodes node-a and node-b), with the
# rights and the admission policy of packaging/kubernetes, as kubectl and `kubectl numa changes` show them. B names the build folder.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
dir=$1
work=$(mktemp -d)
pid=""
trap '[ -z "$pid" ] || kill -KILL $pid 2>/dev/null; rm -rf "$work"' EXIT
. tests/lib/checks.sh
unset KUBECONFIG
admin() { "$B/upstream/kubectl" --kubeconfig "$dir/admin.kubeconfig" "$@"; }
# shellcheck disable=SC2034 # for checks.sh
subject=events
start() { # start WHO FLAG...: the agent of node-a, as this identity
	local who=$1
	shift
	"$B/nrtd" run --sysroot "$work/machine" --node-name node-a --lock none --http off --poll 100ms --events 500ms \
		--kubeconfig "$dir/$who-node-a.kubeconfig" "$@" 2>"$work/log" &
	pid=$!
}
stop() {
	kill "$pid"
	wait "$pid"
	pid=""
}
# shellcheck disable=SC2317 # called by name
{
	published() { admin get noderesourcetopology node-a; }
	event() { admin get events -n default -o json | jq -e --arg note "$1" '[.items[] | select(.message == $note and .involvedObject.kind == "Node")] | length == 1'; }
	described() { admin describe node node-a | grep -E "$1"; }
	for_node() { admin events --for node/node-a | grep -E "$1"; }
	changes() { "$B/kubectl-numa" changes node-a --kubeconfig "$dir/admin.kubeconfig" | grep -E "$1"; }
	n_events() { test "$(admin get events -n default --field-selector involvedObject.kind=Node,involvedObject.name=node-a -o name | wc -l)" -eq "$1"; }
	logged() { grep -q "$1" "$work/log"; }
}

mkdir -p "$work/machine/var/lib/kubelet"
cp -r build/fixtures/machines/seed-2s-32cpu/. "$work/machine"
config=$work/machine/var/lib/kubelet/config.yaml
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\ntopologyManagerPolicy: best-effort\n' >"$config"
admin delete noderesourcetopology node-a --ignore-not-found >/dev/null 2>&1
admin delete events -n default --all >/dev/null 2>&1

start agent
check "the agent publishes" eventually 20 published
sleep 2
check "the start is no Event" n_events 0
sed -i 's/best-effort/single-numa-node/' "$config"
note="topologyManagerPolicy: best-effort -> single-numa-node"
check "an Event with both values" eventually 20 event "$note"
check "kubectl describe node" described "Normal +KubeletSettingsChanged .* nrtd.dev/nrtd +$note"
check "kubectl events --for" for_node "KubeletSettingsChanged +Node/node-a +$note"
check "kubectl numa changes" changes "KubeletSettingsChanged +- +$note"
stop
sed -i 's/"0"/"0-1"/' "$config"
start agent
check "a change while the agent was away" eventually 20 event "reservedCPUs: 0 -> 0-1"
stop

# With the identity of a node, no further right is necessary.
start kubelet
sleep 2
sed -i 's/single-numa-node/restricted/' "$config"
check "with a node's identity" eventually 20 event "topologyManagerPolicy: single-numa-node -> restricted"
stop

# Without the right
admin patch clusterrole nrtd --type json -p "$(admin get clusterrole nrtd -o json |
	jq -c '[{op: "replace", path: "/rules", value: [.rules[] | select(.apiGroups != ["events.k8s.io"])]}]')" >/dev/null
start agent
sleep 2
sed -i 's/restricted/best-effort/' "$config"
check "without the right" eventually 20 logged "the right to write an Event about the Node of 'node-a' is missing: apply packaging/kubernetes/rbac.yaml"
sleep 2
check "it is said once" test "$(grep -c 'right to write an Event' "$work/log")" -eq 1
check "and publishing goes on" sh -c "grep -q published '$work/log'"
check "there are three Events" n_events 3
stop
admin apply --server-side --force-conflicts -f packaging/kubernetes/rbac.yaml >/dev/null
tally
