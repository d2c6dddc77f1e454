#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kubectl plugin with a stand-in for kubectl that prints recorded objects, for machines without Go. The stand-in
# cannot show that kubectl finds the plugin and a cluster, how a real API server names the resource, nor the words of
# its errors; tests/upstream/kubectl_numa.sh does, with the real ones. B names the build folder.
set -u
NRTD=$(pwd)/${B:-build}/nrtd
export NRTD
examples=tests/fixtures/examples
. tests/lib/scenario.sh
cat >"$dir/kubectl" <<'EOF'
#!/bin/sh
case " $* " in *" node "*) [ -n "${NODE_EXISTS:-}" ]; exit ;; esac
case " $* " in
*" nodes "* | *" pods "* | *" /api/v1/"*)
	echo "$@" >>"$RECORD.rest"
	[ -z "${FORBID:-}" ] || { echo "$FORBID" >&2; exit 1; }
	case " $* " in *" nodes "* | *"/nodes "*) cat "$NODES" ;; *) cat "$PODS" ;; esac
	exit
	;;
esac
echo "$@" >"$RECORD"
[ -z "${REFUSE:-}" ] || { echo "$REFUSE" >&2; exit 1; }
[ ! -e "$RECORD.gone" ] || { echo "Error from server (NotFound): it is gone" >&2; exit 1; }
cat "$OBJECTS"
EOF
chmod +x "$dir/kubectl"
mkdir "$dir/tmp"
export TMPDIR="$dir/tmp" KUBECTL="$dir/kubectl" RECORD="$dir/record" OBJECTS=$examples/kep-nodes.yaml
cp $examples/kep-pod.yaml "$dir/it's a pod.yaml"

packaging/kubectl-numa score -f "$dir/it's a pod.yaml" --context east -n=x -o json -- --as me >"$dir/out" 2>"$dir/err"
check "an unknown flag is nrtd's to refuse" test $? -eq 2
packaging/kubectl-numa score -f "$dir/it's a pod.yaml" --context east -n x -o json -- --as me >"$dir/out" 2>"$dir/err"
check "score" grep -q '"LeastNUMANodes": 94,' "$dir/out"
check "kubectl is asked for the objects" grep -qx \
	'get noderesourcetopologies.topology.node.k8s.io --context east -n x --as me -o json' "$dir/record"
# says NAME STATUS LINE: what the plugin ended with, and its one line
says() {
	[ "$status" -eq "$2" ] && [ ! -s "$dir/out" ] && [ "$(cat "$dir/err")" = "kubectl-numa: $3" ]
	check "$1" test $? -eq 0
}
plugin() {
	packaging/kubectl-numa "$@" >"$dir/out" 2>"$dir/err"
	status=$?
}
# --- fit: the nodes' objects, the Nodes and the Pods
export NODES="$dir/nodes.json" PODS="$dir/pods.json" FORBID=''
cat >"$NODES" <<'EOF'
{"kind":"List","items":[{"kind":"Node","metadata":{"name":"node-1"},"status":{"allocatable":{"cpu":"16","memory":"128Gi","pods":"110"}}},
{"kind":"Node","metadata":{"name":"node-2"},"status":{"allocatable":{"cpu":"16","memory":"128Gi","pods":"110"}}}]}
EOF
cat >"$PODS" <<'EOF'
{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"node-2","containers":[{"name":"c","resources":{"requests":{"cpu":"15"}}}]}}]}
EOF
plugin fit -f "$dir/it's a pod.yaml" --context east -- --as me
check "fit" grep -q '^fits 1 of 2 nodes' "$dir/out"
check "fit counts what other pods ask for" grep -q '^node-2  ~OutOfcpu ' "$dir/out"
cat >"$dir/want" <<'EOF'
get nodes --context east --as me -o json
get pods --all-namespaces --field-selector=status.phase!=Succeeded,status.phase!=Failed --context east --as me -o json
EOF
check "kubectl is asked for Nodes and Pods" cmp -s "$dir/want" "$dir/record.rest"
rm "$dir/record.rest"
plugin fit --cpus 4 --objects-only -o name
check "fit --objects-only" test "$(tr '\n' ' ' <"$dir/out")" = "node/node-2 node/node-1 "
check "asks for nothing else" test ! -e "$dir/record.rest"
FORBID='Error from server (Forbidden): nodes is forbidden'
plugin fit --cpus 4 -o name
check "who may not list Nodes has an answer" test "$status" -eq 0 -a "$(wc -l <"$dir/out")" -eq 2
check "and a line" grep -qxF "kubectl-numa: the answer omits nodes: $FORBID" "$dir/err"
FORBID=''
plugin fit --cpus 500
check "fit: no node" test "$status" -eq 3
rm "$dir/record.rest"
plugin fit node-2 --cpus 4
check "fit of one node" grep -q '^basis        estimated' "$dir/out"
check "its pods alone are fetched" grep -qx 'get pods --all-namespaces --field-selector=spec.nodeName=node-2,status.phase!=Succeeded,status.phase!=Failed -o json' "$dir/record.rest"
plugin fit node-2 --cpus 500 --what-frees --below-priority 10
check "fit: who would have to go" grep -q '^  no pods to move: ' "$dir/out"
sed -i 's/"metadata":{"name":"p"}/"metadata":{"name":"p","namespace":"x"}/' "$PODS"
plugin fit -f "$dir/it's a pod.yaml" --without-pod x/p
check "fit: without a pod its requests are free" grep -q '^fits 2 of 2 nodes' "$dir/out"
check "and what it may hold is not" grep -q "node 'node-2': its object does not say who holds what" "$dir/err"
export REFUSE=''
REFUSE='error: no cluster'
plugin score -f $examples/kep-pod.yaml
says "kubectl's failure is the plugin's" 1 'error: no cluster'
REFUSE="error: the server doesn't have a resource type \"noderesourcetopologies\""
plugin show node-1
says "no CRD" 1 "the cluster has no NodeResourceTopology objects: the CRD noderesourcetopologies.topology.node.k8s.io is not installed"
REFUSE='Error from server (NotFound): noderesourcetopologies.topology.node.k8s.io "node-1" not found'
plugin show node-1
says "no such node" 1 "no such node: 'node-1'"
export NODE_EXISTS=yes
plugin show node-1
says "no object" 1 "node 'node-1' has no NodeResourceTopology object: is an exporter, such as nrtd, running there?"
REFUSE=''
OBJECTS=tests/fixtures/machines/2s-snc4.nrt.yaml
plugin show 2s-snc4 --kubeconfig "$dir/a b" --width 100
check "show" grep -q '^node  *2s-snc4$' "$dir/out"
check "show asks for the node's object" grep -qx \
	"get noderesourcetopologies.topology.node.k8s.io 2s-snc4 --kubeconfig $dir/a b -o json" "$dir/record"
plugin show --width 100
says "show without a node" 2 "name the node first: kubectl numa show NODE [FLAG...]"
plugin show 2s-snc4 other
says "show of two nodes" 2 "show draws one node"
OBJECTS=$examples/kep-nodes.yaml
plugin top --no-headers --sort-by free -n x
check "top" test "$(awk '{print $1}' "$dir/out" | tr '\n' ' ')" = "node-2 node-1 "
check "top asks for every object" grep -qx 'get --raw /apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies -n x' "$dir/record"
plugin top node-1 "it's 2" -o json -- --as me
check "top of nodes" grep -q '"name": "node-1",' "$dir/out"
check "top asks for these" grep -qx \
	"get noderesourcetopologies.topology.node.k8s.io node-1 it's 2 --show-managed-fields --as me -o json" "$dir/record"
"$NRTD" list --nrt "$OBJECTS" >"$dir/want"
rm "$dir/record.rest"
plugin top --objects-only
check "top of the objects prints what nrtd list does" cmp -s "$dir/out" "$dir/want"
check "and asks for nothing else" test ! -e "$dir/record.rest"
"$NRTD" list --nrt "$OBJECTS" --nodes "$NODES" --pods "$PODS" >"$dir/want"
plugin top -n x
check "top counts what pods ask for" cmp -s "$dir/out" "$dir/want"
cat >"$dir/want" <<'EOF'
get --raw /api/v1/nodes -n x
get --raw /api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed -n x
EOF
check "top asks for Nodes and Pods" cmp -s "$dir/want" "$dir/record.rest"
printf '{\n    "apiVersion": "v1",\n    "items": [],\n    "kind": "List"\n}\n' >"$dir/none.json"
OBJECTS=$dir/none.json
plugin top
says "no object yet" 1 "the cluster has no NodeResourceTopology objects yet: is an exporter, such as nrtd, running?"
REFUSE='Error from server (NotFound): noderesourcetopologies.topology.node.k8s.io "b" not found'
plugin top a b
says "of two nodes one is not there" 1 "$REFUSE"
REFUSE=''
OBJECTS=$examples/kep-nodes.yaml
# --- a picture that follows the object, until that is gone
NODE_EXISTS='' packaging/kubectl-numa show node-1 --watch=1 >"$dir/out" 2>"$dir/err" &
for _ in $(seq 300); do
	[ ! -s "$dir/out" ] || break
	sleep 0.1
done
check "--watch draws" grep -q node-1 "$dir/out"
: >"$RECORD.gone"
wait $!
check "--watch ends when the object is gone" test $? -eq 1
check "and says why" grep -qx "kubectl-numa: no such node: 'node-1'" "$dir/err"
rm "$RECORD.gone"
KUBECTL=$dir/absent
plugin show 2s-snc4
says "no kubectl" 1 "cannot find '$dir/absent': install kubectl, which connects to the cluster"
plugin --help
check "--help needs neither" test "$status" -eq 0 -a -s "$dir/out"
# As krew and the tarball install it: the two in one folder, and a link to the plugin in PATH.
mkdir "$dir/apart" "$dir/path"
cp packaging/kubectl-numa packaging/kubectl_complete-numa "$dir/apart/"
printf '#!/bin/sh\necho "  --beside"\n' >"$dir/apart/nrtd"
chmod +x "$dir/apart/nrtd"
ln -s ../apart/kubectl-numa ../apart/kubectl_complete-numa "$dir/path/"
KUBECTL=$dir/kubectl
(unset NRTD && "$dir/path/kubectl-numa" show worker-1) >"$dir/out" 2>"$dir/err"
check "its own folder's nrtd" grep -qx '  --beside' "$dir/out"
(unset NRTD && "$dir/path/kubectl_complete-numa" show --) >"$dir/out" 2>"$dir/err"
check "and completion's" grep -qx -- --beside "$dir/out"
packaging/kubectl-numa >"$dir/out" 2>"$dir/err"
check "usage" test $? -eq 2
packaging/kubectl-numa bogus >"$dir/out" 2>"$dir/err"
check "unknown command" test $? -eq 2
# shellcheck disable=SC2012 # a number
check "nothing is left in TMPDIR" test "$(ls "$TMPDIR" | wc -l)" -eq 0
exit $failed
