#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make monitoring-test: three nodes' agents and an extender beside the real API server, scraped by a real Prometheus with the
# PodMonitor's relabelings and our rules. Every query of the dashboard has to return data, every rule and alert has to be
# evaluated without an error, and the label `node` has to be there. Each check is a line, the last line is "N passed,
# N failed"; "skipped:" and 0 where something cannot be run here. B names the build folder.
# With PICTURE=FILE nothing is checked: pods come and go for MINUTES (default 6), and FILE is the dashboard as SVG.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
dashboard=packaging/kubernetes/monitoring/dashboard.json
rules=$PWD/packaging/monitoring/rules.yaml
nodes="node-1 node-2 node-3"
port=$((20000 + $$ % 12000)) # below those that the kernel chooses; the extender's; then those of the agents, then Prometheus'
prometheus=127.0.0.1:$((port + 9))
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
pids=()

for program in prometheus jq curl openssl; do
	command -v $program >/dev/null || skip "$program is not here (packaging/install-deps.sh promtool)"
done
# shellcheck disable=SC2086 # words
$here/build.sh controlplane kubectl
# shellcheck source=tests/upstream/work.sh
. $here/work.sh
stop() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	leave
}
trap stop EXIT

# ---- the cluster

# churn NODE MOST PAUSE: pods of 2, 4 or 6 CPUs come to one NUMA node and go, MOST at a time, a change each PAUSE seconds
churn() {
	local root=$work/$1 most=$2 pause=$3 file i n size cpu free pool entries name
	local -A held=() numa=()
	local -a pods=()
	for file in "$root"/sys/devices/system/node/node*/cpulist; do
		name=$(basename "$(dirname "$file")")
		numa[$name]=$(awk -F, '{for (i = 1; i <= NF; i++) {n = split($i, r, "-"); for (c = r[1] + 0; c <= r[n] + 0; c++) printf "%d ", c}}' "$file")
	done
	RANDOM=$((${1##*-} * 7))
	for ((n = 1; ; n++)); do
		if [ ${#pods[@]} -lt "$most" ] && [ $((RANDOM % 100)) -lt 60 ]; then
			size=$((2 + 2 * (RANDOM % 3)))
			for name in "${!numa[@]}"; do
				free=""
				i=0
				for cpu in ${numa[$name]}; do
					[ "$cpu" -ne 0 ] && [ -z "${held[$cpu]:-}" ] && [ $i -lt $size ] && free="$free $cpu" && i=$((i + 1))
				done
				[ $i -eq $size ] || continue
				pods+=("uid-$n")
				for cpu in $free; do held[$cpu]=uid-$n; done
				break
			done
		elif [ ${#pods[@]} -gt 0 ]; then
			i=$((RANDOM % ${#pods[@]}))
			for cpu in "${!held[@]}"; do [ "${held[$cpu]}" != "${pods[$i]}" ] || held[$cpu]=; done
			pods=("${pods[@]:0:i}" "${pods[@]:i+1}")
		fi
		pool=""
		# shellcheck disable=SC2048 # words
		for cpu in ${numa[*]}; do [ -n "${held[$cpu]:-}" ] || pool=$pool,$cpu; done
		entries=""
		for name in ${pods[@]+"${pods[@]}"}; do
			free=""
			for cpu in "${!held[@]}"; do [ "${held[$cpu]}" != "$name" ] || free=$free,$cpu; done
			entries="$entries,\"$name\":{\"app\":\"${free#,}\"}"
		done
		printf '{"policyName":"static","defaultCpuSet":"%s","entries":{%s},"checksum":0}' "${pool#,}" "${entries#,}" \
			>"$root/var/lib/kubelet/.new"
		mv "$root/var/lib/kubelet/.new" "$root/var/lib/kubelet/cpu_manager_state"
		sleep "$pause"
	done
}
# pod NAME CPUS: its object
pod() {
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"default"},"spec":{"schedulerName":"none","containers":[{"name":"app","image":"example.com/app","resources":{"requests":{"cpu":"%s","memory":"1Gi"},"limits":{"cpu":"%s","memory":"1Gi"}}}]}}' \
		"$1" "$2" "$2"
}
# questions PAUSE: a scheduler's, about pods of 2 to 8 CPUs. Nobody binds them: the API server has each for the picture, until the next
# one is there, so that its assumption ends with the pod; otherwise assumptions expire.
questions() {
	local n object
	for ((n = 1; ; n++)); do
		object=$(pod "p$n" $((2 + 2 * (n % 4))))
		if [ -n "${PICTURE:-}" ]; then
			object=$(admin create -f - -o json <<<"$object")
			admin delete pod "p$((n - 2))" --now --wait=false --ignore-not-found
		else
			object=$(jq -c --arg uid "p$n" '.metadata.uid = $uid' <<<"$object")
		fi
		for verb in filter prioritize; do
			jq -c '{Pod: ., Nodes: null, NodeNames: ["node-1", "node-2", "node-3"]}' <<<"$object" |
				curl -sk -o /dev/null -m 10 --data-binary @- "https://127.0.0.1:$port/$verb"
		done
		sleep "$1"
	done
} >/dev/null
admin() { build/upstream/kubectl --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
# reject REASON NAME NODE: a pod that the node's kubelet rejects
reject() {
	pod "$2" 64 | jq -c --arg node "$3" '.spec.nodeName = $node' | admin create -f - &&
		admin patch pod "$2" --subresource=status --type=merge -p '{"status":{"phase":"Failed","reason":"'"$1"'","message":"Pod was rejected: as a test"}}'
} >/dev/null
start_agents() {
	local name machine config i=0
	for name in $nodes; do
		i=$((i + 1))
		machine=seed-2s-32cpu
		config=$work/cluster/agent-$name.kubeconfig
		# of the node's own identity, which is a certificate
		[ "$name" != node-3 ] || machine=2s-snc4 config=$work/cluster/kubelet-$name.kubeconfig
		tests/fixtures/machines/make.sh "$work/machines" $machine && mv "$work/machines/$machine" "$work/$name" || exit 1
		mkdir -p "$work/$name/var/lib/kubelet" "$work/$name/sys/fs/cgroup/kubepods"
		echo memory >"$work/$name/sys/fs/cgroup/cgroup.controllers" # the memory of the pods is unknown, and its metrics are there
		printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: static' \
			'reservedSystemCPUs: "0"' 'topologyManagerPolicy: single-numa-node' >"$work/$name/var/lib/kubelet/config.yaml"
		churn "$name" "$1" "$2" &
		pids+=($!)
		"$B/nrtd" run --sysroot="$work/$name" --node-name="$name" --kubeconfig="$config" --lock=none \
			--http=127.0.0.1:$((port + i)) --labels --shape=small=cpu=2,memory=1Gi --shape=large=cpu=10,memory=8Gi 2>"$work/$name.log" &
		pids+=($!)
		agent=$!
	done
}
start_extender() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=any -addext subjectAltName=DNS:any -days 90 \
		-keyout "$work/tls.key" -out "$work/tls.crt" 2>/dev/null
	"$B/nrtd-extender" --kubeconfig="$work/cluster/admin.kubeconfig" --http=127.0.0.1:$port --advertise=127.0.0.1 --lease=nrtd/nrtd-extender \
		--assume-timeout="$([ -n "${PICTURE:-}" ] && echo 1m || echo 3s)" --tls-cert="$work/tls.crt" --tls-key="$work/tls.key" 2>"$work/extender.log" &
	pids+=($!)
	questions "$1" &
	pids+=($!)
}
# The PodMonitor's relabelings, as a configuration of Prometheus has them.
relabelings() {
	awk '/^---/ {exit} /relabelings:/ {on = 1; next} on' packaging/kubernetes/monitoring/podmonitor.yaml |
		sed 's/^    /  /; s/sourceLabels/source_labels/; s/targetLabel/target_label/'
}
start_prometheus() { # INTERVAL
	local name i=0
	{
		printf '%s\n' "global: {scrape_interval: $1, evaluation_interval: $1}" "rule_files: ['$rules']" scrape_configs: \
			"- job_name: nrtd/nrtd" "  relabel_configs:"
		relabelings
		echo "  static_configs:"
		for name in $nodes; do
			i=$((i + 1))
			echo "  - {targets: ['127.0.0.1:$((port + i))'], labels: {__meta_kubernetes_pod_node_name: $name}}"
		done
		printf '%s\n' "- job_name: nrtd/nrtd-extender" "  scheme: https" \
			"  tls_config: {ca_file: '$work/tls.crt', server_name: any}" "  static_configs: [{targets: ['127.0.0.1:$port']}]"
	} >"$work/prometheus.yml"
	prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=$prometheus \
		--log.level=warn >"$work/prometheus.log" 2>&1 &
	pids+=($!)
}

# ---- questions to Prometheus

# queries: of the panels: title and query, with what Grafana puts in place of its variables
queries() {
	# shellcheck disable=SC2016 # Grafana's names
	jq -r '.panels[] | ., .panels[]? | select(.targets) | .title as $title | .targets[] | [$title, .expr] | join("\t")' $dashboard |
		sed 's/\$node/node-1/g; s/\$cluster/.*/g; s/\$__rate_interval/1m/g'
}
# ask QUERY: the answer in $work/answer
ask() { curl -sG -m 30 "http://$prometheus/api/v1/query" --data-urlencode "query=$1" >"$work/answer"; }
has_data() {
	ask "$1" && jq -e '.status == "success" and any(.data.result[]; .value[1] != "NaN")' "$work/answer" >/dev/null
}
has_data_in_time() {
	until has_data "$1"; do
		[ $SECONDS -lt $deadline ] || { jq -c . "$work/answer" && return 1; }
		sleep 0.2
	done
}
evaluates() { ask "$1" && jq -e '.status == "success"' "$work/answer"; }
# The rules as Prometheus has them.
fetch_rules() { curl -s -m 30 "http://$prometheus/api/v1/rules" | jq '[.data.groups[].rules[]]' >"$work/rules.json"; }
all_evaluated() { fetch_rules && jq -e 'length > 8 and all(.[]; .health == "ok")' "$work/rules.json" >/dev/null; }
scraped() { ask 'count(up == 1)' && jq -e '.data.result[0].value[1] == "4"' "$work/answer" >/dev/null; }
nodes_are() { ask "$1" && [ "$(jq -r '[.data.result[].metric.node] | sort | join(" ")' "$work/answer")" = "$2" ]; }
sum_is() { ask "sum($2)" && jq -e --arg n "$1" '.data.result[0].value[1] == $n' "$work/answer"; }
logs() { tail -n 5 "$work"/*.log; }

# shellcheck disable=SC2086 # words
$here/cluster.sh start "$work/cluster" -nodes "$(echo $nodes | tr ' ' ,)" \
	-manifests "$($here/cluster.sh manifests),packaging/kubernetes/rbac-nodes.yaml" >/dev/null || exit 1
if [ -n "${PICTURE:-}" ]; then
	minutes=${MINUTES:-6}
	start_agents 14 4
	start_extender 0.7
	start_prometheus 2s
	for ((n = 1; n < minutes; n++)); do
		sleep 60
		reject TopologyAffinityError "rejected-$n" "node-$((n % 2 + 1))"
	done
	sleep 60
	tests/monitoring/picture.sh "http://$prometheus" $((minutes * 60 - 30)) $dashboard >"$PICTURE"
	exit
fi
start_agents 3 1
start_extender 0.2
start_prometheus 1s
check "Prometheus scrapes three agents and the extender" eventually 90 scraped
[ $failed -eq 0 ] || { logs && exit 1; }
check "a kubelet rejects a pod" reject NodeShutdown rejected node-2
check "agents have the Node's name as node" nodes_are 'nrtd_build_info{job="nrtd/nrtd"}' "$nodes"
check "and as instance" nodes_are 'sum by (node) (label_replace(up{job="nrtd/nrtd"}, "node", "=", "instance", ".*:.*"))' "$nodes"
deadline=$((SECONDS + 90)) # one for all that has to come
while IFS=$'\t' read -r title query; do
	check "panel '$title' has data: $query" has_data_in_time "$query"
done < <(queries)
check "the rejected pod has its node and its reason" sum_is 1 'nrtd_extender_rejected_pods_total{node="node-2",reason="NodeShutdown"}'
check "every rule is evaluated" eventually 90 all_evaluated
while read -r record; do
	check "total $record has data" has_data_in_time "$record"
done < <(jq -r '.[] | select(.type == "recording").name' "$work/rules.json" | sort -u)
while IFS=$'\t' read -r alert query; do
	check "alert $alert is evaluated" evaluates "$query"
done < <(jq -r '.[] | select(.type == "alerting") | [.name, .query] | join("\t")' "$work/rules.json")
check "no alert fires" nodes_are 'ALERTS{alertstate="firing"}' ""
kill "$agent"
down=$(jq -r '.[] | select(.name == "NrtdAgentDown").query' "$work/rules.json")
check "an agent that ends is down" eventually 90 nodes_are "$down" node-3
[ $failed -eq 0 ] || logs
tally
