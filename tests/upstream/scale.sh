#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scale.sh [AGENTS[,AGENTS...] [OPTION...]]: that many `nrtd run` on one real API server, each number with a control plane of
# its own: idle, changing, and when the API server is killed and comes back. Prints what holds and a table of what an agent
# costs. AGENTS is 10,100,300,1000 by default; OPTIONs are those of scale. SHORT=1 takes a minute and a half a number. An agent
# takes 4 MiB and wants an inotify instance: as root, or fs.inotify.max_user_instances above the number. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
policy=$PWD/$here/testdata/audit.yaml
sizes=${1:-10,100,300,1000}
[ $# -eq 0 ] || shift
[ -z "${SHORT:-}" ] || set -- -idle 10s -churn 30s -every 10s -away 10s -refresh 20s "$@"
$here/build.sh controlplane scale
. tests/upstream/work.sh
tests/fixtures/machines/make.sh "$work/machines" || exit 1
failed=0
for agents in $(echo "$sizes" | tr , ' '); do
	nodes=$(seq -f 'fleet-%.0f' -s , 0 $((agents - 1)))
	want_inotify $((agents + 256))
	rm -rf "$work/cluster"
	# No scheduler: its watches would count as the agents' cost.
	$here/cluster.sh start "$work/cluster" -nodes "$nodes" -timeout 12h -audit "$policy" -scheduler "" >/dev/null || exit 1
	build/upstream/scale -cluster "$work/cluster" -machine "$work/machines/seed-2s-32cpu" -nrtd "$B/nrtd" -audit "$policy" \
		-rows "$work/rows" -agents "$agents" "$@" || failed=1
	$here/cluster.sh stop "$work/cluster" || exit 1
done
printf '\n'
cat "$work/rows" 2>/dev/null
exit $failed
