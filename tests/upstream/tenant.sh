#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tenant.sh [OPTION...]: what a user with the role edit can do to `nrtd-extender` and to other users' pods, with the real
# kube-apiserver and the kubelet's managers. OPTIONs are those of tenant (-only NAME, -nodes 500, -short, -slack 5). B names the build
# folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane managers tenant
. tests/upstream/work.sh
outcome_machines "$work" || exit 1
$here/cluster.sh start "$work/cluster" -nodes node-other -manifests "$($here/cluster.sh manifests),packaging/kubernetes/rbac-nodes.yaml" -timeout 2h >/dev/null || exit 1
build/upstream/tenant -cluster "$work/cluster" -machines "$work" -nrtd "$B/nrtd" "$@"
