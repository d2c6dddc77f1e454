#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of Kueue, JobSet and LeaderWorkerSet, for the versions below and the Go that they require.
set -eu
KUEUE=v0.19.0
JOBSET=v0.12.0
LWS=v0.9.0
GO=1.26.9

exec "$(dirname "$0")/../pin_tools.sh" workloads "$GO" "sigs.k8s.io/jobset sigs.k8s.io/kueue/cmd/kueue sigs.k8s.io/lws/cmd" \
	"sigs.k8s.io/kueue@$KUEUE" "sigs.k8s.io/jobset@$JOBSET" "sigs.k8s.io/lws@$LWS"
