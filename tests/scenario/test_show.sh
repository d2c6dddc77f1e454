#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd show`, and `kubectl numa show --from` on objects: text and SVG of every fixture machine, what the environment changes, --watch on
# a terminal and elsewhere, wrong usage. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
machines=build/fixtures/machines
. tests/lib/scenario.sh
export LC_ALL=C
unset COLUMNS NO_COLOR
# In characters: not every awk knows UTF-8, so the bytes that continue a character are taken out.
widest() { LC_ALL=C tr -d '\200-\277' <"$1" | LC_ALL=C awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'; }
utf8() { LC_ALL=C.UTF-8 "$@"; }

# The picture is well-formed XML, as far as a tool is here that knows.
parser="true"
if command -v xmllint >/dev/null; then
	parser="xmllint --noout"
elif command -v python3 >/dev/null; then
	echo 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' >"$dir/parse.py"
	parser="python3 $dir/parse.py"
else
	echo "skipped: neither xmllint nor python3 is here"
fi

# --- every machine
for tree in "$machines"/*/; do
	name=$(basename "$tree")
	"$nrtd" show --sysroot "$tree" >"$dir/out" 2>"$dir/err" || not_ok "text of $name" "$dir/err"
	n=$(widest "$dir/out")
	check "text of $name fits 80 columns and uses them" test "$n" -le 80 -a "$n" -ge 78
	check "text of $name is ASCII" sh -c "! LC_ALL=C grep -q '[^ -~]' '$dir/out'"
	"$nrtd" show -o svg --sysroot "$tree" >"$dir/out.svg" 2>"$dir/err" || not_ok "picture of $name" "$dir/err"
	# shellcheck disable=SC2086 # a command with its arguments
	check "picture of $name is well-formed" $parser "$dir/out.svg"
done

# --- pods, from the kubelet's state file
cp -r "$machines/seed-2s-32cpu/." "$dir/seed"
mkdir -p "$dir/seed/var/lib/kubelet"
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$dir/seed/var/lib/kubelet/cpu_manager_state"
"$nrtd" show --sysroot "$dir/seed" >"$dir/out" 2>"$dir/err"
"$nrtd" show -v --sysroot "$dir/seed" >/dev/null 2>"$dir/err"
check "-v has the settings" grep -q "setting cpuManagerPolicy" "$dir/err"
check "letters go by CPU" grep -q '^A  pod fb15e10a (container-1) *9 CPUs 1-9' "$dir/out"
check "each pod has its letter" grep -q '^B  pod 777870b5 (container-1) *9 CPUs 16-24' "$dir/out"
check "CPUs have their pods' letters" grep -q 'AAAAAAAAA\|A AA AA AA AA' "$dir/out"

# --- what the environment and the flags change
one=$machines/one-node
utf8 "$nrtd" show --sysroot "$one" >"$dir/out"
check "UTF-8 where the locale has it" grep -q '┌─ socket 0 ─' "$dir/out"
COLUMNS=100 "$nrtd" show --sysroot "$one" >"$dir/out"
check "COLUMNS is the width" test "$(widest "$dir/out")" -eq 100
COLUMNS=100 "$nrtd" show --width 60 --sysroot "$one" >"$dir/out"
check "--width beats COLUMNS" test "$(widest "$dir/out")" -eq 60
"$nrtd" show --width 60 -o svg --sysroot "$one" >"$dir/out"
check "--width is the picture's too" grep -q 'width="480"' "$dir/out"
"$nrtd" show --sysroot "$one" >"$dir/out"
check "no colour into a file" sh -c "! grep -q '$(printf '\033')' '$dir/out'"
NO_COLOR=1 "$nrtd" show --color always --sysroot "$one" >"$dir/out"
check "--color always" grep -q "$(printf '\033\\[0;1m')" "$dir/out"

objects=tests/fixtures/machines

# --- PCIe roots: alike on the node, from its object, and as a document
roots() { sed -n '/^PCIe roots/,/^$/p' "$1"; }
"$nrtd" show --sysroot "$machines/gpus" >"$dir/out"
roots "$dir/out" >"$dir/want"
check "which GPUs and NICs are near which cores" sh -c "grep -A 1 '^pci0000:16  NUMA 0  CPUs 0-7' '$dir/out' | grep -q '   GPU 0000:17:00.0, NIC 0000:18:00.0 ens1np0 mlx5_0'"
"$numa" show --from "$objects/gpus.nrt.yaml" >"$dir/out"
roots "$dir/out" >"$dir/got"
check "an object has the same roots" cmp -s "$dir/got" "$dir/want"
"$nrtd" show -o svg --sysroot "$machines/gpus" >"$dir/out.svg"
check "so has the picture" grep -q 'GPU 0000:17:00.0, NIC 0000:18:00.0' "$dir/out.svg"
"$nrtd" show -o yaml --sysroot "$machines/gpus" >"$dir/out"
check "so has the document" grep -q '^- root: pci0000:16' "$dir/out"
"$numa" show -o json --from "$objects/gpus.nrt.yaml" >"$dir/out"
check "of an object, too" grep -q '"root": "pci0000:16"' "$dir/out"

# --- from an object: the picture is the machine's, except what the object does not contain
for object in "$objects"/*.nrt.yaml; do
	machine=$(basename "$object" .nrt.yaml)
	"$numa" show --from "$object" >"$dir/out" 2>"$dir/err" || not_ok "object of $machine" "$dir/err"
	check "object of $machine fits 80 columns" test "$(widest "$dir/out")" -le 80
	"$numa" show -o svg --from "$object" >"$dir/out.svg" 2>"$dir/err" || not_ok "picture of $machine's object" "$dir/err"
	# shellcheck disable=SC2086 # a command with its arguments
	check "picture of $machine's object is well-formed" $parser "$dir/out.svg"
	# The same frames, CPUs, bars and distances. The node state has the kubelet's cores, L3 caches only if they decide, and a CPU
	# on one NUMA node only.
	case $machine in ccx | core-ids | overlapping) continue ;; esac
	"$nrtd" show --sysroot "$machines/$machine" >"$dir/machine" 2>/dev/null
	for picture in machine out; do
		sed -n '/^[|+]/p; /^machine/p; /^distances/,/^$/p' "$dir/$picture" >"$dir/$picture.parts"
	done
	check "object of $machine is drawn as the machine" diff -u "$dir/machine.parts" "$dir/out.parts"
done
nodes=tests/fixtures/examples/kep-nodes.yaml
"$numa" show node-2 --from $nodes >"$dir/out" 2>"$dir/err"
check "a word chooses the node" grep -q '^node  *node-2$' "$dir/out"
check "CPUs that are not listed are a bar" grep -q '^| cpu    \.* *8 of 8 ' "$dir/out"
check "sockets are not made up" grep -q -- '- sockets not known -' "$dir/out"
"$nrtd" dump --sysroot "$machines/2s-snc4" -o json --cpu-manager-policy static --reserved-cpus 0,48 --node-name n1 \
	2>/dev/null >"$dir/object.json"
"$numa" show --from - <"$dir/object.json" >"$dir/out" 2>"$dir/err"
check "what dump prints as JSON, from standard input" grep -q 'NUMA 0  0-5,48-53 *10 of 10 free' "$dir/out"
check "its settings" grep -q '^kubelet  CPU manager static, memory manager unknown' "$dir/out"
check "its reserved CPUs" grep -q '^| ## ?? ?? ?? ?? ?? ' "$dir/out"
example_node "$dir/pods"
"$nrtd" dump --sysroot "$dir/pods" -o json --node-name n1 >"$dir/pods.json" 2>/dev/null
"$numa" show --from "$dir/pods.json" >"$dir/out" 2>"$dir/err"
check "its pods" grep -q '^| #A AA AA AA AA \.\. \.\. \.\.  *|  | BB BB BB BB B\. \.\. \.\. \.\. ' "$dir/out"
check "pods are known by hashes" grep -q '^A  pod #[^ ]*  *9 CPUs 1-9 ' "$dir/out"
sed "s,nrtd.dev/node-state,example.com/other," "$dir/pods.json" >"$dir/zones.json"
"$numa" show --from "$dir/zones.json" >"$dir/out" 2>"$dir/err"
check "without the node state the use of CPUs is not made up" grep -q '^| ????????????????  *|  | ???????????????? ' "$dir/out"
check "and the reason is a note" grep -q 'the object has' "$dir/out"
{
	printf 'kind: List\nitems:\n'
	sed 's/^/  /; s/^  apiVersion/- apiVersion/' "$objects/cxl.nrt.yaml"
} >"$dir/list.yaml"
"$numa" show --from "$dir/list.yaml" >"$dir/out"
"$numa" show --from "$objects/cxl.nrt.yaml" >"$dir/want"
check "a List of one" cmp -s "$dir/want" "$dir/out"
sed 's/v1alpha2/v1alpha1/; s/^attributes:/topologyPolicies: [RestrictedPodLevel]\nx:/' $objects/2s-snc4.nrt.yaml >"$dir/v1alpha1.yaml"
"$numa" show --from "$dir/v1alpha1.yaml" >"$dir/out"
check "v1alpha1 with topologyPolicies" grep -q 'topology manager restricted' "$dir/out"
# Zones in any order, devices whose holders are unknown, and a socket whose name has no number.
cat >"$dir/other.yaml" <<'END'
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: other}
zones:
- {name: package-b, type: Socket}
- {name: node-1, type: Node, parent: package-b, resources: [{name: v.com/nic, capacity: 4, allocatable: 4, available: 1}]}
- {name: weird, type: Node}
- {name: node-0, type: Node, resources: [{name: cpu, capacity: 4, allocatable: "4", available: "3500m"}]}
END
"$numa" show --from "$dir/other.yaml" >"$dir/out" 2>"$dir/err"
check "devices with unknown holders" grep -q ' nic ===\. *1 of 4 ' "$dir/out"
check "a socket of another name" grep -q -- '- sockets not known -' "$dir/out"
check "a part of a CPU" grep -q '3500m of 4 free' "$dir/out"
check "a zone that no reader knows" grep -q "zone 'weird' is omitted" "$dir/out"

# refuse NAME LINE ARG...: status 2, nothing printed, this one line
refuse() {
	refused=$1
	printf 'kubectl-numa: %s\n' "$2" >"$dir/want"
	shift 2
	"$numa" show "$@" >"$dir/out" 2>"$dir/err" <$nodes
	status=$?
	check "refused: $refused" test "$status" -eq 2 -a ! -s "$dir/out"
	check "refused: $refused, its line" diff -u "$dir/want" "$dir/err"
}
bad() { # TEXT: a file with it
	printf '%b' "$1" >"$dir/bad.yaml"
}
head='kind: NodeResourceTopology\nmetadata: {name: n1}\n'
refuse "two nodes" "$nodes: 2 objects, name one node: 'node-1', 'node-2'" --from $nodes
refuse "two nodes on standard input" "standard input: 2 objects, name one node: 'node-1', 'node-2'" --from -
refuse "no such node" "$nodes: no object of node 'n3', but of 'node-1', 'node-2'" n3 --from $nodes
refuse "no such file" "cannot open '$dir/none': No such file or directory" --from "$dir/none"
refuse "standard input watched" "--watch: standard input can be read only once, read from a file instead" --from - --watch
refuse "a machine" "unknown flag '--sysroot'" --from $nodes --sysroot /
refuse "a kubelet" "unknown flag '--state-files'" --from $nodes --state-files none
refuse "two words" "unexpected word 'node-2'" node-1 node-2 --from $nodes
refuse "no node" "name the node: kubectl numa show NODE [FLAG...]"
refuse "SVG watched" "--watch requires a text output format" node-1 --from $nodes -o svg --watch
bad 'a: [\n'
refuse "not YAML" "$dir/bad.yaml: not valid YAML at line 2, column 1: did not find expected node content" --from "$dir/bad.yaml"
refuse "a pod" "tests/fixtures/examples/kep-pod.yaml: no NodeResourceTopology in it" \
	--from tests/fixtures/examples/kep-pod.yaml
bad "$head"
refuse "no zones" "$dir/bad.yaml: NodeResourceTopology 'n1': no zones in it" --from "$dir/bad.yaml"
bad "${head}zones: []\n"
refuse "empty zones" "$dir/bad.yaml: NodeResourceTopology 'n1': no zone of type Node in it" --from "$dir/bad.yaml"
bad "${head}zones:\n- {name: node-0, type: Node, resources: [{name: cpu, capacity: 1, allocatable: 1, available: -1}]}\n"
refuse "a negative quantity" "$dir/bad.yaml: NodeResourceTopology 'n1': zone 'node-0', resource 'cpu': available is negative" \
	--from "$dir/bad.yaml"
bad "${head}zones:\n- {name: node-0, type: Node, resources: [{name: cpu, capacity: 1, allocatable: 1, available: 1}]}\n- {name: node-0, type: Node, resources: [{name: cpu, capacity: 1, allocatable: 1, available: 1}]}\n"
refuse "a zone twice" "$dir/bad.yaml: NodeResourceTopology 'n1': NUMA node 0 appears twice" --from "$dir/bad.yaml"
bad "${head}zones:\n- {name: node-0, type: Node, attributes: [{name: cpus, value: 3-1}], resources: [{name: cpu, capacity: 1, allocatable: 1, available: 1}]}\n"
refuse "a bad list of CPUs" "$dir/bad.yaml: NodeResourceTopology 'n1': zone 'node-0', attribute 'cpus': not a CPU list: '3-1'" \
	--from "$dir/bad.yaml"
yes 'a: 1' | head -n 10000 >"$dir/bad.yaml"
refuse "10 000 lines of something else" \
	"$dir/bad.yaml: not a NodeResourceTopology or a List of them, but an object without a kind" --from "$dir/bad.yaml"

# --- wrong usage and broken sources
usage() { # WANT ARGS...
	want=$1
	shift
	"$nrtd" show --sysroot "$one" "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	check "show $* ends with $want and says why" test "$status" -eq "$want" -a ! -s "$dir/out" -a -s "$dir/err"
}
usage 2 --nrt $nodes
usage 2 --width 39
usage 2 --watch=0
usage 2 --watch=1s
usage 2 --color maybe
usage 2 -o png
usage 2 -o svg --watch
"$nrtd" show --sysroot "$dir/nothing" >"$dir/out" 2>"$dir/err"
check "no machine ends with 1" test $? -eq 1 -a ! -s "$dir/out" -a -s "$dir/err"
if [ -e /dev/full ]; then
	"$nrtd" show --sysroot "$one" >/dev/full 2>"$dir/err"
	check "a full disk ends with 1" test $? -eq 1 -a -s "$dir/err"
fi

# --- --watch into a file: pictures one after the other, until SIGTERM
pictures() { grep -c '^node  ' "$dir/out"; }
"$nrtd" show --watch=1 --sysroot "$one" >"$dir/out" 2>"$dir/err" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ "$(pictures)" -ge 2 ] && break
	sleep 0.5
done
kill -TERM "$pid"
wait "$pid"
status=$?
check "--watch draws again" test "$(pictures)" -ge 2
check "--watch ends well on SIGTERM" test "$status" -eq 0 -a ! -s "$dir/err"

# --- --watch of an object reads the file again
cp tests/fixtures/machines/2s-snc4.nrt.yaml "$dir/watched.yaml"
"$numa" show --watch=1 --from "$dir/watched.yaml" >"$dir/out" 2>"$dir/err" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ "$(pictures)" -ge 1 ] && break
	sleep 0.5
done
cp tests/fixtures/machines/cxl.nrt.yaml "$dir/watched.yaml"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	grep -q '^node  *cxl$' "$dir/out" && break
	sleep 0.5
done
rm "$dir/watched.yaml"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	grep -q '^kubectl-numa: error: ' "$dir/out" && break
	sleep 0.5
done
kill -TERM "$pid"
wait "$pid"
check "--watch shows another object in the file" grep -q '^node  *cxl$' "$dir/out"
check "--watch says that the file is gone" grep -q "^kubectl-numa: error: cannot open '$dir/watched.yaml'" "$dir/out"

# --- a long name of a resource takes columns of the bars
sed 's|^  resources:|&\n  - {name: vendor.com/sriov_netdevice_intel_x710, capacity: "8", allocatable: "8", available: "5"}|' \
	tests/fixtures/examples/kep-nodes.yaml >"$dir/long.yaml"
"$numa" show node-2 --width 140 --from "$dir/long.yaml" >"$dir/out" 2>"$dir/err"
check "a long name is not cut where the bars have room" grep -q ' sriov_netdevice_intel_x710 [^ ]*  *5 of 8 ' "$dir/out"
"$numa" show node-2 --width 80 --from "$dir/long.yaml" >"$dir/out" 2>"$dir/err"
check "and cut where they have none" grep -q ' sriov_[a-z_]*[^a-z_ ]* [^ ]*  *5 of 8 ' "$dir/out"

# --- --watch on a terminal: in place, and the screen is given back
if script -qec true /dev/null >/dev/null 2>&1; then
	TERM=xterm script -qec "timeout --foreground --preserve-status -s INT 2 $nrtd show --watch=1 --sysroot $one" \
		"$dir/typescript" >/dev/null 2>&1 </dev/null
	check "--watch ends well on SIGINT" test $? -eq 0
	grep -v '^Script ' "$dir/typescript" >"$dir/screen"
	escape=$(printf '\033')
	check "it takes a screen of its own" grep -q "$escape\[?1049h" "$dir/screen"
	check "it gives the screen back, last of all" sh -c "tail -n 1 '$dir/screen' | grep -q '$escape\[?25h$escape\[?1049l\$'"
	check "it redraws in place" test "$(grep -c "$escape\[H" "$dir/screen")" -ge 2
else
	echo "skipped: script(1) or a pseudo terminal is not here"
fi
exit $failed
