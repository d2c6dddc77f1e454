#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names from outside that would steer a terminal, begin a line of their own or bring a script into a picture: through
# NodeResourceTopology objects, pods, the kubelet's files and the command line, to every command and every output of it.
# B names the build folder.
set -u
nrtd=${B:-build}/nrtd
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
export LC_ALL=C
unset COLUMNS NO_COLOR

# As JSON and double-quoted YAML have it: a title and a colour of 7 bits, one of 8 bits, DEL, a line, a script.
evil='e\u001b]0;owned\u0007\u001b[31m\u009b31m\u007f\r\nFORGED <script>alert(1)</script>&\"q\u00e9'
# The same as bytes; and what is no UTF-8: a lone byte, an overlong ESC, half a surrogate, a cut sequence.
raw=$(printf 'e\033]0;owned\007\033[31m\302\23331m\177<script>&q')
broken=$(printf 'b\377\300\233\355\240\200\342\202')

# tame FILE: printable UTF-8 of whole lines
tame() {
	! grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^\W*FORGED' "$1" && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}
# run NAME ARGUMENT...: whatever the command answers, both outputs are tame; its status is in $status
run() {
	local name=$1
	shift
	timeout 20 "$nrtd" "$@" >"$dir/out" 2>"$dir/err" </dev/null
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
			run "score of $nrt for $pod as $output" score --nrt "$dir/$nrt.json" -f "$dir/$pod.json" -o $output
		done
	done
	for output in table wide json yaml; do
		run "list of $nrt as $output" list --nrt "$dir/$nrt.json" -o $output
	done
	for pod in pod pod-raw pod-broken pod-quantity; do
		run "list of $nrt for $pod" list --nrt "$dir/$nrt.json" -f "$dir/$pod.json"
	done
	for output in text svg; do
		run "show of $nrt as $output" show --nrt "$dir/$nrt.json" -o $output
	done
	run "show of a node of $nrt" show --nrt "$dir/$nrt.json" --node-name "$raw"
done
run "score, to see its names" score --nrt "$dir/nrt.json" -f "$dir/pod.json"
said "score names the node" 'e?]0;owned?'
run "list, to see its names" list --nrt "$dir/nrt.json"
said "list names the node" 'e?]0;owned?'
run "a picture" show --nrt "$dir/nrt.json" -o svg
picture "a picture has no script"
said "the picture has its names" '&lt;script&gt;'

# --- what became of a pod: names, messages, labels, taints and events
fate() { # fate NAME STATUS: a pod of everything that is printed
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"%s","uid":"%s","ownerReferences":[{"kind":"%s","name":"%s"}]},"spec":{"nodeName":"%s","nodeSelector":{"%s":"%s"},"containers":[{"name":"%s","resources":{"limits":{"cpu":"2","memory":"1Gi","%s/dev":"2"}}},{"name":"%s2","resources":{"limits":{"cpu":"64"}}}]},"status":{%s,"reason":"%s","message":"%s","conditions":[{"type":"PodScheduled","status":"False","message":"%s"}]}}' \
		"$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$2" "$1" "$1" "$1"
}
for kind in evil raw broken; do
	name=${!kind}
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
				run "why of $kind that is $phase, nodes $nodes, as $output" why --nrt "$dir/nrt.json" -f "$dir/fate.json" \
					--nodes "$dir/$nodes.json" --events "$dir/events.json" -o $output
			done
		done
		[ "$phase" != Pending ] || [ $kind != evil ] || run "why, to see its names" why --nrt "$dir/nrt.json" -f "$dir/fate.json" \
			--nodes "$dir/tainted.json" --events "$dir/events.json"
		[ "$phase" != Pending ] || [ $kind != evil ] || said "why quotes the event" 'e?]0;owned?'
	done
	run "why of files that are not there" why --nrt "$name" -f "$name"
	run "why of a List" why --nrt "$dir/list.json" -f "$dir/pods.json" --node-name "$name"
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
	for command in run dump show fit score list why check diff completion; do
		run "$command with an unknown flag" $command "--$name"
		run "$command with an argument" $command "$name"
	done
	for flag in --sysroot --machine --kubelet-config --node-name --state-files; do
		for command in dump check fit show; do
			run "$command with $flag" $command "$flag" "$name"
		done
	done
	run "score of a file that is not there" score --nrt "$name" -f "$name"
	run "list of a file that is not there" list --nrt "$name"
	run "list by an unknown column" list --nrt "$dir/nrt.json" --sort-by "$name"
	run "fit of a file that is not there" fit -f "$name"
	run "fit with resources" fit --cpus 1 --device "$name/dev=1"
	run "show of a width" show --width "$name"
done
for command in diff check; do
	run "$command with credentials" $command --kubeconfig "$dir/kubeconfig" --sysroot "$dir/evil" --node-name n
	run "$command with a context" $command --kubeconfig "$dir/kubeconfig" --context "$raw" --sysroot "$dir/evil" --node-name n
done
[ $failed -eq 0 ]
