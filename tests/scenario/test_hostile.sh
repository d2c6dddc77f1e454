#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names from outside that would steer a terminal, begin a line of their own or bring a script into a picture: through
# NodeResourceTopology objects, pods, the kubelet's files and the command line, to every command of nrtd and kubectl-numa and every output.
# B names the build folder.
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
export LC_ALL=C
unset COLUMNS NO_COLOR KUBECONFIG
export HOME="$dir"

# As JSON and double-quoted YAML have it, and as bytes: a title and a colour of 7 bits, one of 8 bits, DEL, a line, a script.
evil='e\u001b]0;owned\u0007\u001b[31m\u009b31m\u007f\r\nFORGED <script>alert(1)</script>&\"q\u00e9'
evil_bytes=$(printf 'e\033]0;owned\007\033[31m\302\23331m\177\r\nFORGED <script>alert(1)</script>&"q\303\251')
# Control characters as they are; and what is no UTF-8: a lone byte, an overlong ESC, half a surrogate, a cut sequence.
raw=$(printf 'e\033]0;owned\007\033[31m\302\23331m\177<script>&q')
broken=$(printf 'b\377\300\233\355\240\200\342\202')

# tame FILE: printable UTF-8 of whole lines
tame() {
	! grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^\W*FORGED' "$1" && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}
# run NAME ARGUMENT..., numa NAME ARGUMENT...: whatever nrtd or kubectl-numa answers, both outputs are tame; its status is in $status
run() { try "$nrtd" "$@"; }
numa() { try "$numa" "$@"; }
try() {
	local program=$1 name=$2
	shift 2
	timeout 20 "$program" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	if [ $status -ge 124 ]; then
		echo "not ok $name: status $status"
		failed=1
	elif ! tame "$dir/out" || ! tame "$dir/err"; then
		echo "not ok $name"
		cat -v "$dir/out" "$dir/err" | head -n 40 | sed 's/^/# /'
		failed=1
	else
		echo "ok $name"
	fi
}
# said NAME TEXT: the last output has the names at all
said() {
	if grep -qaF -- "$2" "$dir/out" "$dir/err"; then echo "ok $1"; else
		echo "not ok $1"
		cat -v "$dir/out" "$dir/err" | head -n 20 | sed 's/^/# /'
		failed=1
	fi
}
# picture NAME: the last output is an SVG without a script
picture() {
	if grep -q '</svg>' "$dir/out" && ! grep -qi '<script' "$dir/out" && well_formed; then echo "ok $1"; else
		echo "not ok $1"
		grep -n -i -m 3 '<script' "$dir/out" | cut -c 1-300 | sed 's/^/# /'
		failed=1
	fi
}
well_formed() {
	if command -v xmllint >/dev/null; then
		xmllint --noout "$dir/out"
	elif command -v python3 >/dev/null; then
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$dir/out"
	fi
}

# --- objects
object() { # object NAME RESOURCE VALUE
	printf '{"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology","metadata":{"name":"%s"},' "$1"
	printf '"topologyPolicies":["%s"],"attributes":[{"name":"%s","value":"%s"},{"name":"cpuManagerPolicyOptions","value":"%s"}],"zones":[' \
		"$1" "$1" "$1" "$1"
	for zone in 0 1; do
		[ $zone = 0 ] || printf ,
		printf '{"type":"Node","name":"node-%d","parent":"%s","costs":[{"name":"%s","value":10}],"attributes":[{"name":"%s","value":"1"}],' \
			$zone "$1" "$1" "$1"
		printf '"resources":[{"name":"cpu","capacity":"4","allocatable":"4","available":"2"},{"name":"%s","capacity":"%s","allocatable":"4","available":"1"}]}' \
			"$2" "$3"
	done
	printf ']}'
}
object "$evil" "$evil/dev" 4 >"$dir/nrt.json"
object "$evil" "$evil/dev" "$evil" >"$dir/quantity.json"
object "$raw" "$raw/dev" 4 >"$dir/raw.json"
object "$broken" "$broken/dev" 4 >"$dir/broken.json"
printf '{"kind":"%s"}' "$evil" >"$dir/kind.json"
printf '{"kind":"List","items":[%s,%s]}' "$(object "$evil" cpu 4)" "$(object "$evil\u0001" cpu 4)" >"$dir/list.json"
# --- pods
pod() { # pod NAME: YAML in JSON's form
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"%s","resources":{"limits":{"cpu":"2","memory":"1Gi","%s/dev":"2"},"requests":{"cpu":"2","memory":"1Gi","%s/dev":"2"}}},{"name":"%s2","resources":{"limits":{"cpu":"64","memory":"1Gi"}}}]}}' \
		"$1" "$1" "$1" "$1" "$1"
}
pod "$evil" >"$dir/pod.json"
pod "$raw" >"$dir/pod-raw.json"
pod "$broken" >"$dir/pod-broken.json"
printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"%s","resources":{"limits":{"cpu":"%s"}}}]}}' \
	"$evil" "$evil" "$evil" >"$dir/pod-quantity.json"
printf '{"apiVersion":"v1","kind":"%s"}' "$evil" >"$dir/pod-kind.json"
printf '{"apiVersion":"v1","kind":"List","items":[%s,%s]}' "$(pod "$evil")" "$(pod "$evil")" >"$dir/pods.json"

for nrt in nrt quantity raw broken kind list; do
	for pod in pod pod-raw pod-broken pod-quantity pod-kind pods; do
		for output in text json; do
			numa "score of $nrt for $pod as $output" score --from "$dir/$nrt.json" -f "$dir/$pod.json" -o $output
		done
	done
	for pod in pod pod-raw pod-broken pod-quantity pod-kind; do
		for output in text wide json name; do
			numa "fit of $nrt for $pod as $output" fit --from "$dir/$nrt.json" -f "$dir/$pod.json" -o $output
		done
		numa "fit of a node of $nrt for $pod" fit "$evil_bytes" --from "$dir/$nrt.json" -f "$dir/$pod.json"
	done
	for output in text wide json yaml html; do
		numa "top of $nrt as $output" top --from "$dir/$nrt.json" -o $output
	done
	for pod in pod pod-raw pod-broken pod-quantity; do
		numa "top of $nrt for $pod" top --from "$dir/$nrt.json" -f "$dir/$pod.json"
	done
	for output in text svg; do
		numa "show of $nrt as $output" show --from "$dir/$nrt.json" -o $output
	done
	numa "show of a node of $nrt" show --from "$dir/$nrt.json" "$raw"
done
numa "score, to see its names" score --from "$dir/nrt.json" -f "$dir/pod.json"
said "score names the node" 'e?]0;owned?'
numa "fit, to see its names" fit --from "$dir/nrt.json" -f "$dir/pod.json"
said "fit names the node" 'e?]0;owned?'
numa "fit of the node, to see its names" fit "$evil_bytes" --from "$dir/nrt.json" -f "$dir/pod.json"
said "fit names the device" 'e?]0;owned?'
numa "top, to see its names" top --from "$dir/nrt.json"
said "top names the node" 'e?]0;owned?'
numa "a picture" show --from "$dir/nrt.json" -o svg
picture "a picture has no script"
said "the picture has its names" '&lt;script&gt;'

# --- what became of a pod: names, messages, labels, taints and events
fate() { # fate NAME STATUS: a pod of everything that is printed
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"%s","uid":"%s","ownerReferences":[{"kind":"%s","name":"%s"}]},"spec":{"nodeName":"%s","nodeSelector":{"%s":"%s"},"containers":[{"name":"%s","resources":{"limits":{"cpu":"2","memory":"1Gi","%s/dev":"2"}}},{"name":"%s2","resources":{"limits":{"cpu":"64"}}}]},"status":{%s,"reason":"%s","message":"%s","conditions":[{"type":"PodScheduled","status":"False","message":"%s"}]}}' \
		"$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$2" "$1" "$1" "$1"
}
for kind in evil raw broken; do
	name=${!kind//\//} # without a slash, which would end a namespace
	word=$name
	[ $kind != evil ] || word=${evil_bytes//\//}
	printf '{"kind":"List","items":[{"kind":"Event","involvedObject":{"kind":"Pod","namespace":"%s","name":"%s"},"type":"%s","reason":"%s","message":"%s","source":{"component":"%s"},"lastTimestamp":"%s"}]}' \
		"$name" "$name" "$name" "$name" "$name" "$name" "$name" >"$dir/events.json"
	printf '{"kind":"Node","metadata":{"name":"%s","labels":{"a":"%s"}},"spec":{"taints":[{"key":"%s","value":"%s","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"1","%s/dev":"1"}}}' \
		"$name" "$name" "$name" "$name" "$name" >"$dir/tainted.json"
	printf '{"kind":"Node","metadata":{"name":"%s"},"status":{"allocatable":{"cpu":"64","memory":"64Gi","%s/dev":"1"}}}' \
		"$name" "$name" >"$dir/small.json"
	for phase in Pending Failed Running Succeeded "$name"; do
		fate "$name" "\"phase\":\"$phase\"" >"$dir/fate.json"
		for nodes in tainted small nrt; do
			for output in text json yaml; do
				numa "why of $kind that is $phase, nodes $nodes, as $output" why "$word" --from "$dir/nrt.json" --from "$dir/fate.json" \
					--from "$dir/$nodes.json" --from "$dir/events.json" -o $output
			done
		done
		[ "$phase" != Pending ] || [ $kind != evil ] || numa "why, to see its names" why "$word" --from "$dir/nrt.json" \
			--from "$dir/fate.json" --from "$dir/tainted.json" --from "$dir/events.json"
		[ "$phase" != Pending ] || [ $kind != evil ] || said "why quotes the event" 'e?]0;owned?'
	done
	numa "why of files that are not there" why "$name" --from "$name"
	numa "why of a List" why "$word" "$name" --from "$dir/list.json" --from "$dir/pods.json"
done

# --- the kubelet's files
for kind in evil broken; do
	name=${!kind}
	root=$dir/$kind
	mkdir -p "$root/var/lib/kubelet/device-plugins"
	cp -r build/fixtures/machines/seed-2s-32cpu/. "$root"
	printf '{"policyName":"static","defaultCpuSet":"0,3-31","entries":{"%s":{"%s":"1-2"}},"checksum":0}' "$name" "$name" \
		>"$root/var/lib/kubelet/cpu_manager_state"
	printf '{"policyName":"%s","machineState":{},"entries":{},"checksum":0}' "$name" >"$root/var/lib/kubelet/memory_manager_state"
	printf '{"Data":{"PodDeviceEntries":[{"PodUID":"%s","ContainerName":"%s","ResourceName":"%s/dev","DeviceIDs":{"0":["%s"]},"AllocResp":""}],"RegisteredDevices":{"%s/dev":["%s","b"]}},"Checksum":0}' \
		"$name" "$name" "$name" "$name" "$name" "$name" >"$root/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
	for config in good bad; do
		printf '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","cpuManagerPolicy":"static","reservedSystemCPUs":"0","topologyManagerPolicy":"%s"}' \
			"$([ $config = good ] && echo best-effort || echo "$name")" >"$root/var/lib/kubelet/config.yaml"
		for output in yaml json; do
			for what in nrt machine inventory hints; do
				run "dump of $what as $output, $kind state, $config configuration" \
					dump -v --sysroot "$root" --what $what -o $output
			done
		done
		for output in text json; do
			run "fit as $output, $kind state, $config configuration" fit --sysroot "$root" -f "$dir/pod.json" -o $output
			run "check as $output, $kind state, $config configuration" check --sysroot "$root" -o $output
		done
		for output in text svg; do
			run "show as $output, $kind state, $config configuration" show --sysroot "$root" -o $output
		done
		[ $status -ne 0 ] || picture "picture of $kind state, $config configuration"
		run "run, $kind state, $config configuration" run --sysroot "$root" --dry-run --lock none --http off --node-name "$raw" --coalesce "$raw"
	done
done

# --- what fit says of pods, in every way it can end
for pod in pod pod-raw pod-broken pod-quantity pod-kind pods; do
	for output in text json; do
		run "fit of $pod as $output" fit --sysroot "$dir/evil" -f "$dir/$pod.json" -o $output --policy single-numa-node
	done
done

# --- names in arguments, file names and credentials
mkdir "$dir/$raw" 2>/dev/null
printf 'apiVersion: v1\nkind: Config\ncurrent-context: "%s"\ncontexts:\n- name: "%s"\n  context: {cluster: "%s", user: "%s"}\nclusters:\n- name: "%s"\n  cluster: {server: "https://127.0.0.1:1/%s"}\nusers:\n- name: "%s"\n  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "%s", interactiveMode: Never}}\n' \
	"$evil" "$evil" "$evil" "$evil" "$evil" "$evil" "$evil" "$evil" >"$dir/kubeconfig"
for name in "$raw" "$broken"; do
	run "an unknown command" "$name"
	numa "an unknown command of kubectl-numa" "$name"
	for command in run dump show fit check diff completion; do
		run "$command with an unknown flag" $command "--$name"
		run "$command with an argument" $command "$name"
	done
	for command in top fit score why show completion; do
		numa "kubectl-numa $command with an unknown flag" $command "--$name"
		numa "kubectl-numa $command with an argument" $command "$name"
		[ $command != completion ] || continue
		numa "kubectl-numa $command with a server" $command --server "$name" "$name"
		numa "kubectl-numa $command with a path in the server's URL" $command --server "http://127.0.0.1:1/$name" "$name"
		numa "kubectl-numa $command with a context" $command "$name" --kubeconfig "$dir/kubeconfig" --context "$name"
		numa "kubectl-numa $command with credentials" $command "$name" --kubeconfig "$dir/kubeconfig"
	done
	numa "fit with a selector" fit --cpus 1 --server http://127.0.0.1:1 -l "$name"
	numa "why with a namespace" why p --server http://127.0.0.1:1 -n "$name"
	for flag in --sysroot --machine --kubelet-config --node-name --state-files; do
		for command in dump check fit show; do
			run "$command with $flag" $command "$flag" "$name"
		done
	done
	numa "score of a file that is not there" score --from "$name" -f "$name"
	numa "top of a file that is not there" top --from "$name"
	numa "top by an unknown column" top --from "$dir/nrt.json" --sort-by "$name"
	run "fit of a file that is not there" fit -f "$name"
	run "fit with resources" fit --cpus 1 --device "$name/dev=1"
	run "show of a width" show --width "$name"
done
for command in diff check; do
	run "$command with credentials" $command --kubeconfig "$dir/kubeconfig" --sysroot "$dir/evil" --node-name n
	run "$command with a context" $command --kubeconfig "$dir/kubeconfig" --context "$raw" --sysroot "$dir/evil" --node-name n
done
[ $failed -eq 0 ]
