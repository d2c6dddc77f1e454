# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# worker-1 has more free CPUs in all, and no NUMA node with 8; worker-2 has one, for one pod. The second scheduler is started as
# the chart's Deployment says, with the rights of its service account. The agents are installed before, as README.md says.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 &&
		held worker-2 d 6 && scheduler && kubectl create -f <(guaranteed plain 8) && refused_on plain worker-1 &&
		helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace --set image.repository=registry.example/nrtd && controllers
}
after_4() { check "where its kubelet admits it" runs_on aligned worker-2; }
waits() { kubectl get pod more -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}' | grep -F 'the freest has 7'; }
after_5() {
	check "one more such pod" kubectl create -f <(guaranteed more 8 '"schedulerName":"numa-aware",')
	check "waits, with the kubelets' reasons" until_true waits
	kubectl delete pod more >/dev/null
}
named_for_it() { [ "$(guaranteed probe 1 | kubectl create --dry-run=server -f - -o 'jsonpath={.spec.schedulerName}')" = numa-aware ]; }
after_6() { check "the policy is in effect" until_true named_for_it; }
after_7() { check "a node takes the pod that named no scheduler" runs_on unnamed worker-1; }
done_with() {
	check "neither of the two is left" sh -c '! kubectl get deployments,services,secrets -n nrtd -o name | grep -e extender -e aware'
	check "nor the policy" sh -c '! kubectl get mutatingadmissionpolicies,mutatingadmissionpolicybindings -o name | grep .'
	check "the agents are" kubectl get daemonset nrtd -n nrtd
}
