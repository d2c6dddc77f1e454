# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A part of manifests.sh: the service with the kubelet's identity and the DaemonSet in one cluster, each uninstalled beside the other with
# the commands of doc/install.md. Sourced.
# shellcheck disable=SC2086,SC2154 # no spaces in paths; the script's

# by_guide BEGIN: each command of doc/install.md that begins so; no namespace controller ends the namespace here
by_guide() {
	local command found=0
	while read -r command; do
		[[ $command != "kubectl delete"* ]] || command="$command --wait=false"
		eval "$command" </dev/null || return 1
		found=$((found + 1))
	done < <(sed -n "s,^    \($1\),\1,p" doc/install.md)
	[ "$found" -gt 0 ]
}
# write KUBECONFIG NODE: the node's object, as nrtd does
write() {
	printf 'apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\nmetadata: {name: %s}\nzones: []\n' "$2" |
		"$programs/kubectl" --kubeconfig "$1" apply --server-side --force-conflicts --field-manager nrtd -f -
}
# restricted KUBECONFIG POLICY: this identity of node-a writes its own object, and this policy keeps it from those of others. The API server
# applies a policy some seconds after the policy was created.
restricted() { write "$1" node-a && eventually 15 denied "$1" "ValidatingAdmissionPolicy '$2'"; }
denied() { refused "$2" write "$1" node-b; } # denied KUBECONFIG TEXT: what keeps the identity from the object of another node
# left_of_nrtd WANT: the cluster's rights and policies by these names, "" = none
left_of_nrtd() {
	kubectl get clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings -o name |
		sed -n 's,.*/\(nrtd.*\),\1,p' | sort -u >"$work/left" && [ "$(tr '\n' ' ' <"$work/left")" = "$1" ]
}
both_ways() {
	kubelet=$work/cluster/kubelet-node-a.kubeconfig agent=$work/agent.kubeconfig
	check "the CRD" kubectl apply --server-side -k $manifests/crd
	established noderesourcetopologies.topology.node.k8s.io
	check "the DaemonSet's manifests" kubectl apply --server-side --force-conflicts -k $manifests
	check "the service's, by the guide" by_guide "kubectl apply -f packaging/kubernetes/rbac-nodes"
	kubectl config view --raw -o json | jq --arg token "$(kubectl create token nrtd -n nrtd --bound-object-kind Node --bound-object-name node-a)" \
		'.users[].user = {token: $token}' >"$agent"
	check "an agent is restricted to its node" restricted "$agent" nrtd-own-node
	check "and a kubelet's identity" restricted "$kubelet" nrtd-nodes

	check "the service is uninstalled" by_guide "kubectl delete -f packaging/kubernetes/rbac-nodes"
	check "of it nothing is left" left_of_nrtd "nrtd nrtd-own-node "
	check "the kubelet's identity may write no object" eventually 15 refused "cannot patch resource" write "$kubelet" node-a
	check "the agent writes, restricted as before" restricted "$agent" nrtd-own-node

	check "the service is installed again" by_guide "kubectl apply -f packaging/kubernetes/rbac-nodes"
	check "its policy is there" restricted "$kubelet" nrtd-nodes
	check "the DaemonSet is uninstalled" by_guide "kubectl delete -k packaging/kubernetes.*ignore-not-found"
	check "of it nothing is left" left_of_nrtd "nrtd-nodes "
	sleep 3 # the API server forgets a policy some seconds after its deletion
	check "the kubelet's identity is restricted as before" restricted "$kubelet" nrtd-nodes
	check "the service is uninstalled, too" by_guide "kubectl delete -f packaging/kubernetes/rbac-nodes"
	check "nothing is left" left_of_nrtd ""
	check "nobody may write" eventually 15 refused "cannot patch resource" write "$kubelet" node-a
	check "the objects go" by_guide "kubectl delete noderesourcetopologies"
	kubectl delete -k $manifests/crd >/dev/null
}
