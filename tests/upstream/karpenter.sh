#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# karpenter.sh: Karpenter with its cloud provider for tests, kwok (karpenter/pin.sh has the version), beside nrtd-extender on a real API
# server: for which pods it adds a node. B names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
module=karpenter
. tests/upstream/unaligned.sh

source=$(cd "$here/$module" && GOTOOLCHAIN=$(../toolchain.sh go.mod) go list -m -f '{{.Dir}}' sigs.k8s.io/karpenter)
kubectl delete node free >/dev/null
for crd in "$source"/pkg/apis/crds/*.yaml "$source"/kwok/apis/crds/*.yaml; do kubectl apply --server-side -f "$crd" >/dev/null; done
eventually 120 kubectl get nodepools,kwoknodeclasses >"$work/out" 2>&1 || exit 1
kubectl apply -f - >/dev/null <<END
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: Never}
  template:
    spec:
      requirements: [{key: karpenter.sh/capacity-type, operator: Exists}]
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
END
cat >"$work/types.json" <<END
[{"name": "c-32x-amd64-linux", "architecture": "amd64", "operatingSystems": ["linux"],
  "resources": {"cpu": "32", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"},
  "offerings": [{"Price": 1, "Available": true, "Requirements": [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]}]}]}]
END
KUBECONFIG="$work/cluster/admin.kubeconfig" DISABLE_LEADER_ELECTION=true SYSTEM_NAMESPACE=default METRICS_PORT=0 HEALTH_PROBE_PORT=0 \
	"$programs/kwok" --instance-types-file-path "$work/types.json" --log-level debug >"$work/karpenter.log" 2>&1 &
pids="$pids $!"
claims() { kubectl get nodeclaims -o name; }
no_claim() { sleep 20 && [ -z "$(claims)" ]; }
claim() { [ -n "$(claims)" ]; }
nominated() { kubectl get events -o 'jsonpath={range .items[*]}{.involvedObject.name} {.reason} {.message}{"\n"}{end}' | grep -q "^$1 Nominated .*split"; }
new_node() { kubectl get nodes -o name | sed -n 's,^node/\(kwok-.*\),\1,p'; }
joined() { [ -n "$(new_node)" ]; }

create unaligned 8
check "nrtd-extender: the pod waits" eventually 120 unschedulable unaligned 'split\|NUMA\|Topology\|nodes are available'
check "karpenter: it finds that the pod fits the node" eventually 120 nominated unaligned
check "karpenter: no node is added" no_claim

# A pod that requests more CPUs than are free on any node.
printf '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"placeholder"},"value":-5}' | kubectl create -f - >/dev/null
printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"placeholder"},"spec":{"priorityClassName":"placeholder","terminationGracePeriodSeconds":0,"containers":[{"name":"pause","image":"x","resources":{"requests":{"cpu":"24"}}}]}}' |
	kubectl create -f - >/dev/null
check "karpenter: a placeholder has a node added" eventually 120 claim
check "karpenter: the node joins" eventually 120 joined
node=$(new_node)
kubectl delete pod placeholder --force --grace-period 0 >/dev/null 2>&1
ready_node "$node"
publish "$node"
check "nrtd-extender: the waiting pod gets the new node" eventually 120 bound_to unaligned "$node"
[ "$failed" -eq 0 ] || tail -n 30 "$work/karpenter.log"
tally
