#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volcano_exporter.sh [OPTION...]: nrtd's Numatopology object beside the one of Volcano's resource-exporter, of the same nodes,
# member by member, and in its place on a real API server. OPTIONs are those of cmd/volcanoexporter: `-exporter PROGRAM` for
# an exporter that was built by hand, which the Go module proxy does not have. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane volcanoexporter && volcano=$($here/volcano/crds.sh)
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" || exit 1
$here/cluster.sh start "$work/cluster" >/dev/null || exit 1
build/upstream/volcanoexporter -kubeconfig "$work/cluster/admin.kubeconfig" -nrtd "$B/nrtd" -crds "$volcano" \
	-machines "$work/machines" "$@" || status=1
exit "$status"
