#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plan.sh [OPTION...]: `kubectl numa plan` for random clusters whose kubelets are the real managers; each plan is carried out on the
# managers. OPTIONs are those of plan (-clusters 10000, -seed N, -first N -clusters 1 -verbose). B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2 GOGC="${GOGC:-800}" # a third of the time would be garbage collection
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh plan
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" || exit 1
outcome_machines "$work/machines" || exit 1
build/upstream/plan -replay $here/testdata/plan -nrtd "$B/nrtd" -kubectl-numa "$B/kubectl-numa" -machines "$work/machines" "$@"
