#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin_staging.sh VERSION [FILE]: in go.mod of the current folder, or in FILE, which requires Kubernetes of that version,
# name the libraries that belong to it. Kubernetes is published with them replaced by folders of its own tree; they are
# modules of the same version.
set -eu
mod=$(go mod download -json "k8s.io/kubernetes@v$1" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
sed -n 's/^[[:space:]]*\(k8s\.io\/[^ ]*\) => .\/staging.*/\1/p' "$mod" | while read -r library; do
	go mod edit -replace="$library=$library@v0.${1#*.}" ${2:+"$2"}
done
# A module that 1.38 requires in a version which the proxy refuses.
! grep -q 'sigs.k8s.io/structured-merge-diff/v7 v7\.0\.1' "$mod" ||
	go mod edit -replace=sigs.k8s.io/structured-merge-diff/v7=sigs.k8s.io/structured-merge-diff/v7@v7.0.0 ${2:+"$2"}
