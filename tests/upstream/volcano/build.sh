#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh RELEASE|scheduler...: build Volcano's plugin of these releases (1.10, 1.14, 1.15) into
# build/upstream/volcano-RELEASE, the whole scheduler of 1.15 into build/upstream/volcano-scheduler, as build_module.sh.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream

# Volcano 1.15 has its apis in a folder of its own tree, which is not published. Those of 1.14 lack one constant, the name of
# a scheduling gate.
complete_apis() {
	from=$(go mod download -json volcano.sh/apis@v1.14.0 | sed -n 's/.*"Dir": "\(.*\)",/\1/p') || return 0
	[ -n "$from" ] || return 0
	rm -rf "$bin/volcano-apis"
	mkdir -p "$bin"
	cp -r "$from" "$bin/volcano-apis"
	chmod -R u+w "$bin/volcano-apis"
	printf 'package v1beta1\n\nconst QueueAllocationGateKey = "scheduling.volcano.sh/queue-allocation-gate"\n' \
		>"$bin/volcano-apis/pkg/apis/scheduling/v1beta1/queue_allocation_gate.go"
	cp 1.15.mod "$bin/volcano-1.15.mod"
	cp 1.15.sum "$bin/volcano-1.15.sum"
	go mod edit -replace="volcano.sh/apis=$bin/volcano-apis" "$bin/volcano-1.15.mod"
}

for what; do
	release=$what
	program=.
	if [ "$what" = scheduler ]; then
		release=1.15
		program=volcano.sh/volcano/cmd/scheduler
	fi
	modules=$PWD/$release.mod
	if [ "$release" = 1.15 ] && command -v go >/dev/null 2>&1; then
		complete_apis
		modules=$bin/volcano-1.15.mod
	fi
	GOFLAGS=-modfile=$modules ../build_module.sh volcano -o "$bin/volcano-$what" "$program" || exit
done
