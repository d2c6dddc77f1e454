#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write go.mod and go.sum for the versions below. To judge nrtd by other versions, change a line and run this;
# scheduler-plugins decides which Kubernetes it can be built with.
set -eu
KUBERNETES=1.35.4
SCHEDULER_PLUGINS=v0.35.4-devel
NRT_API=v0.1.2

cd "$(dirname "$0")"
cat >go.mod <<EOF
module nrtd.dev/tests/upstream

go 1.25.0

require (
	github.com/k8stopologyawareschedwg/noderesourcetopology-api $NRT_API
	k8s.io/kubernetes v$KUBERNETES
	sigs.k8s.io/scheduler-plugins $SCHEDULER_PLUGINS
)
EOF
./pin_staging.sh $KUBERNETES
rm -f go.sum
go mod tidy
