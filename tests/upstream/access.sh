#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# access.sh DIR: the manifests of packaging/kubernetes against the control plane in DIR (cluster.sh start, nodes node-a
# and node-b): the server takes them all; each agent writes what is its own node's and nothing else.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
dir=$1
kubectl=$B/upstream/kubectl
manifests=packaging/kubernetes
. tests/lib/eventually.sh
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ok NAME COMMAND..., refused NAME TEXT COMMAND...: the command succeeds; fails and says TEXT
ok() {
	name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok $name: $(tail -n 3 "$work/out")"
	fi
}
refused() {
	name=$1
	text=$2
	shift 2
	if ! "$@" >"$work/out" 2>&1 && grep -qF "$text" "$work/out"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok $name: want a refusal with '$text', got: $(tail -n 3 "$work/out")"
	fi
}
as() { # as WHO ARGUMENT...: kubectl with the kubeconfig of this name
	config=$dir/$1.kubeconfig
	shift
	"$kubectl" --kubeconfig "$config" "$@"
}
object() { # object NODE: a NodeResourceTopology
	printf 'apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\nmetadata: {name: %s}\nzones: []\n' "$1"
}
write() { # write WHO NODE: by server-side apply, as nrtd does
	object "$2" >"$work/object.yaml"
	as "$1" apply --server-side --force-conflicts --field-manager nrtd -f "$work/object.yaml"
}
fails() { ! "$@" >/dev/null 2>&1; }
# until_denied COMMAND...: the API server applies a policy up to some seconds after the policy was created.
until_denied() { eventually 10 fails "$@"; }

ok "the CRD" as admin apply --server-side --force-conflicts -k $manifests/crd
columns() { # columns WANT ARGUMENT...: of `kubectl get`, without AGE
	want=$1
	shift
	as admin get noderesourcetopologies "$@" | sed 's/ *[^ ]*$//; s/  */ /g' >"$work/columns" && test "$(tr '\n' ';' <"$work/columns")" = "$want"
}
printf '%s\n' 'apiVersion: topology.node.k8s.io/v1alpha2' 'kind: NodeResourceTopology' 'metadata: {name: printed}' 'zones: []' \
	'attributes:' '- {name: nrtd.dev/content-hash, value: x}' '- {name: topologyManagerPolicy, value: restricted}' \
	'- {name: topologyManagerScope, value: pod}' '- {name: cpuManagerPolicy, value: static}' '- {name: memoryManagerPolicy, value: Static}' >"$work/printed.yaml"
ok "an object" as admin apply -f "$work/printed.yaml"
ok "kubectl get prints the policies" columns 'NAME POLICY SCOPE CPU MANAGER;printed restricted pod static;'
ok "-o wide prints the options, too" columns 'NAME POLICY SCOPE CPU MANAGER MEMORY MANAGER CPU OPTIONS;printed restricted pod static Static;' -o wide
ok "the object goes" as admin delete -f "$work/printed.yaml"
ok "the manifests" as admin apply --server-side --force-conflicts -k $manifests
ok "the right of nodes" as admin apply --server-side -f $manifests/rbac-nodes.yaml
ok "the policy holds" until_denied write agent-node-a node-b
ok "the policy of nodes holds" until_denied write kubelet-node-a node-b

for who in agent kubelet; do
	ok "$who writes its own object" write $who-node-a node-a
	refused "$who writes another's object" "agent of node node-a may not write objects of node-b" write $who-node-a node-b
	ok "the other $who writes it" write $who-node-b node-b
	refused "$who deletes another's object" "may not write objects of node-b" \
		as $who-node-a delete noderesourcetopology node-b
	ok "$who deletes its own object" as $who-node-a delete noderesourcetopology node-a
done
annotate() { # annotate WHO NODE ARGUMENT...: as the manager that nrtd is
	who=$1
	node=$2
	shift 2
	as "$who" annotate node "$node" --overwrite --field-manager nrtd "$@"
}
patch() { # patch WHO METADATA: of node-a
	as "$1" patch node node-a --type merge --field-manager nrtd -p "{\"metadata\":$2}"
}
patch_as() { # patch_as MANAGER METADATA: an agent by another name
	as agent-node-a patch node node-a --type merge --field-manager "$1" -p "{\"metadata\":$2}"
}
managers() { as admin get node node-a --show-managed-fields -o jsonpath='{.metadata.managedFields[*].manager}'; }
ok "own annotation" annotate agent-node-a node-a nrtd.dev/fit-score.x=1
ok "own annotation, changed" annotate agent-node-a node-a nrtd.dev/fit-score.x=2
ok "own annotation, removed" annotate agent-node-a node-a nrtd.dev/fit-score.x-
ok "own label" as agent-node-a label node node-a --overwrite --field-manager nrtd nrtd.dev/max-exclusive-cpus.1-numa=4
refused "another Node's annotation" "may not write objects of node-b" annotate agent-node-a node-b nrtd.dev/fit-score.x=1
ok "an annotation that is not ours" as admin annotate node node-a --overwrite example.com/x=1
refused "a foreign annotation, changed" "only annotations under nrtd.dev/" annotate agent-node-a node-a example.com/x=2
refused "a foreign annotation, removed" "only annotations under nrtd.dev/" annotate agent-node-a node-a example.com/x-
refused "a foreign label" "only labels under nrtd.dev/" \
	as agent-node-a label node node-a --field-manager nrtd example.com/x=1
refused "a taint" "may not change a Node's spec" as agent-node-a taint node node-a --field-manager nrtd x=y:NoSchedule
refused "a cordon" "may not change a Node's spec" as agent-node-a patch node node-a --type merge --field-manager nrtd \
	-p '{"spec":{"unschedulable":true}}'

# The startup taint, between two taints that are not.
untaint() { # untaint WHO NODE POSITION
	as "$1" patch node "$2" --type json --field-manager nrtd -p "[{\"op\":\"remove\",\"path\":\"/spec/taints/$3\"}]"
}
patch_spec() { # patch_spec WHO MANAGER SPEC: of node-a
	as "$1" patch node node-a --type merge --field-manager "$2" -p "{\"spec\":$3}"
}
first='{"key":"example.com/x","effect":"NoSchedule"}'
startup='{"key":"nrtd.dev/not-ready","effect":"NoSchedule"}'
last='{"key":"nrtd.dev/not-ready","effect":"PreferNoSchedule"}'
spec="may not change a Node's spec"
ok "taints of somebody else" patch_spec admin joiner "{\"taints\":[$first,$startup,$last]}"
ok "taints of another Node" as admin taint node node-b nrtd.dev/not-ready=:NoSchedule
refused "a taint that is not ours, removed" "$spec" untaint agent-node-a node-a 0
refused "the taint's other effect, removed" "$spec" untaint agent-node-a node-a 2
refused "all taints, removed" "$spec" patch_spec agent-node-a nrtd '{"taints":null}'
refused "the startup taint, changed" "$spec" patch_spec agent-node-a nrtd "{\"taints\":[$first,{\"key\":\"nrtd.dev/not-ready\",\"effect\":\"NoExecute\"},$last]}"
refused "the startup taint, removed with a cordon" "$spec" \
	patch_spec agent-node-a nrtd "{\"unschedulable\":true,\"taints\":[$first,$last]}"
refused "the startup taint, removed with managedFields" "may not change the managedFields of other managers" \
	as agent-node-a patch node node-a --type merge --field-manager nrtd \
	-p "{\"metadata\":{\"managedFields\":[{}]},\"spec\":{\"taints\":[$first,$last]}}"
refused "another Node's startup taint" "may not write objects of node-b" untaint agent-node-a node-b 0
ok "the startup taint, removed" untaint agent-node-a node-a 1
ok "the others stay" sh -c "test '$(as admin get node node-a -o jsonpath='{.spec.taints[*].effect}')' = 'NoSchedule PreferNoSchedule'"
refused "the startup taint, added" "$spec" patch_spec agent-node-a nrtd "{\"taints\":[$first,$startup,$last]}"
ok "the only taint" patch_spec admin joiner "{\"taints\":[$startup]}"
ok "the only taint, removed" untaint agent-node-a node-a 0
ok "no taint is left" sh -c "test -z '$(as admin get node node-a -o jsonpath='{.spec.taints}')'"
ok "node-b as before" as admin taint node node-b nrtd.dev/not-ready-
# Events: about the own Node, in the namespace default.
event() { # event NAMESPACE KIND NAME
	printf '{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e.%s","namespace":"%s"},"eventTime":"2026-11-26T08:00:00.000000Z",' "$(date +%s%N)" "$1"
	printf '"reportingController":"nrtd.dev/nrtd","reportingInstance":"x","action":"Observed","reason":"Test","type":"Normal","regarding":{"apiVersion":"v1","kind":"%s","name":"%s"%s}}' \
		"$2" "$3" "$([ "$2" = Node ] || printf ',"namespace":"%s"' "$1")"
}
about() { # about WHO NAMESPACE KIND NAME
	event "$2" "$3" "$4" >"$work/event.json"
	as "$1" create -f "$work/event.json"
}
ok "an Event about the own Node" about agent-node-a default Node node-a
refused "an Event about another Node" "agent of node node-a may write Events about this Node only" about agent-node-a default Node node-b
refused "an Event about a pod" "may write Events about this Node only" about agent-node-a default Pod node-a
refused "an Event in another namespace" "may write Events about this Node only" about agent-node-a kube-system Node node-a
refused "a v1 Event" "events is forbidden" as agent-node-a create -f - <<END
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "v1", "namespace": "default"}, "involvedObject": {"kind": "Node", "name": "node-a"}}
END
ok "a node's identity writes any Event" about kubelet-node-a default Pod x

# What else of a Node's metadata can be changed.
bookkeeping="may not change a Node's finalizers or ownerReferences"
owner='{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"1b3b1e5c-0d7e-4b0e-8d8e-6f6f6f6f6f6f"}'
refused "a finalizer" "$bookkeeping" patch agent-node-a '{"finalizers":["example.com/keep"]}'
ok "a finalizer of somebody else" patch admin '{"finalizers":["example.com/keep"]}'
refused "the finalizer, removed" "$bookkeeping" patch agent-node-a '{"finalizers":null}'
ok "own annotation beside it" annotate agent-node-a node-a nrtd.dev/fit-score.x=3
ok "the finalizer is gone" patch admin '{"finalizers":null}'
refused "an owner" "$bookkeeping" patch agent-node-a "{\"ownerReferences\":[$owner]}"
others="may not change the managedFields of other managers"
refused "managedFields, emptied" "$others" patch agent-node-a '{"managedFields":[{}]}'
refused "managedFields, written" "$others" patch agent-node-a '{"managedFields":[{"manager":"nrtd","operation":"Update",
	"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:kubernetes.io/hostname":{}}}}}]}'
refused "in another manager's name" "$others" patch_as kubelet '{"annotations":{"nrtd.dev/fit-score.x":"4"}}'
ok "our annotation by somebody else" as admin annotate node node-a --overwrite --field-manager somebody nrtd.dev/fit-score.y=1
ok "taken over" annotate agent-node-a node-a nrtd.dev/fit-score.y=2
ok "somebody manages nothing of it" sh -c "! echo '$(managers)' | grep -w somebody"
# More managers than the server keeps apart, and nrtd is the last of them: it puts the oldest into one entry.
ok "nrtd has nothing there" annotate agent-node-a node-a nrtd.dev/fit-score.x- nrtd.dev/fit-score.y-
ok "and no label" as agent-node-a label node node-a --field-manager nrtd nrtd.dev/max-exclusive-cpus.1-numa-
n=0
while [ "$(managers | wc -w)" -lt 10 ] && [ $n -lt 10 ]; do
	n=$((n + 1))
	as admin annotate node node-a --overwrite --field-manager "m$n" "example.com/m$n=1" >/dev/null
done
ok "ten are kept apart" sh -c "! echo '$(managers)' | grep -w 'nrtd\|ancient-changes'"
ok "own annotation beside ten managers" annotate agent-node-a node-a nrtd.dev/fit-score.z=1
ok "the oldest are one" sh -c "echo '$(managers)' | grep -w ancient-changes"
ok "own annotation after that" annotate agent-node-a node-a nrtd.dev/fit-score.z=2
refused "managedFields of many, emptied" "$others" patch agent-node-a '{"managedFields":[{}]}'
refused "a token of no node" "bound to no node" sh -c "token=\$($kubectl --kubeconfig $dir/admin.kubeconfig create token nrtd -n nrtd) &&
	printf '%s' \"\$(sed '/client-certificate-data\\|client-key-data/d; s/^\\( *\\)user:\\( *{}\\)*\$/\\1user:\\n\\1  token: TOKEN/' $dir/admin.kubeconfig)\" | sed \"s/TOKEN/\$token/\" >$work/token.kubeconfig &&
	$kubectl --kubeconfig $work/token.kubeconfig apply --server-side --force-conflicts --field-manager nrtd -f $work/object.yaml"
as admin delete daemonset nrtd -n nrtd >/dev/null 2>&1

# --- an overlay with another namespace and other names
mkdir "$work/overlay"
cat >"$work/overlay/kustomization.yaml" <<END
namespace: numa
namePrefix: team-
resources: ["$(realpath --relative-to="$work/overlay" $manifests)"]
END
token() { # token NODE: of a pod of the overlay's service account on that node
	printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: on-%s, namespace: numa}\nspec: {nodeName: %s, serviceAccountName: team-nrtd, containers: [{name: c, image: i}]}\n' \
		"$1" "$1" | as admin apply -f - >/dev/null &&
		as admin create token team-nrtd -n numa --bound-object-kind Pod --bound-object-name "on-$1"
}
overlay_agent() { # overlay_agent NODE ARGUMENT...: kubectl as the overlay's agent on that node
	config=$work/overlay-$1.kubeconfig
	shift
	"$kubectl" --kubeconfig "$config" "$@"
}
write_overlay() { # write_overlay NODE OBJECT: the object of the node OBJECT by the agent of NODE
	object "$2" >"$work/object.yaml"
	overlay_agent "$1" apply --server-side --force-conflicts --field-manager nrtd -f "$work/object.yaml"
}
# The plain manifests' policy must not help.
ok "the policy is gone" as admin delete -f $manifests/admission-policy.yaml
sleep 3
refused "a kubelet has a policy of its own" "ValidatingAdmissionPolicy 'nrtd-nodes'" write kubelet-node-a node-b
refused "by which it deletes nothing of others" "may not write objects of node-b" as kubelet-node-a delete noderesourcetopology node-b
ok "and writes its own object" write kubelet-node-a node-a
ok "right and policy of nodes go together" as admin delete -f $manifests/rbac-nodes.yaml
until_denied write kubelet-node-a node-a
refused "a kubelet without them" "cannot patch resource" write kubelet-node-a node-b
ok "right and policy are back" as admin apply --server-side -f $manifests/rbac-nodes.yaml
ok "the overlay" as admin apply --server-side --force-conflicts -k "$work/overlay"
for node in node-a node-b; do
	ok "a token of the overlay on $node" token $node
	sed "s/token: .*/token: $(cat "$work/out")/" "$dir/agent-$node.kubeconfig" >"$work/overlay-$node.kubeconfig"
done
ok "the overlay's policy holds" until_denied write_overlay node-a node-b
another="agent of node node-a may not write objects of node-b"
ok "the overlay's agent writes its own object" write_overlay node-a node-a
refused "the overlay's agent writes another's object" "$another" write_overlay node-a node-b
ok "the other agent of the overlay writes it" write_overlay node-b node-b
refused "the overlay's agent deletes another's object" "$another" overlay_agent node-a delete noderesourcetopology node-b
ok "the overlay's agent annotates its Node" \
	overlay_agent node-a annotate node node-a --overwrite --field-manager nrtd nrtd.dev/fit-score.x=1
refused "the overlay's agent annotates another Node" "$another" \
	overlay_agent node-a annotate node node-b --overwrite --field-manager nrtd nrtd.dev/fit-score.x=1
refused "the overlay's agent taints another Node" "$another" \
	overlay_agent node-a taint node node-b --field-manager nrtd x=y:NoSchedule
refused "the overlay's agent taints its Node" "may not change a Node's spec" \
	overlay_agent node-a taint node node-a --field-manager nrtd x=y:NoSchedule
event default Node node-a >"$work/event.json"
ok "the overlay's agent writes an Event about its Node" overlay_agent node-a create -f "$work/event.json"
event default Node node-b >"$work/event.json"
refused "the overlay's agent writes an Event about another Node" "may write Events about this Node only" overlay_agent node-a create -f "$work/event.json"
refused "the overlay's agent makes a Node" "nodes is forbidden" overlay_agent node-a create -f - <<END
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-x"}}
END
# Only the right tells an agent from an administrator's service account.
ok "an administrator's account" sh -c "$kubectl --kubeconfig $dir/admin.kubeconfig create serviceaccount operator -n numa &&
	$kubectl --kubeconfig $dir/admin.kubeconfig create clusterrolebinding operator --clusterrole cluster-admin --serviceaccount numa:operator"
eventually 10 as admin auth can-i '*' '*' --as system:serviceaccount:numa:operator >/dev/null 2>&1
ok "an administrator's account is not an agent" \
	as admin annotate node node-b --overwrite example.com/x=1 --as system:serviceaccount:numa:operator
as admin delete clusterrolebinding operator >/dev/null
as admin delete daemonset team-nrtd -n numa >/dev/null
for kind in clusterrolebinding/team-nrtd clusterrole/team-nrtd validatingadmissionpolicybinding/team-nrtd-own-node \
	validatingadmissionpolicy/team-nrtd-own-node; do
	as admin delete $kind >/dev/null
done
ok "the policy is back" as admin apply --server-side --force-conflicts -f $manifests/admission-policy.yaml
ok "the policy holds again" until_denied write agent-node-a node-b # whatever runs next relies on the policy
# overlay_gone: the overlay's policy has named no denial for 2 s. Of two policies that deny, the API server names one.
overlay_gone() {
	times=0
	for _ in $(seq 50); do
		write agent-node-a node-b >"$work/denied" 2>&1
		times=$((times + 1))
		! grep -q "'team-nrtd-own-node'" "$work/denied" || times=0
		[ $times -lt 10 ] || return 0
		sleep 0.2
	done
	return 1
}
ok "the overlay's policy is gone" overlay_gone
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
