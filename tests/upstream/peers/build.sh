#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh: build NFD's topology-updater and the resource-topology-exporter into build/upstream/peers. Exit status 77,
# after a line that begins with "skipped:", when this machine has no Go or cannot get the modules.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream/peers
if ! command -v go >/dev/null 2>&1; then
	echo "skipped: the peers need Go 1.26 or newer, and this machine has no Go"
	exit 77
fi
mkdir -p "$bin"
for peer in nfd rte; do
	cd "$peer"
	if ! answer=$(go mod download 2>&1); then
		echo "skipped: the Go modules of $peer cannot be had here: $(printf '%s\n' "$answer" | tail -n 1)"
		exit 77
	fi
	nice -n 19 go build -buildvcs=false -o "$bin/" tool
	cd ..
done
