#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make manifests-test: packaging/kubernetes and the chart in packaging/helm before the real API server (tests/upstream): it
# takes every object of both without a warning, both make the same objects, the service and the DaemonSet leave nothing when they are uninstalled, every value of the chart changes what it
# renders, and the DaemonSet's pod is admitted where the manifests put it. helm is $HELM, or that of PATH, or built from its
# Go module. Each check is a line, the last line is "N passed, N failed"; "skipped:" and 0 where something is not available.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
programs=$PWD/build/upstream
chart=packaging/helm/nrtd
manifests=packaging/kubernetes
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
certificates=github.com/cert-manager/cert-manager@v1.19.1
# The release of the API server, from the pin of its module.
release=$(sed -n "s,^\tk8s.io/kubernetes v,,p" tests/upstream/go.mod)
work=$(mktemp -d)
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
trap '[ -z "${registry_PID:-}" ] || kill "$registry_PID"; [ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/registry.sh
. tests/lib/registry.sh
# shellcheck source=tests/install/chart.sh
. tests/install/chart.sh
# shellcheck source=tests/install/both_ways.sh
. tests/install/both_ways.sh

refused() { # refused TEXT COMMAND...: it fails, and says this
	local text=$1
	shift
	if "$@" >"$work/said" 2>&1 || ! grep -F -- "$text" "$work/said"; then
		cat "$work/said"
		return 1
	fi
}

# module MODULE@VERSION: the folder with its source
module() {
	local answer
	answer=$(go mod download -json "$1" 2>/dev/null) && jq -r .Dir <<<"$answer"
}

# established CRD: kubectl wait fails while the status has no conditions
established() { eventually 60 kubectl wait --for condition=established --timeout 60s "crd/$1" >/dev/null 2>&1; }

prepare() {
	local answer status=0
	answer=$(packaging/install-deps.sh manifests 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
	tests/upstream/build.sh controlplane kubectl scheduler && tests/upstream/build_module.sh kustomize tool || status=$?
	if [ $status -eq 0 ]; then
		helm=$(tests/upstream/helm.sh) || { status=$? && echo "$helm"; }
	fi
	[ $status -ne 77 ] || exit 0
	[ $status -eq 0 ] || exit 1
	export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
	# The definitions that Prometheus Operator and cert-manager ship.
	definitions=$(module $operator)/example/prometheus-operator-crd || skip "$operator is not available here"
	issuing=$(module $certificates)/deploy/crds || skip "$certificates is not available here"
	tests/upstream/cluster.sh start "$work/cluster" -nodes node-a -manifests "" -scheduler "" -agent other/agent \
		-feature-gates MutatingAdmissionPolicy=true -runtime-config admissionregistration.k8s.io/v1beta1=true >"$work/start" 2>&1 ||
		{ cat "$work/start" && exit 1; }
}
kubectl() { "$programs/kubectl" --kubeconfig "$work/cluster/admin.kubeconfig" --warnings-as-errors "$@"; }
# render ARGUMENT...: the chart's objects as release nrtd. A helm that was built without its version takes the cluster for an
# ancient one; it says on stderr that the definition is a link to that of packaging/kubernetes.
render() { "$helm" template nrtd $chart -n nrtd --kube-version 1.30 "$@" 2>"$work/helm.err" || { cat "$work/helm.err" && return 1; }; }
lint() {
	"$helm" lint --strict $chart "$@" >"$work/lint" 2>&1
	grep -vE '^(walk.go:|==> Linting|\[INFO\] Chart.yaml: icon is recommended|$)' "$work/lint"
	grep -q '^1 chart(s) linted, 0 chart(s) failed' "$work/lint" && ! grep -E 'WARNING|ERROR' "$work/lint"
}

# takes FILE|-k FOLDER: the server would take them all; what it would store is in $work/stored.json
takes() { kubectl apply --dry-run=server -o json "$@" >"$work/stored.json"; }
takes_chart() {
	render "$@" >"$work/chart.yaml" && takes -f "$work/chart.yaml"
}
# The parts of jq programs: every object of the file, the DaemonSet among them.
objects='(if .kind == "List" then .items[] else . end)'
daemonset="$objects | select(.kind == \"DaemonSet\")"
# plain: the stored objects without what the server adds and helm's labels, in order
plain() {
	jq -S "[$objects]"' | [.[] | select(.kind != "Namespace") | del(.status, .metadata.uid, .metadata.resourceVersion,
		.metadata.creationTimestamp, .metadata.generation, .metadata.annotations) | walk(if type == "object" then
		del(.["app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"])
		else . end)] | sort_by(.kind, .metadata.name)' "$work/stored.json"
}
# The policy of the kustomization knows the service account's name alone, the chart's its namespace as well.
same_objects() {
	takes -k $manifests && plain | sed "s/endsWith(':nrtd')/endsWith(':nrtd:nrtd')/" >"$work/base.json" && takes_chart && plain >"$work/chart.json" &&
		[ "$(jq length "$work/base.json")" -eq 6 ] && diff "$work/base.json" "$work/chart.json"
}
# another_namespace: by the guide's overlay; every object is in it, and nothing names the old one
another_namespace() {
	local guide='/^### In another namespace/,/^## /'
	mkdir -p "$work/other/packaging" "$work/other/overlay" && cp -rL $manifests "$work/other/packaging" &&
		sed -n "$guide{/^    apiVersion/,/^\$/s/^    //p}" doc/install.md >"$work/other/overlay/kustomization.yaml" &&
		(cd "$work/other" && eval "$(sed -n "$guide s/^    sed /sed /p" "$OLDPWD/doc/install.md")") &&
		kubectl apply -f <(echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "numa"}}') && takes -k "$work/other/overlay" &&
		jq -e "[$objects]"' | length == 32 and ([.[] | .metadata.namespace, (.subjects // [])[].namespace | select(. != null)] | unique == ["numa"])
			and ([.. | strings | select(test("nrtd\\.svc|Namespace: nrtd|=nrtd/|serviceaccount:nrtd"))] == [])' "$work/stored.json"
}
# prefixed: with other names too the binding names its policy, also where kustomize does not know that by itself
prefixed() {
	local build
	mkdir -p "$work/other/prefixed" && printf 'namespace: numa\nnamePrefix: team-\nresources: [../packaging/kubernetes]\n' \
		>"$work/other/prefixed/kustomization.yaml" || return 1
	for build in "kubectl kustomize" "$programs/kustomize build"; do
		# shellcheck disable=SC2086 # words
		if ! $build "$work/other/prefixed" >"$work/prefixed.yaml" ||
			! grep -x '  policyName: team-nrtd-own-node' "$work/prefixed.yaml" ||
			[ "$(grep -cx '  name: team-nrtd-own-node' "$work/prefixed.yaml")" -ne 2 ]; then
			echo "by $build"
			return 1
		fi
	done
	takes -f "$work/prefixed.yaml"
}
# prefixed_policies: those of the extender's scheduler, too
prefixed_policies() {
	local build
	cp -rL $manifests/extender/scheduler-policy* "$work/other/" && mkdir -p "$work/other/policies" &&
		printf 'namePrefix: team-\nresources: [../scheduler-policy, ../scheduler-policy-validating]\n' >"$work/other/policies/kustomization.yaml" || return 1
	for build in "kubectl kustomize" "$programs/kustomize build"; do
		# shellcheck disable=SC2086 # words
		if ! $build "$work/other/policies" >"$work/prefixed.yaml" ||
			[ "$(grep -cx '  policyName: team-nrtd-scheduler-policy' "$work/prefixed.yaml")" -ne 2 ] ||
			[ "$(grep -cx '  name: team-nrtd-scheduler-policy' "$work/prefixed.yaml")" -ne 4 ]; then
			echo "by $build"
			return 1
		fi
	done
}
# prefixed_extender: as prefixed
prefixed_extender() {
	local build
	cp -rL $manifests/extender "$work/other/" && mkdir -p "$work/other/extenders" &&
		printf 'namespace: numa\nnamePrefix: team-\nresources: [../extender]\n' >"$work/other/extenders/kustomization.yaml" || return 1
	for build in "kubectl kustomize" "$programs/kustomize build"; do
		# shellcheck disable=SC2086 # words
		if ! $build "$work/other/extenders" >"$work/prefixed.yaml" ||
			! grep -x '  policyName: team-nrtd-extender-nominations' "$work/prefixed.yaml"; then
			echo "by $build"
			return 1
		fi
	done
}
# selinux_type: by the guide's patch
selinux_type() {
	cp -rL $manifests "$work/patched" &&
		sed -n '/^      patches:/,/^$/s/^      //p' doc/install.md >>"$work/patched/kustomization.yaml" && takes -k "$work/patched" &&
		jq -e "$daemonset"' | .spec.template.spec.securityContext.seLinuxOptions.type == "nrtd_container_t"' "$work/stored.json"
}
same_crd() {
	takes -k $manifests/crd && jq -S .spec "$work/stored.json" >"$work/base.json" && takes_chart --include-crds &&
		jq -S "$objects"' | select(.kind == "CustomResourceDefinition") | .spec' "$work/stored.json" | diff "$work/base.json" -
}

# arguments FILE: of the rendered DaemonSet, one a line
arguments() { takes -f "$1" && jq -r "$daemonset"' | .spec.template.spec.containers[0].args[]' "$work/stored.json"; }
nrtd_takes_them() {
	local -a args
	local root=$work/machines/seed-2s-32cpu
	tests/fixtures/machines/make.sh "$work/machines" && mkdir -p "$root/data/kubelet" &&
		printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\n' \
			>"$root/data/kubelet/config.yaml" &&
		echo '{"policyName":"static","defaultCpuSet":"0-31","checksum":0}' >"$root/data/kubelet/cpu_manager_state" || return 1
	mapfile -t args < <(arguments "$work/all.yaml")
	[ ${#args[@]} -gt 10 ] || return 1
	timeout 3 "$B/nrtd" "${args[@]}" --sysroot="$root" --dry-run --http=off --lock=none --node-name=node-a >"$work/published" 2>&1
	for text in 'kind: Numatopology' 'nrtd.dev/fit-score.small' 'nrtd.dev/fit-score.network' 'max-exclusive-cpus.1-numa'; do
		grep -qF "$text" "$work/published" || { echo "no $text" && tail -n 5 "$work/published" && return 1; }
	done
	! grep "kind: NodeResourceTopology" "$work/published"
}
# pod NAMESPACE: what the DaemonSet's controller would make there
pod() {
	jq --arg namespace "$1" "$daemonset"' | {apiVersion: "v1", kind: "Pod", metadata:
		(.spec.template.metadata + {name: "nrtd-pod", namespace: $namespace}), spec: .spec.template.spec}' "$work/stored.json" |
		kubectl create -f -
}
level() { kubectl get namespace nrtd -o jsonpath='{.metadata.labels.pod-security\.kubernetes\.io/enforce}' | grep -x privileged; }
baseline() {
	kubectl create namespace baseline && kubectl label namespace baseline pod-security.kubernetes.io/enforce=baseline &&
		kubectl create serviceaccount nrtd -n baseline && refused 'violates PodSecurity "baseline:latest": hostPath volumes' pod baseline
}
# helm_there COMMAND...: helm with the cluster
helm_there() { "$helm" --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
installed() {
	helm_there status nrtd -n tools && kubectl get daemonset nrtd -n tools && kubectl get validatingadmissionpolicy nrtd-own-node &&
		kubectl get crd noderesourcetopologies.topology.node.k8s.io
}
# ---- the extender

# The kustomizations of the extender and of the second scheduler beside what the chart adds for them; the name of the
# ConfigMap has a hash in one and not in the other, and the chart's has fewer comments; the chart knows the namespace of the Lease and of
# the service account.
same_extender() {
	local part filter='[.[] | select(.kind != "ConfigMap") | walk(if type == "object" then del(.configMap, .["nrtd.dev/config"])
		| if .annotations == {} then del(.annotations) else . end else . end)]'
	for part in extender extender/scheduler; do # in the copy in which scheduler_version has set the image's tag
		takes -k "$work/versioned/$manifests/$part" && plain | jq -S "$filter"' | walk(if . == "--lease=$(POD_NAMESPACE)/nrtd-extender" then "--lease=nrtd/nrtd-extender"
			elif type == "array" then map(select((type == "object" and .name == "POD_NAMESPACE") | not)) else . end)' |
			sed "s/endsWith(':nrtd-extender')/endsWith(':nrtd:nrtd-extender')/" >"$work/$(basename $part).json" || return 1
	done
	takes_chart --set image.repository=registry.example/nrtd && plain >"$work/chart.json" &&
		takes_chart --kube-version "$release" --set image.repository=registry.example/nrtd --set extender.enabled=true --set numaAware.enabled=true && plain >"$work/more.json" &&
		jq -S -s '[.[0][] as $o | select(.[1] | any(.kind == $o.kind and .metadata.name == $o.metadata.name) | not) | $o]
			| sort_by(.kind, .metadata.namespace, .metadata.name)' "$work/more.json" "$work/chart.json" | jq -S "$filter" >"$work/added.json" &&
		jq -S -s 'add | sort_by(.kind, .metadata.namespace, .metadata.name)' "$work/extender.json" "$work/scheduler.json" >"$work/base.json" &&
		[ "$(jq length "$work/base.json")" -eq 19 ] && diff "$work/base.json" "$work/added.json"
}
# same_policies: the chart and the kustomizations make the same policies for pods of other schedulers, the mutating one in v1beta1
same_policies() {
	local action folder=$manifests/extender/scheduler-policy beta='s,8s.io/v1$,&beta1,'
	local filter='[.[] | select(.metadata.name == "nrtd-scheduler-policy")]'
	for action in Mutate Deny; do
		# Since 1.37 v1beta1 is deprecated.
		kubectl kustomize $folder | sed "$beta" >"$work/policy.yaml" && takes -f "$work/policy.yaml" --warnings-as-errors=false && plain |
			jq -S "$filter" >"$work/base.json" &&
			render --kube-version "$release" --set schedulerPolicy.enabled=true,schedulerPolicy.action=$action,extender.enabled=true,numaAware.enabled=true \
				>"$work/policy.yaml" && takes -f "$work/policy.yaml" --warnings-as-errors=false && plain | jq -S "$filter" >"$work/chart.json" &&
			[ "$(jq length "$work/base.json")" -eq 2 ] && diff "$work/base.json" "$work/chart.json" || return 1
		folder=$folder-validating
		beta=
	done
}
# policy_version: the mutating policy has version v1 where the server has it
policy_version() {
	local of=(--set "schedulerPolicy.enabled=true,schedulerPolicy.schedulerName=own" -s templates/scheduler-policy.yaml)
	render "${of[@]}" --kube-version 1.36.0 >"$work/v1.yaml" && render "${of[@]}" --kube-version 1.34.9 >"$work/v1beta1.yaml" &&
		[ "$(grep -cx 'apiVersion: admissionregistration.k8s.io/v1' "$work/v1.yaml")" -eq 2 ] &&
		sed 's,8s.io/v1$,&beta1,' "$work/v1.yaml" | diff - "$work/v1beta1.yaml"
}
# scheduler_version: by the guide's command; what follows the version in the names of distributions' releases goes
scheduler_version() {
	local line
	line=$(sed -n 's/^    \(version=.*\)$/\1/p' doc/install.md) && mkdir -p "$work/versioned" && cp -rL packaging "$work/versioned/" &&
		(cd "$work/versioned" && eval "$line" && eval "$(sed -n 's/^    \(sed -i .*kustomization.yaml\)$/\1/p' "$OLDPWD/doc/install.md")") &&
		takes -k "$work/versioned/packaging/kubernetes/extender/scheduler" &&
		jq -e --arg release "$release" "$objects"' | select(.kind == "Deployment") | .spec.template.spec.containers[0].image == "registry.k8s.io/kube-scheduler:v" + $release' \
			"$work/stored.json"
}
# registry_everywhere: after the guide's commands each image of nrtd is the registry's
registry_everywhere() {
	local folder
	for folder in "" /extender; do
		kubectl kustomize "$work/versioned/packaging/kubernetes$folder" >"$work/images" || return 1
		grep -q ' image: registry.example/nrtd:' "$work/images" && ! grep ' image: ' "$work/images" | grep -v 'registry.example/nrtd:' || return 1
	done
}
# can ALLOWED VERB GROUP RESOURCE [NAMESPACE [NAME]]: whether $user, by default the extender's service account, may do this
can() {
	local allowed
	allowed=$(jq -n --arg verb "$2" --arg group "$3" --arg resource "${4%%/*}" --arg sub "$(cut -s -d/ -f2 <<<"$4")" --arg namespace "${5:-}" \
		--arg name "${6:-}" --arg user "${user:-system:serviceaccount:nrtd:nrtd-extender}" '{apiVersion: "authorization.k8s.io/v1",
			kind: "SubjectAccessReview", spec: {user: $user, resourceAttributes: {verb: $verb, group: $group,
			resource: $resource, subresource: $sub, namespace: $namespace, name: $name}}}' |
		kubectl create -f - -o jsonpath='{.status.allowed}')
	[ "$allowed" = "$1" ] || { echo "allowed is '$allowed': $*" && return 1; }
}
least_privilege() {
	local kind verb
	kubectl apply -k $manifests/extender || return 1
	for kind in " nodes" " pods" "topology.node.k8s.io noderesourcetopologies" "policy poddisruptionbudgets"; do
		for verb in get list watch; do can true $verb "${kind% *}" "${kind#* }" || return 1; done
		for verb in create update patch delete; do can false $verb "${kind% *}" "${kind#* }" || return 1; done
	done
	can true patch "" pods/status && can false update "" pods/status && can false patch "" nodes/status || return 1
	for verb in get update; do
		can true $verb coordination.k8s.io leases nrtd nrtd-extender && can false $verb coordination.k8s.io leases nrtd other || return 1
	done
	can true create coordination.k8s.io leases nrtd && can false create coordination.k8s.io leases default &&
		can false list coordination.k8s.io leases nrtd && can false list "" secrets && can false create "" pods/binding &&
		can false create "" pods/eviction && can false list "" events && kubectl delete -k $manifests/extender
}
# nominate POD PATCH [QUERY]: of the pod's status, with the extender's account; kubectl patch would read the status first
nominate() {
	curl -sS --fail-with-body --cacert "$work/server.crt" -H "Authorization: Bearer $token" -H 'Content-Type: application/merge-patch+json' -X PATCH -d "$2" \
		"$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')/api/v1/namespaces/default/pods/$1/status?${3:-fieldManager=nrtd-extender}"
}
# nominates_only: the extender's account may write the nomination of a pod without a node, and nothing else of a pod's status
nominates_only() {
	local token pod only='may change only status.nominatedNodeName'
	kubectl apply -k $manifests/extender && token=$(kubectl create token nrtd-extender -n nrtd) &&
		kubectl config view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$work/server.crt" || return 1
	for pod in waiting:null bound:'"node-a"'; do
		kubectl create -f - <<<"{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"${pod%:*}\"}, \"spec\":
			{\"schedulerName\": \"nobody\", \"nodeName\": ${pod#*:}, \"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}" || return 1
	done
	kubectl patch pod waiting --subresource status --type merge --field-manager kube-scheduler \
		-p '{"status": {"nominatedNodeName": "other", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}}' &&
		eventually 10 refused "$only" nominate waiting '{"status": {"message": "x"}}' 'fieldManager=nrtd-extender&dryRun=All' &&
		nominate waiting '{"status": {"nominatedNodeName": "node-a"}}' && nominate waiting '{"status": {"nominatedNodeName": "node-b"}}' &&
		refused 'may not write the status of a pod that has a node' nominate bound '{"status": {"message": "x"}}' &&
		refused "$only" nominate waiting '{"status": {"conditions": null}}' &&
		refused "$only" nominate waiting '{"status": {"nominatedNodeName": "node-a", "phase": "Failed"}}' &&
		refused "may not change a pod's metadata" nominate waiting '{"metadata": {"labels": {"x": "y"}}, "status": {"nominatedNodeName": "node-a"}}' &&
		refused "may not change a pod's metadata" nominate waiting '{"metadata": {"annotations": {"x": "y"}}}' &&
		kubectl patch pod waiting --subresource status --type merge --field-manager kube-scheduler -p '{"status": {"nominatedNodeName": null}}' &&
		nominate waiting '{"status": {"nominatedNodeName": "node-a"}}' && kubectl delete --grace-period=0 --force pod waiting bound && kubectl delete -k $manifests/extender
}
# users_rights: of a user who may only read, and of one who has the second role alone
users_rights() {
	local kind verb user
	kubectl apply -f $manifests/rbac-users.yaml && kubectl create clusterrolebinding reader --clusterrole=kubectl-numa --user=reader &&
		kubectl create clusterrolebinding mover --clusterrole=kubectl-numa-apply --user=mover || return 1
	user=reader
	eventually 10 can true get "" nodes || return 1
	for kind in " nodes" " pods" " events" "topology.node.k8s.io noderesourcetopologies" "policy poddisruptionbudgets"; do
		can true list "${kind% *}" "${kind#* }" || return 1
		for verb in watch create update patch delete; do can false $verb "${kind% *}" "${kind#* }" || return 1; done
	done
	can true get "" pods default && can true get topology.node.k8s.io noderesourcetopologies && can false create "" pods/eviction default &&
		can false list "" secrets || return 1
	user=mover
	eventually 10 can true patch "" nodes && can true create "" pods/eviction default && can false patch "" nodes/status && can false update "" nodes &&
		can true get coordination.k8s.io leases nrtd nrtd-extender && can false get coordination.k8s.io leases nrtd other &&
		can false list "" nodes && can false delete "" pods default && can false patch "" pods default &&
		kubectl delete -f $manifests/rbac-users.yaml && kubectl delete clusterrolebinding reader mover
}
# scheduler_takes FILE: kube-scheduler begins with this configuration; certificates are where it says, made here
scheduler_takes() {
	sed "s#/tls/#$work/tls/#; s#/etc/kubernetes/nrtd-extender/#$work/tls/#" "$1" >"$work/scheduler.yaml" && mkdir -p "$work/scheduler" &&
		"$programs/scheduler" -config "$work/scheduler.yaml" -kubeconfig "$work/cluster/admin.kubeconfig" -dir "$work/scheduler" </dev/null
}
make_certificates() {
	mkdir -p "$work/tls" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=any -addext subjectAltName=DNS:any -days 2 \
		-keyout "$work/tls/tls.key" -out "$work/tls/tls.crt" && cp "$work/tls/tls.key" "$work/tls/client.key" &&
		cp "$work/tls/tls.crt" "$work/tls/client.crt" && cp "$work/tls/tls.crt" "$work/tls/ca.crt"
}
# chart_scheduler ARGUMENT...: with the chart's configuration for these values too
chart_scheduler() {
	takes_chart "$@" &&
		jq -r "$objects"' | select(.kind == "ConfigMap") | .data["config.yaml"] // empty' "$work/stored.json" >"$work/config.yaml" &&
		scheduler_takes "$work/config.yaml"
}
# chart_schedulers: all nodes are sent only if the extender makes no nominations
chart_schedulers() {
	local -a second=(--set "extender.enabled=true,numaAware.enabled=true")
	local setting
	chart_scheduler "${second[@]}" && ! grep percentageOfNodesToScore "$work/config.yaml" || return 1
	for setting in nominate=off answer=all strategy=Volcano; do
		chart_scheduler "${second[@]}" --set-string "extender.$setting" && grep -x 'percentageOfNodesToScore: 100' "$work/config.yaml" || return 1
	done
	chart_scheduler -f tests/install/values-all.yaml
}
# ask_extender [OPTION...]: the status of its answer about a pod
ask_extender() {
	curl -s -o "$work/answer" -w '%{http_code}' --cacert "$work/tls/ca.crt" "$@" --resolve any:18096:127.0.0.1 https://any:18096/filter \
		-d '{"Pod":{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"c"}]}},"NodeNames":["node-a"]}'
}
# client_answered: a scheduler's request is answered; a new holder of the Lease rejects requests for a second
client_answered() { [ "$(ask_extender --cert "$work/tls/tls.crt" --key "$work/tls/tls.key")" = 200 ]; }
holder() { kubectl get lease nrtd-extender -n tools -o jsonpath='{.spec.holderIdentity}'; }
# As the chart's Deployment starts it, with the rights of its service account: ready, holds the Lease, answers its clients.
extender_runs() {
	local -a args
	local token extender status=1
	mapfile -t args < <(kubectl get deployment nrtd-extender -n tools -o json | jq -r '.spec.template.spec.containers[0].args[]' |
		sed "s#/tls/#$work/tls/#; s#0\.0\.0\.0:#127.0.0.1:#")
	token=$(kubectl create token nrtd-extender -n tools) && kubectl config view --raw -o json |
		jq --arg token "$token" '.users[].user = {token: $token}' >"$work/extender.kubeconfig" || return 1
	"$B/nrtd-extender" "${args[@]}" --kubeconfig "$work/extender.kubeconfig" 2>"$work/extender.log" &
	extender=$!
	eventually 30 curl -skf -o /dev/null https://127.0.0.1:18096/readyz
	[ -n "$(holder)" ] && [ "$(ask_extender)" = 403 ] && eventually 10 client_answered &&
		grep -F '"NodeNames":["node-a"]' "$work/answer" && status=0
	kill $extender && wait $extender && [ -z "$(holder)" ] || status=1
	[ $status -eq 0 ] || cat "$work/extender.log"
	return $status
}
misspelt() {
	sed 's/nodeCacheCapable/nodeCacheCapabel/' $manifests/extender/own-scheduler.yaml >"$work/misspelt.yaml" &&
		refused 'unknown field "extenders[0].nodeCacheCapabel"' scheduler_takes "$work/misspelt.yaml"
}

gone() { refused "not found" kubectl get daemonset nrtd -n tools && refused "not found" kubectl get clusterrole nrtd; }

prepare
check "helm lint" lint
check "helm lint with every value changed" lint -f tests/install/values-all.yaml
check "the namespace is made" kubectl apply -f $manifests/namespace.yaml
check "kubectl apply -k $manifests, as a trial" takes -k $manifests
check "kubectl apply -k $manifests/crd, as a trial" takes -k $manifests/crd
check "rbac-nodes.yaml, as a trial" takes -f $manifests/rbac-nodes.yaml
check "numatopology.yaml, as a trial" takes -f $manifests/numatopology.yaml
check "kai.yaml, as a trial" takes -f $manifests/kai.yaml
check "rbac-users.yaml: one role reads, the other patches Nodes and evicts" users_rights
check "the chart makes the same objects" same_objects
check "and the same definition" same_crd
check "the guide's patch gives the pod an SELinux type" selinux_type
for kind in podmonitors servicemonitors prometheusrules; do
	check "Prometheus Operator's definition of $kind" kubectl apply --server-side -f "$definitions/monitoring.coreos.com_$kind.yaml"
	established $kind.monitoring.coreos.com
done
for kind in certificates issuers clusterissuers; do
	check "cert-manager's definition of $kind" kubectl apply --server-side -f "$issuing/cert-manager.io_$kind.yaml"
	established $kind.cert-manager.io
done
check "the guide's overlay puts all into another namespace" another_namespace
check "and with a prefix the policy is bound" prefixed
check "the extender: kubectl apply -k $manifests/extender, as a trial" takes -k $manifests/extender
check "the second scheduler, as a trial" takes -k $manifests/extender/scheduler
check "its image has the cluster's version, by the guide" scheduler_version
check "the other images come from the registry, by the guide" registry_everywhere
check "the certificates, and the chart makes the same" same_certificates
check "the chart makes the same objects of both" same_extender
check "the policies for pods of other schedulers, and the chart makes the same" same_policies
check "their version is the server's" policy_version
check "with a prefix they are bound" prefixed_policies
check "with a prefix the extender's policy is bound, too" prefixed_extender
check "the extender's account may read four kinds, write one Lease and patch the status of pods" least_privilege
check "and of that status only the nomination of pods without a node" nominates_only
check "certificates" make_certificates
check "kube-scheduler takes the second one's configuration" scheduler_takes $manifests/extender/scheduler/config.yaml
check "and that for the cluster's own" scheduler_takes $manifests/extender/own-scheduler.yaml
check "and the chart's" chart_schedulers
check "but not a misspelt one" misspelt
check "the schema refuses whatever it does not name" strict
check "values that would render nothing are refused" nothing_silent
check "an image's digest replaces the tag" one_image
check "the extender's pods spread as told" spread
check "alerts link to a copy of the guide, or to no address" runbooks
each_value
check "the extender's metrics are asked for over HTTPS" extender_monitored
check "an agent's series are its Node's" agents_monitored
check "the chart makes the same monitors, rules and dashboard as $manifests/monitoring" same_monitoring
check "the server takes the chart with every value changed" takes_chart -f tests/install/values-all.yaml
check "and with all turned off" takes_chart -f tests/install/values-off.yaml
check "and with the others" takes_chart -f tests/install/values-other.yaml
check "nrtd takes the arguments that the chart gives it" nrtd_takes_them
check "a release of another name" other_name
check "names of one's own" own_names
check "the extender without agents" without_agents
check "make chart" packed
if command -v docker-registry >/dev/null; then
	check "helm push and pull, by a registry" pushed
else
	echo "skipped: helm push: no docker-registry here (packaging/install-deps.sh registry)"
fi
check "a misspelt value is refused" refused "imgae" render --set imgae.tag=1
check "an interval that is none is refused" refused "intervals.poll" render --set intervals.poll=soon
check "the namespace asks for level privileged" level
takes -k $manifests
check "the service account" kubectl create serviceaccount nrtd -n nrtd
check "the DaemonSet's pod is admitted there" pod nrtd
check "at level baseline it would not be" baseline
both_ways
check "helm install" helm_there install nrtd $chart -n tools --create-namespace --set podMonitor.enabled=true
check "helm has installed the definition, which was missing" kubectl get crd noderesourcetopologies.topology.node.k8s.io
check "its notes name what is there" notes_hold 2
check "it is there" installed
check "helm upgrade" helm_there upgrade nrtd $chart -n tools -f tests/install/values-all.yaml
check "its notes name the definition and the extender too" notes_hold 5
check "the extender runs as the chart starts it, with its account's rights" extender_runs
check "helm uninstall" helm_there uninstall nrtd -n tools
check "nothing of it stays" gone
check "but the definition, which others use" kubectl get crd noderesourcetopologies.topology.node.k8s.io
tally
