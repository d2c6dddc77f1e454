# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A script of checks: each is a line, "ok" or "FAIL" with the end of what was printed; tally prints the last line. The script
# has made the folder $work. Where all checks are of one thing among several, $subject names it.
# shellcheck disable=SC2154 # $work is the script's
passed=0
failed=0

# skip REASON: nothing of it can be checked here, or nothing more
skip() {
	echo "skipped: $*"
	[ $((passed + failed)) -eq 0 ] || echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	exit
}
# result NAME STATUS
result() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok   ${subject:+$subject: }$1"
	else
		failed=$((failed + 1))
		echo "FAIL ${subject:+$subject: }$1"
	fi
}
# check NAME COMMAND...: it succeeds
check() {
	local name=$1 status=0
	shift
	"$@" >"$work/out" 2>&1 || status=$?
	result "$name" $status
	[ $status -eq 0 ] || tail -n 25 "$work/out" | sed 's/^/	/'
}
# eventually SECONDS COMMAND...: it succeeds within that time
eventually() {
	local until=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.1
	done
}
# tally: how many checks passed, and status 1 if one failed
tally() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
