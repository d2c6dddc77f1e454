#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa devices`: the devices of plugins, claims and zones by NUMA node and PCIe root. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
need_jq
export LC_ALL=C
unset COLUMNS KUBECONFIG

# Node g-2 has no device plugin. On node g-10 plugins have the GPUs of NUMA node 0, of which a container holds one, a NIC, two virtual
# functions, and a device without PCI address.
mkdir "$dir/cluster"
for n in g-2 g-10; do cp -r build/fixtures/machines/gpus "$dir/$n"; done
mkdir -p "$dir/g-10/var/lib/kubelet/device-plugins"
cat >"$dir/g-10/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint" <<'END'
{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"v.com/gpu","DeviceIDs":{"0":["0000:31:00.0"]},"AllocResp":""}],"RegisteredDevices":{"v.com/gpu":["0000:17:00.0","0000:31:00.0"],"v.com/nic":["0000:18:00.0"],"v.com/card":["card-1"],"v.com/vf":["0000:99:00.2","0000:99:00.3"]}},"Checksum":0}
END
for n in g-2 g-10; do "$nrtd" dump --sysroot "$dir/$n" --node-name $n >"$dir/cluster/$n.yaml" 2>/dev/null; done
for n in g-2 g-10 cp-1; do printf 'kind: Node\nmetadata: {name: %s}\n---\n' $n; done >"$dir/cluster/nodes.yaml"
# Zones alone: two GPUs, one of them free.
sed 's|^\( *\)- {name: cpu,.*|&\n\1- {name: v.com/gpu, capacity: "2", allocatable: "2", available: "1"}|' tests/fixtures/examples/kep-nodes.yaml >"$dir/zones.yaml"
devices() { "$numa" devices --from "$dir/cluster" "$@" >"$dir/out" 2>"$dir/err"; }
says() { grep -qE -- "$1" "$dir/out"; }

devices
check "nodes in natural order" test "$(awk '/^g-/ { print $1 }' "$dir/out" | uniq | tr '\n' ' ')" = "g-2 g-10 "
check "a GPU without plugin: nothing says whether it is free" says '^g-2 +0 +8 +pci0000:16 +GPU +-/1 +-$'
check "a free GPU of a plugin" says '^g-10 +0 +8 +pci0000:16 +GPU +1/1 +v.com/gpu$'
check "a GPU that a container holds" says '^g-10 +0 +8 +pci0000:30 +GPU +0/1 +v.com/gpu$'
check "a NIC below the same root" says '^g-10 +0 +8 +pci0000:16 +NIC +1/1 +v.com/nic$'
check "virtual functions" says '^g-10 +1 +8 +pci0000:97 +virtual function +2/2 +v.com/vf$'
check "devices that no plugin has" says '^g-10 +1 +8 +pci0000:97 +GPU +-/1 +-$'
check "a device whose PCI address is unknown" says '^g-10 +- +- +- +- +1/1 +v.com/card$'
check "the number of nodes" says '^2 nodes with devices$'
check "and of Nodes without object" says '^1 Node has no object$'
devices -o wide
check "-o wide has names and addresses" says '^g-10 .* 0 +ens1np0, mlx5_0 +0000:18:00.0$'
check "and the name of the Node" says '^1 Node has no object: cp-1$'
devices g-10 --no-headers
check "one node, rows alone" sh -c "! grep -qvE '^g-10 ' '$dir/out' && grep -q . '$dir/out'"
devices -o json
check "a document" has '.devices[] | select(.node == "g-10" and .resource == "v.com/vf") |
	. == {"node":"g-10","numaNodes":[1],"pcieRoot":"pci0000:97","kind":"virtual function","resource":"v.com/vf","count":2,"free":2,
	"claimed":0,"freeCPUs":8,"addresses":["0000:99:00.2","0000:99:00.3"],"names":[]}'
check "unknown values are null" has '.devices[] | select(.resource == "v.com/card") | [.numaNodes, .pcieRoot, .kind, .freeCPUs] == [null, null, null, null]'
check "Nodes without object" has '.withoutObject == ["cp-1"] and .withoutDevices == []'
devices -o name
check "names" test "$(tr '\n' ' ' <"$dir/out")" = "node/g-2 node/g-10 "
"$numa" devices --from "$dir/zones.yaml" >"$dir/out" 2>"$dir/err"
check "zones alone have numbers" says '^node-1 +0 +2 +- +- +1/2 +v.com/gpu$'
"$numa" devices --from tests/fixtures/examples/kep-nodes.yaml >"$dir/out" 2>"$dir/err"
check "nodes without devices are a success" test $? -eq 0
check "and counted" says '^no devices are known of 2 nodes$'
check "as kubectl says it" grep -qx 'No resources found' "$dir/err"
"$numa" devices --from tests/fixtures/examples/kep-nodes.yaml -o json >"$dir/out" 2>"$dir/err"
check "a document names them" has '.devices == [] and .withoutDevices == ["node-1", "node-2"]'
devices g-3
last=$?
check "a node without object" grep -q "no object of node 'g-3'" "$dir/err"
check "is an error" test $last -eq 2
if command -v script >/dev/null; then
	script -qec "stty cols 60; TERM=dumb $numa devices --from $dir/cluster" /dev/null </dev/null 2>"$dir/err" | tr -d '\r' >"$dir/out"
	check "a terminal of 60 columns" awk 'length > 60 {bad = 1} END {exit bad || NR < 10}' "$dir/out"
fi
exit $failed
