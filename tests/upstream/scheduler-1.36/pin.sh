#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of a kube-scheduler of another release than the Kubernetes code beside it. A module of its own:
# scheduler-plugins decides the other's release.
set -eu
KUBERNETES=1.36.3

cd "$(dirname "$0")"
printf 'module nrtd.dev/tests/upstream/scheduler-1.36\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n' $KUBERNETES >go.mod
# Kubernetes is published with its libraries replaced by folders of its own tree; they are modules of the same version.
staging=v0.${KUBERNETES#*.}
mod=$(go mod download -json "k8s.io/kubernetes@v$KUBERNETES" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
sed -n 's/^[[:space:]]*\(k8s\.io\/[^ ]*\) => .\/staging.*/\1/p' "$mod" | while read -r library; do
	go mod edit -replace="$library=$library@$staging"
done
rm -f go.sum
go mod tidy
