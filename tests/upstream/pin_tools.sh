#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin_tools.sh FOLDER GO PACKAGES MODULE@VERSION...: write go.mod and go.sum of a folder of this one, for the tools PACKAGES (separated by
# spaces) of these modules and the Go that they require.
set -eu
cd "$(dirname "$0")/$1"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/%s\n\ngo %s\n' "$1" "$2" >go.mod
packages=$3
shift 3
GOTOOLCHAIN=$(../toolchain.sh go.mod)
export GOTOOLCHAIN
for package in $packages; do go mod edit -tool="$package"; done
for module; do go mod edit -require="$module"; done
go mod tidy
