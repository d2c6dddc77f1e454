# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034 # run.sh sets and reads them
# One node: first with k0s' folders and a running kubelet, then with MicroK8s' and no process of that name. The policies differ.
nodes=worker-1
k0s=/var/lib/k0s
snap=/var/snap/microk8s
scene() {
	node worker-1 single-numa-node $k0s/kubelet && mv "$WORLD/worker-1$k0s/kubelet/config.yaml" "$WORLD/worker-1$k0s/kubelet-config.yaml" &&
		printf '%s/bin/kubelet\0--config=%s/kubelet-config.yaml\0--root-dir=%s/kubelet\0' $k0s $k0s $k0s >"$WORLD/worker-1/proc/1000/cmdline" &&
		held worker-1 a 9
}
after_1() { check "the object has what is free" until_true published worker-1 'available: "6"'; }
after_4() { check "nrtd does not warn" sh -c "! grep -i -e warning -e error '$work/printed' | grep -v 'changed after the kubelet'"; }
after_5() {
	local folder=$WORLD/worker-1
	rm -r "$folder/proc/1000"
	mkdir -p "$folder$snap/common/var/lib" "$folder$snap/current/args"
	ln -s "$folder$k0s/kubelet" "$folder$snap/common/var/lib/kubelet"
	printf '%s\n' --cpu-manager-policy=static --topology-manager-policy=restricted --reserved-cpus=0 >"$folder$snap/current/args/kubelet"
	kubectl delete noderesourcetopologies --all >/dev/null
}
after_6() { check "the object has what is free, again" until_true published worker-1 'available: "6"'; }
after_7() { check "by the policy in MicroK8s' arguments" grep -x 'worker-1 restricted' "$work/printed"; }
done_with() { :; }
