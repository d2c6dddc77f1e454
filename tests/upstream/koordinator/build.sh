#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh: build Koordinator's plugin and koordlet's report into build/upstream/koordinator-judge, as build_module.sh.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream
modules=$PWD/go.mod

# koordlet links libpfm, for performance counters that its report does not need: built from a copy that takes the file for
# other systems instead.
copy_without_counters() {
	from=$(go mod download -json github.com/koordinator-sh/koordinator | sed -n 's/.*"Dir": "\(.*\)",/\1/p') || return 0
	[ -n "$from" ] || return 0
	copy=$bin/$(basename "$from" | tr @ -)
	if [ ! -e "$copy/go.mod" ]; then
		rm -rf "$copy"
		mkdir -p "$copy"
		cp -r "$from/apis" "$from/pkg" "$copy"
		chmod -R u+w "$copy"
		counters=$copy/pkg/koordlet/util/perf_group/perf_group
		rm "$counters"_linux.go
		sed -i '/^\/\/.*build !linux$/d' "${counters}_unsupported.go"
		cp "$from/go.mod" "$copy"
		chmod u+w "$copy/go.mod"
	fi
	cp go.mod "$bin/koordinator-judge.mod"
	cp go.sum "$bin/koordinator-judge.sum"
	modules=$bin/koordinator-judge.mod
	go mod edit -replace="github.com/koordinator-sh/koordinator=$copy" "$modules"
}

if command -v go >/dev/null 2>&1; then
	copy_without_counters
fi
GOFLAGS=-modfile=$modules ../build_module.sh koordinator -o "$bin/koordinator-judge" .
