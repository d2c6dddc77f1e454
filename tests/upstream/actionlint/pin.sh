#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of actionlint, which checks .github/workflows, for the version below.
set -eu
ACTIONLINT=v1.7.12

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/actionlint\n\ngo 1.25.0\n\ntool github.com/rhysd/actionlint/cmd/actionlint\n' >go.mod
go mod edit -require="github.com/rhysd/actionlint@$ACTIONLINT"
go mod tidy
