#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of Karpenter with its cloud provider for tests, for the version below: the newest that Go 1.26.8 builds. The
# libraries have the versions of ../kueue/go.mod where both need them, so that they are compiled once.
set -eu
KARPENTER=v1.14.0

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/karpenter\n\ngo 1.26.5\n\ntool sigs.k8s.io/karpenter/kwok\n' >go.mod
go mod edit -require="sigs.k8s.io/karpenter@$KARPENTER"
go mod tidy
sed -n 's/^[[:space:]]*\([^ ]*\) \(v[^ ]*\).*/\1 \2/p' ../kueue/go.mod | while read -r module version; do
	! grep -q "[[:space:]]$module v" go.mod || grep -q "[[:space:]]$module $version\( \|$\)" go.mod || go mod edit -replace="$module=$module@$version"
done
go mod tidy
