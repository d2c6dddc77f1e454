#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make demo CLUSTER=1: the demo on a real control plane. Real: etcd, kube-apiserver, kube-scheduler, kubectl, helm, the kubelets' managers,
# nrtd as the chart's DaemonSet, and nrtd-extender. Simulated: the machines, and containers that do not belong to nrtd (tests/recipes).
# Requires root, Go and its module proxy; builds the programs of tests/upstream first, which takes half an hour on a new machine.
# Without them the script prints "skipped:". The objects remain in KEEP, by default $B/demo. B names the build folder.
set -eu -o pipefail
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset COLUMNS NODE_NAME KUBECONFIG
cd "$(dirname "$0")/../.."
here=$(pwd)
export B=${B:-build}
work=$(mktemp -d)
recipe=demo extender=
trap '[ -z "$extender" ] || kill "$extender" 2>/dev/null || :; set +eu; leave_world >/dev/null 2>&1; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/recipes/world.sh
. tests/recipes/world.sh
# shellcheck source=tests/demo/print.sh
. tests/demo/print.sh

prepare_keep
echo "building the programs of tests/upstream" >&2
built=0
silently() { "$@" >"$work/step" 2>&1; }
build() { tests/upstream/build.sh controlplane kubectl managers scheduler && tests/upstream/build_module.sh helm tool; }
progress "building the programs of tests/upstream" silently build || built=$?
[ $built -eq 0 ] || cat "$work/step"
case $built in 0) ;; 77) exit 0 ;; *) exit 1 ;; esac
export UPSTREAM_BUILT=1
prepare_world

# quietly COMMAND...: a step whose output matters only if the step fails
quietly() { progress "$*" silently "$@" || { cat "$work/step" >&2 && echo "demo: failed: $*" >&2 && exit 1; }; }
create() { quietly kubectl create -f <(guaranteed "$1" "$2"); }
unscheduled() { kubectl get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}' | grep -F "$2"; }

section "A real control plane and two nodes. The machines are simulated, the kubelets' managers are real"
begin_world
for name in worker-1 worker-2; do quietly node $name single-numa-node; done
for p in "worker-1 train-a 7" "worker-1 train-b 9" "worker-1 train-e 1" "worker-2 train-c 13" "worker-2 train-d 5"; do
	# shellcheck disable=SC2086 # three words
	quietly held $p
done
quietly helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace
quietly controllers
quietly until_true published worker-1 'available: "7"'
quietly until_true published worker-2 'available: "11"'
run kubectl numa top
that "worker-2 has a NUMA node with 11 free CPUs" '^worker-2 .* 2,11 '
that "on worker-1 no NUMA node has more than 7" '^worker-1 .* 7,7 '

section "The stock kube-scheduler counts CPUs per node"
quietly kubectl cordon worker-2 # so that the scheduler has one choice
scheduler
create db-0 10
quietly refused_on db-0 worker-1
quietly kubectl uncordon worker-2
run kubectl numa why db-0
that "the kubelet of worker-1 rejected the pod" "^pod default/db-0 was rejected by the kubelet of node 'worker-1': TopologyAffinityError"
quietly kubectl delete pod db-0
stop_scheduler || : # the status of the killed scheduler

section "The same kube-scheduler with nrtd-extender"
port=$((20000 + RANDOM % 10000))
"$B/nrtd-extender" --kubeconfig "$KUBECONFIG" --lease none --http "127.0.0.1:$port" 2>"$work/extender.log" &
extender=$!
quietly until_true curl -sf "http://127.0.0.1:$port/readyz"
cat >"$work/scheduler.yaml" <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://127.0.0.1:$port
  filterVerb: filter
  preemptVerb: preempt
  weight: 5
  nodeCacheCapable: true
END
scheduler "$work/scheduler.yaml"
create db-1 11
quietly until_true phase_is db-1 Running
create wide-0 8
quietly until_true unscheduled wide-0 'the freest has 7'
run kubectl get pods -o wide
if grep -q Failed "$work/out"; then echo "demo: a kubelet rejected a pod" >&2 && exit 1; fi
that "db-1 runs on the node with the place" '^db-1 .* Running .* worker-2 '
that "wide-0 waits, and no kubelet rejected a pod" '^wide-0 .* Pending '
guaranteed wide-0 8 >"$work/wide-0.json"
run 3 kubectl numa fit -f "$work/wide-0.json"
that "fit explains each node's verdict" '^fits 0 of 2 nodes'
run kubectl numa plan -f "$work/wide-0.json" --allow-bare
that "plan finds a pod to move, so that a kubelet admits wide-0" '^full: 1 of 1 pod placed, 1 move'
run kubectl numa show worker-1
that "show draws the node" '^node +worker-1'
kubectl get noderesourcetopologies,nodes,pods -A -o json >"$keep/cluster.json"
try_next "the commands of doc/questions.md with your own cluster's kubeconfig"
