#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write go.mod and go.sum for the version of Koordinator below. A module of its own, because it needs other versions of
# the same libraries than the Kubernetes code does. Koordinator is published with the versions of its libraries as
# replacements; a module that needs it has to repeat them.
set -eu
version=v1.8.0

cd "$(dirname "$0")"
mod=$(go mod download -json "github.com/koordinator-sh/koordinator@$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
{
	printf 'module nrtd.dev/tests/upstream/koordinator\n\ngo 1.25.0\n\nrequire github.com/koordinator-sh/koordinator %s\n\n' "$version"
	sed -n '/^replace (/,/^)/p' "$mod"
} >go.mod
rm -f go.sum
# Not go mod tidy: the tests of some library need a module that is no longer there.
GOFLAGS=-mod=mod go list -deps . >/dev/null
