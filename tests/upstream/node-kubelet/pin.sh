#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of the kubelet of a release that scheduler-plugins, which decides the release of the code beside
# it, does not know.
set -eu
KUBERNETES=1.36.3

cd "$(dirname "$0")"
cat >go.mod <<END
module nrtd.dev/tests/upstream/node-kubelet

go 1.26.0

require k8s.io/kubernetes v$KUBERNETES
END
../pin_staging.sh $KUBERNETES
rm -f go.sum
go mod tidy
