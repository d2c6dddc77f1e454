#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make.sh [FOLDER]: write what is made from rules.yaml and dashboard.table into FOLDER, default packaging/kubernetes/monitoring:
# the rules as an object for Prometheus Operator, and the Grafana dashboard. The files/ of the chart are links. Needs jq.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../kubernetes/monitoring}

{
	cat <<-'END'
		# SPDX-License-Identifier: Apache-2.0
		# Made by packaging/monitoring/make.sh from rules.yaml, which says why each number is what it is.
		apiVersion: monitoring.coreos.com/v1
		kind: PrometheusRule
		metadata:
		  name: nrtd
		spec:
	END
	sed -n '/^groups:/,$p' "$here/rules.yaml" | sed '/^ *#/d; s/^./  &/'
} >"$out/prometheusrule.yaml"

jq -Rn -f "$here/dashboard.jq" "$here/dashboard.table" >"$out/dashboard.json"
