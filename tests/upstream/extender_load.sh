#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# extender_load.sh [OPTION...]: how soon `nrtd-extender` answers about a pod, with 500 and with 5000 nodes of 8 NUMA nodes
# and 20 pods each, and the memory it has then. OPTIONs are those of extenderload. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
"$B/nrtd-extender" --help >/dev/null 2>&1 || { echo "skipped: nrtd-extender is not in this build"; exit 0; }
$here/build.sh extenderload
. tests/upstream/work.sh
awk -v out="$work" -f tests/fixtures/machines/make.awk $here/testdata/outcome/o8x8.spec || exit 1
build/upstream/extenderload -nrtd "$B/nrtd" -machine "$work" "$@"
