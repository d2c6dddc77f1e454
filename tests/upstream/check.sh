#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh DIR: what `nrtd check` says of publishing, against the control plane in DIR (cluster.sh start, nodes node-a
# and node-b) after access.sh: nothing while everything is there, and by name whatever is taken away. The CRD, the
# rights and the admission policy are put back.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
dir=$1
manifests=packaging/kubernetes
. tests/lib/eventually.sh
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset KUBECONFIG KUBERNETES_SERVICE_HOST NODE_NAME

as_admin() { "$B/upstream/kubectl" --kubeconfig "$dir/admin.kubeconfig" "$@"; }
bad() {
	failed=$((failed + 1))
	echo "not ok $1"
	sed -n '/ credentials /,$s/^/	/p' "$work/out"
}
# check NAME STATUS KUBECONFIG [FLAG...] <<LINES: each line, a regular expression, is in what is said; the exit status.
# A machine without a kubelet, so that nothing but publishing can fail.
check() {
	name=$1
	want=$2
	config=$3
	shift 3
	cat >"$work/want"
	run "$config" "$@"
	got=$?
	if [ $got -ne "$want" ]; then
		bad "$name: status $got"
		return
	fi
	while read -r line; do
		grep -qE -- "$line" "$work/out" || {
			bad "$name: no line '$line'"
			return
		}
	done <"$work/want"
	passed=$((passed + 1))
}
# run KUBECONFIG [FLAG...]
run() { "$B/nrtd" check --state-files none --pod-resources none --node-name node-a --kubeconfig "$@" >"$work/out" 2>&1; }
has_status() {
	run "$agent"
	[ $? -eq "$1" ]
}
# until_status STATUS: what was just changed is known to the whole server
until_status() { eventually 10 has_status "$1" || bad "the status of nrtd check does not become $1"; }
agent=$dir/agent-node-a.kubeconfig
rights='right +noderesourcetopologies: create, patch, get, delete; nodes: get, patch; events: create$'

for who in agent kubelet; do
	check "$who with all rights" 0 "$dir/$who-node-a.kubeconfig" <<END
^ok +credentials +$dir/$who-node-a.kubeconfig: read
^ok +API server +https://127.0.0.1:[0-9]+: reached, v.*, its certificate is trusted
^ok +clock +agrees
^ok +CRD +topology.node.k8s.io serves .*v1alpha2
^ok +identity +system:(serviceaccount:nrtd:nrtd|node:node-a)$
^ok +$rights
^ok +Node +'node-a' is registered
^ok +dry run +the API server would accept
^ok +own node +the API server denies this identity other nodes' objects
END
done
as_admin delete noderesourcetopology node-a --ignore-not-found >/dev/null
node=$(as_admin get node node-a -o jsonpath='{.metadata.annotations}')
check "a dry run" 0 "$agent" <<END
^ok +dry run
END
if as_admin get noderesourcetopology node-a >"$work/out" 2>&1 || ! grep -q NotFound "$work/out" ||
	[ "$node" != "$(as_admin get node node-a -o jsonpath='{.metadata.annotations}')" ]; then
	bad "a dry run leaves nothing"
fi

check "another node's agent" 1 "$dir/agent-node-b.kubeconfig" <<END
^ok +$rights
^FAIL +dry run +an admission policy denies .*the agent of node node-b may not write objects of node-a
END
check "another node's identity" 1 "$dir/kubelet-node-b.kubeconfig" <<END
^FAIL +right +missing: get nodes, for nrtd run
^ +remedy: a node's identity may do so on its own Node only: name that by --node-name
END
check "a Node that is not there" 1 "$dir/admin.kubeconfig" --node-name node-x <<END
^FAIL +Node +there is no Node 'node-x'
^ +remedy: name it by --node-name
END

# --- credentials
# The token's claims with an end in 2001; the server then trusts its signature no more than its date.
token=$(sed -n 's/ *token: //p' "$agent")
claims=$(printf '%s' "$token" | cut -d. -f2 | tr '_-' '/+')
while [ $((${#claims} % 4)) -ne 0 ]; do claims=$claims=; done
claims=$(printf '%s' "$claims" | base64 -d | sed 's/"exp":[0-9]*/"exp":1000000000/; s/"\(iat\|nbf\)":[0-9]*/"\1":999996400/g' | base64 -w 0 | tr '/+' '_-' | tr -d =)
sed "s/token: .*/token: ${token%%.*}.$claims.${token##*.}/" "$agent" >"$work/expired.kubeconfig"
check "an expired token" 1 "$work/expired.kubeconfig" <<END
^FAIL +token +expired at 2001-09-09T01:46:40Z
^ +remedy: put a new one into the kubeconfig
^FAIL +API server +the API server does not accept the credentials \(401: Unauthorized\)
END
other=$(base64 -w 0 "$dir/pki/admin.crt")
sed "s/certificate-authority-data: .*/certificate-authority-data: $other/" "$agent" >"$work/other.kubeconfig"
sed '/certificate-authority-data/d' "$agent" >"$work/no-ca.kubeconfig"
for ca in other no-ca; do
	check "$ca: a CA that has not signed" 1 "$work/$ca.kubeconfig" <<END
^FAIL +API server +https://127.0.0.1:[0-9]+: SSL certificate problem
^ +remedy: certificate-authority of the credentials must be the CA of this API server
END
done
check "nobody listens" 1 "$agent" --api-server https://127.0.0.1:1 <<END
^FAIL +API server +https://127.0.0.1:1: .*[Cc]onnect
^ +remedy: nobody listens there
END

# --- rights
as_admin delete clusterrolebinding nrtd >/dev/null
until_status 1
nrts=noderesourcetopologies.topology.node.k8s.io
check "no rights" 1 "$agent" <<END
^FAIL +right +missing: create $nrts, for nrtd run
^FAIL +right +missing: patch $nrts, for nrtd run
^warn +right +missing: get $nrts, for nrtd diff, and to see who else writes them
^note +right +missing: delete $nrts, for nrtd run --cleanup
^FAIL +right +missing: get nodes, for nrtd run
^FAIL +right +missing: patch nodes, for nrtd run
^note +right +missing: create events.events.k8s.io, for Events about changes of the Node
^ +remedy: kubectl apply -f packaging/kubernetes/rbac.yaml$
^note +dry run +not tried
END
as_admin apply --server-side --force-conflicts -f $manifests/rbac.yaml >/dev/null
until_status 0

# --- the admission policy: gone, and there but not for this agent
# until_own_node KUBECONFIG EXPRESSION: the server has compiled the policy
until_own_node() { eventually 10 has_line "$@" || bad "no line '$2'"; }
has_line() {
	run "$1"
	grep -qE "^$2" "$work/out"
}
as_admin delete -f $manifests/admission-policy.yaml >/dev/null
until_own_node "$agent" 'warn +own node'
check "no policy" 0 "$agent" <<END
^ok +dry run
^warn +own node +the API server lets this identity write the objects of other nodes
^ +remedy: kubectl apply -k packaging/kubernetes, or your overlay of it
END
kubelet=$dir/kubelet-node-a.kubeconfig
check "a kubelet's identity has a policy of its own" 0 "$kubelet" <<END
^ok +own node
END
as_admin delete validatingadmissionpolicybinding nrtd-nodes >/dev/null
until_own_node "$kubelet" 'warn +own node'
check "no policy for a kubelet's identity" 0 "$kubelet" <<END
^warn +own node +the API server lets this identity write the objects of other nodes
^ +remedy: kubectl apply -f packaging/kubernetes/rbac-nodes.yaml$
END
as_admin apply --server-side --force-conflicts -f $manifests/rbac-nodes.yaml >/dev/null
until_own_node "$kubelet" 'ok +own node'
sed "s/startsWith('system:serviceaccount:')/startsWith('system:serviceaccount:elsewhere:')/" $manifests/admission-policy.yaml >"$work/elsewhere.yaml"
as_admin apply --server-side --force-conflicts -f "$work/elsewhere.yaml" >/dev/null
check "a policy for others" 0 "$agent" <<END
^warn +own node +the API server lets this identity write the objects of other nodes
END
sed '/apiGroups: \[""\]/,/operations/d' $manifests/admission-policy.yaml >"$work/half.yaml"
as_admin apply --server-side --force-conflicts -f "$work/half.yaml" >/dev/null
until_own_node "$agent" "warn +own node .*not nrtd's"
check "a policy without Nodes" 0 "$agent" <<END
^warn +own node +the API server lets this identity write annotations of the Node that are not nrtd's
END
if as_admin get noderesourcetopology nrtd-check.invalid >"$work/out" 2>&1 || as_admin get node node-a -o yaml | grep -q nrtd-check.invalid; then
	bad "the policy's dry runs leave nothing"
fi
as_admin apply --server-side --force-conflicts -f $manifests/admission-policy.yaml >/dev/null
until_own_node "$agent" 'ok +own node'

# --- the CRD
as_admin delete crd $nrts >/dev/null
until_status 1
check "no CRD" 1 "$agent" <<END
^FAIL +CRD +the CustomResourceDefinition $nrts is missing
^ +remedy: kubectl apply --server-side --force-conflicts -k packaging/kubernetes/crd$
^ok +$rights
^note +dry run +not tried
END
as_admin apply --server-side --force-conflicts -k $manifests/crd >/dev/null
until_status 0
check "all is back" 0 "$agent" <<END
^ok +dry run
END
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
