#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd show` as a user runs it: text and SVG of every fixture machine, what the environment changes, --watch on a
# terminal and elsewhere, wrong usage. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
machines=build/fixtures/machines
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
export LC_ALL=C
unset COLUMNS NO_COLOR NRTD_WIDTH NRTD_COLOR NRTD_WATCH NRTD_SHOW_OUTPUT
ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1"
	[ ! -s "${2:-}" ] || sed 's/^/# /' "$2"
	failed=1
}
check() { # NAME COMMAND...
	name=$1
	shift
	if "$@" >"$dir/check" 2>&1; then ok "$name"; else not_ok "$name" "$dir/check"; fi
}
# In characters: not every awk knows UTF-8, so the bytes that continue a character are taken out.
widest() { LC_ALL=C tr -d '\200-\277' <"$1" | LC_ALL=C awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'; }
utf8() { LC_ALL=C.UTF-8 "$@"; }

# The picture is well-formed XML, as far as a tool is here that knows.
parser="true"
if command -v xmllint >/dev/null; then
	parser="xmllint --noout"
elif command -v python3 >/dev/null; then
	echo 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' >"$dir/parse.py"
	parser="python3 $dir/parse.py"
else
	echo "skipped: neither xmllint nor python3 is here"
fi

# --- every machine
for tree in "$machines"/*/; do
	name=$(basename "$tree")
	"$nrtd" show --sysroot "$tree" >"$dir/out" 2>"$dir/err" || not_ok "text of $name" "$dir/err"
	n=$(widest "$dir/out")
	check "text of $name fits 80 columns and uses them" test "$n" -le 80 -a "$n" -ge 78
	check "text of $name is ASCII" sh -c "! LC_ALL=C grep -q '[^ -~]' '$dir/out'"
	"$nrtd" show -o svg --sysroot "$tree" >"$dir/out.svg" 2>"$dir/err" || not_ok "picture of $name" "$dir/err"
	# shellcheck disable=SC2086 # a command with its arguments
	check "picture of $name is well-formed" $parser "$dir/out.svg"
done

# --- pods, from the kubelet's state file
cp -r "$machines/seed-2s-32cpu/." "$dir/seed"
mkdir -p "$dir/seed/var/lib/kubelet"
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$dir/seed/var/lib/kubelet/cpu_manager_state"
"$nrtd" show --sysroot "$dir/seed" >"$dir/out" 2>"$dir/err"
check "letters go by CPU" grep -q '^A  pod fb15e10a (container-1) *9 CPUs 1-9' "$dir/out"
check "each pod has its letter" grep -q '^B  pod 777870b5 (container-1) *9 CPUs 16-24' "$dir/out"
check "CPUs have their pods' letters" grep -q 'AAAAAAAAA\|A AA AA AA AA' "$dir/out"

# --- what the environment and the flags change
one=$machines/one-node
utf8 "$nrtd" show --sysroot "$one" >"$dir/out"
check "UTF-8 where the locale has it" grep -q '┌─ socket 0 ─' "$dir/out"
COLUMNS=100 "$nrtd" show --sysroot "$one" >"$dir/out"
check "COLUMNS is the width" test "$(widest "$dir/out")" -eq 100
COLUMNS=100 "$nrtd" show --width 60 --sysroot "$one" >"$dir/out"
check "--width beats COLUMNS" test "$(widest "$dir/out")" -eq 60
"$nrtd" show --width 60 -o svg --sysroot "$one" >"$dir/out"
check "--width is the picture's too" grep -q 'width="480"' "$dir/out"
"$nrtd" show --sysroot "$one" >"$dir/out"
check "no colour into a file" sh -c "! grep -q '$(printf '\033')' '$dir/out'"
NO_COLOR=1 "$nrtd" show --color always --sysroot "$one" >"$dir/out"
check "--color always" grep -q "$(printf '\033\\[0;1m')" "$dir/out"

# --- wrong usage and broken sources
usage() { # WANT ARGS...
	want=$1
	shift
	"$nrtd" show --sysroot "$one" "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	check "show $* ends with $want and says why" test "$status" -eq "$want" -a ! -s "$dir/out" -a -s "$dir/err"
}
usage 2 --width 39
usage 2 --watch=0
usage 2 --watch=1s
usage 2 --color maybe
usage 2 -o png
usage 2 -o svg --watch
"$nrtd" show --sysroot "$dir/nothing" >"$dir/out" 2>"$dir/err"
check "no machine ends with 1" test $? -eq 1 -a ! -s "$dir/out" -a -s "$dir/err"
if [ -e /dev/full ]; then
	"$nrtd" show --sysroot "$one" >/dev/full 2>"$dir/err"
	check "a full disk ends with 1" test $? -eq 1 -a -s "$dir/err"
fi

# --- --watch into a file: pictures one after the other, until SIGTERM
pictures() { grep -c '^node  ' "$dir/out"; }
"$nrtd" show --watch=1 --sysroot "$one" >"$dir/out" 2>"$dir/err" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ "$(pictures)" -ge 2 ] && break
	sleep 0.5
done
kill -TERM "$pid"
wait "$pid"
status=$?
check "--watch draws again" test "$(pictures)" -ge 2
check "--watch ends well on SIGTERM" test "$status" -eq 0 -a ! -s "$dir/err"

# --- --watch on a terminal: in place, and the screen is given back
if script -qec true /dev/null >/dev/null 2>&1; then
	TERM=xterm script -qec "timeout --foreground --preserve-status -s INT 2 $nrtd show --watch=1 --sysroot $one" \
		"$dir/typescript" >/dev/null 2>&1 </dev/null
	check "--watch ends well on SIGINT" test $? -eq 0
	grep -v '^Script ' "$dir/typescript" >"$dir/screen"
	escape=$(printf '\033')
	check "it takes a screen of its own" grep -q "$escape\[?1049h" "$dir/screen"
	check "it gives the screen back, last of all" sh -c "tail -n 1 '$dir/screen' | grep -q '$escape\[?25h$escape\[?1049l\$'"
	check "it redraws in place" test "$(grep -c "$escape\[H" "$dir/screen")" -ge 2
else
	echo "skipped: script(1) or a pseudo terminal is not here"
fi
exit $failed
