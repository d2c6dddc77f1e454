#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh [OPTION...]: measure nrtd beside NFD's topology-updater and the resource-topology-exporter (peers/pin.sh has
# their versions), in one run, on this machine. Prints a table. OPTIONs are those of benchpeers. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
$here/build.sh controlplane managers benchpeers && $here/build_module.sh peers/nfd tool &&
	$here/build_module.sh peers/rte tool
. tests/upstream/work.sh
$here/cluster.sh start "$work/cluster" -nodes node-a -timeout 12h >/dev/null || exit 1
printf '%s, %s, %s, %s CPUs, load %s\n\n' "$(date -u +%Y-%m-%d)" "$("$B/nrtd" --version)" \
	"$(sed -n 's/^NFD=/NFD /p; s/^RTE=/RTE /p' $here/peers/pin.sh | paste -sd, | sed 's/,/, /')" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"
build/upstream/benchpeers -cluster "$work/cluster" -nrtd "$B/nrtd" "$@"
