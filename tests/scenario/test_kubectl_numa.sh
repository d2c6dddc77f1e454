#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kubectl plugin with a stand-in for kubectl that prints recorded objects. The stand-in cannot show that kubectl
# finds a cluster, nor how a real API server names the resource. B names the build folder.
set -u
NRTD=$(pwd)/${B:-build}/nrtd
export NRTD
examples=tests/fixtures/examples
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
check() { # NAME COMMAND...
	name=$1
	shift
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name"
		sed 's/^/# /' "$dir/out" "$dir/err"
		failed=1
	fi
}
cat >"$dir/kubectl" <<'EOF'
#!/bin/sh
echo "$@" >"$RECORD"
[ -z "${REFUSE:-}" ] || { echo "error: $REFUSE" >&2; exit 1; }
cat "$OBJECTS"
EOF
chmod +x "$dir/kubectl"
export KUBECTL="$dir/kubectl" RECORD="$dir/record" OBJECTS=$examples/kep-nodes.yaml
cp $examples/kep-pod.yaml "$dir/it's a pod.yaml"

packaging/kubectl-numa score -f "$dir/it's a pod.yaml" -o json -- --context east >"$dir/out" 2>"$dir/err"
check "score" grep -q '"LeastNUMANodes": 94,' "$dir/out"
check "kubectl is asked for the objects" grep -qx \
	'get noderesourcetopologies.topology.node.k8s.io -o json --context east' "$dir/record"
REFUSE='no cluster' packaging/kubectl-numa score -f $examples/kep-pod.yaml >"$dir/out" 2>"$dir/err"
check "kubectl's failure is the plugin's" test $? -eq 1
check "kubectl's message is shown" grep -qx 'error: no cluster' "$dir/err"
packaging/kubectl-numa >"$dir/out" 2>"$dir/err"
check "usage" test $? -eq 2
packaging/kubectl-numa bogus >"$dir/out" 2>"$dir/err"
check "unknown command" test $? -eq 2
exit $failed
