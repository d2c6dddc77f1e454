#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa why --from`: a pod that is pending, was rejected, runs or has ended, and three nodes. The answer of each node is that of
# `nrtd fit` on the node; the manual's example; bad input. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh

# --- three nodes of 32 CPUs on two NUMA nodes, CPU 0 reserved, two pods of nine CPUs; w1 has another policy
node=$dir/node
example_node "$node"
policy() { [ "$1" = w1 ] && echo best-effort || echo restricted; }
for name in w10 w2 w1; do
	"$nrtd" dump --sysroot "$node" --node-name $name --topology-manager-policy "$(policy $name)" 2>/dev/null
	echo ---
done >"$dir/nrt.yaml"
[ "$(grep -c nrtd.dev/node-state "$dir/nrt.yaml")" -eq 3 ] || not_ok "the objects carry the node state"
cat >"$dir/nodes.json" <<'END'
{"kind":"List","items":[
{"kind":"Node","metadata":{"name":"w10","labels":{"disk":"ssd"}},"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}},
{"kind":"Node","metadata":{"name":"w1","labels":{"disk":"ssd"}},"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}},
{"kind":"Node","metadata":{"name":"w2","labels":{"disk":"hdd"}},"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}}]}
END
ago() { date -u -d "@$(($(date +%s) - $1))" +%Y-%m-%dT%H:%M:%SZ; }
event() { # REASON MESSAGE SOURCE COUNT SECONDS
	printf '{"kind":"Event","involvedObject":{"kind":"Pod","namespace":"ai","name":"ml-0"},"type":"Warning","reason":"%s","message":"%s","source":{"component":"%s"},"count":%s,"lastTimestamp":"%s"}' \
		"$1" "$2" "$3" "$4" "$(ago "$5")"
}
printf '{"kind":"List","items":[%s,%s,%s]}' \
	"$(event FailedScheduling '0/3 nodes are available' default-scheduler 3 1050)" \
	"$(event TopologyAffinityError 'Resources cannot be allocated with Topology locality' kubelet 1 510)" \
	"$(event FailedScheduling '0/3 nodes are available' default-scheduler 1 1200)" >"$dir/events.json"
uid=777870b5-c64f-42f5-9296-688b9dc212ba
pod() { # CPUS SPEC STATUS
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ml-0","namespace":"ai","uid":"%s","ownerReferences":[{"kind":"ReplicaSet","name":"ml"}]},"spec":{%s"containers":[{"name":"app","resources":{"limits":{"cpu":"%s","memory":"2Gi"}}}]},"status":{%s}}' \
		"$uid" "$2" "$1" "$3"
}
waits='"phase":"Pending"'
refused='"phase":"Failed","reason":"TopologyAffinityError","message":"Pod was rejected: Resources cannot be allocated with Topology locality"'

# why NAME STATUS WANT WORD... FLAG...: exit status, and the line WANT (a fixed string) on standard output or error
why() {
	name=$1
	status=$2
	want=$3
	shift 3
	"$numa" why "$@" >"$dir/out" 2>"$dir/err" <"$dir/nrt.yaml"
	got=$?
	cat "$dir/out" "$dir/err" >"$dir/all"
	if [ "$got" -eq "$status" ] && grep -qF -- "$want" "$dir/all"; then
		ok "$name"
	else
		echo "status $got, want $status and '$want'" >>"$dir/all"
		not_ok "$name" "$dir/all"
	fi
}
has() { # NAME TEXT
	if grep -qF -- "$2" "$dir/out"; then ok "$1"; else not_ok "$1: $2" "$dir/all"; fi
}
rows() { awk '/^NODE/ {on = 1; next} /^$/ {on = 0} on {print $1}' "$dir/out" | tr '\n' ' '; }
order() { # NAME ROWS
	if [ "$(rows)" = "$2" ]; then ok "$1"; else not_ok "$1: $(rows)" "$dir/all"; fi
}

# --- each node's answer is the node's own
for cpus in 1 6 7 8 13 14 40; do
	pod $cpus "" "$waits" >"$dir/pod.json"
	for name in w1 w2 w10; do
		if "$nrtd" fit --sysroot "$node" --topology-manager-policy "$(policy $name)" -f "$dir/pod.json" >"$dir/out" 2>/dev/null; then
			echo "$name admit"
			continue
		fi
		echo "$name $(sed -n 's/.*(\([A-Za-z]*\))$/\1/p' "$dir/out" | grep -v Guaranteed)"
	done >"$dir/want"
	takes=$(grep -c admit "$dir/want")
	why "$cpus CPUs" "$([ "$takes" -gt 0 ] && echo 0 || echo 3)" "$takes of 3 nodes would admit the pod" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
	awk '/^NODE/ {on = 1; next} /^$/ {on = 0} on {print $1, $2}' "$dir/out" | sort >"$dir/got"
	sort "$dir/want" >"$dir/sorted"
	if diff "$dir/sorted" "$dir/got" >"$dir/diff"; then ok "$cpus CPUs: as nrtd fit on each node"; else not_ok "$cpus CPUs: as nrtd fit on each node" "$dir/diff"; fi
done

# --- one that was refused, with all there is to read
pod 8 '"nodeName":"w10","nodeSelector":{"disk":"ssd"},"volumes":[{"persistentVolumeClaim":{"claimName":"x"}}],' "$refused" >"$dir/pod.json"
why "refused" 0 "was rejected by the kubelet of node 'w10': TopologyAffinityError" ml-0 --from "$dir/pod.json" --from - --from "$dir/nodes.json" --from "$dir/events.json"
order "its node first" "w10 w1 w2 "
has "what it would take" "node 'w10' would admit 7 CPUs instead of 8"
# The manual's example; three dots end what the manual leaves out.
sed -n '/^\$ kubectl numa why ml-0/,/^\.Ed/p' man/*-why.1 | sed -e '1d;/^\.Ed/,$d' -e 's/ *\.\.\.$//' -e '/^$/d' >"$dir/example"
[ -s "$dir/example" ] || not_ok "the manual has an example"
while IFS= read -r line; do
	grep -qF -- "$line" "$dir/out" || not_ok "the manual's line: $line" "$dir/all"
done <"$dir/example"
why "refused, as JSON" 0 '"stage": "rejected",' ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml" --from "$dir/events.json" -o json
has "an event counts once" '"count": 4,'
why "refused, as YAML" 0 'stage: rejected' ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml" -o yaml
has "events that were not read" 'events: null'
why "one node" 3 "0 of 1 node would admit such a pod now" ml-0 w2 --from "$dir/pod.json" --from "$dir/nrt.yaml"
pod 6 '"nodeName":"w10",' "$refused" >"$dir/pod.json"
why "it would be taken now" 0 "node 'w10' would admit such a pod now" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
pod 6 '"nodeName":"gone",' "$refused" >"$dir/pod.json"
why "its node has no object" 0 "verdict of node 'gone' now: unknown, the object of the node was not read" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"

# --- the others
pod 9 '"nodeName":"w10",' '"phase":"Running"' >"$dir/pod.json"
why "runs" 0 "runs on node 'w10'" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
has "what it holds" "holds CPUs 16-24"
has "where it lies" "holds resources of NUMA node 1"
pod 9 '"nodeName":"w10",' "$waits" >"$dir/pod.json"
why "bound" 0 "is bound to node 'w10', whose kubelet has not rejected it" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
pod 8 '"nodeName":"w10",' '"phase":"Succeeded"' >"$dir/pod.json"
why "ended" 0 "has ended: Succeeded" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
pod 8 '' "$waits,\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"message\":\"0/3 nodes\"}]" >"$dir/pod.json"
why "waits" 0 'scheduler: "0/3 nodes"' ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
sed 's/"cpu":"8",//' "$dir/pod.json" >"$dir/burstable.json"
why "not Guaranteed" 0 "has no equal request and limit of cpu" ml-0 --from "$dir/burstable.json" --from "$dir/nrt.yaml"
has "nothing to align" "aligns nothing and does not reject the pod"
cat >"$dir/pods.json" <<'END'
{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"w1","containers":[{"name":"c","resources":{"requests":{"cpu":"24"}}}]}}]}
END
why "what other pods ask for" 3 "w1    OutOfcpu" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml" --from "$dir/nodes.json" --from "$dir/pods.json"
has "of all nodes the smallest change" "the smallest change: 7 CPUs instead of 8, on node 'w1"
sed "s,nrtd.dev/node-state,example.com/other," "$dir/nrt.yaml" >"$dir/zones.yaml"
why "an estimate" 0 "(1 estimated, ~)" ml-0 --from "$dir/pod.json" --from "$dir/zones.yaml"
sed 's/"memory":"2Gi"/"vendor.com\/nic":"1"/' "$dir/pod.json" >"$dir/nic.json"
why "not known" 1 "0 of 3 nodes would admit the pod; unknown for 3" ml-0 --from "$dir/nic.json" --from "$dir/zones.yaml"

# --- bad input: one line, status 2
bad() { # NAME LINE WORD... FLAG...
	name=$1
	line=$2
	shift 2
	why "bad input: $name" 2 "$line" "$@"
	if [ "$(wc -l <"$dir/err")" -ne 1 ] || [ -s "$dir/out" ]; then not_ok "bad input: $name: one line" "$dir/all"; fi
}
bad "no pod" "name the pod: kubectl numa why [NAMESPACE/]POD [NODE] [FLAG...]" --from "$dir/nrt.yaml"
bad "no nodes" "pod.json: no NodeResourceTopology in it" ml-0 --from "$dir/pod.json"
bad "one standard input" "--from and --from cannot both be standard input" ml-0 --from - --from -
bad "nodes are no pod" "no pod 'w1'" w1 --from "$dir/nodes.json" --from "$dir/nrt.yaml"
bad "a file that is not there" "cannot open '$dir/absent'" ml-0 --from "$dir/absent" --from "$dir/nrt.yaml"
sed 's/"namespace":"ai"/"namespace":"ml"/' "$dir/pod.json" >"$dir/other.json"
bad "two pods" "--from: 2 Pods are named 'ml-0': choose one with --namespace" ml-0 --from "$dir/pod.json" --from "$dir/other.json" --from "$dir/nrt.yaml"
bad "no pod in it" "nrt.yaml: no pod 'ml-0'" ml-0 --from "$dir/nrt.yaml"
bad "no pod in the namespace" "--from: no pod 'ml-0' in namespace 'default'" ml-0 -n default --from "$dir/pod.json" --from "$dir/nrt.yaml"
bad "no pod in the word's namespace" "--from: no pod 'ml-0' in namespace 'x'" x/ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml"
bad "two namespaces" "'ai/ml-0' names another namespace than --namespace does" ai/ml-0 -n ml --from "$dir/pod.json" --from "$dir/nrt.yaml"
for word in /ml-0 ai/ pod/ ai/ml-0/x; do
	bad "the word $word" "'$word': name the pod NAME, pod/NAME or NAMESPACE/NAME" $word --from "$dir/pod.json" --from "$dir/nrt.yaml"
done
bad "another node" "--from: no object of node 'w9'" ml-0 w9 --from "$dir/pod.json" --from "$dir/nrt.yaml"
bad "two nodes" "unexpected word 'w2'" ml-0 w1 w2 --from "$dir/pod.json" --from "$dir/nrt.yaml"
sed 's/"containers":/"containers_":/' "$dir/pod.json" >"$dir/broken.json"
bad "a pod without containers" "containers" ml-0 --from "$dir/broken.json" --from "$dir/nrt.yaml"
# --- which pod: by name, kind and namespace
why "a pod of several" 0 "pod ml/ml-0 " pod/ml-0 -n ml --from "$dir/pod.json" --from "$dir/other.json" --from "$dir/nrt.yaml"
why "the other one" 0 "pod ai/ml-0 " ml-0 --namespace ai --from "$dir/pod.json" --from "$dir/other.json" --from "$dir/nrt.yaml"
why "the namespace before the name" 0 "pod ml/ml-0 " ml/ml-0 --from "$dir/pod.json" --from "$dir/other.json" --from "$dir/nrt.yaml"
why "after the kind" 0 "pod ai/ml-0 " pod/ai/ml-0 -n ai --from "$dir/pod.json" --from "$dir/other.json" --from "$dir/nrt.yaml"
why "a node by its kind" 0 "1 of 1 node would admit the pod" ml-0 node/w1 --from "$dir/pod.json" --from "$dir/nrt.yaml"
why "Pods without Nodes: what they request is not counted" 0 "1 of 3 nodes would admit the pod" ml-0 --from "$dir/pod.json" --from "$dir/nrt.yaml" --from "$dir/pods.json"
exit $failed
