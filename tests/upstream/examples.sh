#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh [KUBECONFIG]: the examples of testdata/examples/nrt.yaml, each a test: NodeResourceTopologyMatch on objects that nrtd
# makes and the API server holds, with what the document and `kubectl numa score` say. The control plane is one of its own unless
# KUBECONFIG names another. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane plugin
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" seed-2s-32cpu 2s-snc4 || exit 1
for spec in "$here"/testdata/kep.spec "$here"/testdata/examples/*.spec; do
	machine=$work/machines/$(basename "$spec" .spec)
	mkdir "$machine" && awk -v out="$machine" -f tests/fixtures/machines/make.awk "$spec" || exit 1
done
kubeconfig=${1:-$work/cluster/admin.kubeconfig}
[ $# -gt 0 ] || $here/cluster.sh start "$work/cluster" >/dev/null || exit 1
build/upstream/plugin -kubeconfig "$kubeconfig" -nrtd "$B/nrtd" -machines "$work/machines" \
	-examples $here/testdata/examples/nrt.yaml
