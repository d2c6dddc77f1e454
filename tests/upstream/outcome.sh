#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outcome.sh [OPTION...]: what becomes of the same pods under several ways to schedule, with the real kube-apiserver,
# kube-scheduler and kubelet managers: a table, and a plot in build/upstream/outcome.svg. OPTIONs are those of outcome
# (-quick, -seeds 3, -ways stock,extender, -workloads cpus, -kill-extender, -scheduler PROGRAM). B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane scheduler managers outcome
. tests/upstream/work.sh
outcome_machines "$work" || exit 1
build/upstream/outcome -nrtd "$B/nrtd" -machines "$work" -manifests "$($here/cluster.sh manifests)" \
	-plot build/upstream/outcome.svg "$@"
