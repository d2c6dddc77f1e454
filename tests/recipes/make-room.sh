# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# Each node has 15 and 16 CPUs for pods on its NUMA nodes, and pods of 9 and 6 on them: no NUMA node has 12 free.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 9 &&
		held worker-2 d 6 && scheduler && helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace && controllers &&
		until_true published worker-1 'available: "7"' && until_true published worker-2 'available: "10"'
}
done_with() {
	check "the plan moves one pod" grep -E '^full: 1 of 1 pod placed, 1 move' "$work/printed"
}
