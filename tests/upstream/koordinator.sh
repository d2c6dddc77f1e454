#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# koordinator.sh [OPTION...]: the plugin NodeNUMAResource of Koordinator's scheduler on objects of `nrtd dump --koordinator on`
# and on koordlet's of the same nodes. OPTIONs are those of cmd/koordinator. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh koordinator && $here/koordinator/build.sh
. tests/upstream/work.sh
if ! command -v lscpu >/dev/null 2>&1; then
	echo "skipped: koordlet needs lscpu, and this machine has none"
	exit 0
fi
tests/fixtures/machines/make.sh "$work" || exit 1
$here/recorded_machines.sh "$work" || exit 1
build/upstream/koordinator -nrtd "$B/nrtd" -machines "$work" "$@"
