# SPDX-License-Identifier: Apache-2.0
# Converts dashboard.table (read with jq -Rn) to a Grafana dashboard. A row of the screen has six numbers or three graphs.
def datasource: {type: "prometheus", uid: "${datasource}"};
def table: [inputs | select(test("^(#|$)") | not) | split("\t")];
def width: if .type == "row" then 24 elif .type == "stat" then 4 else 8 end;
def height: if .type == "row" then 1 elif .type == "stat" then 4 else 8 end;
def text: if . == "-" then "" else . end;

# Every selector of a metric of nrtd also selects the cluster. A series without the label "cluster" has the value "".
def of_cluster: gsub("\\b(?<name>(nrtd|process)_\\w+|ALERTS)\\b(?<more>[{]?)"; "\(.name){cluster=~\"$cluster\"" + (if .more == "{" then "," else "}" end));

def target($legend; $query):
	{datasource: datasource, expr: ($query | of_cluster), legendFormat: ($legend | text), range: true,
		refId: (.targets | length | [65 + .] | implode)};
def panel:
	if .[0] == "row" then {type: "row", title: .[1], collapsed: false, panels: []}
	else . as [$kind, $title, $unit, $legend, $query, $description]
		| {type: (if $kind == "stat" then "stat" else "timeseries" end), title: $title, description: $description, datasource: datasource,
			fieldConfig: {defaults: {unit: $unit, min: 0}, overrides: []},
			options: (if $kind == "stat" then {reduceOptions: {calcs: ["lastNotNull"], fields: "", values: false}, colorMode: "none"}
				else {legend: {displayMode: "list", placement: "bottom", showLegend: true}, tooltip: {mode: "multi", sort: "desc"}} end),
			targets: []}
		| if $kind == "week" then .timeFrom = "7d" else . end
		| .targets += [target($legend; $query)]
	end;
def panels:
	reduce table[] as $line ([];
		if $line[0] == "+" then .[-1] |= (.targets += [target($line[3]; $line[4])]) else . + [$line | panel] end);
# Places panels from left to right. Every panel on a line has the height of the first panel of the line.
def placed:
	reduce panels[] as $p ({x: 0, y: 0, high: 0, list: []};
		(if .x + ($p | width) > 24 or (.high > 0 and .high != ($p | height)) then .y += .high | .x = 0 | .high = 0 else . end)
		| .list += [{id: (.list | length + 1)} + $p + {gridPos: {x, y, w: ($p | width), h: ($p | height)}}]
		| .x += ($p | width) | .high = ($p | height))
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
	panels: placed
}
