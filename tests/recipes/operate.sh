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
kubernetesVersion: $(sed -n 's,^\tk8s.io/kubernetes ,,p' tests/upstream/go.mod)
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
END
	kubectl annotate node worker-1 kubeadm.alpha.kubernetes.io/cri-socket=unix:///run/containerd/containerd.sock &&
		kubeadm init phase upload-config all --config "$WORLD/made.yaml" &&
		kubectl get configmap kubeadm-config -n kube-system -o yaml | grep 'scheduler: {}' && kubectl create namespace nrtd
}
# stand_ins: of the host's systemctl, which notes its commands: a kubelet that starts writes the state file of its policy, unless
# there is one of another policy
stand_ins() {
	mkdir -p "$WORLD/stand-ins" && cat >"$WORLD/stand-ins/systemctl" <<'END'
#!/bin/sh
echo "$*" >>"$WORLD/systemctl"
state=/var/lib/kubelet/cpu_manager_state
policy=$(sed -n 's/^cpuManagerPolicy: //p' /var/lib/kubelet/config.yaml)
case $1 in
start) [ -e $state ] || echo "{\"policyName\":\"$policy\",\"defaultCpuSet\":\"0-31\",\"checksum\":0}" >$state ;;
is-active) grep "\"policyName\":\"$policy\"" $state ;;
esac
END
	printf '#!/bin/sh\n' >"$WORLD/stand-ins/sleep"
	printf '#!/bin/sh\necho "$*"\n' >"$WORLD/stand-ins/journalctl"
	chmod +x "$WORLD"/stand-ins/*
}
node_sh() { # POLICY
	(cd "$place" && PATH=$WORLD/stand-ins:$PATH sudo sh node.sh "$1")
}
node_sh_fails() { # POLICY: it prints the kubelet's log
	! node_sh "$1" >"$WORLD/node_sh" 2>&1 && grep -x -e '-u kubelet -n 20 --no-pager' "$WORLD/node_sh"
}
restarted() { # is-active: kubeadm asks too
	cat "$WORLD/systemctl" && [ "$(grep -v '^is-active' "$WORLD/systemctl" | xargs)" = "stop kubelet start kubelet" ] &&
		[ ! -e "$WORLD/host/kubelet/memory_manager_state" ]
}
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && node worker-3 none && kubectl label node worker-1 worker-2 pool=hpc &&
		kubectl label node worker-1 kubernetes.io/hostname=worker-1 --overwrite && stand_ins &&
		held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 && held worker-2 d 6 && scheduler &&
		kubectl create -f <(guaranteed plain 8 '"nodeSelector":{"pool":"hpc"},') && refused_on plain worker-1 && kubeadm_made && certificates
}
host() { cat "$WORLD/host/$1"; } # FILE
after_2() {
	sudo touch /var/lib/kubelet/memory_manager_state
	sudo sh -c 'echo "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":0}" >/var/lib/kubelet/cpu_manager_state'
	check "node.sh changes the policy of a node" node_sh static
	check "kubeadm has written the pool's settings" sh -c "grep -x 'topologyManagerPolicy: single-numa-node' '$WORLD/host/kubelet/config.yaml' &&
		grep -x 'cgroupDriver: systemd' '$WORLD/host/kubelet/config.yaml'"
	check "the kubelet was stopped, and its state files removed" restarted
	sed -i '/^rm /d' "$place/node.sh"
	sed -i 's/^cpuManagerPolicy: static/cpuManagerPolicy: none/' "$place/kubeletconfiguration0+strategic.yaml"
	sed -i 's/^timeout 120/timeout 2/' "$place/node.sh"
	sleep 1.1 # kubeadm's folder for backups is named after the second, and must not exist
	check "node.sh fails when the kubelet does not start with the file" node_sh_fails none
	check "the manifest of the scheduler, as kubeadm init wrote it" sudo kubeadm init phase control-plane scheduler --config "$WORLD/made.yaml"
	check "the ClusterConfiguration in the cluster has the flag" sh -c "kubectl get configmap kubeadm-config -n kube-system -o yaml |
		grep -A1 'name: config' | grep 'value: /etc/kubernetes/nrtd-extender/scheduler.yaml'"
	# as kubeadm upgrade does: from the ConfigMap alone
	check "an upgrade writes it again" sh -c "kubectl get configmap kubeadm-config -n kube-system -o 'jsonpath={.data.ClusterConfiguration}' >'$WORLD/again.yaml' &&
		sudo kubeadm init phase control-plane scheduler --config '$WORLD/again.yaml'"
	check "the static pod has the flag and the folder" sh -c "grep -- --config=/etc/kubernetes/nrtd-extender/scheduler.yaml \
		'$WORLD/host/etc/kubernetes/manifests/kube-scheduler.yaml' && grep -A3 'hostPath' '$WORLD/host/etc/kubernetes/manifests/kube-scheduler.yaml' |
		grep 'path: /etc/kubernetes/nrtd-extender'"
	check "the manifest is again without the flag" sudo kubeadm init phase control-plane scheduler --config "$WORLD/made.yaml"
}
after_3() {
	check "the copy of the manifest has no flag" sh -c "grep kube-scheduler '$WORLD/host/etc/kubernetes/before-nrtd/kube-scheduler.yaml' &&
		! grep -e --config= '$WORLD/host/etc/kubernetes/before-nrtd/kube-scheduler.yaml'"
	check "the manifests' folder has no other file" test "$(ls -A "$WORLD/host/etc/kubernetes/manifests")" = kube-scheduler.yaml
}
# with_certificates FILE: the values with cert-manager's line render what renews the Secrets
with_certificates() {
	sed 's/# certManager/certManager/' "$place/$1" >"$WORLD/$1" && grep -x '  certManager: {enabled: true}' "$WORLD/$1" &&
		(cd "$place" && helm template nrtd packaging/helm/nrtd -n nrtd --kube-version 1.35.4 -f "$WORLD/$1") >"$WORLD/rendered" &&
		[ "$(grep -cx 'kind: Certificate' "$WORLD/rendered") $(grep -cx 'kind: Issuer' "$WORLD/rendered")" = "3 2" ]
}
after_4() { check "cert-manager's line in nrtd.yaml" with_certificates nrtd.yaml; }
after_8() { check "cert-manager's line in nrtd.yaml without answer" with_certificates nrtd.yaml; }
after_5() { check "agents run on the pool only" test "$(kubectl get pods -n nrtd -l app.kubernetes.io/name=nrtd -o 'jsonpath={.items[*].spec.nodeName}')" = "worker-1 worker-2"; }
after_6() { check "the pool's nodes are listed, with exact verdicts" sh -c "grep -E '^worker-1 ' '$work/printed' && grep -E '^worker-2 ' '$work/printed' && ! grep worker-3 '$work/printed'"; }
after_7() { check "the pod goes where its kubelet admits it" runs_on aligned worker-2; }
after_9() { check "pods of the other scheduler are listed" grep -x 'default/a worker-1' "$work/printed"; }
after_10() { check "both Secrets are replaced" test "$(grep -c '^secret/.* replaced$' "$work/printed")" -eq 2; }
after_11() {
	check "the scheduler's files are on the host" sh -c "cmp '$place/ca.crt' '$WORLD/host/etc/kubernetes/nrtd-extender/ca.crt' &&
		cmp '$place/client.key' '$WORLD/host/etc/kubernetes/nrtd-extender/client.key'"
}
image() { kubectl get daemonset nrtd -n nrtd -o 'jsonpath={.spec.template.spec.containers[0].image}'; }
after_13() { check "the tag of the file" test "$(image)" = registry.example/nrtd:tested; }
values_of_before() { # after the rollback
	! grep tag: "$place/nrtd.yaml" && grep -x '  repository: registry.example/nrtd' "$place/nrtd.yaml" && [ "$(image)" != registry.example/nrtd:tested ]
}
after_15() { check "the values of before, and their image" values_of_before; }
after_14() { check "both revisions are known" test "$(grep -c 'deployed\|superseded' "$work/printed")" -ge 3; }
done_with() {
	check "nothing of nrtd is left but the objects" sh -c '! kubectl get daemonsets,deployments -n nrtd -o name | grep .'
	check "the pods of the pool still run" sh -c "kubectl get pods a b c d -o 'jsonpath={.items[*].status.phase}' | grep -x 'Running Running Running Running'"
}
