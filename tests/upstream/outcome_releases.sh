#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outcome_releases.sh [OPTION...]: outcome.sh -quick -judge with the control plane, the scheduler and the kubelets' managers of
# each other release that has a scheduler in releases/, gangs with 1.37, priorities, and samples of a cluster that is nearly
# full. OPTIONs are those of outcome. B names the build folder.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
here=tests/upstream
outcome() {
	$here/outcome.sh -judge -kubernetes "$release" -controlplane "$plane" "$@"
}
failed=0
for release in 1.36 1.37 1.38; do
	plane=$release
	workloads=cpus
	case $release in
	1.37) workloads=cpus,gangs ;;
	1.38) plane=1.37 ;; # its own cannot be built
	esac
	$here/releases/build.sh "$release" scheduler managers && $here/releases/build.sh "$plane" controlplane
	case $? in 0) ;; 77) continue ;; *) exit 1 ;; esac
	if outcome -quick -ways stock,extender -workloads $workloads -share 0.9 "$@" &&
		outcome -quick -ways extender -workloads priorities -share 0.9 -every 500ms -patience 3s -drain 10s "$@" &&
		outcome -ways extender -scale 1000 -full 5 -low "$@" &&
		outcome -ways extender -scale 1000 -full 2 -low -protected -beyond 3 "$@" &&
		outcome -ways extender -scale 2000 -full 2 -volumes "$@"; then
		echo "ok outcome $release"
	else
		echo "not ok outcome $release"
		failed=1
	fi
done
exit $failed
