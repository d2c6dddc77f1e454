#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pinned.sh: print a line "RELEASE VERSION" for every release of Kubernetes that a go.mod file pins, in their order: "1.35 1.35.8".
set -eu
cd "$(dirname "$0")"
sed -n 's/^.*k8s\.io\/kubernetes v\(1\.[0-9]*\)\(.*\)/\1 \1\2/p' ../go.mod ./*.mod | sort -V
