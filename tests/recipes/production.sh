# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # run.sh's
# Two nodes of the pool hpc: worker-1 has more free CPUs in all and no NUMA node with 8, worker-2 has one with 10. worker-3 is of another
# pool. kubeadm made the cluster, as its ConfigMaps say, and the certificates are those of the second scheduler's recipe.
nodes=worker-1,worker-2,worker-3
kubeadm_made() {
	cat >"$WORLD/made.yaml" <<END
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v$(sed -n 's/^KUBERNETES=//p' tests/upstream/pin.sh)
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
END
	kubectl annotate node worker-1 kubeadm.alpha.kubernetes.io/cri-socket=unix:///run/containerd/containerd.sock &&
		kubeadm init phase upload-config all --config "$WORLD/made.yaml" &&
		kubectl get configmap kubeadm-config -n kube-system -o yaml | grep 'scheduler: {}' && kubectl create namespace nrtd
}
certificates() { # by the recipe's text
	awk '/^```sh/ {on = 1; next} /^```/ {on = 0} on && /openssl|printf|for who|done|secret|from-file/' doc/recipes/second-scheduler.md |
		sed '/^helm/,$d; /^kubectl delete/,$d' >"$WORLD/certificates.sh"
	(cd "$place" && sh -eu "$WORLD/certificates.sh")
}
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && node worker-3 none && kubectl label node worker-1 worker-2 pool=hpc &&
		held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 && held worker-2 d 6 && scheduler &&
		kubectl create -f <(guaranteed plain 8 '"nodeSelector":{"pool":"hpc"},') && refused_on plain worker-1 && kubeadm_made && certificates
}
host() { cat "$WORLD/host/$1"; } # FILE
after_1() {
	check "kubeadm has written the pool's settings" sh -c "grep -x 'topologyManagerPolicy: single-numa-node' '$WORLD/host/kubelet/config.yaml' &&
		grep -x 'cgroupDriver: systemd' '$WORLD/host/kubelet/config.yaml'"
}
after_2() {
	check "the ClusterConfiguration in the cluster has the flag" sh -c "kubectl get configmap kubeadm-config -n kube-system -o yaml |
		grep -A1 'name: config' | grep 'value: /etc/kubernetes/nrtd-extender/scheduler.yaml'"
	# as kubeadm upgrade does: from the ConfigMap alone
	check "an upgrade writes it again" sh -c "kubectl get configmap kubeadm-config -n kube-system -o 'jsonpath={.data.ClusterConfiguration}' >'$WORLD/again.yaml' &&
		sudo kubeadm init phase control-plane scheduler --config '$WORLD/again.yaml'"
	check "the static pod has the flag and the folder" sh -c "grep -- --config=/etc/kubernetes/nrtd-extender/scheduler.yaml \
		'$WORLD/host/etc/kubernetes/manifests/kube-scheduler.yaml' && grep -A3 'hostPath' '$WORLD/host/etc/kubernetes/manifests/kube-scheduler.yaml' |
		grep 'path: /etc/kubernetes/nrtd-extender'"
	rm "$WORLD/host/etc/kubernetes/manifests/kube-scheduler.yaml"
}
after_5() { check "agents run on the pool only" test "$(kubectl get pods -n nrtd -l app.kubernetes.io/name=nrtd -o 'jsonpath={.items[*].spec.nodeName}')" = "worker-1 worker-2"; }
after_6() { check "the pool's nodes are listed, with exact verdicts" sh -c "grep -E '^worker-1 ' '$work/printed' && grep -E '^worker-2 ' '$work/printed' && ! grep worker-3 '$work/printed'"; }
after_7() { check "the pod goes where its kubelet admits it" runs_on aligned worker-2; }
after_9() { check "pods of the other scheduler are listed" grep -x 'default/a worker-1' "$work/printed"; }
after_10() {
	check "the scheduler's files are on the host" sh -c "cmp '$place/ca.crt' '$WORLD/host/etc/kubernetes/nrtd-extender/ca.crt' &&
		cmp '$place/client.key' '$WORLD/host/etc/kubernetes/nrtd-extender/client.key'"
}
after_12() { check "both revisions are known" test "$(grep -c 'deployed\|superseded' "$work/printed")" -ge 3; }
done_with() {
	check "nothing of nrtd is left but the objects" sh -c '! kubectl get daemonsets,deployments -n nrtd -o name | grep .'
	check "the pods of the pool still run" sh -c "kubectl get pods a b c d -o 'jsonpath={.items[*].status.phase}' | grep -x 'Running Running Running Running'"
}
