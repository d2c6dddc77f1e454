#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write go.mod and go.sum for the version of dra-driver-cpu below. A module of its own, because the driver needs other versions of
# the same libraries than the Kubernetes code does.
set -eu
version=v0.2.0

cd "$(dirname "$0")"
rm -f go.sum
printf 'module nrtd.dev/tests/upstream/dra\n\ngo 1.26.0\n\nrequire github.com/kubernetes-sigs/dra-driver-cpu %s\n' "$version" >go.mod
go mod tidy
