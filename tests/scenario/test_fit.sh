#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd fit`: the manual's examples on their machine, settings from the kubelet's files and from flags, bad input with one line and exit
# status 2; and `kubectl numa fit --from` on the object of the same machine. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
machines=build/fixtures/machines
. tests/lib/scenario.sh
need_jq

# The node of the manual: 32 CPUs on two NUMA nodes, CPU 0 reserved, two containers of nine CPUs.
node=$dir/node
example_node "$node"

# fit NAME STATUS WANT FLAG...: exit status, and the line WANT (a fixed string) on standard output or error
fit() {
	name=$1
	status=$2
	want=$3
	shift 3
	"$nrtd" fit --sysroot "$node" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	cat "$dir/out" "$dir/err" >"$dir/all"
	if [ "$got" -eq "$status" ] && grep -qF -- "$want" "$dir/all"; then
		ok "fit: $name"
	else
		echo "status $got, want $status and '$want'" >>"$dir/all"
		not_ok "fit: $name" "$dir/all"
	fi
}

# --- the manual's examples, word by word
# shellcheck disable=SC2016 # the dollar is the manual's prompt
grep '^\$ nrtd fit --cpus' man/nrtd-fit.1 | sed 's/^\$ nrtd fit //' >"$dir/examples"
while read -r flags; do
	awk -v want="\$ nrtd fit $flags" '$0 == want {on = 1; next} /^\.Ed/ {on = 0} on' man/nrtd-fit.1 >"$dir/want"
	# shellcheck disable=SC2086 # words
	"$nrtd" fit --sysroot "$node" $flags >"$dir/out" 2>/dev/null </dev/null
	if diff -u "$dir/want" "$dir/out" >"$dir/diff" 2>&1; then ok "manual: fit $flags"; else not_ok "manual: fit $flags" "$dir/diff"; fi
done <"$dir/examples"
[ "$(wc -l <"$dir/examples")" -ge 2 ] || not_ok "the manual has examples"

# --- verdicts and exit status
fit "a pod that fits" 0 "fits: 6 CPUs" --cpus 6
fit "six CPUs of node 0" 0 "request    0 preferred         10-15" --cpus 6
fit "a pod that does not" 3 "would fit with 7 CPUs instead of 8" --cpus 8
fit "what if best-effort" 0 "request    0-1 not preferred   10-15,26-27" --cpus 8 --policy best-effort
fit "what if none" 0 "request    any                 " --cpus 8 --policy none
fit "what if full-pcpus-only" 3 "full-pcpus-only: 5 CPUs are not a multiple of the 2 CPUs per core" \
	--cpus 5 --option full-pcpus-only=true
fit "two options" 3 "SMTAlignmentError" --cpus 5 --option distribute-cpus-across-numa=1 --option full-pcpus-only=t
fit "options that exclude each other" 1 "no verdict: the kubelet would not start" \
	--cpus 5 --option full-pcpus-only=true --option distribute-cpus-across-cores=true
fit "more than the node has" 3 "memory: 1Ti wanted, the node has" --cpus 2 --memory 1Ti --policy none

# --- a machine without a kubelet, and all policies by flags
bare=$machines/seed-2s-32cpu
set -- --sysroot "$bare" --cpus 15 --memory 1Gi --cpu-manager-policy static --memory-manager-policy None --reserved-cpus 0 \
	--topology-manager-policy single-numa-node --topology-manager-scope container
fit "without state files it is not known" 1 "the CPU manager's shared pool is not known; --assume-empty assumes that no pod runs on this machine" "$@"
fit "as if no pod were there" 0 "fits: 15 CPUs" "$@" --assume-empty
if grep -q "no source reports" "$dir/err"; then not_ok "no warning about what is assumed" "$dir/err"; else ok "no warning about what is assumed"; fi
fit "the memory manager too" 0 "memory on " "$@" --assume-empty --memory-manager-policy Static
fit "more than it has" 3 "TopologyAffinityError" "$@" --assume-empty --cpus 17
fit "an unknown policy stays unknown" 1 "no verdict: the CPU manager's policy is not known; --kubelet-config names the kubelet's configuration file, and flags such as --cpu-manager-policy its settings" --sysroot "$bare" --cpus 2 --assume-empty
fit "and a machine with pods is empty too" 0 "request    0 preferred         1-15" --cpus 15 --assume-empty

# --- the time that the kubelet needs: CPUs, memory and hugepages on 8 NUMA nodes are 255 x 255 x 255 permutations
slow=$machines/2s-snc4
set -- --sysroot "$slow" --cpu-manager-policy static --memory-manager-policy Static --reserved-cpus 0 \
	--topology-manager-policy best-effort --topology-manager-scope container --assume-empty
fit "the kubelet's time" 0 "the kubelet needs about 6 s for this pod: it merges 16.6 million permutations of topology hints" \
	"$@" --cpus 2 --memory 1Gi --hugepages-2Mi 4
"$nrtd" fit "$@" --cpus 2 --memory 1Gi --hugepages-2Mi 4 -o json >"$dir/out" 2>"$dir/err"
check "in JSON" jq -e '.hintPermutations == 16581375 and .kubeletMilliseconds > 1000 and .admitted' "$dir/out"
limits='{limits: {cpu: 2, memory: 1Gi, hugepages-2Mi: 4Mi}}'
printf '{kind: Pod, spec: {containers: [' >"$dir/five.yaml"
for c in a b c d e; do printf '{name: %s, resources: %s}, ' $c "$limits"; done >>"$dir/five.yaml"
printf ']}}' >>"$dir/five.yaml"
fit "too slow" 3 "permutations of topology hints; the limit is 10 s (KubeletTooSlow)" "$@" -f "$dir/five.yaml"
fit "not with single-numa-node" 0 "fits: 10 CPUs" "$@" -f "$dir/five.yaml" --policy single-numa-node
if grep -q "the kubelet needs" "$dir/out"; then not_ok "no time of a fast kubelet" "$dir/out"; else ok "no time of a fast kubelet"; fi
fit "1.38 finds preferred hints first" 0 "fits: 10 CPUs" "$@" -f "$dir/five.yaml" --kubelet-version v1.38.0

# --- which pods would have to go
a=777870b5-c64f-42f5-9296-688b9dc212ba
b=fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd
fit "who would have to go" 3 "UID $a, 9 CPUs" --cpus 11 --what-frees
fit "one pod is enough" 3 "would fit without 1 pod:" --cpus 16 --what-frees
fit "both of them" 3 "would fit without 2 pods:" --cpus 25 --what-frees
fit "nobody, the node is too small" 3 "no set of pods: even without the 2 pods that hold requested resources, the pod does not fit" \
	--cpus 40 --what-frees
fit "nobody holds memory" 3 "no set of pods: no pod is known to hold requested resources" --memory 1Ti --what-frees

# --- the kubelet's pods API: the two containers' pods, with priorities, and a pod of the shared pool that requests 8 CPUs
pod() { printf "1{1{1'%s' 3'team' 5'%s'} 2{2{1'c' 8{1{1'cpu' 2{1'%s'}} 2{1'cpu' 2{1'%s'}}}} 25:%s} 3{1'Running'}} " "$1" "$2" "$3" "$3" "$4"; }
pods="$(pod low $a 9 10)$(pod high $b 9 1000)$(pod shared u-3 8 2000)"
socket=$dir/pods.sock
if serve_pods "$socket" "$pods" "$pods"; then
	fit "without the pods API the shared pool is unknown" 0 "fits: 6 CPUs" --cpus 6
	fit "pods of the shared pool count" 3 "6 wanted, the node has at most 5 left (OutOfcpu)" --cpus 6 --pods-api "$socket"
	fit "what they leave" 0 "fits: 5 CPUs" --cpus 5 --pods-api "unix://$socket"
	fit "one of them is excluded" 0 "fits: 6 CPUs" --cpus 6 --pods-api "$socket" --without-pod team/shared
	fit "a pod that only requests" 3 "    team/shared" --cpus 6 --pods-api "$socket" --what-frees
	fit "names from the pods API" 3 "team/low" --cpus 6 --pods-api "$socket" --what-frees --below-priority 100
	fit "priorities from the pods API" 3 "no set of pods" --cpus 6 --pods-api "$socket" --what-frees --below-priority 5
	fit "Nodes and Pods replace the pods API" 0 "fits: 6 CPUs" --cpus 6 --pods-api "$socket" --assume-empty
	end_pods
fi
fit "no such socket" 0 "the requests of pods in the shared pool are unknown" --cpus 6 --pods-api "$dir/none.sock"
fit "not a socket" 2 "neither a path nor auto or none" --cpus 6 --pods-api here
fit "nobody has to go" 0 "fits: 7 CPUs" --cpus 7 --what-frees
fit "without one pod" 0 "request    1 preferred         16-26" --cpus 11 --without-pod $a
fit "without the other" 0 "request    0 preferred         1-11" --cpus 11 --without-pod $b
fit "without both" 0 "request    0-1 preferred       " --cpus 20 --without-pod $a --without-pod $b
fit "without somebody else" 1 "--without-pod: no pod 'default/web' holds anything exclusively" --cpus 11 \
	--without-pod default/web
fit "as YAML" 3 "  - {namespace: \"\", name: \"\", uid: $a, cpus: 9}" --cpus 11 --what-frees -o yaml
fit "as JSON" 3 '"smallest": true' --cpus 11 --what-frees -o json

# --- who may go: by the priorities of the Pods, here of a node that says who is who by itself
cat >"$dir/held.yaml" <<EOF
apiVersion: v1
kind: List
items: [
  {apiVersion: v1, kind: Node, metadata: {name: w10}, status: {allocatable: {cpu: "31", memory: 60Gi, pods: "110"}}},
  {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, uid: $a}, spec: {nodeName: w10, priority: 100, containers: [
    {name: c, resources: {limits: {cpu: 9, memory: 1Gi}}}, {name: d, resources: {limits: {cpu: 500m, memory: 1Gi}}}]}},
  {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default, uid: $b}, spec: {nodeName: w10, containers: [
    {name: c, resources: {limits: {cpu: 9, memory: 1Gi}}}]}},
  {apiVersion: v1, kind: Pod, metadata: {name: shared, namespace: default, uid: x}, spec: {nodeName: w10, containers: [
    {name: c, resources: {limits: {cpu: 3, memory: 1Gi}, requests: {cpu: 3, memory: 1Mi}}}]}}]
EOF
sed -e '/kind: Node/d' -e 's/name: b, namespace: default, uid: [^}]*}, spec: {/&priorityClassName: low, /' "$dir/held.yaml" >"$dir/class.yaml"
sed '/kind: Node/d' "$dir/held.yaml" >"$dir/pods-only.yaml"
fit "the pod by its name" 3 "    default/a, 9 CPUs" --cpus 11 --what-frees --pods "$dir/held.yaml" --node-name w10
fit "only a pod below a priority" 3 "    default/b, 9 CPUs" --cpus 11 --what-frees --pods "$dir/held.yaml" \
	--node-name w10 --below-priority 100
sed "s,uid: $a},uid: m\, annotations: {kubernetes.io/config.mirror: $a}}," "$dir/held.yaml" >"$dir/static.yaml"
fit "no static pod" 3 "    default/b, 9 CPUs" --cpus 11 --what-frees --pods "$dir/static.yaml" --node-name w10
fit "and who stays" 3 "  1 pod is kept: priority 100 or more" --cpus 11 --what-frees --pods "$dir/held.yaml" \
	--node-name w10 --below-priority 100
fit "nobody is below" 3 "  no set of pods: no pod that may be evicted is known to hold requested resources" --cpus 11 --what-frees \
	--pods "$dir/held.yaml" --node-name w10 --below-priority 0
fit "too few are below" 3 "  no set of pods: even without the 2 pods that hold requested resources and may be evicted, the pod does not fit" \
	--cpus 25 --what-frees --pods "$dir/held.yaml" --node-name w10 --below-priority 100
fit "everybody is below" 3 "would fit without 2 pods:" --cpus 25 --what-frees --pods "$dir/held.yaml" \
	--node-name w10 --below-priority 101
fit "a class without a number" 3 "  1 pod is kept: priority unknown" --cpus 11 --what-frees --pods "$dir/class.yaml" \
	--node-name w10 --below-priority 101
fit "no Pods, no priorities" 3 "  2 pods are kept: priority unknown" --cpus 11 --what-frees --below-priority 100
fit "priorities as JSON" 3 '"notBelow": 1,' --cpus 11 --what-frees --pods "$dir/held.yaml" --node-name w10 \
	--below-priority 100 -o json
fit "not asked for" 3 'notBelow: null' --cpus 11 --what-frees -o yaml
fit "what the node's other pods ask for" 3 "cpu: 10 wanted, the node has at most 9500m left (OutOfcpu)" --cpus 10 --policy none \
	--nodes "$dir/held.yaml" --node-name w10
fit "and without one of them" 0 "fits: 10 CPUs" --cpus 10 --policy none --nodes "$dir/held.yaml" --node-name w10 \
	--without-pod default/shared

# --- what is left out of the zones is still the machine's
"$nrtd" dump --sysroot "$node" --node-name w11 --exclude-resources 'hugepages-*' --exclude-resources memory >"$dir/w11.yaml" 2>/dev/null
if grep -q 'name: \(hugepages\|memory$\)' "$dir/w11.yaml"; then not_ok "they are left out" "$dir/w11.yaml"; else ok "they are left out"; fi
for pages in 4 9; do
	[ $pages -eq 4 ] && status=0 || status=3
	fit "hugepages that the zones leave out, $pages" "$status" "${pages}Gi hugepages-1Gi" --hugepages-1Gi $pages --exclude-resources 'hugepages-*'
	"$numa" fit w11 --from "$dir/w11.yaml" --hugepages-1Gi $pages >"$dir/out" 2>"$dir/err"
	if [ $? -eq "$status" ]; then ok "the same of the object"; else not_ok "the same of the object" "$dir/out"; fi
done
fit "memory that the zones leave out" 3 "memory: 1Ti wanted, the node has" --cpus 2 --memory 1Ti --policy none --exclude-resources memory

# --- devices, and what is not evaluated
fit "a device of which nobody tells" 1 "the free devices are unknown" --cpus 2 --device foo/bar=1
mkdir "$node/var/lib/kubelet/device-plugins"
cp tests/fixtures/states/device_v2.json "$node/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
fit "a device that is not there" 3 "this node has no foo/bar" --cpus 2 --device foo/bar=1
rm -r "$node/var/lib/kubelet/device-plugins"
cat >"$dir/claims.yaml" <<'EOF'
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: gpu, resourceClaimName: g}], containers: [
  {name: a, resources: {limits: {cpu: 2, memory: 1Gi}, claims: [{name: gpu}]}},
  {name: b, resources: {limits: {cpu: 1}}}]}}
EOF
fit "claims" 0 "not evaluated: the pod's resourceClaims; the verdict ignores what the claims request" -f "$dir/claims.yaml"
"$numa" fit --from "$dir/w11.yaml" -f "$dir/claims.yaml" >"$dir/out" 2>"$dir/err"
check "claims, of a cluster" grep -q "^not evaluated: the pod's resourceClaims" "$dir/out"
"$numa" fit --from "$dir/w11.yaml" -f "$dir/claims.yaml" -o json >"$dir/out" 2>"$dir/err"
check "and in the document" grep -q '"unchecked": \["resourceClaims"\]' "$dir/out"
fit "which container is not Guaranteed" 0 "not Guaranteed, because container 'b' has no equal request and limit of memory" \
	-f "$dir/claims.yaml"
sed -i 's/resourceClaims: .*}\], containers/resourceClaims: [], containers/' "$dir/claims.yaml"
fit "no claims" 0 "(Burstable)" -f "$dir/claims.yaml"
if grep -q resourceClaims "$dir/out"; then not_ok "and none is spoken of" "$dir/out"; else ok "and none is spoken of"; fi
fit "hugepages by pages" 0 "4Gi hugepages-1Gi" --hugepages-1Gi 4
fit "nobody aligns them" 0 "  hugepages may be on any NUMA node: memoryManagerPolicy is None" --hugepages-1Gi 4
fit "as the memory manager would" 0 "memory on " --hugepages-1Gi 4 --memory-manager-policy Static --assume-empty
if grep -q "may be on any" "$dir/all"; then not_ok "which needs no caution" "$dir/all"; else ok "which needs no caution"; fi
"$numa" fit --from "$dir/w11.yaml" --hugepages-1Gi 1 -o json >"$dir/out" 2>"$dir/err"
check "a row has the caution" has '.items[0].caution == "hugepages may be on any NUMA node: memoryManagerPolicy is None"'
fit "hugepages that are not there" 3 "would fit with 8Gi hugepages-1Gi instead of 9Gi" --hugepages-1Gi 9
fit "devices" 1 "the free devices are unknown" --cpus 2 --device vendor.com/nic=2
fit "unknown policy" 1 "no verdict: the CPU manager's policy is not known" --cpus 2 --sysroot "$machines/ccx"

# --- JSON
"$nrtd" fit --sysroot "$node" --cpus 8 -o json >"$dir/out" 2>/dev/null
if [ $? -eq 3 ] && grep -q '"admitted": false' "$dir/out" && grep -q '"fits": "7"' "$dir/out"; then
	ok "fit: JSON of a pod that does not fit"
else
	not_ok "fit: JSON of a pod that does not fit" "$dir/out"
fi

# --- pods from files
cat >"$dir/pods.yaml" <<'EOF'
apiVersion: v1
kind: Service
metadata: {name: front}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: a, resources: {limits: {cpu: 2, memory: 1Gi}}}
      - {name: b, resources: {limits: {cpu: 6, memory: 1Gi}}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  tasks:
  - {name: worker, replicas: 4, template: {spec: {containers: [{name: w, resources: {limits: {cpu: 9, memory: 1Gi}}}]}}}
EOF
fit "a deployment's containers" 0 "b          1 preferred         26-31" -f "$dir/pods.yaml" --pod web
fit "a Volcano task" 3 "would fit with 7 CPUs instead of 9" -f "$dir/pods.yaml" --pod worker
"$nrtd" fit --sysroot "$node" -f - --pod worker <"$dir/pods.yaml" >"$dir/out" 2>&1
if [ $? -eq 3 ]; then ok "fit: standard input"; else not_ok "fit: standard input" "$dir/out"; fi

# bad NAME LINE FLAG...: exit status 2, nothing on standard output, exactly this one line on standard error
bad() {
	name=$1
	printf 'nrtd: %s\n' "$2" >"$dir/want"
	shift 2
	"$nrtd" fit --sysroot "$node" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ $got -eq 2 ] && [ ! -s "$dir/out" ] && diff -u "$dir/want" "$dir/err" >"$dir/diff"; then
		ok "bad input: $name"
	else
		echo "status $got" >>"$dir/diff"
		not_ok "bad input: $name" "$dir/diff"
	fi
}
printf 'a: [' >"$dir/broken.yaml"
printf '{kind: Pod, spec: {containers: []}}' >"$dir/empty.yaml"
printf '{kind: Pod, spec: {containers: [{resources: {requests: {cpu: -2}}}]}}' >"$dir/negative.yaml"
printf '{kind: Pod, spec: {containers: [{resources: {requests: {gpu: 2}}}]}}' >"$dir/unknown.yaml"
seq -f 'line %.0f of something else' 10000 >"$dir/long.yaml"
seq -f '# %.0f' 200000 >"$dir/large.yaml"
head -c 100000 /dev/urandom >"$dir/noise.yaml"
bad "no request" "no pod: give a file with -f, or a request with flags such as --cpus and --memory"
bad "nothing requested" "the pod requests nothing: every amount is 0" --cpus 0 --memory 0
bad "a URL" "'https://example.com/pod.yaml': URLs are not read: download the file" -f https://example.com/pod.yaml
bad "no file" "cannot open '$dir/absent.yaml': No such file or directory" -f "$dir/absent.yaml"
mkdir "$dir/empty"
bad "a directory without files" "'$dir/empty' contains no .yaml, .yml or .json file" -f "$dir/empty"
bad "not YAML" "'$dir/broken.yaml': not valid YAML at line 2, column 1: did not find expected node content" \
	-f "$dir/broken.yaml"
bad "no containers" "'$dir/empty.yaml': spec: no containers in it" -f "$dir/empty.yaml"
bad "a negative amount" "'$dir/negative.yaml': spec: containers[0]: resources.requests: cpu: '-2' is negative" \
	-f "$dir/negative.yaml"
bad "an unknown resource" "'$dir/unknown.yaml': spec: containers[0]: resources.requests: gpu: unknown resource 'gpu'" \
	-f "$dir/unknown.yaml"
bad "10000 lines of something else" "'$dir/long.yaml': not a Kubernetes object: it has no kind" -f "$dir/long.yaml"
bad "a large file" "'$dir/large.yaml': larger than 1048576 bytes" -f "$dir/large.yaml"
bad "no such pod" "--pod: no pod template is named 'x'; the file has 'web', 'worker'" -f "$dir/pods.yaml" --pod x
bad "which of several" "--filename: 2 pod templates, choose one with --pod: 'web', 'worker'" -f "$dir/pods.yaml"
bad "empty, and pods" "--assume-empty and --pods exclude each other" --cpus 2 --assume-empty --pods "$dir/class.yaml"
bad "two sources" "--filename and --cpus exclude each other" -f "$dir/pods.yaml" --cpus 2
bad "a negative flag" "--cpus: '-1' is negative" --cpus -1
bad "half a page" "--hugepages-1Gi: '512Mi' is not a whole number of pages" --hugepages-1Gi 512Mi
bad "an unknown option" "--option: unknown policy option 'fast'" --cpus 2 --option fast=true
bad "an option without value" "--option: 'full-pcpus-only' is not K=V" --cpus 2 --option full-pcpus-only
bad "an option that is neither" "--option: full-pcpus-only: 'maybe' is not a boolean" --cpus 2 --option full-pcpus-only=maybe
bad "no policy" "--policy: 'strict' is not one of none|best-effort|restricted|single-numa-node" --cpus 2 --policy strict
"$nrtd" fit --sysroot "$node" -f "$dir/noise.yaml" >"$dir/out" 2>"$dir/err"
if [ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ]; then ok "bad input: noise"; else not_ok "bad input: noise" "$dir/err"; fi
# --- a cluster of one: this node's object
"$nrtd" dump --sysroot "$node" --node-name w10 2>/dev/null >"$dir/w10.yaml"
cluster() { # NAME STATUS WANT FLAG...
	name=$1
	status=$2
	want=$3
	shift 3
	"$numa" fit "$@" >"$dir/out" 2>"$dir/err" <"$dir/w10.yaml"
	got=$?
	cat "$dir/out" "$dir/err" >"$dir/all"
	if [ "$got" -eq "$status" ] && grep -qF -- "$want" "$dir/all"; then
		ok "cluster: $name"
	else
		echo "status $got, want $status and '$want'" >>"$dir/all"
		not_ok "cluster: $name" "$dir/all"
	fi
}
# holds NAME FILTER FLAG...: the filter is true of what -o json prints
holds() {
	name=$1 filter=$2
	shift 2
	"$numa" fit "$@" -o json >"$dir/out" 2>"$dir/err"
	if has "$filter"; then ok "cluster: $name"; else not_ok "cluster: $name" "$dir/out"; fi
}
cluster "it fits" 0 "fits 1 of 1 node, 2 copies" --from "$dir/w10.yaml" --cpus 6
cp "$dir/w10.yaml" "$dir/w10-later.yaml"
cluster "two objects of a node count once" 0 "fits 1 of 1 node, 2 copies" --from "$dir/w10.yaml" --from "$dir/w10-later.yaml" --cpus 6
cluster "nothing is known of copies" 1 "no verdict: whether a node admits 2 copies is not known" --from tests/fixtures/machines/ccx.nrt.yaml --cpus 2 --min-copies 2
cluster "nothing is known" 1 "no verdict: whether the pod fits a node is not known" --from tests/fixtures/machines/ccx.nrt.yaml --cpus 2
cluster "standard input" 0 "fits 1 of 1 node, 2 copies" --from - --cpus 6
holds "it does not" '.items[0] | .rejection == "TopologyAffinityError" and .copies == 0' --from "$dir/w10.yaml" --cpus 8
cluster "who would have to go" 3 "    UID #" w10 --from "$dir/w10.yaml" --cpus 11 --what-frees
cluster "by name" 3 "    default/a, 9 CPUs" w10 --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 11 --what-frees
# 31 CPUs less 9.5, 9 and 3 are 9.5: with a 19, with b 18.5
cluster "what a pod asks of the shared pool comes free with it" 3 "    default/a, 9 CPUs" w10 --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 19 --policy none --what-frees
cluster "pods of the shared pool may have to go" 3 "    default/shared" w10 --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 29 --policy none --what-frees
# On a terminal, more than 20 nodes that reject the pod for the same reason are one row.
for i in $(seq 22); do
	sed "s/^  name: w10/  name: n$i/" "$dir/w10.yaml"
	echo ---
done >"$dir/many.yaml"
if command -v script >/dev/null; then
	terminal() { script -qec "stty cols 120; TERM=dumb $numa fit --cpus 40 --from $dir/many.yaml $*" /dev/null </dev/null 2>&1 | tr -d '\r' >"$dir/out"; }
	terminal
	check "a terminal: equal rows are one" grep -q '^n1 +21  *TopologyAffinityError ' "$dir/out"
	terminal -o wide
	check "a terminal: each row with -o wide" test "$(grep -c '^n[0-9]*  *TopologyAffinityError ' "$dir/out")" -eq 22
	terminal --no-headers
	check "a terminal: each row without headings" test "$(grep -c '^n[0-9]*  *TopologyAffinityError ' "$dir/out")" -eq 22
fi
"$numa" fit --cpus 40 --from "$dir/many.yaml" >"$dir/out" 2>&1
check "a pipe: each row" test "$(grep -c '^n[0-9]*  *TopologyAffinityError ' "$dir/out")" -eq 22
sed 's/name: shared, namespace: default,/& ownerReferences: [{kind: DaemonSet, name: d, controller: true}],/' "$dir/held.yaml" >"$dir/daemon.yaml"
cluster "a pod of a DaemonSet would come back" 3 "no set of pods: even without the 2 pods that hold requested resources, the pod does not fit" \
	w10 --from "$dir/w10.yaml" --from "$dir/daemon.yaml" --cpus 29 --policy none --what-frees
cluster "only a pod below a priority" 3 "    default/b, 9 CPUs" w10 --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 11 --what-frees --below-priority 100
cluster "priorities need no Nodes" 3 "    default/b, 9 CPUs" w10 --from "$dir/w10.yaml" --from "$dir/pods-only.yaml" --cpus 11 --what-frees --below-priority 100
cluster "an object has no priorities" 3 "  2 pods are kept: priority unknown" w10 --from "$dir/w10.yaml" --cpus 11 --what-frees --below-priority 100
# as if somebody were gone
first_cpus='.containers[0] | .numaNodes == [0] and .preferred and .cpus == "1-11"'
cluster "without one pod" 0 "fits 1 of 1 node, 1 copy" --from "$dir/w10.yaml" --cpus 11 --without-pod $a
holds "by the hash that it is listed by" "$first_cpus" w10 --from "$dir/w10.yaml" --cpus 11 --without-pod "$("$numa" fit w10 --from "$dir/w10.yaml" --cpus 25 --without-pod $a --what-frees | sed -n 's/^ *UID \(#[^,]*\),.*/\1/p')"
holds "by a name that the Pods know" "$first_cpus" w10 --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 11 --without-pod default/b
cluster "and what it asks of the shared pool" 0 "fits 1 of 1 node" --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 19 --policy none --without-pod default/a
cluster "a pod of the shared pool" 0 "fits 1 of 1 node" --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 10 --policy none --without-pod default/shared
cluster "without somebody else" 2 "--without-pod: no pod 'default/web' holds anything exclusively" --from "$dir/w10.yaml" --cpus 11 --without-pod default/web
cluster "a name without its namespace" 2 "--without-pod: no pod 'a' holds anything exclusively; a name has the form NAMESPACE/NAME" --from "$dir/w10.yaml" --from "$dir/held.yaml" --cpus 11 --without-pod a
cluster "what would" 3 "7 CPUs instead of 8" --from "$dir/w10.yaml" --cpus 8
cluster "what if" 0 "admit" --from "$dir/w10.yaml" --cpus 8 --policy best-effort
cluster "enough" 0 "2 replicas: all fit" --from "$dir/w10.yaml" --cpus 6 --replicas 2
cluster "not enough" 3 "3 replicas: only 2 fit" --from "$dir/w10.yaml" --cpus 6 --replicas 3
cluster "nodes with several places" 0 "1 node with 2 copies or more" --from "$dir/w10.yaml" --cpus 6 --min-copies 2
cluster "no node with so many" 3 "0 nodes with 3 copies or more" --from "$dir/w10.yaml" --cpus 6 --min-copies 3
cluster "places and replicas" 2 "--replicas and --min-copies exclude each other" --from "$dir/w10.yaml" --cpus 6 --min-copies 3 --replicas 3
cluster "what frees is of one node" 2 "--what-frees requires exactly one NODE" --from "$dir/w10.yaml" --cpus 11 --what-frees
cluster "a priority for nothing" 2 "--below-priority requires --what-frees" w10 --from "$dir/w10.yaml" --cpus 6 --below-priority 5
cluster "a file as a node" 2 "no pod: '$dir/w10.yaml' is a file: did you mean -f $dir/w10.yaml?" "$dir/w10.yaml" --from "$dir/w10.yaml"
cluster "names" 0 "node/w10" --from "$dir/w10.yaml" --cpus 6 -o name
cluster "wide" 0 "restricted  container" --from "$dir/w10.yaml" --cpus 6 -o wide
"$nrtd" dump --sysroot "$bare" --node-name bare 2>/dev/null >"$dir/bare.yaml"
holds "an answer that is not known rests on nothing" '.items[0] | .basis == "unknown" and .admitted == null' --from "$dir/bare.yaml" --cpus 6
cluster "of one node too" 1 "basis        unknown" bare --from "$dir/bare.yaml" --cpus 6
holds "JSON" '.copies == 2' --from "$dir/w10.yaml" --cpus 6
cluster "YAML" 0 'fits: 1' --from "$dir/w10.yaml" --cpus 6 -o yaml
cluster "no headings" 0 w10 --from "$dir/w10.yaml" --cpus 6 --no-headers
[ "$(wc -l <"$dir/out")" -eq 1 ] || not_ok "and no totals" "$dir/out"
cluster "another node" 2 "w10.yaml: no object of node 'w1'" w1 --from "$dir/w10.yaml" --cpus 6
cluster "Pods without Nodes: what they request is not counted" 0 "fits 1 of 1 node, 2 copies" --from "$dir/w10.yaml" --from "$dir/pods-only.yaml" --cpus 6
cluster "a machine" 2 "unknown flag '--sysroot'" --from "$dir/w10.yaml" --sysroot / --cpus 6
cluster "an empty machine" 2 "unknown flag '--assume-empty'" --from "$dir/w10.yaml" --assume-empty --cpus 6
cluster "one standard input" 2 "cannot both be standard input" --from - --from - --cpus 6
cluster "one standard input for the pod too" 2 "cannot both be standard input" --from - -f -
bad "a priority for nothing" "--below-priority requires --what-frees" --cpus 6 --below-priority 5
bad "no priority" "--below-priority: 'high' is not a whole number from -2147483648 to 2147483647" --cpus 6 --below-priority high
bad "another node's Node" "--nodes: no Node 'w11', which is this machine's name (--node-name)" --cpus 6 --node-name w11 \
	--nodes "$dir/held.yaml"
bad "Pods for nothing" "--pods: requires --nodes, for the nodes' allocatable amounts" --cpus 6 --node-name w10 --pods "$dir/class.yaml"
bad "a cluster's table" "--output: 'wide' is not one of text|json|yaml" --cpus 6 -o wide
for flag in --replicas --nrt; do bad "a cluster's $flag" "unknown flag '$flag'" --cpus 6 $flag 2; done
cat >"$dir/pods.json" <<'EOF'
{"kind":"List","items":[{"kind":"Node","metadata":{"name":"w10"},"status":{"allocatable":{"cpu":"31","memory":"60Gi","pods":"110"}}},
{"kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"w10","containers":[{"name":"c","resources":{"requests":{"cpu":"26"}}}]}}]}
EOF
cluster "what other pods ask for" 3 "OutOfcpu" --from "$dir/w10.yaml" --from "$dir/pods.json" --cpus 6
# --- what schedulers look at, and what the object in the file asks for
"$nrtd" dump --sysroot "$node" --node-name w11 2>/dev/null >"$dir/w11.yaml"
"$nrtd" dump --sysroot "$node" --node-name w12 2>/dev/null >"$dir/w12.yaml"
{ cat "$dir/w10.yaml"; echo ---; cat "$dir/w11.yaml"; echo ---; cat "$dir/w12.yaml"; } >"$dir/three.yaml"
deployment() { # REPLICAS SPEC
	printf '{kind: Deployment, metadata: {name: web}, spec: {replicas: %s, template: {metadata: {labels: {app: web}}, spec: {%s containers: [{name: c, resources: {limits: {cpu: 6, memory: 1Gi}}}]}}}}' \
		"$1" "$2" >"$dir/deployment.yaml"
}
have='status: {allocatable: {cpu: "31", memory: 60Gi, pods: "110"}}'
node_object() { # NAME LABELS SPEC
	printf -- '---\n{kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s, %s}}, spec: {%s}, %s}\n' "$1" "$1" "$2" "$3" "$have"
}
{ node_object w10 'zone: a, disk: ssd' ''; node_object w11 'zone: a, disk: ssd' ''; node_object w12 'zone: b, disk: hdd' ''; } >"$dir/nodes.yaml"
printf -- '---\n{kind: Pod, metadata: {name: other}, spec: {nodeName: w12, containers: [{name: c}]}}' >"$dir/other.yaml"
sed 's/name: other}/name: web, labels: {app: web}}/' "$dir/other.yaml" >"$dir/web.yaml"
pods=$dir/other.yaml nodes=$dir/nodes.yaml
many() { # NAME STATUS WANT REPLICAS SPEC FLAG...
	name=$1 status=$2 want=$3
	deployment "$4" "$5"
	shift 5
	cluster "$name" "$status" "$want" --from "$dir/three.yaml" -f "$dir/deployment.yaml" --from "$pods" --from "$nodes" "$@"
}
many "the file's replicas" 0 "6 replicas: all fit" 6 ""
many "are too many" 3 "7 replicas: only 6 fit" 7 ""
many "a flag beats the file" 0 "2 replicas: all fit" 7 "" --replicas 2
many "a node selector" 3 "3 replicas: only 2 fit" 3 "nodeSelector: {disk: hdd},"
holds "of which node" '[.items[] | select(.replicas == 0 and .rejection == "Unschedulable") | .reason] == ["nodeSelector disk=hdd does not match", "nodeSelector disk=hdd does not match"]' \
	--from "$dir/three.yaml" -f "$dir/deployment.yaml" --from "$pods" --from "$nodes"
many "only nodes with copies, whatever the file's replicas" 0 "1 node with 2 copies or more" 7 "nodeSelector: {disk: hdd}," --min-copies 2
if grep -qE '^w1[01] ' "$dir/out"; then not_ok "no other node is listed" "$dir/out"; else ok "no other node is listed"; fi
many "nor named" 0 "node/w12" 7 "nodeSelector: {disk: hdd}," --min-copies 2 -o name
check "one name" test "$(wc -l <"$dir/out")" -eq 1
holds "nor in a document" '[.items[].name] == ["w12"] and .nodes == 3' \
	--from "$dir/three.yaml" -f "$dir/deployment.yaml" --from "$pods" --from "$nodes" --min-copies 2
many "node affinity" 3 "only 4 fit" 5 "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}},"
apart='{labelSelector: {matchLabels: {app: web}}, topologyKey:'
many "one a node" 3 "4 replicas: only 3 fit" 4 "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [$apart kubernetes.io/hostname}]}},"
many "one a zone" 3 "3 replicas: only 2 fit" 3 "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [$apart zone}]}},"
many "all in one zone" 3 "5 replicas: only 4 fit" 5 "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [$apart zone}]}},"
many "spread" 3 "6 replicas: only 5 fit" 6 "topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, topologyKey: zone}],"
pods=$dir/web.yaml
many "where a spread copy goes" 0 "node/w12" 4 "topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, topologyKey: zone}]," -o name
many "one a node, beside a pod of its namespace" 3 "only 2 fit" 3 "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [$apart kubernetes.io/hostname}]}},"
many "the pod's namespace is -n" 0 "3 replicas: all fit" 3 "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [$apart kubernetes.io/hostname}]}}," -n team
pods=$dir/other.yaml
many "host ports" 3 "only 3 fit" 4 "hostNetwork: true, initContainers: [{name: i, restartPolicy: Always, ports: [{containerPort: 80}]}],"
many "what is not evaluated" 0 "not evaluated (schedulers do): volumes" 6 "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}],"
many "the user's node" 3 "only 2 fit" 3 "nodeName: w11,"
many "nothing is left out" 0 "fits 3 of 3 nodes, 6 copies" 6 ""
if grep -q "not evaluated" "$dir/out"; then not_ok "everything was evaluated" "$dir/out"; else ok "everything was evaluated"; fi
deployment 6 ""
sed 's/kind: Deployment/kind: StatefulSet/; s/spec: {replicas/spec: {volumeClaimTemplates: [{metadata: {name: data}}], replicas/' "$dir/deployment.yaml" >"$dir/stateful.yaml"
cluster "volumes of a StatefulSet" 0 "not evaluated (schedulers do): volumes" --from "$dir/three.yaml" -f "$dir/stateful.yaml" --from "$pods" --from "$nodes"
sed 's/status: {/&conditions: [{type: Ready, status: "False"}], /' "$dir/nodes.yaml" >"$dir/not-ready.yaml"
{ node_object w10 'zone: a' 'taints: [{key: gpu, effect: NoSchedule}]'; node_object w11 'zone: a' 'unschedulable: true'; } >"$dir/nodes.yaml"
many "taints, cordons, and no Node" 3 "fits 0 of 3 nodes, 0 copies" 1 ""
for reason in "taint gpu:NoSchedule is not tolerated" "cordoned" "there is no such Node"; do
	if grep -qF "$reason" "$dir/out"; then ok "it says $reason"; else not_ok "it says $reason" "$dir/out"; fi
done
many "one node, with its Node" 3 "  taint gpu:NoSchedule is not tolerated (Unschedulable)" 1 "" w10
many "one node, as JSON" 3 '"rejection": "Unschedulable"' 1 "" w10 -o json
many "two nodes by name" 3 "fits 0 of 2 nodes" 1 "" w10 node/w12
many "copies are of many" 2 "--min-copies is not possible with exactly one NODE" 1 "" w10 --min-copies 2
many "replicas are of many" 2 "--replicas is not possible with exactly one NODE" 1 "" w10 --replicas 2
many "a taint that is tolerated" 0 "fits 1 of 3 nodes, 2 copies" 2 "tolerations: [{key: gpu, operator: Exists}],"
nodes=$dir/not-ready.yaml
many "a node that is not ready" 3 "not ready" 1 "tolerations: [{key: gpu, operator: Exists}],"
sed -e 's/nrtd.dev\/node-state/example.com\/other/' -e 's/^attributes:/&\n- {name: nrtd.dev\/node-state, value: "1 nonsense"}/' \
	"$dir/w10.yaml" >"$dir/damaged.yaml"
cluster "a damaged node state" 0 "node 'w10': damaged node state" --from "$dir/damaged.yaml" --cpus 6
cluster "is an estimate" 0 "~admit" --from "$dir/damaged.yaml" --cpus 6
cluster "and does not say who is who" 2 "--without-pod: the object of node 'w10' does not list pods" w10 --from "$dir/damaged.yaml" --cpus 6 --without-pod $a
cluster "what it holds is held" 0 "node 'w10': the object does not list pods, so the resources of excluded pods count as held" --from "$dir/damaged.yaml" --from "$dir/held.yaml" --cpus 6 --without-pod $a
# --- what an admission does not guarantee, and what the pod does not ask for
fit "a pod that best-effort splits" 0 "not aligned: NUMA nodes 0-1 are not preferred" --topology-manager-policy best-effort --cpus 10
fit "a CPU manager without exclusive CPUs" 0 "no exclusive CPUs: cpuManagerPolicy is none" --cpu-manager-policy none --cpus 4
fit "a kubelet that is too old" 0 "kubelet 1.29 is older than 1.30, and may decide differently" --kubelet-version 1.29 --cpus 4
for name in split whole; do
	policy=restricted cpus=1
	[ $name = whole ] || policy=best-effort
	"$nrtd" dump --sysroot "$node" --node-name $name --topology-manager-policy $policy 2>/dev/null
	echo ---
done >"$dir/split.yaml"
cluster "a table says so too" 0 "not aligned: NUMA nodes 0-1 are not preferred" --from "$dir/split.yaml" --cpus 10
cluster "as JSON" 0 '"preferred": false' --from "$dir/split.yaml" --cpus 10 -o json
cluster "nodes that align the pod are first" 0 "whole" --from "$dir/split.yaml" --cpus 6 --no-headers -o name
manifest() { # manifest NAME STATUS WANT MEMBERS CONTAINER: fit of a Deployment with these members, and this of its container
	printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {%s template: {spec: {containers: [{name: app, %s}]}}}\n' "$4" "$5" >"$dir/manifest.yaml"
	cluster "$1" "$2" "$3" --from "$dir/split.yaml" -f "$dir/manifest.yaml"
}
aligned='resources: {limits: {cpu: 4, memory: 1Gi}}'
manifest "a pod without exclusive CPUs" 0 "the Topology Manager aligns nothing and does not reject the pod" "" 'resources: {requests: {cpu: 4}}'
manifest "and why" 0 "not Guaranteed, because container 'app' has no equal request and limit of cpu and memory" "" 'resources: {requests: {cpu: 4}}'
manifest "replicas that are no number" 2 "replicas: 'five' is not a whole number of 0 or more" "replicas: five," "$aligned"
manifest "fewer replicas than none" 2 "replicas: '-1' is not a whole number of 0 or more" "replicas: -1," "$aligned"
manifest "an unknown field" 0 "ignored the unknown field spec.replica; did you mean replicas?" "replica: 3," "$aligned"
manifest "an unknown field of a container" 0 "ignored the unknown field spec.containers[0].limits; did you mean resources.limits?" "" 'limits: {cpu: 4}'
manifest "an unknown kind of resources" 0 "ignored the unknown field spec.containers[0].resources.limit; did you mean limits?" "" 'resources: {limit: {cpu: 4}}'
manifest "a page size that is none" 2 "limits.hugepages-1GiB: '1GiB' is not a page size" "" 'resources: {limits: {cpu: 1, hugepages-1GiB: 2Gi}}'
manifest "two containers of one name" 2 "spec: two containers are named 'app'" "" 'image: x}, {name: app'
manifest "a restart policy that is none" 2 "restartPolicy: 'always' is not Always, OnFailure or Never" "" 'restartPolicy: always'
printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 2}\n' >"$dir/manifest.yaml"
cluster "a Deployment without a template" 2 "Deployment 'd': no spec.template in it" --from "$dir/split.yaml" -f "$dir/manifest.yaml"
printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {resources: {limits: {cpu: 2}}, containers: [{name: a, resources: {limits: {cpu: 4}}}]}\n' >"$dir/manifest.yaml"
cluster "a pod that is smaller than its container" 2 "spec.resources.limits.cpu is less than the containers request together" --from "$dir/split.yaml" -f "$dir/manifest.yaml"
cluster "one node by its name" 0 "node/whole" whole --from "$dir/split.yaml" --cpus 2 -o name
# --- a resource that somebody has added to the Node's status: the kubelet checks the amount and assigns nothing
printf '{"kind":"Node","metadata":{"name":"whole"},"status":{"allocatable":{"cpu":"31","memory":"200Gi","pods":"110","foo.com/bar":"2"},"conditions":[{"type":"Ready","status":"True"}]}}' >"$dir/status.json"
cp -r "$node" "$dir/plugged" && mkdir -p "$dir/plugged/var/lib/kubelet/device-plugins"
echo '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"v.com/nic":["a"]}},"Checksum":0}' >"$dir/plugged/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
"$nrtd" dump --sysroot "$dir/plugged" --node-name whole >"$dir/whole.yaml" 2>/dev/null
for n in 2 3; do
	printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, foo.com/bar: %s}}}]}\n' $n >"$dir/manifest.yaml"
	case $n in 2) want="fits 1 of 1 node, 1 copy" status=0 plan="1 of 1 pod placed" ;; *) want="foo.com/bar: 3 wanted, the node has at most 2 left" status=3 plan="0 of 1 pod placed" ;; esac
	cluster "a resource of the status alone, $n" $status "$want" --from "$dir/whole.yaml" --from "$dir/status.json" -f "$dir/manifest.yaml"
	"$numa" plan --from "$dir/whole.yaml" --from "$dir/status.json" -f "$dir/manifest.yaml" >"$dir/out" 2>&1
	if grep -q "$plan" "$dir/out"; then ok "plan agrees, $n"; else not_ok "plan agrees, $n" "$dir/out"; fi
done

# The node itself, and its object.
if grep -q nrtd.dev/node-state "$dir/w10.yaml"; then
	for cpus in 1 6 7 8 13 500; do
		"$nrtd" fit --sysroot "$node" --cpus $cpus >"$dir/want" 2>/dev/null
		"$numa" fit w10 --from "$dir/w10.yaml" --cpus $cpus 2>/dev/null | grep -v -e '^basis  ' -e '^not evaluated (schedulers' >"$dir/out"
		if diff "$dir/want" "$dir/out" >"$dir/diff"; then ok "cluster: $cpus CPUs as on the node"; else not_ok "cluster: $cpus CPUs as on the node" "$dir/diff"; fi
		"$nrtd" fit --sysroot "$node" --cpus $cpus --without-pod $b >"$dir/want" 2>/dev/null
		"$numa" fit w10 --from "$dir/w10.yaml" --cpus $cpus --without-pod $b 2>/dev/null | grep -v -e '^basis  ' -e '^not evaluated (schedulers' >"$dir/out"
		if diff "$dir/want" "$dir/out" >"$dir/diff"; then ok "cluster: without a pod too"; else not_ok "cluster: without a pod, $cpus CPUs" "$dir/diff"; fi
	done
fi
exit $failed
