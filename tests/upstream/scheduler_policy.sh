#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scheduler_policy.sh [RELEASE...]: the policies of packaging/kubernetes/extender/scheduler-policy and scheduler-policy-validating on the
# real API server of each RELEASE (1.35, 1.36 and 1.37 unless others are named). testdata/scheduler_policy.yaml has the pods.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
here=tests/upstream
pods=$here/testdata/scheduler_policy.yaml
work=$(mktemp -d)
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
stop() { [ ! -e "$work/cluster/controlplane.pid" ] || $here/cluster.sh stop "$work/cluster"; }
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

programs=$PWD/build/upstream
kubectl() { "$programs/kubectl" --kubeconfig "$work/cluster/admin.kubeconfig" "$@" 2> >(grep -v '^Warning: version difference' >&2); }
# start RELEASE: before 1.36 with the gate and the API that doc/operate.md names
start() {
	local -a options=()
	[ "$1" != 1.34 ] && [ "$1" != 1.35 ] ||
		options=(-feature-gates MutatingAdmissionPolicy=true -runtime-config admissionregistration.k8s.io/v1beta1=true)
	rm -rf "$work/cluster"
	UPSTREAM_BUILT=1 CONTROLPLANE=$programs/controlplane-$1 $here/cluster.sh start "$work/cluster" -nodes node-a -scheduler "" \
		-timeout 20m "${options[@]}" &&
		kubectl create --dry-run=client -f "$pods" -o json | jq -c '(.items // [.])[]' >"$work/all.json" &&
		jq -c 'select(.kind == "Pod")' "$work/all.json" >"$work/pods.json" &&
		jq -r '"\(.metadata.name) \(.metadata.annotations.want)"' "$work/pods.json" | sort >"$work/want" &&
		[ "$(grep -c ' numa-aware$' "$work/want")" -ge 10 ] && [ "$(grep -c ' default-scheduler$' "$work/want")" -ge 15 ] &&
		jq -c 'select(.kind != "Pod")' "$work/all.json" | kubectl create -f - && eventually 10 kubectl get serviceaccount default
}
# mutating: applies the policy with resources; before 1.36 by the command in the kustomization's comment
mutating() {
	local folder=packaging/kubernetes/extender/scheduler-policy
	rm -rf "$work/packaging" && cp -rL packaging "$work/" &&
		sed -i "s,\"\[\]\",\"['example.com/*'\, 'gpu.example.org/card']\"," "$work/$folder/policy.yaml" &&
		grep -q gpu.example.org "$work/$folder/policy.yaml" || return 1
	case $1 in
	1.34 | 1.35) (cd "$work" && eval "$(sed -n 's/^#   \(kubectl kustomize .*\)/\1/p' $folder/kustomization.yaml)") ;;
	*) kubectl apply -k "$work/$folder" ;;
	esac
}
# deleted RELEASE: the mutating policy, before 1.36 by the command of doc/install.md
deleted() {
	local folder=packaging/kubernetes/extender/scheduler-policy
	case $1 in
	1.34 | 1.35) (cd "$work" && eval "$(sed -n 's/^.\(kubectl kustomize .* kubectl delete -f -\).*/\1/p' "$OLDPWD/doc/install.md")") ;;
	*) kubectl delete -k "$work/$folder" ;;
	esac && kubectl get mutatingadmissionpolicies,mutatingadmissionpolicybindings -o name >"$work/left" && ! grep /nrtd- "$work/left"
}
# scheduler_of JQ: the schedulerName that a Guaranteed pod with two CPUs gets, changed by JQ
scheduler_of() {
	jq -n '{apiVersion: "v1", kind: "Pod", metadata: {name: "probe", namespace: "default"}, spec: {containers: [{name: "a", image: "i",
		resources: {limits: {cpu: "2", memory: "1Gi"}}}]}}'" | $1" | kubectl create --dry-run=server -f - -o jsonpath='{.spec.schedulerName}'
}
gets() { # gets SCHEDULER JQ
	local got
	got=$(scheduler_of "$2" 2>"$work/answer")
	[ "$got" = "$1" ] || { echo "got '$got'" && cat "$work/answer" && return 1; }
}
# create: all pods; $work/have has the names and schedulerNames of those that were admitted
create() {
	local pod
	kubectl delete pods --all -A --force --grace-period=0 >"$work/deleted" 2>&1
	: >"$work/errors"
	while read -r pod; do # one by one, because kubectl prints equal warnings once
		kubectl create -f - <<<"$pod" 2>>"$work/errors"
	done <"$work/pods.json"
	kubectl get pods -A -o json | jq -r '.items[] | select(.metadata.annotations.want) | "\(.metadata.name) \(.spec.schedulerName)"' | sort >"$work/have"
}
each_pod() { create && diff "$work/want" "$work/have"; }
# reasons: how many lines of the server's answer have the policy's message
reasons() { grep -cF 'default-scheduler does not use nrtd-extender: set schedulerName to numa-aware, or the label nrtd.dev/scheduler-policy to ignore' "$work/errors"; }
denied() {
	create && grep -v ' numa-aware$' "$work/want" | diff - "$work/have" && [ "$(reasons)" -eq "$(grep -c ' numa-aware$' "$work/want")" ]
}
warned() {
	create && sed 's/ numa-aware$/ default-scheduler/' "$work/want" | diff - "$work/have" && [ "$(reasons)" -eq "$(grep -c ' numa-aware$' "$work/want")" ]
}
# memory ON: whether every Guaranteed pod is concerned
memory() {
	kubectl patch mutatingadmissionpolicy nrtd-scheduler-policy --type json \
		-p "[{\"op\": \"test\", \"path\": \"/spec/variables/2/name\", \"value\": \"memory\"}, {\"op\": \"replace\", \"path\": \"/spec/variables/2/expression\", \"value\": \"$1\"}]"
}
fraction='.spec.containers[0].resources.limits.cpu = "1500m"'
# reinvoked VERSION: another policy makes a pod Guaranteed. The API server evaluates policies in any order: nine others count themselves,
# and the last of them sets the pod's resources.
reinvoked() {
	seq 9 | jq -n --arg version "admissionregistration.k8s.io/$1" '[inputs | {apiVersion: $version, metadata: {name: "other-\(.)"}} as $object
		| ($object + {kind: "MutatingAdmissionPolicyBinding", spec: {policyName: $object.metadata.name}}),
		($object + {kind: "MutatingAdmissionPolicy", spec: {reinvocationPolicy: "Never", matchConstraints: {
		resourceRules: [{apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"]}],
		objectSelector: {matchExpressions: [{key: "seen", operator: "Exists"}]}}, mutations: [{patchType: "JSONPatch", jsonPatch: {expression:
		"[JSONPatch{op: \"replace\", path: \"/metadata/labels/seen\", value: object.metadata.labels.seen + \"x\"}] +
		(object.metadata.labels.seen != \"xxxxxxxxx\" ? [] : [JSONPatch{op: \"add\", path: \"/spec/containers/0/resources\",
		value: {\"limits\": {\"cpu\": \"2\", \"memory\": \"1Gi\"}}}])"}}]}})] | {apiVersion: "v1", kind: "List", items: .}' |
		kubectl create -f - && eventually 30 gets numa-aware '.metadata.labels.seen = "x" | del(.spec.containers[0].resources)' &&
		gets default-scheduler 'del(.spec.containers[0].resources)'
}
# own_pods: no replica of the extender waits for the scheduler that needs the extender, whatever its resources
own_pods() {
	local part name
	for part in . extender extender/scheduler; do
		kubectl kustomize packaging/kubernetes/$part | kubectl create --dry-run=client -f - -o json |
			jq -c '(.items // [.])[] | select(.kind == "Deployment" or .kind == "DaemonSet") | {apiVersion: "v1", kind: "Pod",
				metadata: (.spec.template.metadata + {name: .metadata.name, namespace: "default"}), spec: (.spec.template.spec
				| .serviceAccountName = "default" | .containers[].resources = {limits: {cpu: "2", memory: "1Gi"}})}' >"$work/own.json"
		name=$(kubectl create --dry-run=server -f "$work/own.json" -o jsonpath='{.spec.schedulerName}')
		[ "$name" = default-scheduler ] || { echo "$part: '$name'" && return 1; }
	done
}
validating() {
	kubectl delete mutatingadmissionpolicy --all && kubectl delete mutatingadmissionpolicybinding --all &&
		kubectl apply -k "$work/packaging/kubernetes/extender/scheduler-policy-validating"
}
rejected() { ! scheduler_of "$1" >"$work/out" 2>&1 && grep -q 'denied request: kubelets align' "$work/out"; }

[ $# -gt 0 ] || set -- 1.35 1.36 1.37
$here/build.sh kubectl
case $? in 0) ;; 77) exit 0 ;; *) exit 1 ;; esac
for release; do
	$here/releases/build.sh "$release" controlplane
	case $? in 0) ;; 77) exit 0 ;; *) exit 1 ;; esac
	version=v1
	case $release in 1.34 | 1.35) version=v1beta1 ;; esac
	# shellcheck disable=SC2034 # of checks.sh
	subject=$release
	check "the control plane" start "$release"
	check "the pod without the policy" gets default-scheduler .
	check "the mutating policy" mutating "$release"
	check "it is in effect" eventually 30 gets numa-aware .
	check "each pod has the scheduler that it should" each_pod
	# shellcheck disable=SC2016 # jq's variable
	check "a pod of 1000 containers" gets numa-aware '.spec.containers = [range(1000) as $n | .spec.containers[0] | .name = "c\($n)"]'
	check "nrtd's own pods keep their scheduler" own_pods
	check "without memory, a pod with a fraction of a CPU keeps its scheduler" gets default-scheduler "$fraction"
	check "with memory" memory true
	check "it does not" eventually 30 gets numa-aware "$fraction"
	check "a Burstable pod does" gets default-scheduler '.spec.containers[0].resources.limits.memory = "2Gi" | .spec.containers[0].resources.requests.memory = "1Gi"'
	check "without memory again" memory false
	check "another policy gives a pod its resources later" reinvoked $version
	check "the mutating policy is deleted" deleted "$release"
	check "the validating policy instead" validating
	check "it is in effect" eventually 30 rejected .
	check "it denies the pods that should have another scheduler, and no others" denied
	check "a pod that names a scheduler is admitted" gets numa-aware '.spec.schedulerName = "numa-aware"'
	kubectl patch validatingadmissionpolicybinding nrtd-scheduler-policy --type merge -p '{"spec": {"validationActions": ["Warn", "Audit"]}}' >/dev/null
	eventually 30 gets default-scheduler . >/dev/null
	check "it warns of these pods only" warned
	check "the control plane stops" stop
done
tally
