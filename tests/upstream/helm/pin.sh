#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of helm, which renders packaging/helm, for the version below. A module of its own, because it
# needs other versions of the same libraries than the Kubernetes code does.
set -eu
HELM=v3.18.4

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/helm\n\ngo 1.25.0\n\ntool helm.sh/helm/v3/cmd/helm\n' >go.mod
go mod edit -require="helm.sh/helm/v3@$HELM"
go mod tidy
