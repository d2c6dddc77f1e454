#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of a kube-scheduler of another release than the Kubernetes code beside it. A module of its own:
# scheduler-plugins decides the other's release.
set -eu
KUBERNETES=1.36.3

cd "$(dirname "$0")"
cat >go.mod <<EOF
module nrtd.dev/tests/upstream/scheduler-1.36

go 1.26.0

require (
	k8s.io/kubernetes v$KUBERNETES
	nrtd.dev/tests/upstream v0.0.0
)

replace nrtd.dev/tests/upstream => ../
EOF
../pin_staging.sh $KUBERNETES
rm -f go.sum
go mod tidy
