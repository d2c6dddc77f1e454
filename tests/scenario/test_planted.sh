#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Planted misalignments: the pods of tests/fixtures/planted/pods.txt run on its machines, and every misalignment is found and no other,
# from the pod-resources API through the published objects to `kubectl numa pods`, `kubectl numa why`, `nrtd show` and the agent's
# metric. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
need_jq
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset COLUMNS KUBECONFIG NRTD_NODE_NAME NRTD_HTTP NRTD_LOCK JOURNAL_STREAM NOTIFY_SOCKET WATCHDOG_USEC
planted=tests/fixtures/planted
mkdir "$dir/cluster" "$dir/nodes"

# The table, as files per node: list and allocatable are the messages of the pod-resources API, want.json the expected pods.
awk -v dir="$dir/nodes" '
function nodes(list, text, words, n, i) {
	n = split(list, words, ",")
	for (i = 1; i <= n; i++)
		text = text " 1{1:" words[i] "}"
	return list == "-" ? "" : " 3{" text "}"
}
function cpus(list, text, ranges, ends, n, i, k) {
	n = list == "-" ? 0 : split(list, ranges, ",")
	for (i = 1; i <= n; i++) {
		split(ranges[i] "-" ranges[i], ends, "-")
		for (k = ends[1] + 0; k <= ends[2] + 0; k++)
			text = text " " k
	}
	return text
}
function end_pod() {
	if (pod != "")
		printf " 1{1\047%s\047 2\047%s\047%s}", pod, node, containers >(dir "/" node ".list")
	containers = ""
}
function member(key, list, text, words, n, i) {
	n = list == "-" ? 0 : split(list, words, ",")
	for (i = 1; i <= n; i++)
		text = text (i > 1 ? "," : "") "\"" words[i] "\""
	return "\"" key "\":[" text "]"
}
$1 == "node" {
	end_pod()
	pod = ""
	node = $2
	print $3, $4, $5 >(dir "/" node ".node")
	printf "" >(dir "/" node ".list")
	printf "" >(dir "/" node ".devices")
}
$1 == "device" {
	near[node, $2, $3] = nodes($4)
	printf " 1{1\047%s\047 2\047%s\047%s}", $2, $3, nodes($4) >(dir "/" node ".devices")
}
$1 == "pod" {
	if ($2 != pod)
		end_pod()
	pod = $2
	containers = containers " 3{1\047" $3 "\047 3[" cpus($4) "]"
	if ($5 != "-") {
		split($5, memory, "@")
		containers = containers sprintf(" 4{1\047memory\047 2:%.0f%s}", memory[1] * 1073741824, nodes(memory[2]))
	}
	n = $6 == "-" ? 0 : split($6, held, ",")
	for (i = 1; i <= n; i++) {
		split(held[i], device, "=")
		containers = containers " 2{1\047" device[1] "\047 2\047" device[2] "\047" near[node, device[1], device[2]] "}"
	}
	containers = containers "}"
}
$1 == "want" {
	reason = $0
	sub(/^want [^ ]+ [^ ]+ [^ ]+ ?/, "", reason)
	printf "{\"node\":\"%s\",\"name\":\"%s\",\"alignment\":\"%s\",\"core\":%s,%s,\"reason\":\"%s\"}\n", node, pod, $2, $3 == "core" ? "true" : "false",
		member("roots", $4), reason >(dir "/" node ".want")
}
END { end_pod() }' "$planted/pods.txt"

# make_node NAME: the machine with a kubelet; false without the recorded machine
make_node() {
	read -r machine reserved scope <"$dir/nodes/$1.node"
	root=$dir/nodes/$1
	archive=${NRTD_SHARED:-../shared}/machines/$machine.tar.bz2
	mkdir "$root"
	if [ -e "$planted/$machine.spec" ]; then
		awk -v out="$root" -f tests/fixtures/machines/make.awk "$planted/$machine.spec"
	elif [ -e "$archive" ]; then
		tar -xjf "$archive" -C "$root" --strip-components=1
	else
		echo "skipped: the recorded machine $machine (../shared/machines) is not here"
		return 1
	fi
	mkdir -p "$root/var/lib/kubelet"
	cat >"$root/var/lib/kubelet/config.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cpuManagerPolicy: static
		memoryManagerPolicy: Static
		topologyManagerPolicy: best-effort
		topologyManagerScope: $scope
		reservedSystemCPUs: "$reserved"
		systemReserved: {memory: 412Mi}
		evictionHard: {memory.available: 100Mi}
		reservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}]
	END
	# What the kubelet may assign: all devices, all CPUs but the reserved ones, and the memory of each NUMA node.
	{
		cat "$dir/nodes/$1.devices"
		awk -v reserved="$reserved" '
		function add(list, value, ranges, ends, n, i, k) {
			n = split(list, ranges, ",")
			for (i = 1; i <= n; i++) {
				split(ranges[i] "-" ranges[i], ends, "-")
				for (k = ends[1] + 0; k <= ends[2] + 0; k++)
					free[k] = value
			}
		}
		/^[0-9]/ { add($0, 1) }
		/MemTotal/ { printf " 3{1\047memory\047 2:%.0f 3{1{1:%d}}}", $4 * 1024 - ($2 == 0 ? 536870912 : 0), $2 }
		END {
			add(reserved, 0)
			printf " 2["
			for (cpu in free)
				if (free[cpu])
					printf " %d", cpu
			printf "]"
		}' "$root"/sys/devices/system/node/node*/cpulist "$root"/sys/devices/system/node/node*/meminfo
	} >"$dir/nodes/$1.allocatable"
}

# serve_node NAME COMMAND...: run the command while the node's pod-resources API answers at $dir/s
serve_node() {
	served=$1
	shift
	serve_pods "$dir/s" "$(cat "$dir/nodes/$served.list")" "$(cat "$dir/nodes/$served.allocatable")" >&2 || exit 0 # standard output is $dir/made
	"$@"
	end_pods
}

# --- the objects, and the metric of each agent
dump_node() { # NAME
	for roots in off on; do
		mkdir -p "$dir/roots-$roots"
		"$nrtd" dump --sysroot "$root" --pod-resources "$dir/s" --state-files none --node-name "$1" --pcie-roots "$roots" -o json \
			>"$dir/roots-$roots/$1.json" 2>"$dir/err" || not_ok "the object of $1" "$dir/err"
		for what in numatopology hints kai; do
			"$nrtd" dump --sysroot "$root" --pod-resources "$dir/s" --state-files none --node-name "$1" --pcie-roots "$roots" --what "$what" 2>&1
		done | sed 's/"nrt":"[0-9a-f]*"/"nrt":""/' >>"$dir/others-$roots" # the hash of the object
	done
	"$nrtd" show --sysroot "$root" --pod-resources "$dir/s" --state-files none --width 250 >"$dir/nodes/$1.show" 2>/dev/null
	! command -v curl >/dev/null || measure_node "$1"
}
port=$((28000 + $$ % 4000)) # scripts run at the same time: each has ports of its own, below the kernel's
metric() { curl -sf "http://127.0.0.1:$port/metrics" 2>/dev/null | grep '^nrtd_pods{'; }
measure_node() { # NAME
	"$nrtd" run --dry-run --sysroot "$root" --pod-resources "$dir/s" --state-files none --node-name "$1" --poll 0 --lock none \
		--pcie-roots=on --http "127.0.0.1:$port" >/dev/null 2>"$dir/err" &
	agent=$!
	eventually 30 metric >"$dir/nodes/$1.metric"
	kill "$agent"
	wait "$agent"
}
names=
for list in "$dir"/nodes/*.node; do
	name=$(basename "$list" .node)
	make_node "$name" || continue
	serve_node "$name" dump_node "$name"
	names="$names $name"
	cat "$dir/nodes/$name.want"
done >"$dir/made"
grep '^skipped' "$dir/made"
grep '^{' "$dir/made" | jq -s -S 'sort_by(.node, .name)' >"$dir/want"
jq '{kind: "List", items: map({kind: "Pod", metadata: {name, namespace: .node, uid: (.node + .name)}, spec: {nodeName: .node,
	containers: [{name: "c", resources: {limits: {cpu: "1", memory: "1Gi"}}}]}, status: {phase: "Running"}})}' "$dir/want" >"$dir/pods.json"
for roots in off on; do
	cp "$dir/pods.json" "$dir/roots-$roots/"
done
cluster=$dir/roots-on

# --- what was planted is found, and nothing else
same() { # NAME FILE: as the file says
	if diff "$2" "$dir/got" >"$dir/differences" 2>&1; then
		ok "$1"
	else
		head -n 40 "$dir/differences" | cut -c 1-300 >"$dir/err"
		not_ok "$1" "$dir/err"
	fi
}
"$numa" pods --from "$cluster" -o json >"$dir/out" 2>"$dir/err"
jq -S '[.pods[] | {node, name, alignment, core: .sharesCore, roots: .devices.pcieRoots, reason}] | sort_by(.node, .name)' "$dir/out" >"$dir/got"
same "each pod has its alignment, cores, PCIe roots and reason" "$dir/want"
jq -S 'map(select(.alignment | IN("remote", "spans", "spans-avoidable", "roots-apart")) | {node, name})' "$dir/want" >"$dir/faults"
"$numa" pods --from "$cluster" --misaligned -o json >"$dir/out" 2>"$dir/err"
jq -S '[.pods[] | {node, name}] | sort_by(.node, .name)' "$dir/out" >"$dir/got"
same "--misaligned" "$dir/faults"
jq -rn --slurpfile all "$dir/want" --slurpfile planted "$dir/faults" --slurpfile found "$dir/got" '($planted[0] - ($planted[0] - $found[0]) | length) as $n |
	"# \($all[0] | length) pods, \($planted[0] | length) of them misaligned: \($n) found, \($found[0] - $planted[0] | length) false"'

# --- the same words everywhere
jq -r '.[] | [.node, .name, .alignment, .reason] | join("|")' "$dir/want" >"$dir/lines"
why() { # for each pod: the alignment that `kubectl numa why` has
	while IFS='|' read -r node pod _ _; do
		"$numa" why "$pod" -n "$node" --from "$cluster" -o json 2>/dev/null | jq -r --arg node "$node" --arg pod "$pod" \
			'[$node, $pod, .held.alignment, .held.reason] | join("|")'
	done <"$dir/lines"
}
why >"$dir/got"
same "why" "$dir/lines"
shown() { # the pods whose alignment nrtd show does not have
	while IFS='|' read -r node pod alignment reason; do
		[ "$alignment" != aligned ] || continue
		tr -s ' \n' ' ' <"$dir/nodes/$node.show" | grep -qF -- "$alignment: $reason" || echo "$node/$pod $alignment: $reason"
	done <"$dir/lines"
}
shown >"$dir/got"
same "nrtd show" /dev/null
if command -v curl >/dev/null; then
	for name in $names; do
		sed "s/^/$name /" "$dir/nodes/$name.metric"
	done | sed -n 's/^\([^ ]*\) nrtd_pods{alignment="\([a-z-]*\)"} \([1-9].*\)/\1 \2 \3/p' | sort >"$dir/got"
	jq -r '.[] | .node + " " + .alignment' "$dir/want" | sort | uniq -c | awk '{ print $2, $3, $1 }' | sort >"$dir/counts"
	same "the agents' metric" "$dir/counts"
fi

# --- zones of PCIe roots change no answer, also where the zones are all that is known
strip() { # FROM TO: the objects without their node state
	mkdir "$2"
	cp "$dir/pods.json" "$2/"
	for name in $names; do
		jq 'del(.attributes[] | select(.name == "nrtd.dev/node-state"))' "$1/$name.json" >"$2/$name.json"
	done
}
for roots in off on; do
	strip "$dir/roots-$roots" "$dir/zones-$roots"
done
check "there are zones of PCIe roots" test "$(jq -s '[.[].zones[]? | select(.type == "PCIeRoot")] | length' "$cluster"/*.json)" -gt 5
answers() { # FOLDER
	for command in "top -o json" "pods -o json" "fit --cpus 2 --memory 1Gi --resource nvidia.com/gpu=1 -o json" \
		"score --cpus 2 --memory 1Gi --resource vendor.com/nic=1 -o json" "config -o json"; do
		# shellcheck disable=SC2086 # a command with flags
		"$numa" $command --from "$1" 2>&1
	done
	for name in $names; do
		"$numa" show "$name" --from "$1" --width 200 2>&1
	done
}
cp "$dir/others-on" "$dir/got"
same "what Volcano, KAI-Scheduler and stock schedulers read" "$dir/others-off"
check "which is something" grep -q 'kind: Numatopology' "$dir/got"
for kind in roots zones; do
	answers "$dir/$kind-off" >"$dir/without"
	answers "$dir/$kind-on" >"$dir/got"
	same "the answers from objects with $kind" "$dir/without"
done
exit $failed
