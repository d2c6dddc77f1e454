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

ok "the CRD" as admin apply --server-side --force-conflicts -k $manifests/crd
ok "the manifests" as admin apply --server-side --force-conflicts -k $manifests
ok "the right of nodes" as admin apply --server-side -f $manifests/rbac-nodes.yaml
# The server compiles the policy a moment after it is there.
for _ in $(seq 50); do
	write agent-node-a node-b >/dev/null 2>&1 || break
	sleep 0.2
done

for who in agent kubelet; do
	ok "$who writes its own object" write $who-node-a node-a
	refused "$who writes another's object" "agent of node node-a may not write what is of node-b" write $who-node-a node-b
	ok "the other $who writes it" write $who-node-b node-b
	refused "$who deletes another's object" "may not write what is of node-b" \
		as $who-node-a delete noderesourcetopology node-b
	ok "$who deletes its own object" as $who-node-a delete noderesourcetopology node-a
done
ok "own annotation" as agent-node-a annotate node node-a --overwrite nrtd.dev/fit-score.x=1
ok "own annotation, changed" as agent-node-a annotate node node-a --overwrite nrtd.dev/fit-score.x=2
ok "own annotation, removed" as agent-node-a annotate node node-a nrtd.dev/fit-score.x-
ok "own label" as agent-node-a label node node-a --overwrite nrtd.dev/max-exclusive-cpus.1-numa=4
refused "another Node's annotation" "may not write what is of node-b" \
	as agent-node-a annotate node node-b nrtd.dev/fit-score.x=1
ok "an annotation that is not ours" as admin annotate node node-a --overwrite example.com/x=1
refused "a foreign annotation, changed" "only annotations under nrtd.dev/" \
	as agent-node-a annotate node node-a --overwrite example.com/x=2
refused "a foreign annotation, removed" "only annotations under nrtd.dev/" \
	as agent-node-a annotate node node-a example.com/x-
refused "a foreign label" "only labels under nrtd.dev/" as agent-node-a label node node-a example.com/x=1
refused "a taint" "may not change a Node's spec" as agent-node-a taint node node-a x=y:NoSchedule
refused "a token of no node" "bound to no node" sh -c "token=\$($kubectl --kubeconfig $dir/admin.kubeconfig create token nrtd -n nrtd) &&
	printf '%s' \"\$(sed '/client-certificate-data\\|client-key-data/d; s/^\\( *\\)user:\\( *{}\\)*\$/\\1user:\\n\\1  token: TOKEN/' $dir/admin.kubeconfig)\" | sed \"s/TOKEN/\$token/\" >$work/token.kubeconfig &&
	$kubectl --kubeconfig $work/token.kubeconfig apply --server-side --force-conflicts --field-manager nrtd -f $work/object.yaml"
as admin delete daemonset nrtd -n nrtd >/dev/null 2>&1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
