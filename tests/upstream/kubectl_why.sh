#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl_why.sh [KUBECONFIG]: `kubectl numa why` under the real kubectl against the real API server. On four nodes the
# kubelet's real managers admit or refuse each pod; the one that a node refused is stored as that kubelet leaves it. The
# plugin must name that node first, and of each node what its managers said. `kubectl numa fit` must name the pod that has
# to go by the server's priorities, and the managers admit the other without it. Without KUBECONFIG it starts a server of
# its own. B names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/upstream/kubectl.sh
nodes="why-1 why-2 why-3 why-4"

# A pod of exclusive CPUs, as the managers take it.
spec() { printf '"spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"%s","memory":"1Gi"},"limits":{"cpu":"%s","memory":"1Gi"}}}]}' "$1" "$1"; }
admit() { # NAME CPUS [UID]
	printf '{"admit":{"metadata":{"name":"%s","namespace":"default","uid":"%s"},%s,"status":{"qosClass":"Guaranteed"}}}\n' "$1" "${3:-$1}" "$(spec "$2")"
}
# What has been admitted on each node: one has room on both NUMA nodes, one on one, two on none for the larger pods.
fillers() {
	case $1 in
	why-1) admit a 2 ;;
	why-2) admit a 9; admit b 2 ;;
	why-3) admit a 9; admit b 9 ;;
	why-4) admit a 12; admit b 12 ;;
	esac
}
# managers NODE FOLDER: the node's kubelet, with what it is asked on standard input
managers() {
	mkdir -p "$work/$1/$2"
	"$programs/managers" -sysroot "$work/$1" -config "$work/$1/config.yaml" -root "$work/$1/$2" -timeout 5m
}

tests/fixtures/machines/make.sh "$work/machines" || exit 1
for node in $nodes; do
	cp -r "$work/machines/seed-2s-32cpu" "$work/$node"
	cat >"$work/$node/config.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
topologyManagerPolicy: $([ "$node" = why-4 ] && echo best-effort || echo single-numa-node)
END
	fillers "$node" | managers "$node" now >"$work/$node/began" 2>"$work/$node/errors"
	"$NRTD" dump --sysroot "$work/$node" --kubelet-root /now --kubelet-config /config.yaml --node-name "$node" \
		>"$work/$node.yaml" 2>/dev/null
	kubectl apply -f "$work/$node.yaml" >"$work/out" 2>"$work/err" || check "apply $node" false
	printf 'apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n' "$node" | kubectl apply -f - >"$work/out" 2>"$work/err"
	printf '{"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}}' >"$work/patch"
	kubectl patch node "$node" --subresource status --type merge --patch-file "$work/patch" >"$work/out" 2>"$work/err" || check "patch $node" false
	# The scheduler would not send pods there, and nothing else tells the Node is ready.
	kubectl taint node "$node" node.kubernetes.io/not-ready- >/dev/null 2>&1
	kubectl taint node "$node" node.kubernetes.io/unreachable- >/dev/null 2>&1
done

# What the managers of each node say of so many CPUs, to $work/want; the first that refuses is $first, its answer $refusal.
ask_managers() { # CPUS
	first=""
	refusal=""
	for node in $nodes; do
		answer=$({ fillers "$node"; admit asked "$1"; } | managers "$node" "asked-$1" 2>"$work/err" | grep '"pod":"default/asked"')
		case $answer in
		*'"admitted":true'*) echo "$node admit" ;;
		*)
			echo "$node $(printf '%s\n' "$answer" | sed 's/.*"reason":"\([A-Za-z]*\)".*/\1/')"
			if [ -z "$first" ]; then
				first=$node
				refusal=$answer
			fi
			;;
		esac
	done >"$work/want"
}

# Store the pod as the kubelet that refused it leaves it, and that kubelet's event.
store() { # CPUS NODE ANSWER
	kubectl delete pod asked --force --grace-period 0 >/dev/null 2>&1
	kubectl delete events --all >/dev/null 2>&1
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"asked"},%s}' "$(spec "$1")" |
		sed "s/\"spec\":{/&\"schedulerName\":\"nobody\",${2:+\"nodeName\":\"$2\",}/" >"$work/pod.json"
	kubectl create -f "$work/pod.json" >"$work/out" 2>"$work/err" || check "create the pod of $1 CPUs" false
	[ -n "$2" ] || return 0
	message=$(printf '%s\n' "$3" | sed 's/.*"message":"\([^"]*\)".*/\1/')
	reason=$(printf '%s\n' "$3" | sed 's/.*"reason":"\([A-Za-z]*\)".*/\1/')
	printf '{"status":{"phase":"Failed","reason":"%s","message":"Pod was rejected: %s"}}' "$reason" "$message" >"$work/patch"
	kubectl patch pod asked --subresource status --type merge --patch-file "$work/patch" >"$work/out" 2>"$work/err" ||
		check "the status of the pod of $1 CPUs" false
	printf '{"apiVersion":"v1","kind":"Event","metadata":{"generateName":"asked."},"involvedObject":{"kind":"Pod","namespace":"default","name":"asked","uid":"%s"},"type":"Warning","reason":"%s","message":"%s","source":{"component":"kubelet"},"count":1,"lastTimestamp":"%s"}' \
		"$(kubectl get pod asked -o 'jsonpath={.metadata.uid}')" "$reason" "$message" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$work/event.json"
	kubectl create -f "$work/event.json" >"$work/out" 2>"$work/err" || check "the event of the pod of $1 CPUs" false
}

kubectl create serviceaccount default >/dev/null 2>&1
refused=0
for cpus in 1 6 7 13 15 31; do
	ask_managers $cpus
	store $cpus "$first" "$refusal"
	numa why asked
	status=$?
	takes=$(grep -c ' admit$' "$work/want")
	check "$cpus CPUs: status" test $status -eq "$([ "$takes" -gt 0 ] && echo 0 || echo 3)"
	check "$cpus CPUs: nothing on standard error" test ! -s "$work/err"
	awk '/^NODE/ {on = 1; next} /^$/ {on = 0} on && $1 ~ /^why-/ {print $1, $2}' "$work/out" >"$work/rows"
	sort "$work/rows" >"$work/got"
	check "$cpus CPUs: what the managers say" diff "$work/want" "$work/got"
	[ -n "$first" ] || continue
	refused=$((refused + 1))
	check "$cpus CPUs: its node is first" test "$(head -n 1 "$work/rows")" = "$(grep "^$first " "$work/want")"
	check "$cpus CPUs: its node is named" grep -qx "pod default/asked was rejected by the kubelet of node '$first': TopologyAffinityError" "$work/out"
	check "$cpus CPUs: the event" grep -q '^[0-9]*s  *1  *TopologyAffinityError  kubelet  Resources cannot be allocated' "$work/out"
	numa why asked "$first" -o json
	check "$cpus CPUs: that node alone" test $? -eq 3
done
check "pods were refused" test $refused -ge 3
kubectl delete pod asked --force --grace-period 0 >/dev/null 2>&1

# Who would have to go from why-3, by the priorities that the server gives its pods.
node=why-3
kubectl create priorityclass low --value=10 >/dev/null
kubectl create priorityclass high --value=1000 >/dev/null
for name in low high; do
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},%s}' $name "$(spec 9)" |
		sed "s/\"spec\":{/&\"nodeName\":\"$node\",\"priorityClassName\":\"$name\",/" >"$work/pod.json"
	kubectl create -f "$work/pod.json" >"$work/out" 2>"$work/err" || check "create the pod $name" false
	admit $name 9 "$(kubectl get pod $name -o 'jsonpath={.metadata.uid}')" >"$work/admit-$name"
done
cat "$work/admit-low" "$work/admit-high" | managers $node held >"$work/$node/began" 2>"$work/err"
"$NRTD" dump --sysroot "$work/$node" --kubelet-root /held --kubelet-config /config.yaml --node-name $node 2>/dev/null |
	kubectl apply -f - >"$work/out" 2>"$work/err"
numa fit $node --cpus 15 --memory 1Gi --what-frees --below-priority 100
check "what frees: the pod of low priority" grep -qx '    default/low, 9 CPUs' "$work/out"
check "what frees: the other stays" grep -qx '  1 pod is kept: priority 100 or more' "$work/out"
{ cat "$work/admit-high"; admit asked 15; } | managers $node freed 2>/dev/null | grep '"pod":"default/asked"' >"$work/out"
check "the managers say so too" grep -q '"admitted":true' "$work/out"
numa fit $node --cpus 15 --memory 1Gi --what-frees --below-priority 10
check "what frees: nobody below the lowest" grep -qx '  2 pods are kept: priority 10 or more' "$work/out"
numa fit $node --cpus 15 --memory 1Gi
check "with both it does not fit" test $? -eq 3
numa fit $node --cpus 15 --memory 1Gi --without-pod default/low
check "without one it fits" test $? -eq 0
numa top $node --no-headers
check "top: the largest pod" test "$(awk '{print $6}' "$work/out")" = 7
kubectl delete pod low high --force --grace-period 0 >/dev/null 2>&1
kubectl delete priorityclass low high >/dev/null 2>&1
for node in $nodes; do
	kubectl delete noderesourcetopologies.topology.node.k8s.io/"$node" node/"$node" >/dev/null 2>&1
done
echo "kubectl numa why: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
