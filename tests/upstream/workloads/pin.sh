#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of Kueue, JobSet and LeaderWorkerSet, for the versions below and the Go that they require.
set -eu
KUEUE=v0.19.0
JOBSET=v0.12.0
LWS=v0.9.0
GO=1.26.9

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/workloads\n\ngo %s\n\ntool (\n\tsigs.k8s.io/jobset\n\tsigs.k8s.io/kueue/cmd/kueue\n\tsigs.k8s.io/lws/cmd\n)\n' "$GO" >go.mod
GOTOOLCHAIN=$(../toolchain.sh go.mod)
export GOTOOLCHAIN
go mod edit -require="sigs.k8s.io/kueue@$KUEUE" -require="sigs.k8s.io/jobset@$JOBSET" -require="sigs.k8s.io/lws@$LWS"
go mod tidy
