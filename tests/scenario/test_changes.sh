#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent's Events about its Node, and `kubectl numa changes`, from a stand-in for the API server and from files. What only an API server
# can show is in tests/upstream/events.sh. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
. tests/lib/api_server.sh
need_jq
export LC_ALL=C
unset COLUMNS JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC
nrtd_pid=""
trap '[ -z "$nrtd_pid" ] || kill -KILL $nrtd_pid 2>/dev/null; kill $api_pid 2>/dev/null; rm -rf "$dir"' EXIT
run() { "$numa" changes "$@" >"$dir/out" 2>"$dir/err"; }
says() { grep -qE -- "$1" "$dir/out"; }

# --- the agent
example_node "$dir/machine"
kubelet=$dir/machine/var/lib/kubelet
echo '{"kind":"Node","metadata":{"name":"n1","uid":"u1"},"status":{"nodeInfo":{"kubeletVersion":"v1.36.2"}}}' | serve /api/v1/nodes/n1
events=/apis/events.k8s.io/v1/namespaces/default/events
mkdir -p "$api${events%/events}"
start() { # start FLAG...
	"$nrtd" run --sysroot "$dir/machine" --node-name n1 --lock none --http off --poll 100ms --kubeconfig "$dir/kubeconfig" "$@" 2>"$dir/err" &
	nrtd_pid=$!
}
stop() {
	kill "$nrtd_pid"
	wait "$nrtd_pid"
	nrtd_pid=""
}
written() { sed -n "s|^POST $events ||p" "$api/changes" 2>/dev/null; } # the Events, one per line
n_events() { test "$(written | wc -l)" -eq "$1"; }
last() { test "$(written | tail -n 1 | jq -r "$1")" = "$2"; }
published() { grep -q '^PATCH /api/v1/nodes/n1 ' "$api/changes" 2>/dev/null; }
start --events 300ms
check "the agent publishes" eventually 30 published
sleep 1
check "a start is no change" n_events 0
sed -i 's/restricted/single-numa-node/' "$kubelet/config.yaml"
check "another policy is an Event" eventually 30 n_events 1
check "with both values" last .note "topologyManagerPolicy: restricted -> single-numa-node"
check "about the Node" last '[.regarding.kind, .regarding.name, .regarding.uid, .type, .reason] | join(" ")' "Node n1 u1 Normal KubeletSettingsChanged"
printf '{"policyName":"static","defaultCpuSet":"0-31","entries":{},"checksum":0}' >"$kubelet/.new"
mv "$kubelet/.new" "$kubelet/cpu_manager_state"
sleep 1
check "pods are no Events" n_events 1
rm "$kubelet/cpu_manager_state"
check "a removed state file is one" eventually 30 n_events 2
check "a warning" last '[.type, .reason] | join(" ")' "Warning KubeletStateRemoved"
stop
sed -i 's/reservedSystemCPUs: "0"/reservedSystemCPUs: "0-1"/' "$kubelet/config.yaml"
example_node "$dir/again" && cp "$dir/again/var/lib/kubelet/cpu_manager_state" "$kubelet/"
sed -i 's/"0,10-15/"0,1,10-15/; s/"1-9"/"2-9"/; s/,"checksum":[0-9]*/,"checksum":0/' "$kubelet/cpu_manager_state"
start --events 300ms
check "what changed while the agent was away is an Event" eventually 30 n_events 3
check "against the published object" last .note "reservedCPUs: 0 -> 0-1"
stop
echo '403 events is forbidden' >"$api$events.POST.error"
start --events 300ms
sleep 1
sed -i 's/single-numa-node/best-effort/' "$kubelet/config.yaml"
check "without the right it says so" eventually 30 grep -q 'the right to write an Event about the Node .* is missing' "$dir/err"
sleep 2
check "once" test "$(grep -c 'right to write an Event' "$dir/err")" -eq 1
check "and asks once" test "$(written | wc -l)" -eq 4
rm "$api$events.POST.error"
stop
start --events 0
sleep 1
sed -i 's/best-effort/restricted/' "$kubelet/config.yaml"
sleep 2
check "--events=0 writes none" n_events 4
stop

# --- the command
"$nrtd" dump --sysroot "$dir/again" --node-name n1 -o json >"$dir/nrt.json" 2>/dev/null
at() { date -u -d "-$1" +%Y-%m-%dT%H:%M:%SZ; } # at TIME-AGO
event() { # event KIND NAMESPACE NAME UID REASON MESSAGE AGO [HOST]
	printf '{"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"%s","namespace":"%s","name":"%s","uid":"%s"},"reason":"%s","message":"%s","type":"Normal","lastTimestamp":"%s","source":{"component":"kubelet","host":"%s"}}\n' \
		"$1" "$2" "$3" "$4" "$5" "$6" "$(at "$7")" "${8:-n1}"
}
pod() { # pod NAME UID AGO STATUS
	printf '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"%s","namespace":"ml","uid":"%s"},"spec":{"nodeName":"%s","containers":[{"name":"c"}]},"status":{"startTime":"%s",%s}}\n' \
		"$1" "$2" "${5:-n1}" "$(at "$3")" "$4"
}
{
	event Node "" n1 n1 KubeletSettingsChanged "topologyManagerPolicy: restricted -> single-numa-node" "10 minutes"
	event Node "" n1 n1 Starting "Starting kubelet." "3 hours"
	event Node "" n2 n2 Starting "Starting kubelet." "5 minutes"
	event Pod ml gone u-gone Killing "Stopping container c" "3 minutes"
	event Pod ml gone u-gone Started "Started container c" "20 minutes"
	event Pod ml elsewhere u-else Killing "Stopping container c" "3 minutes" n2
	event Pod ml runs fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd Started "Started container c" "8 minutes"
	pod runs fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd "8 minutes" '"phase":"Running"'
	pod old u-old "5 hours" '"phase":"Running"'
	pod "done" u-done "4 hours" "\"phase\":\"Succeeded\",\"containerStatuses\":[{\"state\":{\"terminated\":{\"finishedAt\":\"$(at "7 minutes")\"}}}]"
	pod refused u-ref "6 minutes" '"phase":"Failed","reason":"TopologyAffinityError","message":"Pod was rejected: Resources cannot be allocated"'
	pod other u-other "6 minutes" '"phase":"Running"' n2
	echo '{"kind":"Node","metadata":{"name":"n1"}}'
	cat "$dir/nrt.json"
} >"$dir/objects.json"
jq -s '{kind: "List", items: .}' "$dir/objects.json" >"$dir/cluster.json"
run n1 --from "$dir/cluster.json" -o json
check "the changes, newest first" has '[.changes[] | "\(.what) \(.pod)"] == ["pod ended gone", "pod rejected refused", "pod ended done", "pod started runs", "KubeletSettingsChanged null", "pod started gone"]'
check "what a pod holds" has '.changes[3].message == "holds CPUs 1-9 on NUMA node 0"'
check "why a pod was rejected" has '.changes[1].message == "TopologyAffinityError: Pod was rejected: Resources cannot be allocated"'
check "the times" has '.changes[4].ageSeconds >= 600 and .changes[4].ageSeconds < 660 and .sinceSeconds == 3600'
run n1 --from "$dir/cluster.json"
check "a table" says '^AGE +WHAT +POD +MESSAGE$'
check "a row of a pod" says '^[78]m +pod started +ml/runs +holds CPUs 1-9 on NUMA node 0$'
check "a row of the Node" says '^1[01]m +KubeletSettingsChanged +- +topologyManagerPolicy: restricted -> single-numa-node$'
run node/n1 --from "$dir/cluster.json" --since 5m --no-headers
check "--since" test "$(wc -l <"$dir/out")" -eq 1
run n1 --from "$dir/cluster.json" --since 4h
check "further back" says '^3h +Starting +- +Starting kubelet\.$'
run n1 --from "$dir/cluster.json" --since 10s
check "no change" says "^no change of node 'n1' is known for the last 10s$"

# --- the API server
jq -s '.[] | select(.kind == "Node")' "$dir/objects.json" | serve /api/v1/nodes/n1
list Pod "$(jq -c 'select(.kind == "Pod")' "$dir/objects.json" | head -n 1)" | serve /api/v1/pods
list Event "$(jq -c 'select(.kind == "Event")' "$dir/objects.json" | head -n 1)" | serve /api/v1/events
serve "$nrt/n1" <"$dir/nrt.json"
forget
run n1
check "from the API server" says '^1[01]m +KubeletSettingsChanged '
check "with what the pod holds" says ' pod started +ml/runs +holds CPUs 1-9 on NUMA node 0$'
check "ended pods are read, too" grep -qxF '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1' "$api/requests"
check "the Events of the Node" grep -qxF '/api/v1/events?fieldSelector=involvedObject.kind%3DNode%2CinvolvedObject.name%3Dn1' "$api/requests"
check "and of kubelets" grep -qxF '/api/v1/events?fieldSelector=involvedObject.kind%3DPod%2Csource%3Dkubelet' "$api/requests"
refuse_path /api/v1/events 403 events is forbidden
run n1 -o json
check "without the right to list Events" grep -q '^kubectl-numa: warning: the answer omits events: ' "$dir/err"
check "the document says so" has '.eventsKnown == false and (.changes | length) == 1'
mkdir -p "$api/api/v1/nodes" && echo '{"kind":"NodeList","items":[]}' | serve /api/v1/nodes
run none
last=$?
check "no such node" test $last -eq 1
check "is said" grep -q "no such node: 'none'" "$dir/err"
"$numa" changes --from "$dir/cluster.json" >"$dir/out" 2>"$dir/err"
check "a node must be named" test $? -eq 2
exit $failed
