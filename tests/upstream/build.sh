#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh [PROGRAM...]: build the programs of tests/upstream/cmd (all, or those named) into build/upstream, as
# build_module.sh. With UPSTREAM_BUILT they are there already: a caller that tries many programs of nrtd has built them once.
set -eu
[ -z "${UPSTREAM_BUILT:-}" ] || exit 0
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- cmd/*
for program; do
	set -- "$@" "./cmd/$(basename "$program")"
	shift
done
exec ./build_module.sh . "$@"
