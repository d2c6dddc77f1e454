#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volcano_scheduler.sh [OPTION...]: the whole scheduler of Volcano 1.15 on a real API server, with the Numatopology objects of
# nrtd: each pod of testdata/volcano/examples.yaml goes where the document and `kubectl numa score --strategy Volcano` say, and so do
# pods that come one after the other on two nodes where `nrtd run --numatopology=on` follows the kubelet's files, and the pods of
# volcano-sh/volcano#5500. OPTIONs are those of cmd/volcanoscheduler. B names the build folder. CHECKOUT names a checkout of
# github.com/volcano-sh/volcano whose scheduler is built instead (tested: ed72c7c), because the Go proxy does not serve 1.16. When
# something fails the last lines of the scheduler's log are printed.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
scheduler=build/upstream/volcano-scheduler
if [ -n "${CHECKOUT:-}" ]; then
	scheduler=$scheduler-checkout
	volcano=$CHECKOUT/installer/helm/chart/volcano/crd/bases
	$here/build.sh controlplane volcanoscheduler && go build -C "$CHECKOUT" -buildvcs=false -o "$PWD/$scheduler" ./cmd/scheduler
else
	$here/build.sh controlplane volcanoscheduler && $here/volcano/build.sh scheduler &&
		volcano=$($here/volcano/crds.sh)
fi
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" seed-2s-32cpu || exit 1
for spec in "$here"/testdata/volcano/*.spec; do
	machine=$work/machines/$(basename "$spec" .spec)
	mkdir "$machine" && awk -v out="$machine" -f tests/fixtures/machines/make.awk "$spec" || exit 1
done
$here/cluster.sh start "$work/cluster" -nodes sequence-1,sequence-2,issue-5500 >/dev/null || exit 1
build/upstream/volcanoscheduler -kubeconfig "$work/cluster/admin.kubeconfig" -nrtd "$B/nrtd" \
	-scheduler $scheduler -crds "$volcano" -machines "$work/machines" \
	-examples $here/testdata/volcano/examples.yaml -agents "$work/cluster" \
	-log "$work/scheduler.log" "$@" || status=1
[ "$status" -eq 0 ] || tail -n 20 "$work/scheduler.log"
exit "$status"
