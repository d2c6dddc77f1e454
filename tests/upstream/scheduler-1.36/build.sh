#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh: build kube-scheduler of another release into build/upstream. Exit status 77, after a line that begins with
# "skipped:", when this machine has no Go or cannot get the modules.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream
if ! command -v go >/dev/null 2>&1; then
	echo "skipped: kube-scheduler is built with Go 1.26 or newer, and this machine has no Go"
	exit 77
fi
if ! answer=$(go mod download 2>&1); then
	echo "skipped: the Go modules of kube-scheduler cannot be had here: $(printf '%s\n' "$answer" | tail -n 1)"
	exit 77
fi
mkdir -p "$bin"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
nice -n 19 go build -buildvcs=false -ldflags "-X k8s.io/component-base/version.gitVersion=$version" -o "$bin/" .
