#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Manifests as the API server would store them, with a stand-in for it: what is sent, what is judged, and what is said. The stand-in cannot
# show what a real API server adds; tests/upstream/kubectl_numa.sh does. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
. tests/lib/api_server.sh
need_jq
export LC_ALL=C

nrt_object a 8 8 | serve "$nrt/a"
list NodeResourceTopology "$(nrt_object a 8 8)" | serve "$nrt"
list Node '{"metadata":{"name":"a"},"status":{"allocatable":{"cpu":"16","memory":"64Gi","pods":"110"}}}' | serve /api/v1/nodes
list Pod | serve /api/v1/pods
list PodDisruptionBudget | { mkdir -p "$api/apis/policy/v1" && serve /apis/policy/v1/poddisruptionbudgets; }
cat >"$dir/pod.yaml" <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: web}, annotations: {note: mine}}
    spec:
      runtimeClassName: kata
      containers: [{name: app, image: web, resources: {requests: {cpu: 1}}}]
END
run() {
	"$numa" "$@" >"$dir/out" 2>"$dir/err"
	status=$?
}
stored() { cat >"$api/dry-run.json"; }
says() { grep -qF -- "$1" "$dir/out"; }
fails() { test "$status:$(cat "$dir/err")" = "$1:kubectl-numa: $2"; }
sent() { sed -n 's,^dry run [^ ]* ,,p' "$api/requests" | tail -n 1 | jq -e "$1" >/dev/null; }

# A LimitRange, and the overhead of a RuntimeClass: 220 copies of the text, 4 of what is stored.
stored <<'END'
{"metadata": {"name": "web-x", "uid": "u"}, "spec": {"overhead": {"cpu": "2"}, "containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}]}}
END
run fit -f "$dir/pod.yaml" -n team
check "the stored pod is judged" says "fits 1 of 1 node, 4 copies"
check "the replicas are those of the manifest" says "2 replicas: all fit"
check "which is said" says "judged as the API server would store the pod (dry run)"
check "in its namespace" grep -qF "dry run /api/v1/namespaces/team/pods?dryRun=All" "$api/requests"
check "with what the controller adds" sent '.kind == "Pod" and .metadata.generateName == "web-" and .metadata.labels.app == "web" and .metadata.labels["pod-template-hash"] and .metadata.annotations.note == "mine" and .spec.runtimeClassName == "kata"'
check "nothing is stored" test ! -e "$api/changes"
run fit -f "$dir/pod.yaml" -o json
check "as JSON" jq -e '.dryRun == true and .asWritten == []' "$dir/out"
for command in score "plan --max-moves 0" "simulate --restart"; do
	# shellcheck disable=SC2086 # a command and its flags
	run $command -f "$dir/pod.yaml" -o json
	check "$command" jq -e '.dryRun == true' "$dir/out"
done

sed 's/runtimeClassName: kata/nodeName: b/' "$dir/pod.yaml" >"$dir/named.yaml"
run fit -f "$dir/named.yaml" -n team
check "a nodeName of the manifest is the user's" says "spec.nodeName is b"

# As written: by wish, without the right, from files, of flags.
run fit -f "$dir/pod.yaml" --dry-run=client
check "as written, if wanted" says "fits 1 of 1 node, 16 copies"
check "and what is missing" says "not evaluated (the API server does): LimitRange, RuntimeClass 'kata'"
echo '403 pods is forbidden: User "x" cannot create resource "pods"' >"$api/dry-run.error"
echo "create pods team" >"$api/denied"
run fit -f "$dir/pod.yaml" -n team
check "without the right to create pods" says "not evaluated (the API server does): LimitRange, RuntimeClass 'kata'"
run fit -f "$dir/pod.yaml" -n team --dry-run=server
check "unless it is demanded" fails 2 "--dry-run: the API server refuses the pod in namespace 'team': pods is forbidden: User \"x\" cannot create resource \"pods\""
rm "$api/denied"
echo '403 pods "web-" is forbidden: exceeded quota: q' >"$api/dry-run.error"
run fit -f "$dir/pod.yaml" -n team
check "a quota is no missing right" fails 2 "the API server refuses the pod in namespace 'team': pods \"web-\" is forbidden: exceeded quota: q"
echo '422 Pod "web-" is invalid: spec.containers[0].image: Required value' >"$api/dry-run.error"
run plan -f "$dir/pod.yaml"
check "an invalid pod is refused" fails 2 "the API server refuses the pod in namespace 'default': Pod \"web-\" is invalid: spec.containers[0].image: Required value"
echo "422 $(printf 'word%.0s ' $(seq 80))" >"$api/dry-run.error"
run plan -f "$dir/pod.yaml"
check "a long refusal ends with a word" sh -c "grep -q 'word word \.\.\.$' '$dir/err'"
echo '404 namespaces "new" not found' >"$api/dry-run.error"
run fit -f "$dir/pod.yaml" -n new
check "a namespace that does not exist yet" says "fits 1 of 1 node, 16 copies"
check "which is said" says "not evaluated (the API server does): namespace 'new', which does not exist, LimitRange, RuntimeClass 'kata'"
check "unknown members are refused" grep -qF 'fieldValidation=Strict' "$api/requests"
forget
run fit --cpus 2
check "flags are no manifest" test "$status:$(grep -c 'dry run' "$api/requests")" = 0:0
check "and nothing is said" sh -c "! grep -q 'API server' '$dir/out'"
exit $failed
