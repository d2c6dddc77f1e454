# SPDX-License-Identifier: Apache-2.0
# Converts dashboard.table (read with jq -Rn) to a Grafana dashboard. A line of the screen has at most six numbers or three graphs, which fill it.
def datasource: {type: "prometheus", uid: "${datasource}"};
def table: [inputs | select(test("^(#|$)") | not) | split("\t")];
def most: if .type == "stat" then 6 else 3 end;
def height: if .type == "row" then 1 elif .type == "stat" then 4 else 8 end;
def text: if . == "-" then "" else . end;

# Every selector of a metric of nrtd also selects the cluster. A series without the label "cluster" has the value "".
def of_cluster: gsub("\\b(?<name>(nrtd|process)_\\w+|ALERTS)\\b(?<more>[{]?)"; "\(.name){cluster=~\"$cluster\"" + (if .more == "{" then "," else "}" end));

def target($legend; $query):
	{datasource: datasource, expr: ($query | of_cluster), legendFormat: ($legend | text), range: true,
		refId: (.targets | length | [65 + .] | implode)};
def panel:
	if .[0] == "row" then {type: "row", title: .[1], panels: []}
	else . as [$kind, $title, $unit, $legend, $query, $description]
		| {type: (if $kind == "stat" then "stat" else "timeseries" end), title: $title, description: $description, datasource: datasource,
			fieldConfig: {defaults: ({unit: $unit, min: 0} + if $unit | startswith("suffix:") then {decimals: 0} else {} end), overrides: []},
			options: (if $kind == "stat" then {reduceOptions: {calcs: ["lastNotNull"], fields: "", values: false}, colorMode: "none"}
				else {legend: {displayMode: "list", placement: "bottom", showLegend: true}, tooltip: {mode: "multi", sort: "desc"}} end),
			targets: []}
		| if $kind == "week" then .timeFrom = "7d" else . end
		| .targets += [target($legend; $query)]
	end;
def panels:
	reduce table[] as $line ([];
		if $line[0] == "+" then .[-1] |= (.targets += [target($line[3]; $line[4])]) else . + [$line | panel] end);
# Splits panels of one kind into lines of almost equal length.
def lines:
	length as $n | (($n / (.[0] | most)) | ceil) as $lines | . as $all
	| [range($lines) | $all[(. * $n / $lines | ceil):((. + 1) * $n / $lines | ceil)]];
# Places the panels of a row below $y, from left to right.
def placed($y):
	reduce (reduce .[] as $p ([]; if .[-1][0].type == $p.type then .[-1] += [$p] else . + [[$p]] end) | .[] | lines[]) as $line
		({$y, list: []}; .y as $at
		| .list += ($line | length as $n | [to_entries[] | (24 * .key / $n | floor) as $x
			| .value + {gridPos: {$x, y: $at, w: ((24 * (.key + 1) / $n | floor) - $x), h: (.value | height)}}])
		| .y += ($line[0] | height))
	| .list;
# The rows: the panels of the first follow it, all other rows are collapsed and contain theirs.
def rows:
	reduce panels[] as $p ([]; if $p.type == "row" then . + [{row: $p, panels: []}] else .[-1].panels += [$p] end);
def dashboard_panels:
	reduce (rows | to_entries[]) as {$key, value: {$row, panels: $inside}} ({y: 0, list: []};
		.y as $y | ($inside | placed($y + 1)) as $placed
		| ($row + {collapsed: ($key > 0), gridPos: {x: 0, y: $y, w: 24, h: 1}}) as $head
		| if $key > 0 then .list += [$head + {panels: $placed}] | .y += 1
		else .list += [$head] + $placed | .y = ([$placed[].gridPos | .y + .h] | max) end)
	| .list
	# The ids are numbers from 1.
	| reduce range(length) as $i ({n: 0, list: .}; .n += 1 | .list[$i].id = .n
		| reduce range(.list[$i].panels // [] | length) as $k (.; .n += 1 | .list[$i].panels[$k].id = .n))
	| .list;

{
	uid: "nrtd", title: "nrtd: NUMA nodes of the cluster", tags: ["nrtd", "numa", "kubernetes"],
	schemaVersion: 38, version: 1, editable: true, timezone: "browser", refresh: "30s", time: {from: "now-3h", to: "now"},
	templating: {list: [
		{name: "datasource", label: "Data source", type: "datasource", query: "prometheus"},
		{name: "cluster", label: "Cluster", type: "query", datasource: datasource, query: {query: "label_values(nrtd_ready, cluster)", refId: "cluster"},
			refresh: 2, sort: 1, includeAll: true, allValue: ".*", multi: false, current: {text: "All", value: "$__all"}},
		{name: "node", label: "Node", type: "query", datasource: datasource, query: {query: ("label_values(nrtd_ready, node)" | of_cluster), refId: "node"},
			refresh: 2, sort: 1, includeAll: false, multi: false}]},
	annotations: {list: []},
	panels: dashboard_panels
}
