#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa why` with a stand-in for kubectl that prints recorded objects: what it asks kubectl for, what it hands
# over, who may not list everything, what is wrong. B names the build folder.
set -u
NRTD=$(pwd)/${B:-build}/nrtd
export NRTD
. tests/lib/scenario.sh
# The stand-in prints the file of the resource it is asked for, unless that is in $FORBID.
cat >"$dir/kubectl" <<'END'
#!/bin/sh
echo "$@" >>"$HERE/record"
case " ${FORBID:-} " in *" $2 "*) echo "Error from server (Forbidden): $2 is forbidden" >&2; exit 1 ;; esac
case " $* " in *" -o name "*) echo "$2/some-$2"; exit ;; esac
cat "$HERE/$2"
END
chmod +x "$dir/kubectl"
export KUBECTL="$dir/kubectl" HERE="$dir"
nrt=noderesourcetopologies.topology.node.k8s.io
cp tests/fixtures/examples/kep-nodes.yaml "$dir/$nrt"
cat >"$dir/pod" <<'END'
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"x"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"4","memory":"1Gi"}}}]},"status":{"phase":"Pending"}}
END
cat >"$dir/nodes" <<'END'
{"kind":"List","items":[{"kind":"Node","metadata":{"name":"node-1"},"spec":{"unschedulable":true}},{"kind":"Node","metadata":{"name":"node-2"},"status":{"allocatable":{"cpu":"16","memory":"128Gi"}}}]}
END
echo '{"kind":"List","items":[]}' >"$dir/pods"
cat >"$dir/events" <<'END'
{"kind":"List","items":[{"kind":"Event","involvedObject":{"kind":"Pod","namespace":"x","name":"p"},"reason":"FailedScheduling","message":"0/2 nodes"}]}
END
plugin() {
	rm -f "$dir/record"
	packaging/kubectl-numa "$@" >"$dir/out" 2>"$dir/err"
	status=$?
}

plugin why p -n x --context "a b" -- --as me
check "status" test "$status" -eq 0
check "the pod" grep -q '^pod x/p waits' "$dir/out"
check "its event" grep -q ' FailedScheduling .*0/2 nodes' "$dir/out"
check "the Nodes" grep -q '^node-1  ~admit   cordoned ' "$dir/out"
cat >"$dir/want" <<END
get pod p -n x --context a b --as me -o json
get $nrt -n x --context a b --as me -o json
get events --field-selector=involvedObject.kind=Pod,involvedObject.name=p -n x --context a b --as me -o json
get nodes -n x --context a b --as me -o json
get pods --all-namespaces --field-selector=status.phase!=Succeeded,status.phase!=Failed -n x --context a b --as me -o json
END
check "what kubectl is asked for" diff "$dir/want" "$dir/record"
plugin why --namespace=x pod/p node-1 -o json
check "one node, which is cordoned" test "$status" -eq 3
check "that node alone" test "$(grep -c keptAway "$dir/out")" -eq 1

FORBID="events nodes" plugin why p -n x
check "who may not list them has an answer" grep -q '^2 of 2 nodes would take it' "$dir/out"
check "and a line for each" test "$(grep -c '^kubectl-numa: the answer omits [a-z]*: Error from server (Forbidden)' "$dir/err")" -eq 2
check "no Pods without Nodes" test -z "$(grep ' pods ' "$dir/record")"
# says NAME STATUS LINE: what the plugin ended with, and its one line
says() {
	[ "$status" -eq "$2" ] && [ ! -s "$dir/out" ] && [ "$(cat "$dir/err")" = "kubectl-numa: $3" ]
	check "$1" test $? -eq 0
}
FORBID="pod" plugin why p
says "no such pod" 1 "Error from server (Forbidden): pod is forbidden"
FORBID=$nrt plugin why p
says "no objects" 1 "Error from server (Forbidden): $nrt is forbidden"
plugin why
says "no pod is named" 2 "name the pod first: kubectl numa why POD [NODE] [FLAG...]"
plugin why p node-1 node-2
says "two nodes" 2 "why takes one pod and at most one node"
plugin why p --context
says "a flag without value" 2 "flag '--context' needs a value"
plugin why p -o
check "a flag of nrtd without value" test "$status" -eq 2
plugin why p --bogus
check "an unknown flag is nrtd's to refuse" test "$status" -eq 2
plugin why --help
check "--help" grep -q 'kubectl numa why POD' "$dir/out"

offers() { packaging/kubectl_complete-numa "$@" >"$dir/out" 2>"$dir/err"; }
offers ""
check "completion of the command" grep -q '^why	' "$dir/out"
offers why ""
check "completion of pods" grep -qx some-pods "$dir/out"
offers why p ""
check "completion of nodes" grep -qx "some-$nrt" "$dir/out"
offers why p --ev
check "completion of flags" grep -qx -- --events "$dir/out"
exit $failed
