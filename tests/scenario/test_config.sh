#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa config` and `diff`: the kubelets' settings of a pool, and two nodes. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
need_jq
export LC_ALL=C
unset COLUMNS KUBECONFIG

# a, c and d are alike; b has another policy, option and reserved CPUs; e another machine.
example_node "$dir/a"
example_node "$dir/b"
example_node "$dir/e"
rm -r "$dir/e/sys"
cp -r build/fixtures/machines/2s-snc4/sys "$dir/e/"
rm "$dir/e/var/lib/kubelet/cpu_manager_state"
rm "$dir/b/var/lib/kubelet/cpu_manager_state" # a container holds CPU 1
sed -i 's/restricted/best-effort/; s/"0"/"0-1"/' "$dir/b/var/lib/kubelet/config.yaml"
echo 'cpuManagerPolicyOptions: {full-pcpus-only: "true"}' >>"$dir/b/var/lib/kubelet/config.yaml"
mkdir "$dir/pool" "$dir/cluster"
for n in a c d; do "$nrtd" dump --sysroot "$dir/a" --node-name $n >"$dir/pool/$n.yaml" 2>/dev/null; done
for n in b e; do "$nrtd" dump --sysroot "$dir/$n" --node-name $n >"$dir/cluster/$n.yaml" 2>/dev/null; done
cp "$dir"/pool/* "$dir/cluster/"
for n in a b c d e; do
	printf 'kind: Node\nmetadata: {name: %s, labels: {pool: %s}}\n---\n' $n "$([ $n = b ] && echo odd || echo same)"
done >"$dir/cluster/nodes.yaml"
run() { "$numa" "$@" --from "$dir/cluster" >"$dir/out" 2>"$dir/err"; }
says() { grep -qE -- "$1" "$dir/out"; }
status() { test "$last" -eq "$1"; }

# --- config
run config
last=$?
check "nodes differ" status 3
check "a setting of all nodes" says '^topologyManagerScope +container +5 +all$'
check "the most frequent value" says '^topologyManagerPolicy +restricted +4 +the others$'
check "the other value and its node" says '^topologyManagerPolicy +best-effort +1 +b$'
check "options" says '^cpuManagerPolicyOptions +full-pcpus-only=true +1 +b$'
check "reserved CPUs" says '^reservedCPUs +0-1 +1 +b$'
check "how many differ" says '^5 nodes: 3 settings differ$'
run config --different -o json
check "--different" has '[.settings[].name] == ["cpuManagerPolicyOptions", "topologyManagerPolicy", "reservedCPUs"]'
check "JSON has the nodes of each value" has '.settings[1].values == [{"value": "restricted", "nodes": ["a", "c", "d", "e"]}, {"value": "best-effort", "nodes": ["b"]}]'
check "and the numbers" has '[.nodes, .different] == [5, 3]'
run config -l pool=none
last=$?
check "a selector without nodes is not agreement" status 2
check "and says so" grep -q ': no node is selected' "$dir/err"
run config -l pool=same
last=$?
check "a pool whose nodes are alike" status 0
check "which is said" says '^4 nodes: all settings are equal$'
run config a b --different --no-headers
check "two nodes by name" test "$(wc -l <"$dir/out")" -eq 6
"$numa" config --from "$dir/cluster" --from tests/fixtures/examples/kep-nodes.yaml >"$dir/out" 2>"$dir/err"
check "other exporters publish the policies" says '^topologyManagerPolicy +best-effort +3 +b, node-1, node-2$'
check "and no more" says '^reservedCPUs +unknown +2 +node-1, node-2$'
if command -v script >/dev/null; then
	script -qec "stty cols 80; TERM=dumb $numa config --from $dir/cluster" /dev/null </dev/null 2>"$dir/err" | tr -d '\r' >"$dir/out"
	check "a terminal of 80 columns" awk 'length > 80 {bad = 1} END {exit bad || NR < 10}' "$dir/out"
fi

# --- hugepages: of machine h, 2 MiB pages are on NUMA node 0 only, 1 GiB pages on both
example_node "$dir/h"
rm -r "$dir/h/sys" "$dir/h/var/lib/kubelet/cpu_manager_state"
cp -r build/fixtures/machines/hugepages/sys "$dir/h/"
mkdir "$dir/huge"
"$nrtd" dump --sysroot "$dir/h" --node-name h1 >"$dir/huge/h1.yaml" 2>/dev/null
"$nrtd" dump --sysroot "$dir/h" --node-name h2 --memory-manager-policy Static >"$dir/huge/h2.yaml" 2>/dev/null
for n in 1 2; do
	printf '%s\nkind: Node\nmetadata: {name: h%s}\n---\nkind: Pod\nmetadata: {name: p%s, namespace: n}\nspec: {nodeName: h%s, containers: [{name: c, resources: {limits: {cpu: "1", memory: 1Gi, hugepages-1Gi: 2Gi}}}]}\n' --- $n $n $n
done >"$dir/huge/objects.yaml"
"$numa" config --from "$dir/huge" >"$dir/out" 2>"$dir/err"
check "hugepages that nobody aligns" says '^hugepages-1Gi +not aligned +0 +2Gi +h1 +3Gi on each of 2 NUMA nodes$'
check "that the memory manager aligns" says '^hugepages-1Gi +aligned +0 +2Gi +h2 '
check "that are on one NUMA node" says '^hugepages-2Mi +one NUMA node +0 +0 +h1, h2 +1Gi on NUMA node 0$'
check "the remedy" says '^  remedy: set memoryManagerPolicy: Static .* reservedMemory with as much memory'
"$numa" config --from "$dir/huge" -o json >"$dir/out" 2>"$dir/err"
check "JSON has them" has '[.hugepages[] | select(.name == "hugepages-1Gi") | [.aligned, .nodes, .requestedBytes]] == [[false, ["h1"], 2147483648], [true, ["h2"], 2147483648]]'
"$numa" config --from "$dir/huge" --different >"$dir/out" 2>"$dir/err"
check "--different omits them" sh -c "! grep -q hugepages- '$dir/out'"

# --- diff
run diff b a
last=$?
check "two nodes differ" status 3
check "in a setting, in this order" says '^settings +topologyManagerPolicy +best-effort +restricted$'
check "in what is free" says '^free +cpu of NUMA node 0 +14 of 14 +6 of 15$'
check "with a column per node" says '^ABOUT +WHAT +b +a$'
check "the topology is equal and omitted" sh -c "! grep -q '^topology' '$dir/out'"
check "the number" says '^6 differences$'
run diff b a --ignore free
last=$?
check "without what is free they differ" status 3
check "in what remains" says '^3 differences$'
check "free is omitted" sh -c "! grep -q '^free' '$dir/out'"
run diff b a --ignore free --ignore settings -o json
last=$?
check "several parts are ignored" status 0
check "also in JSON" has '.different == 0 and ([.facts[].section] | unique) == ["topology"]'
run diff a e
check "another machine" says '^topology +NUMA nodes +2 +8$'
check "its CPUs" says '^topology +CPUs of NUMA node 0 +0-15 +0-5,48-53$'
check "a NUMA node of one only" says '^topology +CPUs of NUMA node 7 +- +42-47,90-95$'
check "its distances" says '^topology +distances of NUMA node 0 +10 20 +10 12 12 12 21 21 21 21$'
run diff a e -o json
check "JSON has null" has '.facts[] | select(.name == "CPUs of NUMA node 7") | .values == [null, "42-47,90-95"] and (.equal | not)'
check "and what is equal" has '.facts[] | select(.name == "sockets") | .equal'
run diff a node/c
last=$?
check "equal nodes" status 0
check "have no difference" says '^no difference$'
run diff a c -o wide
check "-o wide lists what is equal" says '^topology +sockets +2 +2$'

# --- diff: PCI devices. Node gpu has four devices on two roots of each NUMA node; node less has no GPU below root 97, and a plugin registers
# two virtual functions there
mkdir "$dir/pci"
for n in gpu less; do cp -r build/fixtures/machines/gpus "$dir/$n"; done
rm "$dir/less/sys/bus/pci/devices/0000:98:00.0"
mkdir -p "$dir/less/var/lib/kubelet/device-plugins"
printf '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"v.com/vf":["0000:99:00.2","0000:99:00.3"]}},"Checksum":0}' \
	>"$dir/less/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
for n in gpu less; do "$nrtd" dump --sysroot "$dir/$n" --node-name $n >"$dir/pci/$n.yaml" 2>/dev/null; done
"$numa" diff gpu less --from "$dir/pci" >"$dir/out" 2>"$dir/err"
check "the number of PCI devices" says '^topology +PCI devices +9 +8$'
check "a GPU of one node only, with its PCIe root" says '^devices +GPU 0000:98:00.0 +NUMA node 1, pci0000:97 +-$'
check "virtual functions of a plugin" says '^devices +virtual functions of pci0000:97 +- +2$'
check "no other device differs" test "$(grep -c ^devices "$dir/out")" -eq 2
"$numa" diff gpu less --from "$dir/pci" -o wide >"$dir/out" 2>"$dir/err"
check "-o wide has the equal devices" says '^devices +NIC 0000:fe:00.0 +NUMA node unknown, pci0000:fe +NUMA node unknown, pci0000:fe$'
sed -i 's/;?pci=[^;]*//' "$dir/pci/less.yaml"
"$numa" diff gpu less --from "$dir/pci" >"$dir/out" 2>"$dir/err"
check "a node state without PCI devices" says '^topology +PCI devices +9 +unknown$'
check "is not a node without devices" sh -c "! grep -q ^devices '$dir/out'"

# --- bad usage
refuse() { # NAME MESSAGE ARGS...
	refuse_name=$1
	message=$2
	shift 2
	"$numa" "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -qF -- "$message" "$dir/err"
	check "$refuse_name" test $? -eq 0
}
refuse "one node" "name two nodes: kubectl numa diff NODE NODE" diff a --from "$dir/cluster"
refuse "twice the same node" "name two different nodes" diff a a --from "$dir/cluster"
refuse "a node without object" "no object of node 'f'" diff a f --from "$dir/cluster"
refuse "an unknown part" "--ignore: 'pods' is not one of settings|topology|devices|free" diff a b --ignore pods --from "$dir/cluster"
refuse "three nodes" "unexpected word 'c'" diff a b c --from "$dir/cluster"
refuse "diff has no selector" "'-l' is a flag of" diff a b -l pool=x --from "$dir/cluster"
exit $failed
