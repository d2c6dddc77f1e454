#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dra.sh [OPTION...]: the code of dra-driver-cpu (dra/pin.sh has the version) beside `nrtd dump`, on the made and the recorded machines.
# OPTIONs are those of dra/main.go. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build_module.sh dra .
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work" || exit 1
$here/recorded_machines.sh "$work" || exit 1
build/upstream/dra -nrtd "$B/nrtd" -machines "$work" "$@"
