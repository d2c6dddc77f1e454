#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volcano.sh [OPTION...]: Volcano's plugin numaaware of three releases, on the Numatopology objects of `nrtd dump`, with what
# `kubectl numa score --strategy Volcano` says of the same nodes: the examples of Volcano's documentation
# (testdata/volcano/examples.yaml), and random ones. OPTIONs are those of cmd/volcano. B names the build folder, RELEASES
# those of Volcano.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
releases=${RELEASES:-1.10 1.14 1.15}
# shellcheck disable=SC2086 # several words
$here/build.sh volcano && $here/volcano/build.sh $releases
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work" || exit 1
for spec in "$here"/testdata/volcano/*.spec; do
	machine=$work/$(basename "$spec" .spec)
	mkdir "$machine" && awk -v out="$machine" -f tests/fixtures/machines/make.awk "$spec" || exit 1
done
for release in $releases; do
	build/upstream/volcano -nrtd "$B/nrtd" -judge "build/upstream/volcano-$release" -machines "$work" \
		-examples $here/testdata/volcano/examples.yaml "$@" || status=1
done
exit "$status"
