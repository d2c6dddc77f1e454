#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# toolchain.sh GO.MOD: print the GOTOOLCHAIN with which Go builds the module of this go.mod file: this machine's Go, unless the
# file requires a newer one, which the module proxy serves. GOTOOLCHAIN=auto is not enough, because Go does not read the
# file of -modfile for it, and distributions set GOTOOLCHAIN=local.
set -eu
required=$(sed -n 's/^go //p' "$1")
installed=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//; s/[^0-9.].*//')
if [ "$(printf '%s\n' "$installed" "$required" | sort -V | tail -n 1)" = "$installed" ]; then
	echo local
else
	echo "go$required"
fi
