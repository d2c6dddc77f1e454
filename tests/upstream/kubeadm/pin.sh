#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of kubeadm, the release of the other programs (../pin.sh).
set -eu
cd "$(dirname "$0")"
KUBERNETES=$(sed -n 's/^KUBERNETES=//p' ../pin.sh)
cat >go.mod <<END
module nrtd.dev/tests/upstream/kubeadm

go 1.26.0

tool k8s.io/kubernetes/cmd/kubeadm

require k8s.io/kubernetes v$KUBERNETES
END
../pin_staging.sh "$KUBERNETES"
rm -f go.sum
go mod tidy
