#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# picture.sh PROMETHEUS SECONDS DASHBOARD: the dashboard's graphs over the last SECONDS as SVG, from the same queries, for the node
# node-1, with all rows expanded. PROMETHEUS is its URL.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
end=$(date +%s)
step=$(($2 / 160 + 1))
# shellcheck disable=SC2016 # Grafana's names
jq -r '.panels[] | ., .panels[]? | select(.targets) | .id as $id | .targets[] | [$id, .legendFormat, .expr] | join("\t")' "$3" |
	sed 's/\$node/node-1/g; s/\$cluster/.*/g; s/\$__rate_interval/1m/g' >"$work/queries"
tab=$(printf '\t')
while IFS=$tab read -r id query; do
	legend=${query%%"$tab"*}
	curl -sG -m 30 "$1/api/v1/query_range" --data-urlencode "query=${query#*"$tab"}" -d start=$((end - $2)) -d end="$end" -d step=$step |
		jq --argjson id "$id" --arg legend "$legend" '{id: $id, series: [.data.result[] | .metric as $m | {values: [.values[] | select(.[1] != "NaN" and .[1] != "+Inf")
			| [.[0], (.[1] | tonumber)]], name: ($legend | gsub("{{(?<label>[a-z_]+)}}"; $m[.label] // ""))}]}'
done <"$work/queries" >"$work/data"
jq -r --argjson from $((end - $2)) --argjson until "$end" --slurpfile data "$work/data" -f "$(dirname "$0")/picture.jq" "$3"
