# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A cluster with kube-scheduler, nrtd-extender and two nodes of two NUMA nodes with 15 and 16 CPUs, policy single-numa-node. Sourced with
# $module, a folder whose tools the script runs beside them. Node `free` holds nothing. Node `split` has pods of 10 CPUs on both NUMA nodes:
# 11 CPUs are free, and at most 6 on one NUMA node. Sets $B, $here, $programs, $port and $work.
# shellcheck disable=SC2034,SC2154 # the scripts use and set them
export LC_ALL=C HWLOC_HIDE_ERRORS=2
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane managers kubectl && $here/build_module.sh "$module" tool
. tests/upstream/work.sh
. tests/lib/checks.sh
programs=$PWD/build/upstream
port=$((20000 + $$ % 10000))
pids=
trap 'kill $pids 2>/dev/null; leave' EXIT

kubectl() { "$programs/kubectl" --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
numa() { "$B/kubectl-numa" "$@" --kubeconfig "$work/cluster/admin.kubeconfig"; }
# A container with so many exclusive CPUs, for a pod's spec.
container() { printf '"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"%s","memory":"1Gi"},"limits":{"cpu":"%s","memory":"1Gi"}}}]' "$1" "$1"; }
# create NAME CPUS [MEMBERS of spec [MEMBERS of metadata]]
create() {
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"default"%s},"spec":{%s%s}}' "$1" "${4:+,$4}" "$(container "$2")" "${3:+,$3}" |
		kubectl create -f - >/dev/null
}
# publish NODE [POD CPUS...]: the object of a node whose kubelet has admitted these pods
publish() {
	published=$1
	shift
	rm -rf "${work:?}/$published" && cp -r "$work/machines/seed-2s-32cpu" "$work/$published" && mkdir "$work/$published/now" || exit 1
	cat >"$work/$published/config.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cpuManagerPolicy: static
		reservedSystemCPUs: "0"
		topologyManagerPolicy: single-numa-node
	END
	while [ $# -gt 0 ]; do
		printf '{"admit":{"metadata":{"name":"%s","namespace":"default","uid":"%s"},"spec":{%s},"status":{"qosClass":"Guaranteed"}}}\n' \
			"$1" "$(kubectl get pod "$1" -o 'jsonpath={.metadata.uid}')" "$(container "$2")"
		shift 2
	done | "$programs/managers" -sysroot "$work/$published" -config "$work/$published/config.yaml" -root "$work/$published/now" -timeout 5m >"$work/admitted" 2>&1
	"$B/nrtd" dump --sysroot "$work/$published" --kubelet-root /now --kubelet-config /config.yaml --node-name "$published" >"$work/$published.yaml" 2>/dev/null
	eventually 120 kubectl apply -f "$work/$published.yaml" >"$work/applied" 2>&1
}
# ready_node NAME: a Node with room, as its kubelet would report
ready_node() {
	printf '{"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"},"capacity":{"cpu":"32","memory":"61Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":"%s","lastTransitionTime":"%s"}]}}' \
		"$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$work/patch"
	kubectl patch node "$1" --subresource status --type merge --patch-file "$work/patch" >/dev/null
	kubectl patch node "$1" --type merge -p '{"spec":{"taints":null}}' >/dev/null
}
unschedulable() { kubectl get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}' | grep -q "$2"; }
bound_to() { [ "$(kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}')" = "$2" ]; }

cat >"$work/scheduler.yaml" <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://127.0.0.1:$port", filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt, weight: 1, nodeCacheCapable: true, httpTimeout: 5s}
END
tests/fixtures/machines/make.sh "$work/machines" seed-2s-32cpu || exit 1
"$here"/cluster.sh start "$work/cluster" -nodes free,split -scheduler "$work/scheduler.yaml" -timeout 1h >/dev/null || exit 1
"$B/nrtd-extender" --kubeconfig "$work/cluster/admin.kubeconfig" --http "127.0.0.1:$port" --lease none 2>"$work/extender.log" &
pids=$!
kubectl create serviceaccount default >/dev/null 2>&1
for node in free split; do ready_node $node; done
create busy-0 10 '"nodeName":"split"'
create busy-1 10 '"nodeName":"split"'
publish split busy-0 10 busy-1 10
