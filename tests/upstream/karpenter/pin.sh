#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of Karpenter with its cloud provider for tests, for the version below: the newest that Go 1.26.8 builds. The
# replacements of libraries in go.mod stay: the test was run with them.
set -eu
KARPENTER=v1.14.0

cd "$(dirname "$0")"
replacements=$(sed -n '/^replace /p' go.mod)
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/karpenter\n\ngo 1.26.5\n\ntool sigs.k8s.io/karpenter/kwok\n\n%s\n' "$replacements" >go.mod
go mod edit -require="sigs.k8s.io/karpenter@$KARPENTER"
go mod tidy
