#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of Karpenter with its cloud provider for tests, for the version below and the Go that it requires.
set -eu
KARPENTER=v1.15.0
GO=1.26.9

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/karpenter\n\ngo %s\n\ntool sigs.k8s.io/karpenter/kwok\n' "$GO" >go.mod
GOTOOLCHAIN=$(../toolchain.sh go.mod)
export GOTOOLCHAIN
go mod edit -require="sigs.k8s.io/karpenter@$KARPENTER"
go mod tidy
