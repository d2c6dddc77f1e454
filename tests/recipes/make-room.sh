# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# Each node has 15 and 16 CPUs for pods on its NUMA nodes. 6 and 7 are free on worker-1, 2 and 11 on worker-2: no NUMA node has 12. The pod
# of 5 CPUs has a place on worker-1.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && owned a 0 9 worker-1 && owned b 0 9 worker-1 && owned c 0 13 worker-2 &&
		owned d 0 5 worker-2 && runs_on a-0 worker-1 && runs_on b-0 worker-1 && runs_on c-0 worker-2 && runs_on d-0 worker-2 &&
		helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace && extender && scheduler "$WORLD/extender.yaml" && controllers &&
		until_true published worker-1 'available: "7"' && until_true published worker-2 'available: "11"' && keep_d
}
# owned NAME NUMBER CPUS [NODE]: the pod NAME-NUMBER of the controller NAME
owned() {
	guaranteed "$1-$2" "$3" "${4:+\"nodeName\":\"$4\",}" |
		jq -c --arg name "$1" '.metadata += {labels: {app: $name}, ownerReferences: [{apiVersion: "apps/v1", kind: "ReplicaSet", name: $name, uid: "uid-of-\($name)", controller: true}]}' |
		kubectl create -f -
}
extender() {
	setsid "$work/bin/nrtd-extender" --http 127.0.0.1:18096 --kubeconfig "$KUBECONFIG" --lease nrtd/nrtd-extender --advertise 127.0.0.1 >>"$WORLD/extender.log" 2>&1 &
	extender_pid=$!
	pids+=("$extender_pid")
	cat >"$WORLD/extender.yaml" <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://127.0.0.1:18096", filterVerb: filter, preemptVerb: preempt, weight: 1, nodeCacheCapable: true, httpTimeout: 5s}
END
}
# The controller of d, which creates d-1 once d-0 is being deleted.
keep_d() {
	setsid bash -c "until kubectl get pod d-0 -o 'jsonpath={.metadata.deletionTimestamp}' 2>&1 | grep -q '[^ ]'; do sleep 0.1; done
		$(declare -f guaranteed owned)
		owned d 1 5" >"$WORLD/keep.log" 2>&1 &
	pids+=($!)
}
after_3() {
	check "the plan moves one pod" grep -E '^full: 1 of 1 pod placed, 1 move' "$work/printed"
	check "the Lease names the scheduler" until_true asked
	check "an extender that has no Lease: nothing is evicted" refuses "not carried out: nrtd-extender has no Lease 'nrtd/other' (--extender-lease)" \
		--extender-lease nrtd/other
	kill -KILL -- "-$extender_pid"
	wait "$extender_pid" 2>/dev/null
	check "an extender that was killed: nothing is evicted" refuses \
		"stopped, 0 of 1 moves done: nrtd-extender does not run: it has not read the reservations within 25 s (Lease 'nrtd/nrtd-extender')"
	extender
	check "the extender is back" until_true curl -sf http://127.0.0.1:18096/readyz
}
asked() { kubectl get lease nrtd-extender -n nrtd -o 'jsonpath={.metadata.annotations.nrtd\.dev/schedulers}' | grep -F '"default-scheduler":"20'; }
# refuses LINE FLAG...: the plan is not carried out
refuses() {
	local status=0 line=$1
	shift
	kubectl numa plan --pending --apply "$@" >"$work/refused" 2>"$work/refused.err" || status=$?
	cat "$work/refused.err"
	[ $status -eq 1 ] && [ "$(cat "$work/refused.err")" = "kubectl-numa: $line" ] && kubectl get pod d-0 &&
		[ -z "$(kubectl get pod d-0 -o 'jsonpath={.metadata.deletionTimestamp}')" ] && ! kubectl get nodes -o yaml | grep -F reservation.nrtd.dev/
}
after_4() {
	check "the new pod has the place of the plan" grep -E '^  default/d-1 runs on worker-1, NUMA [01], CPUs ' "$work/printed"
	check "no reservation is left" sh -c '! kubectl get nodes -o yaml | grep -F reservation.nrtd.dev/'
}
done_with() { check "the wide pod runs" runs_on wide worker-2; }
