#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [OPTION...]: `nrtd run` against the real kube-apiserver and kube-scheduler: how soon it publishes, how often it
# writes, what it recovers from, where pods land, 200 of it at once. OPTIONs are those of rundaemon (-only, -long, -seed).
# Numbers of milliseconds want a machine that does nothing else. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
agents=${AGENTS:-200}
$here/build.sh controlplane managers rundaemon
. tests/upstream/work.sh

tests/fixtures/machines/make.sh "$work/machines" || exit 1
mkdir "$work/machines/kep"
awk -v out="$work/machines/kep" -f tests/fixtures/machines/make.awk $here/testdata/kep.spec || exit 1
$here/recorded_machines.sh "$work/machines" || exit 1

nodes=node-a,node-1,node-2
i=0
while [ "$i" -lt "$agents" ]; do
	nodes=$nodes,fleet-$i
	i=$((i + 1))
done
# The fleet is one user's, who has 128 inotify instances by default, and then no other program of his has one.
want_inotify 1024
# Ahead of other programs where that is allowed, for milliseconds are measured.
renice -n -10 -p $$ >/dev/null 2>&1
$here/cluster.sh start "$work/cluster" -nodes "$nodes" -timeout 12h >/dev/null || exit 1
build/upstream/rundaemon -cluster "$work/cluster" -machines "$work/machines" -nrtd "$B/nrtd" -agents "$agents" "$@"
