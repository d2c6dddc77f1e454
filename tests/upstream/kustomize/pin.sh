#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of the kustomize that kubectl 1.31 has, which knows less of admission policies. A module of its own,
# because it needs other versions of the same libraries than the kubectl of the other tests does.
set -eu
KUSTOMIZE=v5.4.2

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/kustomize\n\ngo 1.25.0\n\ntool sigs.k8s.io/kustomize/kustomize/v5\n' >go.mod
go mod edit -require="sigs.k8s.io/kustomize/kustomize/v5@$KUSTOMIZE"
go mod tidy
