#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl numa top --from`: its numbers are those of nrtd fit on the same node, every way to give it nodes and a pod, all outputs, bad
# input, --watch, and a cluster of 5000 nodes. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
examples=tests/fixtures/examples
. tests/lib/scenario.sh
need_jq
export LC_ALL=C
unset COLUMNS NO_COLOR
top() { "$numa" top "$@" >"$dir/out" 2>"$dir/err"; }
json() { top "$@" -o json; }
# Of the lines of a table
first_names() { awk '{print $1}' "$dir/out" | tr '\n' ' '; }

# --- the largest pods are those that nrtd fit admits on the same machine: no pod is larger
example_node "$dir/seed"
on_node() { # POLICY COMMAND [ARG...]
	policy=$1
	shift
	"$nrtd" "$@" --sysroot "$dir/seed" --node-name seed --cpu-manager-policy static --memory-manager-policy None \
		--topology-manager-policy "$policy" --topology-manager-scope container --reserved-cpus 0 2>/dev/null
}
for policy in none best-effort restricted single-numa-node; do
	on_node "$policy" dump -o json >"$dir/seed.json"
	json --from "$dir/seed.json"
	free=$(of_node seed .cpus.free)
	stranded=$(of_node seed .cpus.stranded)
	largest=$(of_node seed '.largestPods | max')
	for n in $(of_node seed '.largestPods[]'); do
		on_node "$policy" fit --cpus "$n" --memory 1Mi >"$dir/out"
		check "$policy: fit admits the largest pod, $n CPUs" test $? -eq 0
	done
	for n in $(seq $((largest + 1)) "$free"); do
		on_node "$policy" fit --cpus "$n" --memory 1Mi >"$dir/out"
		check "$policy: fit refuses $n CPUs" test $? -eq 3
	done
	check "$policy: nothing is stranded" test "$stranded" -eq 0
	copies=$(on_node "$policy" fit --cpus 3 --memory 1Mi -o json | jq .copies)
	json --from "$dir/seed.json" --cpus 3 --memory 1Mi
	check "$policy: pods of 3 CPUs strand what $copies copies leave" \
		is seed .cpus.stranded $((free - 3 * copies))
done

# --- every way to give it nodes and a shape, every output
top --from $examples/kep-nodes.yaml
cp "$dir/out" "$dir/want"
check "zones alone are an estimate, which is said" grep -q '^~ estimated by the zones' "$dir/out"
check "and shown" grep -q '^node-1 .* 2,4  *6/16 .* ~6 ' "$dir/out"
check "totals" grep -q '^2 nodes  *22/32  *~8  *~16  *~0$' "$dir/out"
json --from $examples/kep-nodes.yaml
check "free CPUs of each NUMA node" is node-1 '[.numaNodes[].free]' '[2,4]'
check "free and allocatable CPUs" is node-1 '[.cpus.free, .cpus.allocatable]' '[6,16]'
check "the largest pods" is node-1 .largestPods '[4,6]'
"$numa" top --from - <$examples/kep-nodes.yaml >"$dir/out" 2>"$dir/err"
check "standard input gives the same" cmp -s "$dir/out" "$dir/want"
mkfifo "$dir/pipe"
cat $examples/kep-nodes.yaml >"$dir/pipe" &
timeout 20 "$numa" top --from "$dir/pipe" >"$dir/out" 2>"$dir/err"
check "a pipe gives the same" cmp -s "$dir/out" "$dir/want"
cat $examples/kep-nodes.yaml | timeout 20 "$numa" top --from /dev/stdin >"$dir/out" 2>"$dir/err"
check "/dev/stdin gives the same" cmp -s "$dir/out" "$dir/want"
top node-2 node/node-1 --from $examples/kep-nodes.yaml
check "every node by name gives the same" cmp -s "$dir/out" "$dir/want"
top node/node-1 --from $examples/kep-nodes.yaml --no-headers
check "one node by name" test "$(first_names)" = "node-1 "
top --from $examples/kep-nodes.yaml --no-headers --sort-by free
check "--no-headers, --sort-by free" test "$(first_names)" = "node-2 node-1 "
top --from $examples/kep-nodes.yaml -o name --sort-by free
check "-o name in the order of --sort-by" test "$(cat "$dir/out")" = "node/node-2
node/node-1"
sed 's/^  name: node-2$/  name: node-10/; s/^  name: node-1$/  name: node-9/' $examples/kep-nodes.yaml >"$dir/names.yaml"
json --from "$dir/names.yaml"
check "node-9 is before node-10" test "$(names)" = "node-9 node-10 "
json --from $examples/kep-nodes.yaml --cpus 3
check "a shape by flags" is node-2 .cpus.stranded 1
json --from $examples/kep-nodes.yaml -f $examples/kep-pod.yaml
check "a shape from a file" is node-2 .cpus.stranded 4
top --from $examples/kep-nodes.yaml -o wide
check "-o wide" grep -q 'ALLOCATABLE  RESERVED  SHARED  ISOLATED  BASIS$' "$dir/out"
"$nrtd" dump --sysroot build/fixtures/machines/2s-snc4 --node-name bare 2>/dev/null >"$dir/bare.yaml"
top --from "$dir/bare.yaml" -o wide
check "numbers that are not known rest on nothing" grep -q '^bare .* unknown$' "$dir/out"
example_node "$dir/apart"
echo 9-10 >"$dir/apart/sys/devices/system/cpu/isolated"
"$nrtd" dump --sysroot "$dir/apart" --node-name apart 2>/dev/null >"$dir/apart.yaml"
json --from "$dir/apart.yaml" --from $examples/kep-nodes.yaml
check "reserved and isolated CPUs and the shared pool" is apart '.cpus | [.reserved, .shared, .isolated]' '["0","0,10-15,25-31","9-10"]'
check "of objects with a node state only" is node-1 '.cpus | [.reserved, .shared, .isolated]' '[null,null,null]'
top --from "$dir/apart.yaml" -o wide
check "-o wide has them" grep -qE '^apart .* 0 +0,10-15,25-31 +9-10 +exact$' "$dir/out"
check "and a line below" grep -q "^node 'apart': isolated CPUs are in the shared pool: 10; the kernel" "$dir/out"
top --from $examples/kep-nodes.yaml -o yaml
check "-o yaml" grep -q '^    stranded: 0$' "$dir/out"
top --from $examples/kep-nodes.yaml --color always
check "--color always" grep -q "$(printf '\033')\[0;1m" "$dir/out"

# --- what the nodes' pods ask for: node-2 has room for one more CPU, node-1 for no more pods
cat >"$dir/held.json" <<'EOF'
{"kind":"List","items":[{"kind":"Node","metadata":{"name":"node-1"},"status":{"allocatable":{"cpu":"16","memory":"128Gi","pods":"1"}}},
{"kind":"Node","metadata":{"name":"node-2"},"status":{"allocatable":{"cpu":"16","memory":"128Gi","pods":"110"}}},
{"kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"node-1","containers":[{"name":"c"}]}},
{"kind":"Pod","metadata":{"name":"q"},"spec":{"nodeName":"node-2","containers":[{"name":"c","resources":{"requests":{"cpu":"14500m"}}}]}}]}
EOF
json --from $examples/kep-nodes.yaml --from "$dir/held.json"
check "the largest pod is what requests leave" is node-2 '.largestPods | max' 1
check "the rest is stranded" is node-2 .cpus.stranded 15
check "the zones' free CPUs stay" is node-2 '[.cpus.free, .cpus.allocatable]' '[16,16]'
check "no room for pods, no largest pod" is node-1 '.largestPods | max' 0
check "and all is stranded" is node-1 .cpus.stranded 6
sed -n '/kind":"Pod/{s/,$//;s/\]}$//;p;q}' "$dir/held.json" >"$dir/pod.json"
json --from $examples/kep-nodes.yaml --from "$dir/held.json" --cpus 1
check "a shape too: one copy" is node-2 .cpus.stranded 15
json --from $examples/kep-nodes.yaml --from "$dir/held.json" --objects-only
check "--objects-only ignores what pods request" is node-2 '.largestPods | max' 16
sed 's/"name":"node-1"/&,"labels":{"pool":"hpc"}/' "$dir/held.json" >"$dir/labels.json"
json --from $examples/kep-nodes.yaml --from "$dir/labels.json" -l pool=hpc
check "-l selects by the Nodes' labels" test "$(names)" = "node-1 "
sed 's/"pool":"hpc"/"karpenter.sh\/nodepool":"gpu","pool":"hpc"/; s/"name":"node-2"/&,"labels":{"karpenter.sh\/nodepool":"gpu"}/' "$dir/labels.json" >"$dir/pools.json"
top --from $examples/kep-nodes.yaml --from "$dir/pools.json" --by pool
check "--by pool: a line per pool, the label pool before that of a cloud" test "$(awk '{print $1, $2, $3}' "$dir/out" | head -n 4 | tr '\n' ';')" = \
	"POOL NODES FREE;gpu 1/1 16/16;hpc 1/1 6/16;2 pools 2/2;"
check "and the notes" grep -q '^~ estimated by the zones' "$dir/out"
top --from $examples/kep-nodes.yaml --from "$dir/pools.json" --by karpenter.sh/nodepool --no-headers
check "--by KEY: the value of the label" grep -qxE 'gpu +2/2 +22/32 +~1 +~1 +~21 +-' "$dir/out"
json --from $examples/kep-nodes.yaml --from "$dir/labels.json" --by pool --sort-by stranded
check "--by in a document, sorted; nodes without a pool are last" has '[.pools[] | [.name, .nodes, .cpus.free]] == [["hpc",1,6],[null,1,16]] and
	.pools[1].cpus.stranded == 15 and .totals.nodes == 2'
json --from $examples/kep-nodes.yaml --from "$dir/pools.json" --by pool --sort-by free
check "--by sorted by a number" has '[.pools[].name] == ["gpu", "hpc"] and ([.pools[].largestPods[0]] == [1, 0])'
top --from $examples/kep-nodes.yaml --from "$dir/labels.json" -l pool=hcp
check "a selector without a match is a warning" grep -qx "kubectl-numa: warning: --selector: no Node matches 'pool=hcp'" "$dir/err"
top --from $examples/kep-nodes.yaml --from "$dir/pod.json"
check "Pods without Nodes change nothing" cmp -s "$dir/out" "$dir/want"
mkdir "$dir/mixed"
cp $examples/kep-nodes.yaml "$dir/held.json" "$dir/mixed/"
printf 'kind: ConfigMap\nmetadata: {name: node-3}\n' >"$dir/mixed/other.yaml"
json --from "$dir/mixed"
check "a directory of all kinds: node-1" is node-1 '.largestPods | max' 0
check "a directory of all kinds: node-2" is node-2 '.largestPods | max' 1

# --- bad input: status 2, one line, nothing printed
refuse() { # NAME MESSAGE ARGS...
	refuse_name=$1
	message=$2
	shift 2
	top "$@"
	[ $? -eq 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -qF -- "$message" "$dir/err"
	check "$refuse_name" test $? -eq 0
}
nodes=$examples/kep-nodes.yaml
printf 'kind: List\nitems: []\n' >"$dir/empty.yaml"
refuse "no nodes" "$dir/empty.yaml: no NodeResourceTopology in it" --from "$dir/empty.yaml"
refuse "file that is not there" "cannot open" --from "$dir/none"
refuse "a pod as node" "$examples/kep-pod.yaml: no NodeResourceTopology in it" --from $examples/kep-pod.yaml
refuse "a node as shape" "kep-nodes.yaml" --from $nodes -f $nodes
refuse "a unit with a B" "--memory: not a quantity: '5GiB'; units are as in 5k, 5M, 5G and 5Ki, 5Mi, 5Gi" --from $nodes --cpus 1 --memory 5GiB
refuse "an unknown column" "--sort-by" --from $nodes --sort-by size
refuse "a column that pools do not have" "--sort-by policy: --by lists pools, which do not have this column" --from $nodes --by pool --sort-by policy
refuse "pools as names" "--by and -o name exclude each other" --from $nodes --by pool -o name
refuse "pools without Nodes" "--by requires the labels of Nodes, which --objects-only omits" --from $nodes --by pool --objects-only
refuse "pools with a label per node" "--by and --label-column exclude each other" --from $nodes --by pool -L zone
refuse "two standard inputs" "cannot both be standard input" --from - -f -
refuse "standard input watched" "--watch: standard input can be read only once" --from - --watch
refuse "a shape on standard input watched" "--watch: standard input can be read only once" --from $nodes -f - --watch
refuse "Nodes on standard input watched" "--watch: standard input can be read only once" --from $nodes --from - --watch
refuse "standard input twice" "cannot both be standard input" --from - --from -
refuse "a selector without Nodes" "--selector: $nodes contains no Node to compare with the selector" --from $nodes -l a=b
refuse "a broken selector" "--selector: 'a in (b' is not a label selector" --from $nodes --from "$dir/held.json" -l 'a in (b'
refuse "a flag of other commands" "'-A' is a flag of pods, not of top" --from $nodes -A
echo 'kind: Pod' | refuse "a shape on standard input without a spec" "'standard input'" --from $nodes -f -
echo 'kind: Pod' | refuse "and with an API server" "'standard input'" --server http://127.0.0.1:1 -f -
refuse "an empty path" "--from" --from ""
refuse "a node without object" "$nodes: no object of node 'node-3'" node-1 node-3 --from $nodes
refuse "a document watched" "--watch: only a table can be watched" --from $nodes -o json --watch
refuse "SVG" "-o" --from $nodes -o svg
sed 's/available: "[28]"/available: "two"/' $nodes >"$dir/quantity.yaml"
refuse "bad quantity" "zone 'node-0', resource 'cpu': available" --from "$dir/quantity.yaml"

# --- --watch reads the file again
cp $nodes "$dir/watched.yaml"
"$numa" top --watch=1 --from "$dir/watched.yaml" >"$dir/out" 2>"$dir/err" &
pid=$!
until_said() { eventually 30 grep -q "$1" "$dir/out"; }
check "--watch draws" until_said '^node-1 '
sed 's/^  name: node-1$/  name: node-3/' $nodes >"$dir/changed.yaml"
mv "$dir/changed.yaml" "$dir/watched.yaml"
check "--watch shows what has changed" until_said '^node-3 '
rm "$dir/watched.yaml"
check "--watch says that the file is gone" until_said "^kubectl-numa: error: cannot open '$dir/watched.yaml'"
kill -TERM "$pid"
wait "$pid"
check "--watch ends well on SIGTERM" test $? -eq 0

# --- 5000 nodes of eight NUMA nodes (make bench has times and memory)
awk 'BEGIN {
	printf "{\"kind\":\"List\",\"items\":["
	for (n = 0; n < 5000; n++) {
		printf "%s{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"n%d\"},", n ? "," : "", n
		printf "\"attributes\":[{\"name\":\"topologyManagerPolicy\",\"value\":\"restricted\"},{\"name\":\"topologyManagerScope\",\"value\":\"container\"}],\"zones\":["
		for (z = 0; z < 8; z++) {
			printf "%s{\"name\":\"node-%d\",\"type\":\"Node\",\"costs\":[", z ? "," : "", z
			for (c = 0; c < 8; c++)
				printf "%s{\"name\":\"node-%d\",\"value\":%d}", c ? "," : "", c, c == z ? 10 : 20
			printf "],\"resources\":[{\"name\":\"cpu\",\"capacity\":\"16\",\"allocatable\":\"16\",\"available\":\"%d\"},", (n + z) % 17
			printf "{\"name\":\"memory\",\"capacity\":\"64Gi\",\"allocatable\":\"64Gi\",\"available\":\"64Gi\"}]}"
		}
		printf "]}"
	}
	print "]}"
}' >"$dir/cluster.json"
top --from "$dir/cluster.json" --no-headers
check "5000 nodes: a line for each" test "$(wc -l <"$dir/out")" -eq 5000
json n4999 --from "$dir/cluster.json"
check "5000 nodes: the last" is n4999 '[.numaNodes[].free]' '[1,2,3,4,5,6,7,8]'
exit $failed
