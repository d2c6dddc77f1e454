# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# The chart is that of the module; its scheduler is built from the module too. worker-1 has more free CPUs in all, and no NUMA
# node with 8; worker-2 has one, for one pod.
scene() {
	local module
	module=$(cd tests/upstream && go list -m -f '{{.Dir}}' sigs.k8s.io/scheduler-plugins) &&
		cp -rL "$module/manifests/install/charts/as-a-second-scheduler" "$place/" && chmod -R u+w "$place" &&
		node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 &&
		held worker-2 c 15 && held worker-2 d 6 && scheduler && kubectl create -f <(guaranteed plain 8) && refused_on plain worker-1
}
after_4() { check "where it fits one NUMA node" runs_on aligned worker-2; }
after_5() {
	check "each node has a fingerprint" test "$(grep -c '^worker-[12] pfp0v001' "$work/printed")" = 2
}
done_with() {
	check "no scheduler is left" sh -c '! kubectl get deployments -n scheduler-plugins -o name | grep .'
	check "nrtd is" kubectl get daemonset nrtd -n nrtd
}
