#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa plan --from` and `simulate --from`: two nodes and their pods as files; what is printed, the exit status, and bad input.
# tests/unit/test_plan.c carries plans out; tests/upstream has the real kubelet managers. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
command -v python3 >/dev/null || { echo "skipped: there is no python3 here"; exit 0; }

# Node a: NUMA node 0 has 6 free CPUs and a pod of 9, NUMA node 1 has 7 and a pod of 9. Node b has one pod, of 9 CPUs on NUMA node 0.
example_node "$dir/a"
example_node "$dir/b"
one=777870b5-c64f-42f5-9296-688b9dc212ba
two=fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd
three=11111111-b6a5-4aaa-8fcd-76c1aa64e6fd
printf '{"policyName":"static","defaultCpuSet":"0,10-31","entries":{"%s":{"c":"1-9"}},"checksum":0}' $three \
	>"$dir/b/var/lib/kubelet/cpu_manager_state"
for name in a b; do
	"$nrtd" dump --sysroot "$dir/$name" --node-name $name --kubelet-version 1.37 2>"$dir/dump-err"
	echo ---
done >"$dir/nrt.yaml"
if [ "$(grep -c nrtd.dev/node-state "$dir/nrt.yaml")" -ne 2 ]; then not_ok "the objects carry the node state" "$dir/dump-err"; fi
node() { printf '{"kind":"Node","metadata":{"name":"%s","labels":{"n":"%s"}},"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}}' "$1" "$1"; }
pod() { # NAME UID NODE PRIORITY OWNERS
	printf '{"kind":"Pod","metadata":{"name":"%s","namespace":"ml","uid":"%s","labels":{"app":"%s"}%s},"spec":{"nodeName":"%s","priority":%s,"containers":[{"name":"c","resources":{"limits":{"cpu":"9","memory":"1Gi"}}}]},"status":{"phase":"Running"}}' \
		"$1" "$2" "$1" "$5" "$3" "$4"
}
owned=',"ownerReferences":[{"kind":"ReplicaSet","name":"r","controller":true}]'
objects() { # OWNERS
	printf '{"kind":"List","items":[%s,%s,%s,%s,%s]}' "$(node a)" "$(node b)" "$(pod one $one a 0 "$1")" "$(pod two $two a 1000 "$1")" "$(pod three $three b 0 "$1")"
}
objects "$owned" >"$dir/objects.json"
cat >"$dir/pod.yaml" <<'END'
apiVersion: v1
kind: Pod
metadata: {name: wide, namespace: ml}
spec:
  nodeSelector: {"n": a}
  containers: [{name: c, resources: {limits: {cpu: 12, memory: 1Gi}}}]
END

# run NAME STATUS EXPRESSION WORD...: the exit status, and EXPRESSION holds of d, the JSON document
run() {
	name=$1
	want=$2
	expression=$3
	shift 3
	"$numa" "$@" --from "$dir/nrt.yaml" --from "$dir/objects.json" -o json >"$dir/out" 2>"$dir/err"
	got=$?
	cat "$dir/out" "$dir/err" >"$dir/all"
	if [ $got -eq "$want" ] && python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$dir/out" "$expression"; then
		ok "$name"
	else
		echo "status $got, want $want, and $expression" >>"$dir/all"
		not_ok "$name" "$dir/all"
	fi
}
moves='[(s["action"], s["pod"], s["from"], s["to"]) for s in d["steps"]]'

run "no move" 0 "$moves == [('start', 'request', None, 'b')] and d['outcome'] == 'full'" plan --cpus 12
run "a move" 0 "$moves == [('move', 'one', 'a', 'b'), ('start', 'wide', None, 'a')] and d['cost'] == 25 and d['steps'][0]['owner'] == \"ReplicaSet 'r'\"" \
	plan -f "$dir/pod.yaml"
run "the CPUs of each step" 0 "d['steps'][0]['cpus'] == '16-24' and d['steps'][1]['numaNodes'] == '1'" plan -f "$dir/pod.yaml"
run "a part" 4 "d['outcome'] == 'partial' and d['placed'] == 1 and d['unplaced'][0]['pod'] == 'wide-2' and d['unplaced'][0]['reasons']" \
	plan -f "$dir/pod.yaml" --replicas 2
run "a device that no node has" 3 "[r['reason'] for r in d['unplaced'][0]['reasons']] == ['which devices of vendor.com/nic are free is not known']" \
	plan --cpus 2 --device vendor.com/nic=1
run "none" 3 "d['outcome'] == 'none' and not d['steps']" plan --cpus 32
run "a namespace that stays" 3 "d['notMovable'] == {'namespace': 3}" plan -f "$dir/pod.yaml" --keep ml
run "evictions" 0 "[(s['action'], s['pod'], s['to']) for s in d['steps']] == [('evict', 'one', None), ('start', 'wide', 'a')]" \
	plan -f "$dir/pod.yaml" --evict
run "evictions below a priority" 3 "d['notMovable'] == {'priority': 3}" plan -f "$dir/pod.yaml" --evict --below-priority 0
"$numa" plan --from "$dir/nrt.yaml" --from "$dir/objects.json" -f "$dir/pod.yaml" >"$dir/out" 2>"$dir/err"
check "text: a step" grep -q "^1     move    ml/one   a     b   1     16-24  ReplicaSet 'r'  0         -    25$" "$dir/out"
check "text: the outcome" grep -qx 'full: 1 of 1 pod placed, 1 move, cost 25' "$dir/out"

# Pods without a controller, a PodDisruptionBudget that allows nothing, objects without node state
objects '' >"$dir/objects.json"
run "bare pods" 3 "d['notMovable'] == {'no controller': 3}" plan -f "$dir/pod.yaml"
run "bare pods, allowed" 0 "d['moves'] == 1" plan -f "$dir/pod.yaml" --allow-bare
objects "$owned" | sed 's/^{"kind":"List","items":\[/&{"kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"ml"},"spec":{"selector":{"matchLabels":{"app":"one"}}},"status":{"disruptionsAllowed":0}},/' \
	>"$dir/objects.json"
run "a budget" 0 "d['steps'][0]['pod'] == 'two' and d['notMovable'] == {'PodDisruptionBudget': 1}" plan -f "$dir/pod.yaml" --evict --below-priority 2000
run "a higher priority" 3 "d['notMovable'] == {'PodDisruptionBudget': 1, 'priority': 1}" plan -f "$dir/pod.yaml" --evict
sed 's/^spec:/&\n  priority: 1000/' "$dir/pod.yaml" >"$dir/high.yaml"
run "the same priority" 0 "d['steps'][0]['pod'] == 'two'" plan -f "$dir/high.yaml" --evict
objects "$owned" >"$dir/objects.json"
cp "$dir/nrt.yaml" "$dir/exact.yaml"
sed 's,nrtd.dev/node-state,example.com/other,' "$dir/exact.yaml" >"$dir/nrt.yaml"
run "estimates" 3 "[n['node'] for n in d['leftAlone']] == ['a', 'b'] and not d['steps']" plan -f "$dir/pod.yaml"
# A kubelet that admits every pod, aligned or not; one that aligns none
sed 's,topology=restricted,topology=best-effort,' "$dir/exact.yaml" >"$dir/nrt.yaml"
run "best-effort admits the pod" 0 "$moves == [('start', 'wide', None, 'a')] and d['steps'][0]['numaNodes'] == '0-1'" plan -f "$dir/pod.yaml"
run "--aligned" 0 "$moves == [('move', 'one', 'a', 'b'), ('start', 'wide', None, 'a')] and d['steps'][1]['numaNodes'] == '1'" plan -f "$dir/pod.yaml" --aligned
sed 's,topology=restricted,topology=none,' "$dir/exact.yaml" >"$dir/nrt.yaml"
run "--aligned where nothing is aligned" 3 "[n['reason'] for n in d['leftAlone']] == ['its topology manager policy is none: the kubelet aligns no pods'] * 2" \
	plan -f "$dir/pod.yaml" --aligned
cp "$dir/exact.yaml" "$dir/nrt.yaml"

# Pending pods
objects "$owned" | sed 's/"nodeName":"a","priority":1000/"priority":1000/' >"$dir/objects.json"
run "pending pods" 0 "d['steps'][0]['pod'] == 'two' and d['wanted'] == 1" plan --pending
objects "$owned" >"$dir/objects.json"
run "no pending pods" 0 "d['wanted'] == 0" plan --pending
# 64 pods on node a, and 32 containers that want 2^58 CPUs more than it has free: 64 times the CPUs that must become free is 0 in 64 bits.
python3 - "$dir" <<'END'
import copy, json, sys
objects = json.load(open(sys.argv[1] + '/objects.json'))
for i in range(62):
    pod = copy.deepcopy(next(o for o in objects['items'] if o['kind'] == 'Pod'))
    pod['metadata'].update(name='small-%d' % i, uid='small-%d' % i)
    del pod['spec']['containers'][0]['resources']
    objects['items'].append(pod)
json.dump(objects, open(sys.argv[1] + '/objects.json', 'w'))
left, containers = 2**58 + 14, []
while left > 0:
    cpus = min(left, 2**63 // 1000)
    left -= cpus
    containers.append({'name': 'c%d' % len(containers), 'resources': {'limits': {'cpu': str(cpus), 'memory': '1'}}})
json.dump({'kind': 'Pod', 'metadata': {'name': 'huge', 'namespace': 'ml'}, 'spec': {'containers': containers}}, open(sys.argv[1] + '/huge.json', 'w'))
END
run "more CPUs than any machine has" 3 "d['outcome'] == 'none' and d['searchComplete']" plan -f "$dir/huge.json"
objects "$owned" >"$dir/objects.json"

# --- simulate
run "a looser policy" 0 "d['totals']['rejected'] == 0 and [p['what'] for p in d['pods']] == ['more NUMA nodes']" simulate --set topologyManagerPolicy=none
run "which NUMA nodes, not how many" 0 "[(p['numaNodesBefore'], p['numaNodesAfter']) for p in d['pods']] == [([0], [0, 1])]" simulate --set topologyManagerPolicy=none
"$numa" simulate --set topologyManagerPolicy=none --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: before and after" grep -q '^ml/.*  more NUMA nodes  -   0 -> 0-1  ' "$dir/out"
run "reserved CPUs" 3 "[(p['pod'], p['what']) for p in d['pods']] == [('two', 'rejected')] and d['totals']['after']['free'] < d['totals']['before']['free']" \
	simulate --set reservedCPUs=16
run "a node that is gone" 3 "[(p['pod'], p['what'], p['node']) for p in d['pods']] == [('two', 'moved', 'a'), ('one', 'no place', 'a')]" \
	simulate --without-node a
sed 's/^  name: a$/  name: z/' "$dir/exact.yaml" >"$dir/nrt.yaml"
run "a node without an object that is gone" 3 "sorted((p['pod'], p['what'], p['node']) for p in d['pods']) == [('one', 'no place', 'a'), ('two', 'moved', 'a')]" \
	simulate --without-node a
cp "$dir/exact.yaml" "$dir/nrt.yaml"
python3 - "$dir/objects.json" <<'END'
import copy, json, sys
objects = json.load(open(sys.argv[1]))
pod = copy.deepcopy(next(o for o in objects['items'] if o['kind'] == 'Pod'))
pod['metadata'].update(name='lost', uid='lost')
pod['spec'].pop('nodeName', None)
pod['status'] = {'phase': 'Pending', 'nominatedNodeName': 'deleted'}
json.dump({'kind': 'List', 'items': objects['items'] + [pod]}, open(sys.argv[1], 'w'))
END
run "a nomination for a node that was deleted" 0 "'deleted' not in json.dumps(d)" simulate --set topologyManagerPolicy=none
objects "$owned" >"$dir/objects.json"
run "why a pod has no place" 3 "d['pods'][1]['reason'].startswith('no node takes the pod: 1 node: TopologyAffinityError: restricted: 9 CPUs')" \
	simulate --without-node a
run "a setting that is only proposed" 0 "d['proposed'] == 'numa-allocation-strategy=least-allocated' and d['totals']['rejected'] == 0" \
	simulate --set numa-allocation-strategy=least-allocated
run "nothing is proposed" 0 "d['proposed'] is None" simulate --set topologyManagerPolicy=none
run "a kubelet that does not start" 1 "{p['reason'] for p in d['pods']} == {n['problem'] for n in d['nodes']} and d['totals']['unknown'] == 3" \
	simulate --set reservedSystemCPUs=99
run "reserved CPUs that the machine does not have" 1 "all('reservedSystemCPUs names CPUs 99, which are not online' in n['problem'] for n in d['nodes'])" \
	simulate --set reservedSystemCPUs=99
run "options that exclude each other" 1 "all('full-pcpus-only and distribute-cpus-across-cores can not be used at the same time' in n['problem'] for n in d['nodes'])" \
	simulate --set full-pcpus-only=true --set distribute-cpus-across-cores=true
run "options under policy none" 1 "all(n['problem'] == 'the kubelet would not start: cpuManagerPolicy none takes no cpuManagerPolicyOptions' for n in d['nodes'])" \
	simulate --set full-pcpus-only=true --set cpuManagerPolicy=none
run "and after a restart" 1 "all(n['problem'] == 'the kubelet would not start: max-allowable-numa-nodes 7 is below 8' for n in d['nodes'])" \
	simulate --restart --set max-allowable-numa-nodes=7
"$numa" simulate --set reservedSystemCPUs=99 --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: the problem of a node is said once" test "$(grep -c 'reserved' "$dir/out"):$(grep -c 'ml/' "$dir/out")" = 2:0
"$numa" simulate --set numa-allocation-strategy=most-allocated --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: what is only proposed" grep -qx 'proposed: numa-allocation-strategy=most-allocated (KEP-6007); no kubelet release has this option' "$dir/out"
run "copies" 0 "d['totals']['before']['copies'] == 5" simulate --set topologyManagerPolicy=restricted --cpus 6

# The copies of a pod with scheduling constraints are those of `kubectl numa fit`.
cat >"$dir/sts.yaml" <<'END'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: ml}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: db}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}}
      containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]
END
sed 's/^      affinity:/      nodeSelector: {"n": b}\n&/' "$dir/sts.yaml" >"$dir/selects.yaml"
sed '/^      affinity:/d' "$dir/sts.yaml" >"$dir/free.yaml"
# as_fit NAME COPIES FLAG...: simulate and fit count so many copies
as_fit() {
	name=$1
	copies=$2
	shift 2
	"$numa" fit "$@" --from "$dir/nrt.yaml" --from "$dir/objects.json" -o json >"$dir/fit.json" 2>"$dir/err"
	run "$name" 0 "(d['totals']['before']['copies'], d['totals']['after']['copies'], json.load(open('$dir/fit.json'))['copies']) == ($copies,) * 3" \
		simulate --set cpuManagerPolicy=static "$@"
}
# with_spec MEMBERS: node b has this spec
with_spec() { objects "$owned" | sed "s/\"labels\":{\"n\":\"b\"}}/&,\"spec\":{$1}/" >"$dir/objects.json"; }
as_fit "copies of any number" 17 -f "$dir/free.yaml"
as_fit "copies with anti-affinity to each other" 2 -f "$dir/sts.yaml"
as_fit "copies with a node selector" 1 -f "$dir/selects.yaml"
with_spec '"taints":[{"key":"dedicated","value":"x","effect":"NoSchedule"}]'
as_fit "copies beside a taint" 0 -f "$dir/selects.yaml"
as_fit "copies of a request beside a taint" 2 --cpus 6
with_spec '"unschedulable":true'
as_fit "copies beside a cordoned node" 1 -f "$dir/sts.yaml"
run "the totals omit a cordoned node" 0 "d['totals']['unusable'] == 1 and d['totals']['before']['free'] == 13" simulate --set cpuManagerPolicy=static
objects "$owned" | sed 's/"labels":{"n":"b"}},"status":{/&"conditions":[{"type":"Ready","status":"False"}],/' >"$dir/objects.json"
as_fit "copies beside a node that is not ready" 2 --cpus 6
run "the totals omit a node that is not ready" 0 "d['totals']['unusable'] == 1 and d['totals']['before']['free'] == 13" simulate --set cpuManagerPolicy=static
run "the totals do not omit a node that is not selected" 0 "d['totals']['unusable'] == 0" simulate --set cpuManagerPolicy=static -l n=a
run "a new machine is ready although its model is not" 0 "[n['after']['copies'] for n in d['nodes'] if n['added']] == [15]" simulate --add 2x4x16,512Gi --like b --cpus 16
"$numa" simulate --set cpuManagerPolicy=static --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: which nodes the totals omit" grep -qx 'the totals omit 1 node that is not ready or not schedulable' "$dir/out"
objects "$owned" >"$dir/objects.json"
sed 's/^      containers:/      volumes: [{name: v, persistentVolumeClaim: {claimName: v}}]\n&/' "$dir/sts.yaml" >"$dir/volumes.yaml"
"$numa" simulate --set cpuManagerPolicy=static -f "$dir/volumes.yaml" --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: what was not evaluated" grep -qx 'not evaluated (schedulers do): volumes' "$dir/out"
run "no copy on a node that is gone" 3 "d['totals']['before']['copies'] == 2 and d['totals']['after']['copies'] == 1" simulate --without-node a -f "$dir/sts.yaml"

# Without Pods, what would end is not known.
printf '{"kind":"List","items":[%s,%s]}' "$(node a)" "$(node b)" >"$dir/objects.json"
run "no Pods" 1 "[n['reason'] for n in d['leftAlone']] == ['the object reports pods, but no Pods are given'] * 2 and not d['nodes']" simulate --set reservedCPUs=16
check "no Pods: one line" test "$(cat "$dir/err")" = 'kubectl-numa: warning: no Pods are given, although the objects of 2 nodes report pods: these nodes are left alone'
run "no Pods of a node that is gone" 1 "[n['node'] for n in d['leftAlone']] == ['a', 'b']" simulate --without-node a
printf '{"kind":"List","items":[%s,%s,%s,%s]}' "$(node a)" "$(node b)" "$(pod one $one a 0 "$owned")" "$(pod three $three b 0 "$owned")" >"$dir/objects.json"
run "a Pod that is missing" 0 "d['totals']['rejected'] == 0" simulate --set cpuManagerPolicy=static
check "a Pod that is missing: one line" test "$(cat "$dir/err")" = 'kubectl-numa: warning: the object of 1 node reports pods that are not among the Pods: these pods are simulated as ended'
objects "$owned" >"$dir/objects.json"

# --- simulate --restart: pod one holds CPUs of NUMA node 0, pod two of NUMA node 1
run "a restart without changes" 0 "d['totals']['rejected'] == 0 and not d['pods'] and d['totals']['unknown'] == 0" simulate --restart
run "a restart with another CPU manager" 3 "d['nodes'][0]['action'].startswith('remove cpu_manager_state: configured policy \"none\"')" \
	simulate --restart --set cpuManagerPolicy=none
run "a restart with more reserved CPUs" 3 "'not all reserved cpus' in d['nodes'][0]['action'] and [(p['pod'], p['what']) for p in d['pods']] == [('two', 'rejected')]" \
	simulate --restart --set reservedCPUs=16
objects "$owned" | sed 's/"priority":1000/"nodeSelector":{"n":"b"},&/' >"$dir/objects.json"
run "a restart after a label was changed" 3 "[(p['pod'], p['reason']) for p in d['pods']] == [('two', 'nodeSelector n=b does not match')]" simulate --restart
objects "$owned" >"$dir/objects.json"
"$numa" simulate --restart --set cpuManagerPolicy=none --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: what to do first" grep -q '^the kubelets of 2 nodes (a, b) start only after this: remove cpu_manager_state: configured policy "none" differs' "$dir/out"

check "text: the assumption" grep -qxF 'assumed: the kubelets restart while the pods run; no node is drained' "$dir/out"
"$numa" simulate --set reservedCPUs=16 --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: the other assumption" grep -q '^assumed: each node is drained, and the same pods come back' "$dir/out"

# --- simulate --without-each
run "each node alone" 3 "[(n['node'], n['moved'], [p['pod'] for p in n['noPlace']]) for n in d['losses']] == [('a', 1, ['one']), ('b', 0, ['three'])] and d['losses'][0]['reason'].startswith('no node takes the pod: 1 node: TopologyAffinityError')" \
	simulate --without-each
"$numa" simulate --without-each --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: a node whose loss is too much" grep -q '^a  *1  *1  *[a-z]*/one  *no node takes the pod' "$dir/out"
check "text: no totals of changes that were not asked for" test "$(head -c 9 "$dir/out")" = "LOST NODE"
check "text: how many" grep -qxF 'the loss of 2 of 2 nodes alone leaves pods without a place' "$dir/out"
run "with another machine all is well" 0 "[n['noPlace'] for n in d['losses']] == [[], [], []]" simulate --without-each --add 2x1x16,64Gi --like a
"$numa" simulate --without-each --add 2x1x16,64Gi --like a --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "text: no row of a node whose pods find places" sh -c "! grep -q '^LOST NODE' '$dir/out'"
run "on what is left of the cluster" 3 "[n['node'] for n in d['losses']] == ['b']" simulate --without-each --without-node node/a

objects "$owned" | sed 's/"priority":1000/"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"n","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}],&/' >"$dir/objects.json"
run "a lost node is no domain of topology spread" 3 "[[p['pod'] for p in n['noPlace']] for n in d['losses']] == [['one'], ['three']]" simulate --without-each
run "nor is one of --without-node" 3 "[p['what'] for p in d['pods'] if p['pod'] == 'two'] == ['moved']" simulate --without-node a
objects "$owned" >"$dir/objects.json"

sed 's/;kubelet=[0-9]*//' "$dir/exact.yaml" >"$dir/nrt.yaml"
run "an unknown release" 1 "{p['reason'] for p in d['pods']} == {\"the kubelet's release is not known; its Node's status has the release\"}" simulate --restart
sed -i 's/"status":{"allocatable"/"status":{"nodeInfo":{"kubeletVersion":"v1.36.2"},"allocatable"/g' "$dir/objects.json"
run "the release of the Node" 0 "not d['pods']" simulate --restart
objects "$owned" >"$dir/objects.json"
cp "$dir/exact.yaml" "$dir/nrt.yaml"

# --- simulate --add: machines that do not exist yet
added='[n["after"] for n in d["nodes"] if n["added"]]'
run "new machines like a node" 0 "[(a['largestOnOneNumaNode'], a['copies']) for a in $added] == [(32, 15)] * 2 and d['totals']['before']['copies'] == 1 and d['totals']['after']['copies'] == 31" \
	simulate --add 2:2x4x16,512Gi --like node/a --cpus 16
run "new machines have settings of their own" 0 "($added)[0]['free'] == 252 and not d['pods'] and len(d['nodes']) == 1" \
	simulate --add 2x4x16,512Gi --set cpuManagerPolicy=static --set topologyManagerPolicy=restricted --set reservedCPUs=4
run "new machines with devices" 0 "($added)[0]['copies'] == 8" simulate --add 2x4x16,512Gi,vendor.com/gpu=8 --like a --cpus 4 --device vendor.com/gpu=1
run "a new machine for the pods of a lost node" 0 "sorted(p['to'] for p in d['pods']) == ['b', 'new-1']" simulate --add 1x1x8,64Gi --like a --without-node a
"$nrtd" dump --sysroot "$dir/a" --node-name x >"$dir/x.yaml" 2>/dev/null
run "new machines from an object" 0 "[a['copies'] for a in $added] == [7, 7, 7]" simulate --add "3:$dir/x.yaml" --like a --cpus 4
run "the kubelet's defaults" 0 "[a['copies'] for a in $added] == [4] and d['totals']['after']['copies'] == d['totals']['before']['copies'] + 4" simulate --add 1x1x8,64Gi --cpus 4

# Pods of 7, 7, 8 and 9 CPUs fill the node. In the order of their creation the first two share a NUMA node, and the last has no place.
example_node "$dir/d"
printf '{"policyName":"static","defaultCpuSet":"0","entries":{"%s":{"c":"1-7"},"%s":{"c":"16-22"},"%s":{"c":"8-15"},"%s":{"c":"23-31"}},"checksum":0}' \
	aaaaaaa1-b6a5-4aaa-8fcd-76c1aa64e6fd aaaaaaa2-b6a5-4aaa-8fcd-76c1aa64e6fd aaaaaaa3-b6a5-4aaa-8fcd-76c1aa64e6fd \
	aaaaaaa4-b6a5-4aaa-8fcd-76c1aa64e6fd >"$dir/d/var/lib/kubelet/cpu_manager_state"
"$nrtd" dump --sysroot "$dir/d" --node-name d >"$dir/nrt-d.yaml" 2>"$dir/dump-err"
{
	node d
	i=0
	for cpus in 7 7 8 9; do
		i=$((i + 1))
		pod p$i aaaaaaa$i-b6a5-4aaa-8fcd-76c1aa64e6fd d 0 ",\"creationTimestamp\":\"2026-01-01T00:00:0${i}Z\"" | sed "s/\"cpu\":\"9\"/\"cpu\":\"$cpus\"/"
	done
} >"$dir/objects-d.json"
"$numa" simulate --set topologyManagerPolicy=restricted --from "$dir/nrt-d.yaml" --from "$dir/objects-d.json" >"$dir/out" 2>"$dir/err"
check "a pod that is rejected also without the change" grep -q '^1 pod rejected (1 also without the change), 0 unknown; free CPUs 0 -> 9' "$dir/out"
check "and why" grep -q '^ml/p4 .*  also without the change: TopologyAffinityError' "$dir/out"

# --- bad input: one line, status 2
node c >"$dir/node-c.json"
bad() { # NAME LINE WORD...
	name=$1
	line=$2
	shift 2
	"$numa" "$@" --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
	got=$?
	if [ $got -eq 2 ] && [ "$(cat "$dir/err")" = "kubectl-numa: $line" ] && [ ! -s "$dir/out" ]; then ok "bad input: $name"; else not_ok "bad input: $name: status $got" "$dir/err"; fi
}
bad "a node" "unexpected word 'a'; -f FILE names the pod's file, -l SELECTOR selects the nodes" simulate a
bad "no pods" "no pods: give a file with -f, a request with flags such as --cpus and --memory, or --pending" plan
bad "nothing to simulate" "nothing to simulate: use --set KEY=VALUE, --restart, --without-node NAME, --without-each or --add SPEC" simulate
"$numa" simulate --set topologyManagerPolicy=none -l n=c --from "$dir/nrt.yaml" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
check "a selector that selects no node is an error" test $?:"$(tail -n 1 "$dir/err")" = "2:kubectl-numa: --from: no node is selected"
run "nodes that are not selected are not mentioned" 0 "d['leftAlone'] == [] and [n['node'] for n in d['nodes']] in (['b'], [])" \
	simulate --set topologyManagerPolicy=none -l n=b
run "nodes that are left alone are a failure" 1 "[n['node'] for n in d['leftAlone']] == ['c']" simulate --set topologyManagerPolicy=none --from "$dir/node-c.json"
bad "an unknown setting" "unknown policy option 'color'" simulate --set color=red
bad "an unknown node" "no such node: 'c'" simulate --without-node c
newest=$(sed -nE "s/.*KUBELET_MINOR_COMPARED +([0-9]+).*/\1/p" scoring/kubelet_version.h)
bad "a release that nrtd does not know" "kubelet=1.99: nrtd knows the rules of the kubelets 1.33 to 1.$newest" simulate --set kubelet=1.99
bad "a setting twice" "--set: full-pcpus-only is given twice" simulate --set full-pcpus-only=true --set full-pcpus-only=false
bad "no memory" "--add: '2x4x16' is not SOCKETSxNUMAxCORES[xTHREADS],MEMORY[,RESOURCE=AMOUNT...] such as 2x4x16,512Gi" simulate --add 2x4x16
bad "no machine" "--add: the number of machines is from 1 to 1000, not 0" simulate --add 0:2x4x16,512Gi
bad "too many machines" "--add: more than 1000 machines" simulate --add 600:2x4x16,512Gi --add 600:2x4x16,512Gi
bad "a kubelet that does not start" "--add: the kubelet would not start: policy static needs reserved CPUs" simulate --add 2x4x16,512Gi --set cpuManagerPolicy=static
bad "an unknown model" "--like: no such node: 'c'" simulate --add 2x4x16,512Gi --like c
bad "a model without a machine" "--like is for the machines of --add" simulate --like a --restart
bad "a restart of new machines" "--restart is for nodes that exist, not for --add" simulate --add 2x4x16,512Gi --restart
bad "a plan as a page" "--output: 'html' is not one of text|wide|json|yaml" plan --cpus 4 -o html
bad "a simulation as a picture" "--output: 'svg' is not one of text|wide|json|yaml" simulate --restart -o svg
bad "two kinds of wanted pods" "--pending is for the pods of the cluster, not for a pod that is described" plan --pending --cpus 4

# --- long work is shown on a terminal: the objects come after a second
if command -v script >/dev/null; then
	mkfifo "$dir/slow"
	for command in "plan -f $dir/pod.yaml" "simulate --set reservedCPUs=2" "fit -f $dir/pod.yaml"; do
		{ sleep 1 && cat "$dir/nrt.yaml"; } >"$dir/slow" &
		TERM=xterm timeout 30 script -qec "$numa $command --from $dir/slow --from $dir/objects.json >$dir/out" /dev/null </dev/null >"$dir/shown"
		check "${command%% *}: what is done" grep -qE "[0-9] (objects read|nodes judged)" "$dir/shown"
		check "${command%% *}: the line is removed" test "$(tail -c 4 "$dir/shown" | od -An -tx1 | tr -d ' ')" = 0d1b5b4b
		check "${command%% *}: not in the output" sh -c "test -s '$dir/out' && ! grep -qE 'objects read|nodes judged' '$dir/out'"
	done
	{ sleep 1 && cat "$dir/nrt.yaml"; } >"$dir/slow" &
	timeout 30 "$numa" plan -f "$dir/pod.yaml" --from "$dir/slow" --from "$dir/objects.json" >"$dir/out" 2>"$dir/err"
	check "nothing in a pipe" test ! -s "$dir/err"
fi
exit "$failed"
