#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crds.sh: print the folder with the custom resource definitions of Volcano 1.15, in its Go module. Exit status as that of
# build_module.sh.
set -eu
cd "$(dirname "$0")"
if ! command -v go >/dev/null 2>&1 || ! module=$(GOFLAGS=-modfile=1.15.mod go list -m -f '{{.Dir}}' volcano.sh/volcano 2>&1) ||
	[ ! -d "$module" ]; then
	echo "skipped: Volcano's Go module is not here: ${module:-no Go}" >&2
	exit 77
fi
echo "$module/installer/helm/chart/volcano/crd/bases"
