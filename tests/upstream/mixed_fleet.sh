#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mixed_fleet.sh [OPTION...]: extenders and agents of two releases, and objects of other exporters, in one cluster: extender_invariant.sh
# with the extender of this tree and with an older one, each with the agents of both. Some nodes of each sequence have the object of
# another exporter. OLD is the older commit, by default one that passes: a commit at a fixed distance from HEAD may have
# defects that are mended since. OPTIONs are those of extenderinvariant. B names the build folder.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
here=tests/upstream
OLD=${OLD:-428cff8f}
if ! old=$(git rev-parse --verify -q "$OLD^{commit}"); then
	echo "skipped: there is no commit $OLD"
	exit 0
fi
$here/build.sh extenderinvariant
. tests/upstream/work.sh
mkdir "$work/old" && git archive "$old" | tar -x -C "$work/old" || exit 1
if ! make -s -C "$work/old" -j"$(nproc)" B=build >"$work/log" 2>&1; then
	tail -n 5 "$work/log"
	exit 1
fi
tests/fixtures/machines/make.sh "$work/machines" || exit 1
outcome_machines "$work/machines" || exit 1
for extender in "$B" "$work/old/build"; do
	case $extender in
	"$B") echo "mixed fleet: the extender of this tree, agents of this tree and of $OLD" ;;
	*) echo "mixed fleet: the extender of $OLD, agents of both" ;;
	esac
	build/upstream/extenderinvariant -nrtd "$extender/nrtd" -agents "$B/nrtd,$work/old/build/nrtd" -machines "$work/machines" "$@" || status=1
done
exit "$status"
