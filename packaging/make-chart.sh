#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-chart.sh OUT: pack the Helm chart into OUT, with the files that it has as links. helm is $HELM, or that of PATH, or
# built from its Go module. `helm push OUT/nrtd-VERSION.tgz oci://REGISTRY/FOLDER` brings it to a registry.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
helm=$(tests/upstream/helm.sh) || { status=$? && echo "$helm" && exit $status; }
# helm names every link that it follows, on stderr
"$helm" package packaging/helm/nrtd -d "$out" 2>"$out/helm.err" || { cat "$out/helm.err" >&2 && exit 1; }
rm "$out/helm.err"
