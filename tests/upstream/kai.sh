#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kai.sh: KAI-Scheduler's own tests of its NUMA plugin and of its numa-placement-exporter, then both on nrtd's objects and annotations of
# made-up nodes with the real kubelet managers: the annotations must equal the exporter's, and the plugin must find the amounts that nrtd
# publishes, also with zones of PCIe roots. KAI names a checkout of github.com/kai-scheduler/KAI-Scheduler (tested: d5bc503a1463),
# because the Go proxy does not serve the module; without KAI the test is skipped. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
here=$PWD/tests/upstream
if [ ! -f "${KAI:-}/go.mod" ]; then
	echo "skipped: KAI does not name a checkout of KAI-Scheduler"
	exit 0
fi
"$here/build.sh" managers || exit 1
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" seed-2s-32cpu asymmetric holes gpus || exit 1
plugin=pkg/scheduler/plugins/numa
printf '{"Replace":{"%s":"%s"}}' "$KAI/$plugin/nrtd_test.go" "$here/testdata/kai/nrtd_test.go" >"$work/overlay.json"
cd "$KAI" || exit 1
export NRTD="$B/nrtd" NRTD_MANAGERS="$here/../../build/upstream/managers" NRTD_MACHINES="$work/machines"
: >"$work/out"
go test ./pkg/npe/... ./$plugin ./pkg/scheduler/api/node_info ./pkg/scheduler/actions/integration_tests/numa &&
	go test -overlay "$work/overlay.json" -count=1 -run 'TestNrtd$' -v ./$plugin >"$work/out" 2>&1
status=$?
grep -v '^ *--- PASS\|^=== ' "$work/out"
exit $status
