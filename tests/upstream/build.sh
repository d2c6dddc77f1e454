#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh [PROGRAM...]: build the programs of tests/upstream/cmd (all, or those named) into build/upstream.
# Exit status 77, after a line that begins with "skipped:", when this machine has no Go or cannot get the modules.
# With UPSTREAM_BUILT they are there already: a caller that tries many programs of nrtd has built them once.
set -eu
[ -z "${UPSTREAM_BUILT:-}" ] || exit 0
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
if ! command -v go >/dev/null 2>&1; then
	echo "skipped: the real Kubernetes code needs Go 1.25 or newer, and this machine has no Go"
	exit 77
fi
if ! answer=$(go mod download 2>&1); then
	echo "skipped: the Go modules cannot be had here: $(printf '%s\n' "$answer" | tail -n 1)"
	exit 77
fi
[ $# -gt 0 ] || set -- ./cmd/*
mkdir -p "$top/build/upstream"
# What the server says of itself: clients refuse a version that they do not know.
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
for program; do
	nice -n 19 go build -buildvcs=false -ldflags "-X k8s.io/component-base/version.gitVersion=$version" -o "$top/build/upstream/" "./cmd/$(basename "$program")"
done
