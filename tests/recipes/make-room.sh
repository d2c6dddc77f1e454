# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# Each node has 15 and 16 CPUs for pods on its NUMA nodes. 6 and 7 are free on worker-1, 2 and 11 on worker-2: no NUMA node has 12. The pod
# of 5 CPUs has a place on worker-1.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 13 &&
		held worker-2 d 5 && scheduler && helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace && controllers &&
		until_true published worker-1 'available: "7"' && until_true published worker-2 'available: "11"'
}
done_with() {
	check "the plan moves one pod" grep -E '^full: 1 of 1 pod placed, 1 move' "$work/printed"
}
