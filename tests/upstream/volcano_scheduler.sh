#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volcano_scheduler.sh [OPTION...]: the whole scheduler of Volcano 1.15 on a real API server, with the Numatopology objects of
# nrtd: each pod of testdata/volcano/examples.yaml goes where the document and `kubectl numa score --strategy Volcano` say, and so do
# pods that come one after the other on two nodes where `nrtd run --numatopology=on` follows the kubelet's files. OPTIONs are
# those of cmd/volcanoscheduler. B names the build folder. When something fails the last lines of the scheduler's log are
# printed.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane volcanoscheduler && $here/volcano/build.sh scheduler &&
	volcano=$($here/volcano/crds.sh)
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" seed-2s-32cpu || exit 1
for spec in "$here"/testdata/volcano/*.spec; do
	machine=$work/machines/$(basename "$spec" .spec)
	mkdir "$machine" && awk -v out="$machine" -f tests/fixtures/machines/make.awk "$spec" || exit 1
done
$here/cluster.sh start "$work/cluster" -nodes sequence-1,sequence-2 >/dev/null || exit 1
build/upstream/volcanoscheduler -kubeconfig "$work/cluster/admin.kubeconfig" -nrtd "$B/nrtd" \
	-scheduler build/upstream/volcano-scheduler -crds "$volcano" -machines "$work/machines" \
	-examples $here/testdata/volcano/examples.yaml -agents "$work/cluster" \
	-log "$work/scheduler.log" "$@" || status=1
[ "$status" -eq 0 ] || tail -n 20 "$work/scheduler.log"
exit "$status"
