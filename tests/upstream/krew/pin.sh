#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of krew, kubectl's plugin manager, which installs what packaging/krew.sh describes, for the version
# below.
set -eu
KREW=v0.4.4

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/krew\n\ngo 1.25.0\n\ntool (\n\tsigs.k8s.io/krew/cmd/krew\n\tsigs.k8s.io/krew/cmd/validate-krew-manifest\n)\n' >go.mod
go mod edit -require="sigs.k8s.io/krew@$KREW"
go mod tidy
