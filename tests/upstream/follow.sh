#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# follow.sh [DIR]: common/kube/reflector.c and lease.c against the real API server, by B/tests/upstream/follow: the control
# plane in DIR (cluster.sh start), which is killed and started again, or one of its own. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
here=tests/upstream
[ -x "$B/tests/upstream/follow" ] || { echo "follow.sh: make $B/tests/upstream/follow first" >&2 && exit 1; }
work=$(mktemp -d)
followers=
trap 'kill $followers 2>/dev/null; [ ! -e "$work/cluster/controlplane.pid" ] || $here/cluster.sh stop "$work/cluster"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
dir=${1:-$work/cluster}
if [ $# -eq 0 ]; then
	$here/build.sh controlplane
	status=$?
	[ "$status" -ne 77 ] || exit 0
	[ "$status" -eq 0 ] && $here/cluster.sh start "$dir" -timeout 1h >/dev/null || exit 1
fi
admin=$dir/admin.kubeconfig
maps=/api/v1/namespaces/default/configmaps
failed=0
. tests/lib/eventually.sh

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name"
		tail -n 5 "$work"/*.out "$work"/*.err | sed 's/^/	/'
		failed=1
	fi
}
# as_admin: requests on standard input
as_admin() { "$B/tests/upstream/steps" "$admin" "$admin" node-a >"$work/steps.out" 2>"$work/steps.err"; }
made() { echo "request POST $maps application/json {\"metadata\":{\"name\":\"$1\"},\"data\":{\"text\":\"$2\"}}"; }
# start NAME ARGUMENT...: a follower, which writes NAME.out; its process is $pid
start() {
	name=$1
	shift
	"$B/tests/upstream/follow" "$admin" "$@" >"$work/$name.out" 2>"$work/$name.err" &
	pid=$!
	followers="$followers $pid"
}
# known NAME: the objects that a follower has, by its lines
known() {
	awk '$1 == "begin" { delete listed } $1 == "object" { have[$2] = listed[$2] = 1 } $1 == "gone" { delete have[$2] }
		$1 == "end" { for (name in have) if (!(name in listed)) delete have[name] }
		END { for (name in have) print name }' "$work/$1.out" | sort
}
has() { known "$1" | grep -qxF "$2"; }
has_not() { ! has "$1" "$2"; }
same() { [ "$(known "$1")" = "$(cat "$work/want")" ]; }

# ---- a reflector
seq -f 'many-%04g' 2000 >"$work/many"
while read -r name; do made "$name" x; done <"$work/many" | as_admin
start all "$maps"
all=$pid
listed() { grep -qx end "$work/all.out"; }
eventually 90 listed
sort "$work/many" - >"$work/want" <<END
kube-root-ca.crt
END
same all || sort "$work/many" >"$work/want"
check "2000 objects come in pages" same all
{ made one x && made two x && echo "request DELETE $maps/one"; } | as_admin
eventually 90 has_not all one
check "what is made and deleted is seen" eventually 90 has all two
check "it is not listed again for that" [ "$(grep -cx begin "$work/all.out")" -eq 1 ]

$here/cluster.sh kill "$dir"
lost() { grep -q "cannot watch configmaps" "$work/all.err"; }
check "a killed API server is said" eventually 90 lost
$here/cluster.sh start "$dir" -resume -timeout 1h >"$work/resume.out" 2>&1 || { cat "$work/resume.out" && exit 1; }
{ made three x && echo "request DELETE $maps/many-0001"; } | as_admin
sed -e '/^many-0001$/d' -e '$a three\ntwo' -i "$work/want"
sort -o "$work/want" "$work/want"
check "API server killed: the objects are right again" eventually 90 same all
check "and that is said once" [ "$(grep -c configmaps "$work/all.err")" -le 3 ]

# While it does not look, the API server is killed, the objects change, and it is killed again: what it knows is older than
# what the new one remembers.
kill -STOP "$all"
for change in 'request DELETE '$maps/many-0002 ''; do
	$here/cluster.sh kill "$dir"
	$here/cluster.sh start "$dir" -resume -timeout 1h >"$work/resume.out" 2>&1 || { cat "$work/resume.out" && exit 1; }
	[ -z "$change" ] || { made four x && echo "$change"; } | as_admin
done
kill -CONT "$all"
sed -e '/^many-0002$/d' -e '$a four' -i "$work/want"
sort -o "$work/want" "$work/want"
check "what is too old is listed again" eventually 90 same all
expired() { grep -q 'listing configmaps again: .*too old' "$work/all.err"; }
check "which the API server asks for (410)" expired
kill "$all" && wait "$all"
tail -n 1 "$work/all.out"

# It stops at the end of a page, and what the next one would be of is forgotten: by etcd, and by the API server, which starts
# again.
start paged "$maps" 300 300
paged=$pid
stopped() { grep -q '^State:.T' "/proc/$paged/status"; }
eventually 90 stopped
echo "request DELETE $maps/many-0003" | as_admin
$here/cluster.sh compact "$dir" >"$work/compact.out" || failed=1
$here/cluster.sh kill "$dir"
$here/cluster.sh start "$dir" -resume -timeout 1h >"$work/resume.out" 2>&1 || { cat "$work/resume.out" && exit 1; }
kill -CONT "$paged"
sed -i '/^many-0003$/d' "$work/want"
check "a list that is too old for its next page begins again" eventually 90 same paged
kill "$paged" && wait "$paged"
tail -n 1 "$work/paged.out"
gone() { tail -n 1 "$work/paged.out" | grep -q ' expired=[1-9]'; }
check "because the API server asks for it (410)" gone

# ---- a lease
held() { [ "$(tail -n 1 "$work/$1.out")" = held ]; }
start first lease default/nrtd first
first=$pid
check "a lease is taken" eventually 90 held first
start second lease default/nrtd second
second=$pid
sleep 5
check "and not by another one" [ "$(cat "$work/second.out")" = "not held" ]
kill "$first" && wait "$first"
check "one that was given up is taken" eventually 90 held second
start third lease default/nrtd third
third=$pid
sleep 3
kill -KILL "$second"
check "two replicas: one that was killed is followed by the other" eventually 90 held third
start fourth lease default/nrtd fourth
start fifth lease default/nrtd fifth
sleep 3
kill -KILL "$third"
anybody() { held fourth || held fifth; }
eventually 90 anybody
sleep 5
check "two replicas: of two that wait one takes it" [ "$(cat "$work/fourth.out" "$work/fifth.out" | grep -cx held)" -eq 1 ]
exit $failed
