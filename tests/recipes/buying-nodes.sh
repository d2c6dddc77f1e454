# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# Neither node has room for the pods of the other one: pods of 13 and 9 CPUs run on the NUMA nodes of 15 and 16 CPUs.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 13 && held worker-1 b 9 && held worker-2 c 13 &&
		held worker-2 d 9 && scheduler && helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace && controllers &&
		until_true published worker-1 'nrtd.dev/node-state' && until_true published worker-2 'nrtd.dev/node-state'
}
after_3() { check "pods without a place" grep -E '^default/a +worker-1 +no place' "$work/printed"; }
after_4() { check "all pods have a place" grep -E '^0 pods rejected, 0 unknown' "$work/printed"; }
done_with() { :; }
