# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Functions for scripts of checks. Each check prints a line "ok" or "FAIL", after a failure with the end of the command's output; tally
# prints the last line. The script must create the directory $work. $subject, if set, precedes the names of checks.
# shellcheck disable=SC2154 # the script sets $work
. tests/lib/eventually.sh
passed=0
failed=0

# skip REASON: end the script, because it cannot run its checks, or no more of them, on this machine
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
# check NAME COMMAND...: the command must succeed
check() {
	check_name=$1
	check_status=0
	shift
	"$@" >"$work/out" 2>&1 || check_status=$?
	result "$check_name" $check_status
	[ $check_status -eq 0 ] || tail -n 25 "$work/out" | sed 's/^/	/'
}
# tally: print how many checks passed and failed; returns 1 if one failed
tally() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
