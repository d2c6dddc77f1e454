#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conventions of kubectl's command line in kubectl-numa: where flags stand and how they are spelled, files and folders of -f, files
# that --from names twice, empty lists, formats. What the parser of kubectl makes of the same lines is in tests/upstream/cmd/flags. A stand-in
# answers as the API server. B names the build folder.
set -u
numa=$(realpath "${B:-build}")/kubectl-numa
. tests/lib/scenario.sh
need_jq
. tests/lib/api_server.sh
export LC_ALL=C
unset COLUMNS NO_COLOR
numa() { "$numa" "$@" >"$dir/out" 2>"$dir/err"; }
list NodeResourceTopology "$(nrt_object node-1 2 4)" "$(nrt_object node-2 8 8)" | serve $nrt
list Node | serve /api/v1/nodes
list Pod | serve /api/v1/pods
for namespace in default a team; do
	mkdir -p "$api/api/v1/namespaces/$namespace"
	list Pod | serve /api/v1/namespaces/$namespace/pods
done

# --- flags
asked() { # NAME NAMESPACE WORD...: the pods of this namespace are asked for
	name=$1
	want=$2
	shift 2
	forget
	numa "$@"
	check "$name: $*" grep -q "^/api/v1/namespaces/$want/pods" "$api/requests"
}
asked "after the command" team pods -n team
asked "before the command" team -n team pods
asked "attached, before" team -nteam pods
asked "with =, before" team -n=team pods
asked "long, before" team --namespace team pods
asked "long with =, before" team --namespace=team pods
asked "the last one counts" a -n team pods -n a
asked "off again" team pods -A=false -n team
asked "without" default pods
forget
numa pods -A -n team
check "-A is stronger than -n" grep -q '^/api/v1/pods' "$api/requests"
forget
numa --context east top
check "--context before the command" grep -q "^/east/apis" "$api/requests"
forget
numa -vA pods
check "grouped" grep -q '^/api/v1/pods' "$api/requests"
numa top -n team
check "-n of a command about nodes only" test $? -eq 0
numa --bogus top
check "an unknown flag before the command" grep -q "unknown flag '--bogus'" "$dir/err"
numa -n team
check "flags alone are no command" grep -q 'no command' "$dir/err"
numa top --as-group g
check "--as-group requires --as" grep -qx 'kubectl-numa: --as-group requires --as' "$dir/err"
numa top --insecure-skip-tls-verify --certificate-authority "$dir/ca"
check "an insecure connection has no CA" grep -q 'exclude each other' "$dir/err"
numa top --token t
check "a token is not sent without TLS" grep -q 'credentials require https' "$dir/err"

# --- nothing to list
numa pods -n team
check "pods: status 0" test $? -eq 0
check "pods: a line as of kubectl" test "$(cat "$dir/out" "$dir/err")" = "No resources found in team namespace."
numa pods -A
check "pods of all namespaces" test "$(cat "$dir/out" "$dir/err")" = "No resources found"
numa pods -n team -o json
check "a document is a document" has '.pods == []'
check "without a line" test ! -s "$dir/err"
numa pods -n team -o name
check "no names" test "$(cat "$dir/out" "$dir/err")" = ""
list Node | serve '/api/v1/nodes@pool=none'
numa top -l pool=none
check "top: status 0" test $? -eq 0
check "top: a line as of kubectl" grep -qx "No resources found" "$dir/err"

# --- formats
for format in jsonpath='{.nodes}' custom-columns=A:.name go-template=x; do
	numa top -o "$format"
	check "-o $format: status 2" test $? -eq 2
	check "-o $format: what to do" grep -qx "kubectl-numa: --output: '$format' is not supported: use '-o json | jq'" "$dir/err"
done

# --- files of the pod
pod() { printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, resources: {limits: {cpu: "2", memory: 1Gi}}}]}\n' "$1"; }
mkdir -p "$dir/pods/below" "$dir/pods/.git" "$dir/empty"
pod a >"$dir/pods/a.yaml"
pod b >"$dir/pods/b.yml"
pod c >"$dir/pods/below/c.yaml"
pod d >"$dir/pods/.git/d.yaml"
pod e >"$dir/pods/e.txt"
pod f >"$dir/pods/.f.yaml"
printf 'apiVersion: v1\nkind: Service\nmetadata: {name: s}\n' >"$dir/pods/s.json"
templates() { # NAME TEMPLATES FLAG...: these pods are in the files
	name=$1
	want=$2
	shift 2
	numa fit --dry-run client "$@"
	check "$name" grep -qF "pod templates, choose one with --pod: $want" "$dir/err"
}
templates "-f twice" "'a', 'b'" -f "$dir/pods/a.yaml" -f "$dir/pods/b.yml"
templates "-f with a comma" "'b', 'a'" -f "$dir/pods/b.yml,$dir/pods/a.yaml"
templates "a folder" "'a', 'b'" -f "$dir/pods"
templates "a folder and a file" "'a', 'b', 'e'" -f "$dir/pods" -f "$dir/pods/e.txt"
templates "a folder and those below" "'a', 'b', 'c'" -R -f "$dir/pods"
templates "the same by the long flag" "'a', 'b', 'c'" --recursive --filename="$dir/pods"
numa fit --dry-run client -f "$dir/pods" -R --pod c
check "one of them" grep -q '^fits 2 of 2 nodes' "$dir/out"
numa fit -f "$dir/empty"
check "a folder without files" grep -q "contains no .yaml, .yml or .json file" "$dir/err"
numa fit -f "$dir/pods/a.yaml" -f "$dir/none.yaml"
check "a file that is not there" grep -q "none.yaml" "$dir/err"
numa fit -f "$dir/pods/s.json"
check "a file without pods" grep -q "s.json" "$dir/err"
head -c 700000 /dev/zero | tr '\0' '#' >"$dir/large.yaml"
numa fit -f "$dir/large.yaml" -f "$dir/large.yaml"
check "the files together are limited" grep -q 'larger than 1048576 bytes' "$dir/err"
numa fit -f - -f - </dev/null
check "standard input once" grep -q 'cannot both be standard input' "$dir/err"

# --- files of --from that are named twice
mkdir "$dir/objects"
cp "$api$nrt.json" "$dir/objects/nrt.json"
ln -s objects/nrt.json "$dir/link.json"
numa top --from "$dir/objects/nrt.json" -o json
cp "$dir/out" "$dir/once"
for other in objects/nrt.json objects link.json ./objects/../objects/nrt.json; do
	numa top --from "$dir/objects/nrt.json" --from "$dir/$other" -o json
	check "--from twice: $other" cmp -s "$dir/out" "$dir/once"
done
exit $failed
