# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034,SC2016 # run.sh sets and reads them; a manifest has variables
# NFD's chart and its topology-updater are those of the module; its other parts are objects only. It reads the kubelet's
# configuration from the file, as there is no configz here, and looks every second; the module's program, unlike the image's,
# does not begin its paths with /host-. Then resource-topology-exporter is installed in place of NFD, whose chart takes its CRD along: its manifests and its program are
# those of the module, with the variables of its Makefile filled in; a mount that its manifest has no volume for is left out. Both listen
# at one address, so there is one node.
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
		controllers && until_true exporters
}
exporters() { # the other exporter's objects are there, and nrtd's are not
	[ "$(kubectl get noderesourcetopologies -o name | wc -l)" = 1 ] && ! kubectl get noderesourcetopologies -o yaml | grep -F nrtd.dev/
}
after_3() { check "nrtd has written nothing" exporters; }
after_4() { check "the difference names nrtd's hash" grep -F nrtd.dev/content-hash "$work/printed"; }
after_5() { check "NFD's updater is gone" sh -c '! kubectl get daemonsets -n node-feature-discovery -o name | grep updater'; }
after_7() { check "what is free is as the kubelet has it" until_true published worker-1 'available: "6"'; }
after_8() {
	check "NFD writes the objects again" until_true exporters
	check "nrtd is gone" sh -c '! kubectl get daemonsets -n nrtd -o name | grep .'
	check "resource-topology-exporter in place of NFD" other_exporter
}
other_exporter() {
	local module
	helm uninstall nfd -n node-feature-discovery --no-hooks && controllers &&
		kubectl wait --for=delete crd/noderesourcetopologies.topology.node.k8s.io --timeout=60s &&
		kubectl apply -f packaging/kubernetes/crd/noderesourcetopology.yaml &&
		module=$(cd tests/upstream/peers/rte && go list -m -f '{{.Dir}}' github.com/k8stopologyawareschedwg/resource-topology-exporter) &&
		kubectl apply -f "$module/manifests/resource-topology-exporter-rbac.yaml" &&
		sed -n '/^apiVersion: apps/,$p' "$module/manifests/resource-topology-exporter-ds-notif-file.yaml" |
		sed 's#\${RTE_CONTAINER_IMAGE}#example.com/resource-topology-exporter:v0.24.0#; s#\${RTE_POLL_INTERVAL}#1s#; s#\${METRICS_PORT}#12112#
			s#\${METRICS_ADDRESS}#127.0.0.1#; /name: rte-config-extra/,+1d' | kubectl apply -f - && controllers && until_true exporters
}
# again TEXT: the step whose command contains this text
again() {
	local block status
	block=$(grep -lF -- "$1" "$work/$recipe"/blocks/*.sh | head -n 1) && status=$(wanted_status "$(cat "${block%.sh}.info")") &&
		run_block "$block" "$status" && controllers
}
after_9() {
	check "step 3, again" again --dry-run
	check "nrtd has written nothing" exporters
	check "nrtd diff, again" again 'nrtd diff'
	check "the difference names nrtd's hash" grep -F nrtd.dev/content-hash "$work/printed"
}
after_10() {
	check "step 5, again" again 'helm upgrade nrtd'
	check "step 6, again" again 'rollout status'
	check "what is free is as the kubelet has it" until_true published worker-1 'available: "6"'
}
after_11() { check "the exporter writes the objects again" until_true exporters; }
done_with() { check "and nothing of nrtd is on the Nodes" sh -c '! kubectl get nodes -o yaml | grep -F nrtd.dev/'; }
