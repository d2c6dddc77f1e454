#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# verdicts.sh [OPTION...]: for each of many manifests, whether the answer of `kubectl numa fit --dry-run=server` equals what then happens: the
# real API server, the real kube-scheduler with nrtd-extender, and the real kubelet managers take its pods. By default 60 drawn manifests;
# -verdicts FOLDER: those of this folder, with -rename nvidia.com/gpu=vendor.com/nic for devices that the nodes do not have. OPTIONs are those
# of outcome. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane scheduler managers outcome
. tests/upstream/work.sh
outcome_machines "$work" || exit 1
want_inotify 1024 # an instance per node
build/upstream/outcome -nrtd "$B/nrtd" -machines "$work" -manifests "$($here/cluster.sh manifests)" \
	-drawn-verdicts 60 -workloads memory -each 2 -pods 40 -burst 40 -share 0.5 "$@"
