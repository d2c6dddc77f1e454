#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh: build helm, which Debian does not have, into build/upstream. Exit status 77, after a line that begins with
# "skipped:", when this machine has no Go or cannot get the modules.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream
if ! command -v go >/dev/null 2>&1; then
	echo "skipped: helm is not here, and building it needs Go 1.25 or newer"
	exit 77
fi
if ! answer=$(go mod download 2>&1); then
	echo "skipped: the Go modules of helm cannot be had here: $(printf '%s\n' "$answer" | tail -n 1)"
	exit 77
fi
mkdir -p "$bin"
nice -n 19 go build -buildvcs=false -o "$bin/" tool
