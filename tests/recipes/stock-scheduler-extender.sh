# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# worker-1 has more free CPUs in all, and no NUMA node with 8; worker-2 has one, for one pod.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 &&
		held worker-2 d 6 && scheduler && kubectl create -f <(guaranteed plain 8) && refused_on plain worker-1
}
after_1() {
	check "the namespace" kubectl create namespace nrtd
	check "the certificates and their Secrets, by the other recipe" certificates
}
# The static pod as the text has it: this configuration, and the certificates in the folder; the Service's address is a replica's.
after_3() {
	local address replica
	address=$(kubectl get service nrtd-extender -n nrtd -o 'jsonpath={.spec.clusterIP}')
	replica=$(kubectl get pods -n nrtd -l app.kubernetes.io/name=nrtd-extender -o 'jsonpath={.items[0].status.podIP}')
	check "the Service has the address of the configuration" grep -F "https://$address:8096" "$place/scheduler.yaml"
	check "a new Service gets the same address" grep -x "  clusterIP: $address" "$place/nrtd.yaml"
	sed "s#//$address:#//$replica:#; s#/etc/kubernetes/nrtd-extender/#$place/#" "$place/scheduler.yaml" >"$WORLD/own.yaml"
	stop_scheduler
	scheduler "$WORLD/own.yaml"
}
one_runs() {
	[ "$(kubectl get pods first second -o 'jsonpath={.items[*].status.phase}' | tr ' ' '\n' | sort | tr '\n' ' ')" = "Pending Running " ] &&
		kubectl get pods first second -o 'jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].message}' | grep -F 'the freest has 7'
}
after_4() {
	check "one pod runs, the other waits with the kubelets' reasons" until_true one_runs
	check "on the node that has the place" test "$(kubectl get pods first second -o 'jsonpath={.items[*].spec.nodeName}' | tr -d ' ')" = worker-2
	# The text calls the one that waits the second.
	if phase_is second Running; then sed -i 's/why second/why first/' "$work/$recipe"/blocks/*.sh; fi
}
after_5() { check "the reason is printed" grep -F 'the freest has 7' "$work/printed"; }
after_6() { check "why: both kubelets refuse" test "$(grep -c '^worker-[12]  *TopologyAffinityError' "$work/printed")" = 2; }
done_with() {
	check "no extender is left" sh -c '! kubectl get pods,services,secrets,leases -n nrtd -o name | grep extender-'
	check "the agents are" kubectl get daemonset nrtd -n nrtd
}
