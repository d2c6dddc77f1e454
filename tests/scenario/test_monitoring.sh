#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/monitoring: the rules are right by promtool, every alert has a case where it fires and one where it does not and a
# section of doc/monitoring.md, the dashboard is one, and what is made from others is as it would be made now. What a real
# Prometheus answers to their queries is in tests/monitoring.
# shellcheck disable=SC2016 # jq's and Grafana's variables
set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
rules=packaging/monitoring/rules.yaml
cases=tests/monitoring/rules.test.yaml
none() { # NAME FILE: the file is empty
	if [ -s "$2" ]; then not_ok "$1" "$2"; else ok "$1"; fi
}

if command -v promtool >/dev/null; then
	check "promtool takes the rules" sh -c "promtool check rules $rules >'$dir/out' 2>'$dir/err'"
	check "alerts fire, and do not" sh -c "promtool test rules $cases >'$dir/out' 2>'$dir/err'"
else
	echo "skipped: promtool is not here"
fi

sed -n 's/^ *- alert: //p' $rules >"$dir/alerts"
check "there are alerts" test "$(wc -l <"$dir/alerts")" -ge 8
while read -r alert; do
	heading=$(printf '%s' "$alert" | tr '[:upper:]' '[:lower:]')
	grep -A3 "alertname: $alert\$" $cases | grep -q exp_labels || echo "$alert: no case where it fires"
	grep -q "alertname: $alert, exp_alerts: \[\]" $cases || echo "$alert: no case where it does not fire"
	grep -qx "## $alert" doc/monitoring.md || echo "$alert: no section of doc/monitoring.md"
	awk -v alert="$alert" '/^## / {on = $2 == alert; next} on && /^    [a-z]/ {n++} END {exit n < 1 || n > 3}' doc/monitoring.md ||
		echo "$alert: its section has no command, or more than three"
	sed -n "/- alert: $alert\$/,/- alert:/p" $rules >"$dir/one"
	grep -q '^      severity: \(info\|warning\|critical\)$' "$dir/one" || echo "$alert: no severity"
	for key in summary description; do
		grep -q "^      $key: ." "$dir/one" || echo "$alert: no $key"
	done
	grep -q "^      runbook: doc/monitoring.md#$heading\$" "$dir/one" || echo "$alert: does not name its section"
done <"$dir/alerts" >"$dir/out"
none "every alert has its parts, two cases, and a section with commands" "$dir/out"
sed -n 's/^ *- record: //p' $rules | while read -r record; do
	grep -q "expr: $record\$" $cases || echo "$record: no case"
done >"$dir/out"
none "every total has a case" "$dir/out"

# --- the manuals
while read -r program section; do
	sed -n "/^\.Sh $section/,/^\.Sh/p" man/nrtd-metrics.7 >"$dir/section"
	grep -ho '"nrtd_[a-z_]*"' "$program" common/http/exposition.c | tr -d '"' | while read -r metric; do
		grep -qw "$metric" "$dir/section" || echo "man/nrtd-metrics.7, $section: $metric of $program is missing"
	done
done >"$dir/out" <<END
agent/run/metrics.c AGENT
cluster/extender/metrics.c EXTENDER
END
none "every metric is in its program's section of nrtd-metrics(7)" "$dir/out"

# --- the dashboard
if ! command -v jq >/dev/null; then
	echo "skipped: jq is not here"
	exit $failed
fi
board=packaging/kubernetes/monitoring/dashboard.json
# every: all panels; layers: the panels that are shown at first, and those of each collapsed row
defs='def every: .panels[] | ., .panels[]?; def layers: .panels, (.panels[].panels | select(. and . != []));'
has() { # NAME EXPRESSION: it is true of the dashboard
	check "dashboard: $1" sh -c "jq -e '$defs $2' $board >'$dir/out' 2>'$dir/err'"
}
has "what it is" '(.uid | test("^[a-z]+$")) and .title != "" and .schemaVersion >= 36 and .time.from and (.templating.list | map(.name)) == ["datasource", "cluster", "node"]'
has "panels have ids of their own" '[every.id] | length > 20 and length == (unique | length) and all(.[]; type == "number" and . > 0)'
has "panels have a type, a title and a place" 'all(every; (.type | IN("row", "stat", "timeseries")) and (.title | length > 0) and .gridPos.w > 0 and
	.gridPos.h > 0 and .gridPos.x >= 0 and .gridPos.x + .gridPos.w <= 24)'
has "all rows but the first are collapsed" '[.panels[] | select(.type == "row")] | length > 4 and (map(.collapsed) | .[0] == false and all(.[1:][]; . == true)) and (.[0].panels == [])
	and all(.[1:][]; .panels | length > 0)'
has "no panel lies on another" 'all(layers; [.[].gridPos] as $g | [range($g | length) as $i | range($i) as $j | [$g[$i], $g[$j]]] |
	all(.[]; .[0].x >= .[1].x + .[1].w or .[1].x >= .[0].x + .[0].w or .[0].y >= .[1].y + .[1].h or .[1].y >= .[0].y + .[0].h))'
has "there is no hole between them" 'all(layers; [.[].gridPos] | (map(.w * .h) | add) == 24 * ((map(.y + .h) | max) - (map(.y) | min)))'
has "panels have a unit, a data source and queries" 'all(every | select(.type != "row"); .fieldConfig.defaults.unit and
	.datasource.uid == "${datasource}" and (.targets | length > 0 and length == (map(.refId) | unique | length)) and
	all(.targets[]; .datasource.uid == "${datasource}" and (.expr | length > 0)))'
has "counts have whole numbers" '[every.fieldConfig.defaults | select(. and (.unit | startswith("suffix:"))).decimals] | length > 15 and all(. == 0)'
has "a number and a graph of rejected pods are in the first row" '[.panels[] | select(any(.targets[]?; .expr | contains("nrtd_extender_rejected_pods_total"))).type] == ["stat", "timeseries"]'
has "its variables are those that queries use" '[.. | .expr? // empty | scan("[$][a-zA-Z_]+")] | unique == ["$__rate_interval", "$cluster", "$node"]'
has "every selector of a metric selects the cluster" '[every.targets[]?.expr | [scan("\\b(?:nrtd|process)_[a-z0-9_]+|\\bALERTS")] == [scan("((?:nrtd|process)_[a-z0-9_]+|ALERTS)[{]cluster=~\"[$]cluster\"[,}]")[]]] | length > 30 and all'
has "a cluster without the label is selected" '.templating.list[] | select(.name == "cluster") | .includeAll and .allValue == ".*" and .current.value == "$__all"'
has "panels say what they show" '[every | select(.type != "row") | .description | select(test("^[A-Za-z0-9].+[.]$"))] | length > 25'
has "amounts without a unit of Grafana name what is counted" '[every.fieldConfig.defaults.unit? // empty] | unique | all(IN("s", "ops", "bytes", "percentunit", "none") or test("^suffix: [A-Za-z]+$"))'
has "a week of fragmentation, per pool" '[every | select(.timeFrom == "7d") | .targets[].expr] | length >= 3 and all(contains("by (pool)")) and any(contains("nrtd_max_exclusive_cpus")) and any(contains("nrtd_stranded_cpus"))'
has "graphs of alignment and remote memory" '[every.targets[]?.expr] | any(contains("nrtd_pods{")) and any(contains("nrtd_pod_memory_bytes"))'
has "graphs with several queries name their lines" 'all(every | select((.targets // []) | length > 1).targets[]; .legendFormat != "")'
if command -v promtool >/dev/null; then
	jq "$defs"' {groups: [{name: "panels", rules: [every.targets[]?.expr | gsub("\\$(node|cluster)"; "n") | gsub("\\$__rate_interval"; "1m")] |
		to_entries | map({record: "panel:\(.key)", expr: .value})}]}' $board >"$dir/panels.json"
	check "every query is PromQL" sh -c "promtool check rules '$dir/panels.json' >'$dir/out' 2>'$dir/err'"
fi

# --- with an address of the runbooks
grep :// $rules >"$dir/out"
none "no rule has an address" "$dir/out"
mkdir "$dir/linked"
check "make.sh makes links" packaging/monitoring/make.sh "$dir/linked" https://wiki.example.com/nrtd/monitoring.html
for made in rules.yaml prometheusrule.yaml; do
	grep -c '^ *runbook_url: https://wiki.example.com/nrtd/monitoring.html#nrtd[a-z]*$' "$dir/linked/$made" >"$dir/one"
	check "each alert of $made has one" sh -c "wc -l <'$dir/alerts' | diff - '$dir/one' && ! grep 'runbook: ' '$dir/linked/$made'"
done
if packaging/monitoring/make.sh "$dir/linked" 'https://example.com/a|b' 2>/dev/null; then not_ok "a URL that sed would take apart is refused"; fi

mkdir "$dir/made"
packaging/monitoring/make.sh "$dir/made"
for made in "$dir"/made/*; do
	check "$(basename "$made") is as make.sh makes it" sh -c "diff '$made' packaging/kubernetes/monitoring/ >'$dir/out'"
done
check "the chart has the same rules" cmp packaging/helm/nrtd/files/rules.yaml $rules
check "and the same dashboard" cmp packaging/helm/nrtd/files/dashboard.json $board
# Prometheus Operator's object says the same as the file.
if command -v promtool >/dev/null; then
	sed -n '/^spec:/,$p' packaging/kubernetes/monitoring/prometheusrule.yaml | sed '1d; s/^  //' >"$dir/object.yaml"
	check "the object has as many rules" sh -c "promtool check rules '$dir/object.yaml' | grep -o '[0-9]* rules' >'$dir/one' &&
		promtool check rules $rules | grep -o '[0-9]* rules' | diff '$dir/one' -"
fi
exit $failed
