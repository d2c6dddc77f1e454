#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_module.sh FOLDER PACKAGE...: build packages of the Go module in FOLDER, below this one, into build/upstream ("tool":
# what its go.mod names as tools), with the Go that toolchain.sh selects for the module. Exit status 77, after a line that begins
# with "skipped:", when this machine has no Go or cannot get the modules.
set -eu
cd "$(dirname "$0")"
here=$PWD
bin=$(cd ../.. && pwd)/build/upstream
module=$1
shift
cd "$module"
# The go.mod file in GOFLAGS, for the releases.
file=$(printf '%s\n' "${GOFLAGS:-}" | sed -n 's/.*-modfile=\([^ ]*\).*/\1/p')
file=${file:-go.mod}
if ! command -v go >/dev/null 2>&1; then
	echo "skipped: $(sed -n 's/^module //p' "$file") needs Go $(sed -n 's/^go //p' "$file") or newer, and this machine has no Go"
	exit 77
fi
GOTOOLCHAIN=$("$here/toolchain.sh" "$file")
export GOTOOLCHAIN
if ! answer=$(go mod download 2>&1); then
	echo "skipped: the Go modules of $(sed -n 's/^module //p' "$file") cannot be fetched here: $(printf '%s\n' "$answer" | tail -n 1)"
	exit 77
fi
mkdir -p "$bin"
# What the server says of itself: clients refuse a version that they do not know.
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes 2>/dev/null) || version=
[ -z "$version" ] || set -- -ldflags "-X k8s.io/component-base/version.gitVersion=$version" "$@"
nice -n 19 go build -buildvcs=false -o "$bin/" "$@"
