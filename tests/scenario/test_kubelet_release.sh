#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kubelets that are newer than all that nrtd was compared with, and the feature gates of each release: what every command says.
# B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
B=${B:-build}
. tests/lib/scenario.sh
need_jq
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset COLUMNS JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC
extender=
trap '[ -z "$extender" ] || kill $extender 2>/dev/null; rm -rf "$dir"' EXIT
example_node "$dir/node"
config=$dir/node/var/lib/kubelet/config.yaml
cp "$config" "$dir/config"
caution='kubelet 1.39 is newer than 1\.[0-9.a-z-]*, the newest that nrtd was compared with, and may decide differently'
says() { grep -qE -- "$1" "$dir/out"; }
warns() { grep -qE -- "$1" "$dir/err"; }
silent() { ! grep -q 'newer than' "$dir/out" "$dir/err"; }
nrtd() { # nrtd VERSION ARGUMENT...
	version=$1
	shift
	"$B/nrtd" "$@" --sysroot "$dir/node" --node-name node-a --kubelet-version "$version" >"$dir/out" 2>"$dir/err"
	status=$?
}

# --- a release that is newer than all that were compared
for version in v1.37.99 v1.31.0 v1.38.0-beta.0; do
	nrtd $version fit --cpus 2
	check "$version was compared" silent
done
for version in v1.38.0-beta.1 v1.38.0 v1.38.3 v1.39.0-alpha.0; do
	nrtd $version fit --cpus 2
	check "$version was not" says "^  kubelet 1[.]3[89][^ ]* is newer than"
	check "$version: a warning too" warns 'may decide differently'
done
nrtd v1.39.1 fit --cpus 2
check "fit: an admission" says "^  $caution$"
nrtd v1.39.1 fit --cpus 9
check "fit: a rejection" says "^  $caution$"
nrtd v1.39.1 fit --cpus 9 -o json
check "fit: as JSON" has '.caution | test("^kubelet 1.39 is newer")'
nrtd v1.37.1 fit --cpus 9 -o json
check "fit: no caution" has '.caution == null'
nrtd v1.39.1 dump
check "the object" says "value: $caution$"
cp "$dir/out" "$dir/newer.yaml"
nrtd v1.38.0-beta.0 dump
check "the object of a compared pre-release" says '^  value: 1;kubelet=38;\?prerelease=beta.0;cpu='
check "no attribute" sh -c "! grep -q nrtd.dev/caution '$dir/out'"
nrtd v1.37.1 dump
check "the object of a release has no other section" says '^  value: 1;kubelet=37;cpu='
nrtd v1.39.1 check --kubeconfig none
check "check" says "^warn .*$caution$"

# --- from the object
numa() { "$B/kubectl-numa" "$@" >"$dir/out" 2>"$dir/err"; }
pod() { printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"default","uid":"%s"},"spec":{%s"containers":[{"name":"app","resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]},"status":{"phase":"Pending"}}' "$1" "$1" "$3" "$2"; }
{ cat "$dir/newer.yaml" && echo --- && echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"},"status":{"allocatable":{"cpu":"31","memory":"200Gi","pods":"110"}}}' && echo --- && pod p 2 ''; } >"$dir/objects.yaml"
numa fit --cpus 2 --from "$dir/objects.yaml"
check "kubectl numa fit: an admission" says "node-a .*$caution"
numa fit --cpus 9 --from "$dir/objects.yaml"
check "kubectl numa fit: a rejection" says "node-a .*; $caution"
numa fit --cpus 9 --from "$dir/objects.yaml" -o json
check "kubectl numa fit: as JSON" has '.items[0].caution | test("^kubelet 1.39 is newer")'
numa why p --from "$dir/objects.yaml"
check "kubectl numa why" says "node-a .*$caution"
numa score --cpus 2 --from "$dir/objects.yaml"
check "kubectl numa score" says "node-a .*$caution"
numa top --from "$dir/objects.yaml"
check "kubectl numa top" says "^node 'node-a': $caution"
numa simulate --set topologyManagerPolicy=none --from "$dir/objects.yaml"
check "kubectl numa simulate" says "^$caution: node-a$"
numa simulate --set topologyManagerPolicy=none --from "$dir/objects.yaml" -o json
check "kubectl numa simulate: as JSON" has '.cautions == [{caution: .cautions[0].caution, nodes: ["node-a"]}]'
numa simulate --set kubelet=1.37 --from "$dir/objects.yaml"
check "kubectl numa simulate: of a compared kubelet" silent
numa plan --cpus 2 --from "$dir/objects.yaml"
check "kubectl numa plan" says "^$caution: node-a$"

# --- the extender
if command -v curl >/dev/null; then
	port=$((24000 + $$ % 4000))
	"$B/nrtd-extender" --nrt "$dir/newer.yaml" --http 127.0.0.1:$port 2>"$dir/log" &
	extender=$!
	check "the extender is ready" eventually 30 curl -sf -o /dev/null 127.0.0.1:$port/readyz
	printf '{"Pod":%s,"Nodes":null,"NodeNames":["node-a"]}' "$(pod x 9 '')" | curl -s --data-binary @- 127.0.0.1:$port/filter >"$dir/out" 2>"$dir/err"
	check "the extender's reason" says "\"node-a\":\"restricted: .* \($caution\)\""
fi

# --- feature gates
gates() { # gates MAP: the kubelet's configuration has these
	{ cat "$dir/config" && printf 'featureGates: {%s}\n' "$1"; } >"$config"
}
fits() { test "$status" -eq 0; }
unknown() { test "$status" -ne 0 && says "$1"; }
gates 'AlibabaPlatform: true, OpenShiftPodSecurityAdmission: true, GCPLabelsTags: false'
nrtd v1.33.5 fit --cpus 2
check "another vendor's gates: a verdict" fits
check "another vendor's gates: one note" warns "featureGates: no kubelet that nrtd knows has the feature gates 'AlibabaPlatform', 'GCPLabelsTags', 'OpenShiftPodSecurityAdmission'$"
gates 'SecurityProfileOCI: true, CPUManager: true'
nrtd v1.38.0-beta.0 fit --cpus 2
check "a gate of the release: a verdict" fits
check "a gate of another release" warns "kubelet 1.38.0-beta.0 does not have the feature gate 'CPUManager'$"
nrtd v1.31.2 fit --cpus 2
check "gates of 1.31: a verdict" fits
check "gates of 1.31: SecurityProfileOCI is later" warns "kubelet 1.31 does not have the feature gate 'SecurityProfileOCI'$"
gates 'NUMAAllocationStrategy: true, CertificateColours: true'
nrtd v1.38.0-beta.0 fit --cpus 2
check "a gate of no release: a verdict" fits
nrtd v1.39.0 fit --cpus 2
check "a gate of a newer kubelet: no verdict" unknown "nrtd does not know the feature gate 'NUMAAllocationStrategy' of kubelet 1.39$"
nrtd v1.39.0 dump
cp "$dir/out" "$dir/newer.yaml"
check "a gate of a newer kubelet: in the object" says ';gates=NUMAAllocationStrategy;'
numa fit --cpus 2 --from "$dir/newer.yaml"
check "a gate of a newer kubelet: from the object" says "nrtd does not know the feature gate 'NUMAAllocationStrategy' of kubelet 1.39"
gates 'CertificateColours: true'
nrtd v1.39.0 fit --cpus 2
check "a gate about something else: a verdict" fits
exit $failed
