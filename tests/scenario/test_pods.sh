#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa pods`: what pods hold and whether it is aligned, from files and from a stand-in for the API server; the same words in
# `why`, `show` and the agent's metric. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
. tests/lib/api_server.sh
need_jq
export LC_ALL=C
unset COLUMNS KUBECONFIG

# Node a: "wide" has a CPU of either NUMA node, "fine" six CPUs of NUMA node 1, and a third pod has no Pod object. The objects of node-1
# and node-2 have no node state. Node gone has no object.
wide=777870b5-c64f-42f5-9296-688b9dc212ba
fine=fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd
hidden=11111111-b6a5-4aaa-8fcd-76c1aa64e6fd
example_node "$dir/a"
printf '{"policyName":"static","defaultCpuSet":"0,4-15,17-25","entries":{"%s":{"c":"1,16"},"%s":{"c":"26-31"},"%s":{"c":"2-3"}},"checksum":0}' \
	$wide $fine $hidden >"$dir/a/var/lib/kubelet/cpu_manager_state"
mkdir "$dir/cluster"
"$nrtd" dump --sysroot "$dir/a" --node-name a --topology-manager-policy best-effort -o json >"$dir/cluster/a.json" 2>/dev/null
cp tests/fixtures/examples/kep-nodes.yaml "$dir/cluster/"
pod() { # NAME NAMESPACE UID NODE CPUS [PHASE]
	printf '{"kind":"Pod","metadata":{"name":"%s","namespace":"%s","uid":"%s","labels":{"app":"%s"}},"spec":{"nodeName":"%s","containers":[{"name":"c","resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]},"status":{"phase":"%s"}}\n' \
		"$1" "$2" "$3" "$1" "$4" "$5" "${6:-Running}"
}
{
	pod wide ml $wide a 2
	pod fine web $fine a 6
	pod shared web 4 a 500m
	pod estimated web 5 node-1 2
	pod lost web 6 gone 2
	pod "done" web 7 gone 2 Succeeded
	pod waits web 8 "" 2
} >"$dir/pods.json"
jq -s '{kind: "List", items: .}' "$dir/pods.json" >"$dir/cluster/pods.json"
run() { "$numa" pods --from "$dir/cluster" "$@" >"$dir/out" 2>"$dir/err"; }
says() { grep -qE -- "$1" "$dir/out"; }
pods() { jq -r '.pods[].name' "$dir/out" | tr '\n' ' '; }
of() { jq -c --arg pod "$1" ".pods[] | select(.name == \$pod) | $2" "$dir/out"; }

# --- from files
run -o json
check "every pod that holds something, or may" test "$(pods | tr -d '#' | wc -w)" -eq 5
check "a pod on two NUMA nodes" test "$(of wide '[.alignment, .misaligned, .cpus.count, .cpus.ids, .cpus.numaNodes]')" = '["spans-avoidable",true,2,"1,16",[0,1]]'
check "for which one has room" test "$(of wide .reason)" = '"NUMA node 0 has room now"'
check "which shares cores with no pod" test "$(of wide '[.sharesCore, .coreSharedWith]')" = '[true,{"pods":[],"sharedPool":true}]'
check "an L3 cache of a whole NUMA node is not compared" test "$(of wide '[.sharesL3, .l3SharedWith]')" = '[null,null]'
check "a pod on one" test "$(of fine '[.alignment, .misaligned, .reason, .sharesCore, .cpus.numaNodes]')" = '["aligned",false,"",false,[1]]'
check "an object without a node state" test "$(of estimated '[.alignment, .misaligned, .reason, .cpus]')" = '["unknown",null,"the object has no node state",null]'
check "no object" test "$(of lost .reason)" = '"the node has no NodeResourceTopology object"'
check "the totals" has '.totals == {"aligned": 2, "spans-necessary": 0, "unknown": 2, "roots-apart": 0, "spans": 0, "spans-avoidable": 1, "remote": 0}'
run
check "a table with namespaces" says '^NAMESPACE  POD  +NODE  +CPUS  +MEMORY  DEVICES  SHARES  +ALIGNMENT  +REASON$'
check "a row" says '^ml +wide +a +2 on 0-1 +- +- +core +spans-avoidable  NUMA node 0 has room now; core shared with the shared pool$'
check "a pod without a Pod object" says '^- +#[^ ]+ +a +2 on 0 '
check "the sums" says '^5 pods: 2 aligned, 2 unknown, 1 spans-avoidable$'
check "the pod of an object that has no Pod" says '^- .* the node.s object has this pod, but no such Pod was read$'
check "the last line names its node" sh -c "tail -n 1 '$dir/out' | grep -qx '1 object: out of date: a'"
run -n ml
check "Pods of one namespace are not compared" sh -c "! grep -q ' object: ' '$dir/out'"
jq '(.items[] | select(.metadata.name == "wide") | .metadata) |= (.name = "late" | .uid = "33333333-b6a5-4aaa-8fcd-76c1aa64e6fd")' "$dir/cluster/pods.json" >"$dir/late.json"
"$numa" pods --from "$dir/cluster/a.json" --from "$dir/late.json" >"$dir/out" 2>"$dir/err"
check "a running pod that is not in the object" says '^ml +late +a .* unknown +the pod runs, but the node.s object does not have it$'
"$numa" pods --from "$dir/cluster/a.json" --from "$dir/late.json" -o json >"$dir/out" 2>"$dir/err"
check "as JSON" has '.objects == {"compared": 1, "outOfDate": ["a"]}'
jq '(.items[] | select(.metadata.name == "late") | .status.phase) = "Pending"' "$dir/late.json" >"$dir/starting.json"
"$numa" pods --from "$dir/cluster/a.json" --from "$dir/starting.json" -o json >"$dir/out" 2>"$dir/err"
check "a pod that starts may be missing" has 'any(.pods[]; .name == "late") | not'
run -o wide --no-headers
check "and a column of PCIe roots" sh -c "'$numa' pods --from '$dir/cluster' -o wide | grep -q ' DEVICES *PCIE ROOTS *SHARES '"
check "-o wide has the CPUs" says '^web +fine +a +6 on 1 +26-31 '
check "--no-headers" test "$(wc -l <"$dir/out")" -eq 5
run -n web -o json
check "-n" test "$(pods)" = "estimated fine lost "
run -n web
check "has no column of namespaces" says '^POD  '
run -l app=fine -o json
check "-l selects pods" test "$(pods)" = "fine "
run -l 'app in (wide,lost),app!=lost' -o json
check "by any selector" test "$(pods)" = "wide "
"$numa" pods --from "$dir/cluster" -l pool=one >"$dir/out" 2>"$dir/err"
check "a selector of nodes is no selector of pods" grep -q "no Pod matches 'pool=one'; --node-selector selects nodes$" "$dir/err"
printf 'kind: Node\nmetadata: {name: a, labels: {pool: one}}\n---\nkind: Node\nmetadata: {name: node-1, labels: {pool: two}}\n' >"$dir/nodes.yaml"
run --from "$dir/nodes.yaml" --node-selector pool=two -o json
check "--node-selector selects nodes" test "$(pods)" = "estimated "
run --from "$dir/nodes.yaml" --node-selector pool=one -l app=fine -o json
check "beside -l" test "$(pods)" = "fine "
run --misaligned -o json
check "--misaligned" test "$(pods)" = "wide "
run a -o json
check "of one node" test "$(jq -r '.pods[].node' "$dir/out" | sort -u)" = a

# --- remote memory, as the agent found it: of the first, the second or the third pod in the text, or of none
mkdir "$dir/remote"
cp "$dir/cluster/pods.json" "$dir/remote/"
for remote in 0 1 2 ''; do
	jq --arg set "$remote" '(.attributes[] | select(.name == "nrtd.dev/node-state")).value += ";?remote=" + $set' "$dir/cluster/a.json" \
		>"$dir/remote/a.json"
	"$numa" pods --from "$dir/remote" 2>"$dir/err" | grep '^ml *wide .* remote  *more than 10 % of its memory is on NUMA nodes without its CPUs'
done >"$dir/out"
check "a pod with remote memory" test "$(wc -l <"$dir/out")" -eq 1

# --- who shares hardware: node x has two CPUs per core and eight per L3 cache. Pods p1 to p6 hold a CPU each, and share an L3 cache
cp -r build/fixtures/machines/ccx "$dir/x"
mkdir -p "$dir/x/var/lib/kubelet" "$dir/sharing"
cp "$dir/a/var/lib/kubelet/config.yaml" "$dir/x/var/lib/kubelet/"
for n in 1 2 3 4 5 6; do
	printf '"22222222-b6a5-4aaa-8fcd-00000000000%d":{"c":"%d"},' $n $((n + 1))
	pod p$n team-with-a-long-name 22222222-b6a5-4aaa-8fcd-00000000000$n x 1 >"$dir/sharing/p$n.json"
done >"$dir/entries"
printf '{"policyName":"static","defaultCpuSet":"0-1,8-31","entries":{%s},"checksum":0}' "$(sed 's/,$//' "$dir/entries")" \
	>"$dir/x/var/lib/kubelet/cpu_manager_state"
"$nrtd" dump --sysroot "$dir/x" --node-name x >"$dir/sharing/x.yaml" 2>"$dir/err"
"$numa" pods --from "$dir/sharing" >"$dir/out" 2>"$dir/err"
check "the pod on the same core, and the first pods on the same L3 cache" says \
	' p1 .* core,L3  aligned    core shared with team-with-a-long-name/p2; L3 shared with team-with-a-long-name/p2, team-with-a-long-name/p3, team-with-a-long-name/p4, and 2 more, the shared pool$'
if command -v script >/dev/null; then
	script -qec "stty cols 80; TERM=dumb $numa pods --from $dir/sharing" /dev/null </dev/null 2>"$dir/err" | tr -d '\r' >"$dir/out"
	check "in 80 columns" awk 'length > 80 {bad = 1} END {exit bad || NR < 20}' "$dir/out"
	check "all names are there" test "$(tr -d ' \n' <"$dir/out" | grep -o 'and2more,thesharedpool' | wc -l)" -eq 6
fi
"$numa" pods --from "$dir/sharing" -o wide >"$dir/out" 2>"$dir/err"
check "-o wide has columns of them" says ' core,L3  team-with-a-long-name/p2  team-with-a-long-name/p2, .*, and 2 more, the shared pool  aligned    -$'
"$numa" pods --from "$dir/sharing" -o json >"$dir/out" 2>"$dir/err"
check "JSON has all" test "$(of p1 '[.coreSharedWith, .l3SharedWith] | [.[0].pods[], .[0].sharedPool, (.[1].pods | length), .[1].pods[4], .[1].sharedPool]')" = \
	'["team-with-a-long-name/p2",false,5,"team-with-a-long-name/p6",true]'
"$numa" pods --from "$dir/sharing" >"$dir/out" 2>"$dir/err"
check "objects that are true" sh -c "tail -n 1 '$dir/out' | grep -qx '1 object: up to date with the running pods that have exclusive CPUs'"
"$numa" pods --from "$dir/sharing" -l app=p1 >"$dir/out" 2>"$dir/err"
check "a pod that was not read has a hash" says ' core shared with #[^ ]+; '

# --- a claim's device: its NUMA node is in the ResourceSlice, and nowhere else
mkdir -p "$dir/a/var/log/pods/web_fine_$fine/c" "$dir/claims"
touch "$dir/a/var/log/pods/web_fine_$fine/c/0.log"
jq -n --arg uid $fine '{Data: ({ClaimInfoStateList: [{ClaimUID: "u", ClaimName: "gpu", Namespace: "web", PodUIDs: {($uid): {}}, DriverState: {
	"gpu.example.com": {Devices: [{PoolName: "a", DeviceName: "gpu-0", CDIDeviceIDs: ["example.com/gpu=u"]}]}}}]} | tojson), Checksum: 1}' \
	>"$dir/a/var/lib/kubelet/dra_manager_state"
"$nrtd" dump --sysroot "$dir/a" --node-name a --topology-manager-policy best-effort -o json >"$dir/claims/a.json" 2>/dev/null
jq 'select(.metadata.name == "fine") | .spec.resourceClaims = [{name: "gpu", resourceClaimName: "gpu"}]' "$dir/pods.json" >"$dir/claims/fine.json"
"$numa" pods --from "$dir/claims" -o json >"$dir/out" 2>"$dir/err"
check "without a slice the alignment is unknown" test "$(of fine '[.alignment, .claimDevices]')" = '["unknown",1]'
jq -n '{kind: "ResourceClaim", metadata: {name: "gpu", namespace: "web"}, status: {reservedFor: [{resource: "pods", name: "fine"}],
	allocation: {devices: {results: [{driver: "gpu.example.com", pool: "a", device: "gpu-0"}]}}}}' >"$dir/claims/claim.json"
jq -n '{kind: "ResourceSlice", spec: {driver: "gpu.example.com", pool: {name: "a"}, devices: [{name: "gpu-0", attributes: {
	"resource.kubernetes.io/numaNode": {int: 0}, "resource.kubernetes.io/pcieRoot": {string: "pci0000:16"}}}]}}' >"$dir/claims/slice.json"
"$numa" pods --from "$dir/claims" -o json >"$dir/out" 2>"$dir/err"
check "a slice tells that the device is remote" test "$(of fine '[.alignment, .reason, .devices.numaNodes, .devices.pcieRoots]')" = \
	'["remote","CPUs on NUMA node 1, a claim'"'"'s device on 0",[0],["pci0000:16"]]'
"$numa" show --from "$dir/claims" --width 200 >"$dir/out" 2>"$dir/err"
check "show says the same" says "web/fine.*; remote: CPUs on NUMA node 1, a claim's device on 0"

# --- bad usage
refuse() { # NAME MESSAGE ARGS...
	refuse_name=$1
	message=$2
	shift 2
	"$numa" pods "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -qF -- "$message" "$dir/err"
	check "$refuse_name" test $? -eq 0
}
refuse "a broken selector" "--selector: 'a in (b' is not a label selector" --from "$dir/cluster" -l 'a in (b'
refuse "an unknown format" "-o" --from "$dir/cluster" -o html
refuse "a node without object" "no object of node 'none'" --from "$dir/cluster" none

# --- the same words everywhere
"$numa" why wide --from "$dir/cluster" >"$dir/out" 2>"$dir/err"
check "why has the alignment" says '^  alignment: spans-avoidable: NUMA node 0 has room now$'
"$numa" why wide --from "$dir/cluster" -o json >"$dir/out" 2>"$dir/err"
check "also as JSON" has '.held | .alignment == "spans-avoidable" and .reason == "NUMA node 0 has room now"'
"$numa" show a --from "$dir/cluster" --width 120 >"$dir/out" 2>"$dir/err"
check "show has it" sh -c "tr -s ' \n' ' ' <'$dir/out' | grep -q 'ml/wide 2 CPUs 1,16; spans-avoidable: NUMA node 0 has room now'"
check "and nothing for aligned pods" sh -c "! grep -q aligned '$dir/out'"
"$nrtd" show --sysroot "$dir/a" --width 120 >"$dir/out" 2>/dev/null
check "so has nrtd show" says 'spans-avoidable'

# --- the API server
mkdir -p "$api/api/v1/namespaces/ml"
list NodeResourceTopology "$(cat "$dir/cluster/a.json")" | serve "$nrt"
echo '{"kind":"PodList","items":[]}' | serve /api/v1/pods
jq -s '{kind: "PodList", items: [.[] | select(.metadata.namespace == "ml")]}' "$dir/pods.json" | serve /api/v1/namespaces/ml/pods@app=wide
"$numa" pods -n ml -l app=wide -s "$server" >"$dir/out" 2>"$dir/err"
check "pods of a namespace" says '^wide +a +2 on 0-1 '
check "are requested there, selected by the server" grep -qxF '/api/v1/namespaces/ml/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&labelSelector=app%3Dwide' "$api/requests"
echo '403 pods is forbidden' >"$api/api/v1/pods.error"
"$numa" pods -A -s "$server" >"$dir/out" 2>"$dir/err"
check "without the right to list pods" grep -q '^kubectl-numa: warning: the answer omits pods: ' "$dir/err"
check "the pods have hashes" says '^- +#[^ ]+ +a '

# --- 2000 pods (make bench has the time)
awk -v pods="$dir/cluster/pods.json" 'BEGIN {
	printf "{\"kind\":\"List\",\"items\":["
	for (n = 0; n < 2000; n++)
		printf "%s{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"n\",\"uid\":\"u%d\"},\"spec\":{\"nodeName\":\"node-%d\",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]}}", n ? "," : "", n, n, n % 2 + 1
	print "]}"
}' >"$dir/many.json"
"$numa" pods --from tests/fixtures/examples/kep-nodes.yaml --from "$dir/many.json" --no-headers >"$dir/out" 2>"$dir/err"
check "2000 pods: a line for each" test "$(wc -l <"$dir/out")" -eq 2000
exit $failed
