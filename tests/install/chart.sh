# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What manifests.sh asks of the chart's values: each is in values.yaml and in the schema, and changes what is rendered. The
# values that differ from the default are in values-all.yaml; values-off.yaml, values-other.yaml and values-extender.yaml have those that would hide
# others there. Sourced.
# shellcheck disable=SC2034,SC2154 # manifests.sh stops the registry, and has helm, chart, manifests, work and objects

# to_json FILE: values as JSON, by a chart whose only template prints them
to_json() {
	mkdir -p "$work/print/templates"
	printf 'apiVersion: v2\nname: print\nversion: 0.0.1\n' >"$work/print/Chart.yaml"
	# shellcheck disable=SC2016 # helm's template
	printf 'values: {{ omit .Values "global" | toJson }}\n' >"$work/print/templates/values.yaml"
	"$helm" template print "$work/print" -f "$1" | sed -n 's/^values: //p'
}
# leaves: the paths of the values, as lists in JSON: groups whose members are all named in the schema are gone into
leaves() {
	jq -c 'def leaves($path): .properties | to_entries[] | ($path + [.key]) as $key
		| .value | if .properties and (.required | not) then leaves($key) else $key end;
		del(.properties.global) | leaves([])' "$chart"/values.schema.json
}
# strict: each object of the schema says what else it may have; the chart's own have nothing
strict() {
	jq -e '[paths(type == "object" and ((.type | type) == "string" and .type == "object" or has("properties")) and
		(has("additionalProperties") | not))] - [["properties", "global"]] == []' "$chart"/values.schema.json &&
		jq -e '[.. | objects | select(has("properties") and (.properties | type) == "object" and .type == "object")
			| .additionalProperties] | length > 20 and all(. == false)' "$chart"/values.schema.json
}
# changes WHAT PATH: without this value in the file, something else is rendered or checks.yaml refuses, and the value itself is to be
# seen
changes() {
	jq -c --argjson path "$2" 'delpaths([$path])' "$work/$1.json" >"$work/without.json" &&
		{ render -f "$work/without.json" >"$work/without.yaml" || grep -F checks.yaml "$work/helm.err"; } &&
		! cmp -s "$work/$1.yaml" "$work/without.yaml" || return 1
	jq -r --argjson path "$2" 'getpath($path) | .. | scalars | select(type != "boolean" and . != null and . != "")' "$work/$1.json" |
		while read -r value; do
			grep -qF -- "$value" "$work/$1.yaml" || { echo "'$value' is not rendered" && return 1; }
		done
}
each_value() {
	local path what name set
	for what in all off other extender; do
		to_json tests/install/values-$what.yaml >"$work/$what.json"
		render -f tests/install/values-$what.yaml >"$work/$what.yaml" || exit 1
	done
	to_json "$chart"/values.yaml >"$work/default.json"
	while read -r path; do
		name=$(jq -r 'join(".")' <<<"$path")
		# shellcheck disable=SC2016 # jq's variable
		jq -e --argjson path "$path" 'getpath($path[:-1]) | has($path[-1])' "$work/default.json" >/dev/null ||
			check "value $name is in values.yaml" false
		what=
		for set in all off other extender; do
			# shellcheck disable=SC2016 # jq's variable
			! jq -e --argjson path "$path" 'getpath($path[:-1]) | type == "object" and has($path[-1])' "$work/$set.json" >/dev/null || what=${what:-$set}
		done
		check "value $name (${what:-in no values-*.yaml of tests/install}) changes what is rendered" changes "$what" "$path"
	done < <(leaves)
	jq -c 'paths(type != "object" or length == 0) | . as $p | $p[:($p | map(type == "number") | index(true) // length)]' "$work/default.json" |
		jq -s -e --slurpfile all <(leaves) 'length > 80 and (map(. as $p | select($all | any(. as $leaf | $p[:($leaf | length)] == $leaf) | not)) == [])' >/dev/null
	check "every default is in the schema" test $? -eq 0
}
other_name() {
	"$helm" template numa "$chart" -n elsewhere --kube-version 1.30 2>/dev/null >"$work/other.yaml" &&
		! grep -nE '^  name: (numa|nrtd-own-node)$' "$work/other.yaml" && grep -q '^  name: numa-nrtd$' "$work/other.yaml" &&
		grep -q "endsWith(':elsewhere:nrtd')" "$work/other.yaml" && grep -q 'verbs: \[write-own-node\]' "$work/other.yaml"
}
# own_names: with both overrides nothing has the chart's name, and what selects finds: pods, and Services for monitors
own_names() {
	takes_chart -f tests/install/values-other.yaml &&
		jq -e "[$objects"' | select(.metadata.name | startswith("host-numa") | not) | .kind + " " + .metadata.name] == ["ServiceAccount nrtd"]' \
			"$work/stored.json" &&
		jq -e "[$objects]"' as $all | [$all[] | .spec.template.metadata.labels // empty] as $pods
			| [$all[] | select(.kind == "Service") | .metadata.labels] as $services
			| [$all[] | {of: (if .kind == "ServiceMonitor" then $services elif .kind == "DaemonSet" or .kind == "Deployment"
				then [.spec.template.metadata.labels] else $pods end), selector: (if .kind == "Service" then .spec.selector
				else .spec.selector.matchLabels // .spec.podSelector.matchLabels // empty end)}]
			| length >= 7 and all(. as $one | [.of[] | select(. as $labels
				| $one.selector | to_entries | all($labels[.key] == .value))] | length == 1)' "$work/stored.json"
}
# without_agents: the extender, and nothing of the agents
without_agents() {
	takes_chart -f tests/install/values-extender.yaml && plain |
		jq -e 'any(.[]; .kind == "Deployment") and all(.[]; .kind != "DaemonSet" and (.kind == "ServiceAccount" and .metadata.name == "nrtd" | not)
			and (.metadata.name | endswith("-own-node") | not))'
}
monitors=(podMonitor serviceMonitor)
extender_monitored() {
	local monitor
	for monitor in "${monitors[@]}"; do
		takes_chart --set extender.enabled=true --set "$monitor.enabled=true" && plain |
			jq -e '[.[] | select(.kind == "PodMonitor" or .kind == "ServiceMonitor")] | length == 2 and (map(.spec
				| (.podMetricsEndpoints // .endpoints)[0]
				| select(.scheme == "https" and .tlsConfig.serverName == "nrtd-extender.nrtd.svc" and .relabelings == null)) | length == 1)' || return 1
	done
}
agents_monitored() {
	local monitor
	for monitor in "${monitors[@]}"; do
		takes_chart --set "$monitor.enabled=true" && plain |
			jq -e '[.[] | select(.kind == "PodMonitor" or .kind == "ServiceMonitor") | .spec | (.podMetricsEndpoints // .endpoints)[0].relabelings
				| [.[] | select(.sourceLabels == ["__meta_kubernetes_pod_node_name"]) | .targetLabel] == ["node", "instance"]
					and any(.action == "labeldrop" and .regex == "pod")] == [true]' || return 1
	done
}
# nothing_silent: values that would render nothing are refused
nothing_silent() {
	refused "nothing would be installed" render --set agent.enabled=false &&
		refused "require agent.enabled" render --set agent.enabled=false,extender.enabled=true,podMonitor.enabled=true &&
		refused "numaAware.enabled requires extender.enabled" render --set numaAware.enabled=true &&
		refused "extender.certManager.enabled requires extender.enabled" render --set extender.certManager.enabled=true &&
		refused "issuerRef requires extender.certManager.enabled" render --set extender.enabled=true,extender.certManager.issuerRef.name=x &&
		refused "Enable only one" render --set podMonitor.enabled=true,serviceMonitor.enabled=true &&
		refused "require http.enabled" render --set podMonitor.enabled=true,http.enabled=false &&
		refused "require http.enabled" render --set serviceMonitor.enabled=true,http.enabled=false &&
		refused "runbookBase requires prometheusRule.enabled" render --set prometheusRule.runbookBase=https://example.com/m.html &&
		refused "schedulerPolicy.enabled requires a scheduler" render --set schedulerPolicy.enabled=true &&
		refused "cannot be default-scheduler" render --set schedulerPolicy.enabled=true,schedulerPolicy.schedulerName=default-scheduler &&
		refused "requires Kubernetes 1.34, and the cluster has v1.33.4" render --kube-version 1.33.4 --set schedulerPolicy.enabled=true,schedulerPolicy.schedulerName=own &&
		refused "require schedulerPolicy.enabled" render --set schedulerPolicy.schedulerName=own &&
		refused "require schedulerPolicy.enabled" render --set schedulerPolicy.action=Deny &&
		refused "require schedulerPolicy.enabled" render --set 'schedulerPolicy.resources={example.com/nic}' &&
		refused "require schedulerPolicy.enabled" render --set schedulerPolicy.memory=true &&
		refused "schedulerPolicy.schedulerName" render --set-string "schedulerPolicy.enabled=true,schedulerPolicy.schedulerName=a'b" &&
		refused "schedulerPolicy.resources.0" render --set "schedulerPolicy.enabled=true,schedulerPolicy.schedulerName=own,schedulerPolicy.resources={cpu}"
}
# one_image: the digest replaces the tag, for both programs
one_image() {
	local digest
	digest=sha256:$(printf 'a%.0s' $(seq 64))
	render --set extender.enabled=true,image.repository=r/n,image.tag=v9,image.digest="$digest" >"$work/digest.yaml" &&
		[ "$(grep -cxF "        image: \"r/n@$digest\"" "$work/digest.yaml")" -eq 2 ] && ! grep -F 'r/n:' "$work/digest.yaml" &&
		refused image.digest render --set image.digest=sha256:12
}
# runbooks: each alert links to its section below the base, and without a base names the section and no address
runbooks() {
	render --set prometheusRule.enabled=true,prometheusRule.runbookBase=https://wiki.example.com/m.html >"$work/linked.yaml" &&
		render --set prometheusRule.enabled=true >"$work/unlinked.yaml" && ! grep -F ://  "$work/unlinked.yaml" &&
		[ "$(grep -c '^ *- alert: ' "$work/linked.yaml")" -eq "$(grep -c '^ *runbook_url: https://wiki\.example\.com/m\.html#nrtd' "$work/linked.yaml")" ] &&
		[ "$(grep -c '^ *- alert: ' "$work/unlinked.yaml")" -eq "$(grep -c '^ *runbook: doc/monitoring\.md#nrtd' "$work/unlinked.yaml")" ] &&
		! grep '^ *runbook: ' "$work/linked.yaml"
}
# spread: of a constraint that names its topology only, the rest is the extender's
spread() {
	render --set extender.enabled=true,extender.topologySpreadConstraints[0].topologyKey=zone >"$work/spread.yaml" && takes -f "$work/spread.yaml" &&
		jq -e "$objects"' | select(.kind == "Deployment") | .spec.selector.matchLabels as $labels | .spec.template.spec.topologySpreadConstraints
			== [{topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway", labelSelector: {matchLabels: $labels}}]' "$work/stored.json"
}
# same_certificates: the chart and the kustomization ask cert-manager for the same
same_certificates() {
	local filter='[.[] | select(.apiVersion == "cert-manager.io/v1")]'
	takes -k "$manifests/extender/certificates" && plain | jq -S "$filter" >"$work/base.json" &&
		takes_chart --set extender.enabled=true,numaAware.enabled=true,extender.certManager.enabled=true && plain | jq -S "$filter" >"$work/chart.json" &&
		[ "$(jq length "$work/base.json")" -eq 5 ] && diff "$work/base.json" "$work/chart.json" &&
		jq -e 'map(select(.kind == "Certificate" and .spec.dnsNames == ["nrtd-extender.nrtd.svc"])) | length == 1' "$work/chart.json"
}
# The chart's rules, monitors and dashboard are those of the kustomization.
same_monitoring() {
	local filter='map(select(.kind == "PodMonitor" or .kind == "PrometheusRule" or .kind == "ConfigMap")
		| .metadata.labels |= {grafana_dashboard})'
	takes -k "$manifests"/monitoring && plain | jq -S "$filter" >"$work/base.json" &&
		takes_chart --set prometheusRule.enabled=true --set dashboard.enabled=true --set podMonitor.enabled=true --set extender.enabled=true &&
		plain | jq -S "$filter" >"$work/chart.json" && [ "$(jq length "$work/base.json")" -eq 4 ] && jq -e ".[] | select(.kind == \"ConfigMap\") | .data[] | fromjson.panels | length > 5" "$work/chart.json" && diff "$work/base.json" "$work/chart.json"
}
# packed: what `make chart` packs makes what the folder makes, and has the manual of its values
packed() {
	HELM=$helm make -s chart && archive=$(echo build/chart/nrtd-*.tgz) && tar -xzO -f "$archive" nrtd/README.md | diff - "$chart/README.md" &&
		"$helm" template nrtd "$archive" -n nrtd --kube-version 1.30 -f tests/install/values-all.yaml | diff - "$work/all.yaml"
}
# pushed: as it is when it comes back from a registry
pushed() {
	local made
	archive=$(echo build/chart/nrtd-*.tgz)
	start_registry || return 1
	"$helm" push "$archive" "oci://$registry/charts" --plain-http &&
		"$helm" pull "oci://$registry/charts/nrtd" --plain-http -d "$work" && made=$work/$(basename "$archive") && cmp "$archive" "$made"
}
# notes_hold COUNT: the commands of the release's notes about its objects find them, so many at least
notes_hold() {
	local command found=0
	helm_there get notes nrtd -n tools >"$work/notes" || return 1
	while read -r _ command; do
		case $command in
		"get secret "*) continue ;; # somebody else makes them
		logs*) command=${command/logs/get} ;;
		esac
		# shellcheck disable=SC2086 # words
		kubectl $command </dev/null || return 1
		found=$((found + 1))
	done < <(grep '^    kubectl ' "$work/notes")
	[ "$found" -gt "$1" ]
}
