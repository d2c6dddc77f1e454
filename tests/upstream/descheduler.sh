#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# descheduler.sh: the descheduler (descheduler/pin.sh has the version) beside nrtd-extender on a real API server: what it evicts, and where
# the replacements go. B names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
module=descheduler
. tests/upstream/unaligned.sh

# deschedule PLUGIN ARGS [ARGS of DefaultEvictor]: one run of the descheduler with this plugin
deschedule() {
	cat >"$work/policy.yaml" <<-END
		apiVersion: descheduler/v1alpha2
		kind: DeschedulerPolicy
		profiles:
		- name: test
		  pluginConfig:
		  - {name: DefaultEvictor, args: {${3:-nodeFit: true}}}
		  - {name: $1, args: {$2}}
		  plugins: {deschedule: {enabled: [$1]}}
	END
	"$programs/descheduler" --kubeconfig "$work/cluster/admin.kubeconfig" --policy-config-file "$work/policy.yaml" --descheduling-interval 0 \
		--disable-metrics --secure-port 0 --cert-dir "$work/certs" -v 4 >"$work/descheduler.log" 2>&1
}
evicted() { ! kubectl get pod "$1" -o 'jsonpath={.metadata.deletionTimestamp}' 2>/dev/null | grep -q . || return 0; ! kubectl get pod "$1" >/dev/null 2>&1; }
stays() { ! evicted "$1"; }
kubelet_rejects() { # NODE CPUS
	numa fit "$1" --cpus "$2" --memory 1Gi
	[ $? -eq 3 ]
}
owner='"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app","uid":"00000000-0000-0000-0000-000000000001","controller":true}]'
in_pool='"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"example.com/pool","operator":"In","values":["a"]}]}]}}}'
violating='RemovePodsViolatingNodeAffinity'
required='nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]'

# The pod runs on a node that has left its pool. The only node of the pool has 11 free CPUs, 6 of them on one NUMA node.
kubectl label node free example.com/pool=b >/dev/null
kubectl label node split example.com/pool=a >/dev/null
keep='"annotations":{"descheduler.alpha.kubernetes.io/prefer-no-eviction":""}'
create app-0 8 "\"nodeName\":\"free\",$in_pool" "$owner,$keep"
publish free app-0 8
check "descheduler: it runs" deschedule $violating "$required" 'nodeFit: true, noEvictionPolicy: Mandatory'
check "descheduler: noEvictionPolicy Mandatory keeps the pod with the annotation" stays app-0
check "kubectl numa fit: the kubelet of the other node would reject the pod" kubelet_rejects split 8
check "descheduler: it runs" deschedule $violating "$required"
check "descheduler: nodeFit finds that the pod fits the other node, and the pod is evicted" evicted app-0
kubectl delete pod app-0 --force --grace-period 0 >/dev/null 2>&1
publish free
create app-1 8 "$in_pool" "$owner"
check "nrtd-extender: the replacement of the pod waits" eventually 120 unschedulable app-1 'TopologyAffinityError\|cannot be aligned\|NUMA'
kubectl delete pod app-1 --force --grace-period 0 >/dev/null 2>&1

# A pod of a size that fits moves.
create app-2 6 "\"nodeName\":\"free\",$in_pool" "$owner"
publish free app-2 6
check "descheduler: it runs" deschedule $violating "$required"
check "descheduler: a pod that fits is evicted" evicted app-2
kubectl delete pod app-2 --force --grace-period 0 >/dev/null 2>&1
publish free
create app-3 6 "$in_pool" "$owner"
check "nrtd-extender: the replacement of the pod goes to the other node" eventually 120 bound_to app-3 split

# Pods that kubelets rejected.
for reason in TopologyAffinityError Evicted; do
	name=$(echo "rejected-$reason" | tr '[:upper:]' '[:lower:]')
	create "$name" 8 '"nodeName":"free"' "$owner"
	printf '{"status":{"phase":"Failed","reason":"%s"}}' "$reason" >"$work/patch"
	kubectl patch pod "$name" --subresource status --type merge --patch-file "$work/patch" >/dev/null
done
failed_pods='reasons: [TopologyAffinityError], minPodLifetimeSeconds: 0'
check "descheduler: it runs" deschedule RemoveFailedPods "$failed_pods"
check "descheduler: with nodeFit RemoveFailedPods keeps a pod that fits no other node" stays rejected-topologyaffinityerror
check "descheduler: it runs" deschedule RemoveFailedPods "$failed_pods" 'nodeFit: false'
check "descheduler: RemoveFailedPods removes a pod with TopologyAffinityError" evicted rejected-topologyaffinityerror
check "descheduler: RemoveFailedPods keeps a pod with another reason" stays rejected-evicted
tally
