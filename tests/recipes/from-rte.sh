# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034,SC2016 # run.sh sets and reads them; a manifest has variables
# The exporter's manifests and its program are those of the module, with the variables of its Makefile filled in; a mount that its
# manifest has no volume for is left out. It listens for metrics at one address, so there is one node.
nodes=worker-1
scene() {
	local module
	module=$(cd tests/upstream/peers/rte && go list -m -f '{{.Dir}}' github.com/k8stopologyawareschedwg/resource-topology-exporter) &&
		node worker-1 single-numa-node && held worker-1 a 9 && scheduler &&
		kubectl apply -f packaging/kubernetes/crd/noderesourcetopology.yaml -f "$module/manifests/resource-topology-exporter-rbac.yaml" &&
		sed -n '/^apiVersion: apps/,$p' "$module/manifests/resource-topology-exporter-ds-notif-file.yaml" |
		sed 's#\${RTE_CONTAINER_IMAGE}#example.com/resource-topology-exporter:v0.24.0#; s#\${RTE_POLL_INTERVAL}#1s#; s#\${METRICS_PORT}#12112#
			s#\${METRICS_ADDRESS}#127.0.0.1#; /name: rte-config-extra/,+1d' | kubectl apply -f - && controllers && until_true exporters
}
exporters() { # its objects are there, and nrtd's are not
	[ "$(kubectl get noderesourcetopologies -o name | wc -l)" = 1 ] && ! kubectl get noderesourcetopologies -o yaml | grep -F nrtd.dev/
}
after_2() { check "nrtd has written nothing" exporters; }
after_3() { check "the difference names nrtd's hash" grep -F nrtd.dev/content-hash "$work/printed"; }
after_6() { check "what is free is as the kubelet has it" until_true published worker-1 'available: "6"'; }
after_7() { check "the exporter writes the objects again" until_true exporters; }
done_with() { check "and nothing of nrtd is on the Nodes" sh -c '! kubectl get nodes -o yaml | grep -F nrtd.dev/'; }
