#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl_numa.sh [KUBECONFIG]: kubectl-numa under the real kubectl against the real API server: it prints what it prints of
# files with the same objects, its --watch follows the object, every error has its line.
# Without KUBECONFIG it starts a server of its own. B names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/upstream/kubectl.sh
examples=tests/fixtures/examples
machines=tests/fixtures/machines
# refuse NAME STATUS LINE ARG...: exactly this line, and nothing else
refuse() {
	name=$1
	want=$2
	printf 'kubectl-numa: %s\n' "$3" >"$work/want"
	shift 3
	numa "$@"
	status=$?
	check "$name: status $want" test "$status" -eq "$want"
	check "$name: its line" cmp -s "$work/want" "$work/err"
	check "$name: nothing else" test ! -s "$work/out"
}

# Before there is any object, and on a server that has never heard of them.
kubectl delete noderesourcetopologies.topology.node.k8s.io --all >/dev/null 2>&1
refuse "no object yet" 1 \
	"the cluster has no NodeResourceTopology objects yet: is an exporter, such as nrtd, running?" score -f $examples/kep-pod.yaml
kubectl get crd noderesourcetopologies.topology.node.k8s.io -o yaml >"$work/crd.yaml"
sed -i '/^  \(uid\|resourceVersion\|creationTimestamp\|generation\):/d; /^status:/,$d' "$work/crd.yaml"
kubectl delete -f "$work/crd.yaml" >/dev/null
refuse "no CRD" 1 "the cluster has no NodeResourceTopology objects: the CRD noderesourcetopologies.topology.node.k8s.io is not installed" \
	score -f $examples/kep-pod.yaml
kubectl create -f "$work/crd.yaml" >/dev/null
kubectl wait --for condition=established --timeout 60s -f "$work/crd.yaml" >/dev/null

# The documents' nodes and every fixture's object.
eventually 30 kubectl apply -f $examples/kep-nodes.yaml >"$work/out" 2>"$work/err"
numa score --objects-only -f $examples/kep-pod.yaml
check "score" test $? -eq 0
"$NUMA" score --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml >"$work/want"
check "the KEP's example is ranked as from its file" cmp -s "$work/want" "$work/out"
kubectl numa score --objects-only -f - -o json --context test <$examples/kep-pod.yaml >"$work/out" 2>"$work/err"
"$NUMA" score --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml -o json >"$work/want"
check "pod from standard input, JSON, a context" cmp -s "$work/want" "$work/out"
numa fit -f $examples/kep-pod.yaml --objects-only
check "fit" test $? -eq 0
"$NUMA" fit --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml >"$work/want"
check "the KEP's example fits as from its file" cmp -s "$work/want" "$work/out"
# A Node begins with the taint not-ready, which no controller takes away here.
for node in node-1 node-2; do
	kubectl create -f - >"$work/out" 2>&1 <<-END || check "create $node" false
		{apiVersion: v1, kind: Node, metadata: {name: $node}}
	END
	kubectl patch node $node -p '{"spec": {"taints": null}}' >/dev/null
	kubectl patch node $node --subresource status -p '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}' >/dev/null
done
numa fit -f $examples/kep-pod.yaml -o name
check "fit with the server's Nodes and Pods" test "$(sort "$work/out" | tr '\n' ' ')" = "node/node-1 node/node-2 "
check "which it lists without a word" test ! -s "$work/err"
kubectl delete node node-1 node-2 >/dev/null
for object in "$machines"/*.nrt.yaml; do
	name=$(basename "$object" .nrt.yaml)
	kubectl apply -f "$object" >"$work/out" 2>"$work/err" || check "apply $name" false
	numa show "$name" --width 100
	check "show $name" test $? -eq 0
	"$NUMA" show --from "$object" --width 100 >"$work/want"
	check "$name is drawn as from its file" cmp -s "$work/want" "$work/out"
done
numa show cxl -o svg --kubeconfig "$work/kubeconfig" --context test
"$NUMA" show --from $machines/cxl.nrt.yaml -o svg >"$work/want"
check "show as SVG, with a kubeconfig file" cmp -s "$work/want" "$work/out"

# The cluster as a whole, and some of its nodes.
kubectl get noderesourcetopologies.topology.node.k8s.io,nodes -o json --show-managed-fields >"$work/all.json"
numa top -o yaml
grep -v ageSeconds "$work/out" >"$work/top" # the age may change between the two commands
"$NUMA" top --from "$work/all.json" -o yaml | grep -v ageSeconds >"$work/want"
check "top prints what it prints of the objects in a file" cmp -s "$work/want" "$work/top"
numa top --no-headers
check "top has a line for each object" test "$(grep -vc NoObject "$work/out")" -eq "$(kubectl get noderesourcetopologies.topology.node.k8s.io -o name | wc -l)"
numa top -o json
check "top knows when each was written" test "$(jq 'all(.nodes[]; .ageSeconds != null or .status == "NoObject")' "$work/out")" = true
numa top cxl 2s-snc4 --no-headers --sort-by free
check "top of two nodes" test "$(awk '{print $1}' "$work/out" | tr '\n' ' ')" = "2s-snc4 cxl "
numa top cxl absent
check "top of a node that is not there" grep -qx "kubectl-numa: the API server: no object of node 'absent'" "$work/err"

# Plans and simulations read Nodes, Pods and PodDisruptionBudgets as well.
kubectl create -f - >"$work/out" 2>&1 <<-END || check "create a Node and a PodDisruptionBudget" false
	{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: 2s-snc4}},
	{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, spec: {selector: {}, minAvailable: 1}}]}
END
kubectl patch node 2s-snc4 -p '{"spec": {"taints": null}}' >/dev/null
kubectl patch node 2s-snc4 --subresource status >/dev/null \
	-p '{"status": {"allocatable": {"cpu": "90", "memory": "100Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}}'
kubectl get noderesourcetopologies.topology.node.k8s.io,nodes,pods,poddisruptionbudgets -A -o json >"$work/all.json"
for command in "plan --cpus 2" "simulate --set topologyManagerPolicy=none"; do
	# shellcheck disable=SC2086 # words
	numa $command -o json
	echo $? >"$work/status"
	# shellcheck disable=SC2086
	"$NUMA" $command --from "$work/all.json" -o json >"$work/want" 2>/dev/null
	check "$command: the status of the same from a file" test "$(cat "$work/status")" -eq $?
	check "$command prints what it prints of the objects in a file" cmp -s "$work/want" "$work/out"
	check "$command prints a report" grep -qE '"(outcome|totals)"' "$work/out"
done
numa plan --cpus 2 --as nobody
check "plan without the right to list" sh -c "[ $? -eq 1 ] && grep -q forbidden '$work/err'"
# The pod that the API server stores: with the amounts of a LimitRange and the overhead of a RuntimeClass.
kubectl create -f - >"$work/out" 2>&1 <<-END || check "create a LimitRange and a RuntimeClass" false
	{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Namespace, metadata: {name: dry}},
	{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, overhead: {podFixed: {cpu: 250m, memory: 64Mi}}},
	{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: dry}, spec: {limits: [{type: Container, default: {cpu: 2, memory: 1Gi}}]}},
	{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: dry}}]}
END
cat >"$work/dry.yaml" <<-END
	{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {metadata: {labels: {app: d}},
	spec: {runtimeClassName: kata, containers: [{name: c, image: i}]}}}}
END
numa fit 2s-snc4 -n dry -f "$work/dry.yaml"
check "a pod with what a LimitRange and a RuntimeClass add" grep -qF ": 2250m CPUs, 1088Mi memory (Guaranteed)" "$work/out"
check "which is said" grep -qx "judged as the API server would store the pod (dry run)" "$work/out"
numa fit 2s-snc4 -n dry -f "$work/dry.yaml" --dry-run=client
check "a pod as written" grep -qF ": nothing (BestEffort)" "$work/out"
check "without which" grep -qx "not evaluated (the API server does): LimitRange, RuntimeClass 'kata'" "$work/out"
check "and nothing is stored" test -z "$(kubectl get pods -n dry -o name)"
sed 's/image: i/imagePullPolicy: Sometimes/' "$work/dry.yaml" >"$work/bad.yaml"
numa fit 2s-snc4 -n dry -f "$work/bad.yaml"
check "a pod that the API server refuses" grep -q "^kubectl-numa: the API server refuses the pod in namespace 'dry': Pod \"d-.*\" is invalid: " "$work/err"
kubectl delete namespace dry --wait=false >/dev/null 2>&1
kubectl delete runtimeclass kata >/dev/null

kubectl delete node 2s-snc4 >/dev/null
kubectl delete poddisruptionbudget b >/dev/null

# A picture that follows the object, and says that the object is gone.
kubectl numa show node-2 --watch=1 >"$work/out" 2>"$work/err" </dev/null &
pid=$!
sleep 2
sed 's/available: "8"/available: "3"/' $examples/kep-nodes.yaml | kubectl apply -f - >/dev/null
check "--watch shows the change" eventually 30 grep -q '3 of 8 free' "$work/out"
kubectl delete noderesourcetopologies.topology.node.k8s.io node-2 >/dev/null
check "--watch says that the object is gone" eventually 30 grep -qx "kubectl-numa: error: no such node: 'node-2'" "$work/out"
kill -TERM $pid
wait $pid
check "--watch ends on SIGTERM" test $? -eq 0

# What goes wrong.
refuse "no such node" 1 "no such node: 'absent'" show absent
kubectl delete noderesourcetopologies.topology.node.k8s.io node-a >/dev/null 2>&1
refuse "a node without object" 1 \
	"node 'node-a' has no NodeResourceTopology object: is an exporter, such as nrtd, running there?" show node-a
refuse "no such context" 1 "'$work/kubeconfig': there is no context named 'west'" show cxl --context west
refuse "no node named" 2 "name the node: kubectl numa show NODE [FLAG...]" show
refuse "unknown command" 2 "unknown command 'draw'; try 'kubectl numa --help'" draw
refuse "a flag without value" 2 "flag '--context' needs a value" show cxl --context
numa --help
check "--help" grep -q '^usage: kubectl numa COMMAND' "$work/out"
numa show cxl --server https://127.0.0.1:1
check "nobody listens" test $? -eq 1
check "nobody listens: its line" grep -q '^kubectl-numa: https://127.0.0.1:1: .*onnect' "$work/err"
kubectl __complete numa show '' >"$work/out" 2>"$work/err"
check "completion names the nodes" grep -qx cxl "$work/out"
kubectl __complete numa top cxl '' >"$work/out" 2>"$work/err"
check "completion names the nodes for top" grep -qx 2s-snc4 "$work/out"
kubectl __complete numa score --st >"$work/out" 2>"$work/err"
check "completion names the flags" grep -q -- '^--strategy' "$work/out"
kubectl __complete numa score --strategy '' >"$work/out" 2>"$work/err"
check "completion names a flag's values" grep -qx LeastNUMANodes "$work/out"
kubectl __complete numa pods -n '' >"$work/out" 2>"$work/err"
check "completion names the namespaces" grep -qx kube-system "$work/out"
kubectl __complete numa top --context '' >"$work/out" 2>"$work/err"
check "completion names the contexts" grep -qx "$(kubectl config current-context)" "$work/out"
kubectl run complete-me --image=example.com/none >/dev/null
kubectl __complete numa why '' >"$work/out" 2>"$work/err"
check "completion names the pods" grep -qx complete-me "$work/out"
kubectl delete pod complete-me --force --grace-period=0 >/dev/null 2>&1

kubectl delete noderesourcetopologies.topology.node.k8s.io --all >/dev/null
echo "kubectl numa: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
