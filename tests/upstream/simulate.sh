#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# simulate.sh [OPTION...]: `kubectl numa simulate --restart` for random clusters whose kubelets are the real managers, which restart with
# other settings while their pods run. OPTIONs are those of simulate (-clusters 10000, -seed N, -first N -clusters 1 -verbose). B names the
# build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2 GOGC="${GOGC:-800}" # a third of the time would be garbage collection
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh simulate
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" || exit 1
outcome_machines "$work/machines" || exit 1
build/upstream/simulate -replay $here/testdata/simulate -nrtd "$B/nrtd" -kubectl-numa "$B/kubectl-numa" -machines "$work/machines" "$@"
