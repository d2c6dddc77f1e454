# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# The stock scheduler sends a pod of 8 CPUs to the node with more free CPUs, in pieces of 6 and 7; the other has 10 on one NUMA node.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 &&
		held worker-2 d 6 && scheduler && kubectl create -f <(guaranteed plain 8) && refused_on plain worker-1 &&
		helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace && controllers &&
		until_true published worker-1 'available: "7"' && until_true published worker-2 'available: "10"'
}
after_2() {
	check "the numbers" grep -E '^worker-1 +TopologyAffinityError .*the freest has 7' "$work/printed"
	check "the node that takes it" grep -E '^worker-2 +admit' "$work/printed"
	check "the kubelet's event" grep -F 'Resources cannot be allocated with Topology locality' "$work/printed"
}
after_3() {
	# The agent's own pod has some of the last free CPU, so one less than 10.
	check "top: the largest pod of each node" sh -c "grep -E '^worker-1 .* 6,7 +13/31 +7 ' '$work/printed' && grep -E '^worker-2 .* 0,10 +10/31 +9 ' '$work/printed'"
}
after_4() { check "which pod has to go" grep -E '^ +default/[ab], 9 CPUs' "$work/printed"; }
done_with() {
	check "the other node does take it" sh -c 'kubectl numa fit worker-2 --cpus 8 --memory 1Gi'
}
