#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# autoscaler.sh: what Cluster Autoscaler's simulation says of a pod that no kubelet would admit (testdata/autoscaler). AUTOSCALER names a
# checkout of github.com/kubernetes/autoscaler (tested: cluster-autoscaler-1.35.2), because the Go proxy does not serve the module;
# without AUTOSCALER the test is skipped.
set -u
cd "$(dirname "$0")" || exit 1
folder=${AUTOSCALER:-}/cluster-autoscaler
if [ ! -f "$folder/go.mod" ]; then
	echo "skipped: AUTOSCALER does not name a checkout of Cluster Autoscaler"
	exit 0
fi
overlay=$(mktemp)
trap 'rm -f "$overlay"' EXIT
printf '{"Replace":{"%s":"%s"}}' "$folder/core/podlistprocessor/nrtd_test.go" "$PWD/testdata/autoscaler/nrtd_test.go" >"$overlay"
cd "$folder" && nice -n 19 go test -overlay "$overlay" -count=1 -run TestNrtd -v ./core/podlistprocessor
