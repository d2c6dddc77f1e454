#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outcome.sh [OPTION...]: what becomes of the same pods under several ways to schedule, with the real kube-apiserver,
# kube-scheduler and kubelet managers: a table, and a plot in build/upstream/outcome.svg. The events of a run in which a kubelet
# rejects a pod of the extender's go to build/upstream/failures/outcome. OPTIONs are those of outcome
# (-quick, -seeds 3, -ways stock,extender, -workloads cpus, -kill-extender 10, -kubernetes 1.37). B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane scheduler managers outcome
. tests/upstream/work.sh
outcome_machines "$work" || exit 1
manifests=$($here/cluster.sh manifests)
for manifest in namespace extender/rbac extender/admission-policy; do
	manifests=$manifests,packaging/kubernetes/$manifest.yaml
done
want_inotify 1024 # an instance per node
build/upstream/outcome -nrtd "$B/nrtd" -machines "$work" -manifests "$manifests" \
	-plot build/upstream/outcome.svg -traces build/upstream/failures/outcome "$@"
