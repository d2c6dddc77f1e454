# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034 # run.sh sets them
# NFD's chart and its topology-updater are those of the module; its other parts are objects only. It reads the kubelet's
# configuration from the file, as there is no configz here, and looks every second; the module's program, unlike the image's,
# does not begin its paths with /host-. It listens at every address, so there is one node.
nodes=worker-1
scene() {
	local module
	module=$(cd tests/upstream/peers/nfd && go list -m -f '{{.Dir}}' sigs.k8s.io/node-feature-discovery) && mkdir "$place/nfd" &&
		cp -rL "$module/deployment/helm/node-feature-discovery" "$place/nfd/" && chmod -R u+w "$place" &&
		node worker-1 single-numa-node && held worker-1 a 9 && scheduler &&
		(cd "$place" && helm install nfd nfd/node-feature-discovery -n node-feature-discovery --create-namespace \
			--set topologyUpdater.enable=true,topologyUpdater.createCRDs=true,topologyUpdater.updateInterval=1s \
			--set topologyUpdater.kubeletConfigPath=/var/lib/kubelet/config.yaml --set 'topologyUpdater.extraArgs={-kubelet-state-dir=/host-var/lib/kubelet}' \
			--set master.enable=false,worker.enable=false) &&
		controllers && until_true nfds
}
nfds() { # its objects are there, and nrtd's are not
	[ "$(kubectl get noderesourcetopologies -o name | wc -l)" = 1 ] && ! kubectl get noderesourcetopologies -o yaml | grep -F nrtd.dev/
}
after_3() { check "nrtd has written nothing" nfds; }
after_4() { check "the difference names nrtd's hash" grep -F nrtd.dev/content-hash "$work/printed"; }
after_5() { check "NFD's updater is gone" sh -c '! kubectl get daemonsets -n node-feature-discovery -o name | grep updater'; }
after_7() { check "what is free is as the kubelet has it" until_true published worker-1 'available: "6"'; }
after_8() {
	check "NFD writes the objects again" until_true nfds
	check "nrtd is gone" sh -c '! kubectl get daemonsets -n nrtd -o name | grep .'
}
done_with() { check "and nothing on the Nodes" sh -c '! kubectl get nodes -o yaml | grep -F nrtd.dev/'; }
