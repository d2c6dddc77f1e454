#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outcome_releases.sh [OPTION...]: outcome.sh -quick -judge with the control plane, the scheduler and the kubelets' managers of each
# other release that has these in releases/, gangs with 1.37, priorities, and samples of a cluster that is nearly full. OPTIONs are those of
# outcome. B names the build folder.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
here=tests/upstream
failed=0
for release in 1.36 1.37; do
	$here/releases/build.sh "$release" controlplane scheduler managers
	case $? in 0) ;; 77) continue ;; *) exit 1 ;; esac
	workloads=cpus
	[ "$release" != 1.37 ] || workloads=cpus,gangs
	if $here/outcome.sh -quick -judge -ways stock,extender -workloads $workloads -share 0.9 -kubernetes "$release" "$@" &&
		$here/outcome.sh -quick -judge -ways extender -workloads priorities -share 0.9 -every 500ms -patience 3s -drain 10s \
			-kubernetes "$release" "$@" &&
		$here/outcome.sh -judge -ways extender -scale 1000 -full 5 -low -kubernetes "$release" "$@"; then
		echo "ok outcome $release"
	else
		echo "not ok outcome $release"
		failed=1
	fi
done
exit $failed
