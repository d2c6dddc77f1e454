# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# A pod of 20 CPUs runs on both NUMA nodes of worker-1, which no policy forbids; worker-2 has no room for it.
# The restart depends on the kubelet's release.
report_release() { # NODE
	kubectl patch node "$1" --subresource=status --type=merge -p '{"status": {"nodeInfo": {"kubeletVersion": "v1.35.4"}}}'
}
scene() {
	node worker-1 best-effort && node worker-2 best-effort && held worker-1 wide 20 && held worker-2 c 9 && held worker-2 d 9 && scheduler &&
		helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace && controllers &&
		report_release worker-1 && report_release worker-2 && until_true published worker-1 'nrtd.dev/node-state' && until_true published worker-2 'nrtd.dev/node-state'
}
done_with() { :; }
