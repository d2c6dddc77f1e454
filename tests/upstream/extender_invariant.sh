#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# extender_invariant.sh [OPTION...]: `nrtd-extender` with three nodes whose kubelets are the real managers, through the
# sequences of testdata/extenderinvariant and then through random steps. OPTIONs are those of extenderinvariant (-seeds 60
# -steps 600, -seed N, -first N, -seeds 0 -replay FOLDER -verbose). B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh extenderinvariant
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" || exit 1
outcome_machines "$work/machines" || exit 1
build/upstream/extenderinvariant -nrtd "$B/nrtd" -machines "$work/machines" \
	-replay $here/testdata/extenderinvariant "$@"
