#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the module of Karpenter with its cloud provider for tests, for the version below and the Go that it requires.
set -eu
KARPENTER=v1.15.0
GO=1.26.9

exec "$(dirname "$0")/../pin_tools.sh" karpenter "$GO" sigs.k8s.io/karpenter/kwok "sigs.k8s.io/karpenter@$KARPENTER"
