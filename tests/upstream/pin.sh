#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write go.mod and go.sum for the versions below, and print what changed. To compare nrtd with other versions, change a
# line and run this; scheduler-plugins decides which release of Kubernetes it can be built with.
set -eu
RELEASE=1.35
SCHEDULER_PLUGINS=v0.35.4-devel
NRT_API=v0.1.3

cd "$(dirname "$0")"
version=$(releases/newest.sh $RELEASE)
before=$(sed -n 's/^.*k8s.io\/kubernetes v\(.*\)/\1/p' go.mod)
[ "$version" = "$before" ] || echo "$RELEASE: $version, before $before"
cat >go.mod <<EOF
module nrtd.dev/tests/upstream

go 1.25.0

require (
	github.com/k8stopologyawareschedwg/noderesourcetopology-api $NRT_API
	k8s.io/kubernetes v$version
	sigs.k8s.io/scheduler-plugins $SCHEDULER_PLUGINS
)
EOF
./pin_staging.sh "$version"
rm -f go.sum
# Not go mod tidy, which looks at the files of other releases and at the tests of all modules.
GOFLAGS=-mod=mod go list -deps -test ./... >/dev/null
