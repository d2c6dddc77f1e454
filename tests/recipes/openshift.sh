# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034 # run.sh sets and reads them
# One node, whose kubelet has its configuration where OpenShift puts it, with what the recipe's KubeletConfig says.
nodes=worker-1
config=/etc/kubernetes/kubelet.conf
scene() {
	local folder=$WORLD/worker-1
	node worker-1 single-numa-node && rm "$folder/var/lib/kubelet/config.yaml" && mkdir -p "$folder/etc/kubernetes" &&
		{
			printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n'
			sed -n '/^  kubeletConfig:/,$s/^    //p' "$work/$recipe/blocks/01.yaml"
		} >"$folder$config" && touch -d '2 hours ago' "$folder$config" &&
		printf '/usr/bin/kubelet\0--config=%s\0' $config >"$folder/proc/1000/cmdline" && held worker-1 a 9
}
# allowed ACCOUNT: whether the API server says that it may use the constraint, whose kind it need not know for that
allowed() {
	kubectl create -o 'jsonpath={.status.allowed}{"\n"}' -f - <<-END
		{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "system:serviceaccount:nrtd:$1",
		 "resourceAttributes": {"namespace": "nrtd", "verb": "use", "group": "security.openshift.io",
		  "resource": "securitycontextconstraints", "name": "nrtd"}}}
	END
}
after_1() {
	check "the role and its binding" sh -c "sed '1,/^---/d' packaging/kubernetes/openshift/scc.yaml | kubectl apply -f -"
	check "nrtd may use its constraint" grep -x true <(allowed nrtd)
	check "and nobody else" grep -x false <(allowed default)
}
after_3() {
	check "the object has what is free" until_true published worker-1 'available: "6"'
	check "the pods have the type" grep -x spc_t <(kubectl get daemonset nrtd -n nrtd -o 'jsonpath={.spec.template.spec.securityContext.seLinuxOptions.type}{.spec.template.spec.containers[0].securityContext.seLinuxOptions.type}{"\n"}')
	check "they want no more than the constraint lets them" sh -c "kubectl get daemonset nrtd -n nrtd -o json | jq -e '.spec.template.spec |
		(.hostNetwork // .hostPID // .hostIPC // false) == false and
		all(.containers[]; .securityContext | .allowPrivilegeEscalation == false and .readOnlyRootFilesystem and .capabilities.drop == [\"ALL\"]) and
		all(.volumes[]; has(\"hostPath\") or has(\"configMap\") or has(\"emptyDir\") or has(\"projected\") or has(\"secret\"))'"
}
after_5() { check "nrtd does not warn" sh -c "! grep -i -e warning -e error '$work/printed' | grep -v 'changed after the kubelet'"; }
done_with() { check "nothing is left" sh -c '! kubectl get daemonset -n nrtd -o name | grep .'; }
