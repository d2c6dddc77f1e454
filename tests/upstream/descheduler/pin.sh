#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of the descheduler, for the version below. Its replacements are repeated.
set -eu
DESCHEDULER=v0.36.0

cd "$(dirname "$0")"
rm -f go.sum
{
	printf 'module nrtd.dev/tests/upstream/descheduler\n\ngo 1.26.0\n\ntool sigs.k8s.io/descheduler/cmd/descheduler\n\n'
	sed -n '/^replace/,/^)/p' "$(go mod download -json "sigs.k8s.io/descheduler@$DESCHEDULER" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')"
} >go.mod
go mod edit -require="sigs.k8s.io/descheduler@$DESCHEDULER"
go mod tidy
