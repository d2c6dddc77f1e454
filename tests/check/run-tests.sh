#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run-tests.sh [unit|scripts]: run the unit test programs and the scripts of tests/scenario (default: both). The last line is
# "N passed, N failed". B is the build directory, RUNNER a command prepended to each unit test program (such as valgrind), JOBS the number
# of parallel programs and scripts (default: one per CPU). A program or script fails after 15 minutes.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2 CMOCKA_MESSAGE_OUTPUT=stdout
B=${B:-build}
what=${1:-all}
passed=0
failed=0
logs=$(mktemp -d)
. tests/lib/memory.sh
trap 'rm -rf "$logs" ${memory:+"$memory"}' EXIT

# count NAME STATUS: count the results of a program (cmocka's lines) or of a script (lines "ok" and "not ok")
count() {
	log=$logs/$1
	p=$(grep -cE '^(\[       OK \]|ok )' "$log")
	f=$(sed -nE 's/^\[  FAILED  \] ([0-9]+) test.*/\1/p' "$log" | tail -n 1)
	f=$((${f:-0} + $(grep -cE '^not ok ' "$log")))
	[ "$2" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	[ "$2" -ne 0 ] || [ "$p" -gt 0 ] || grep -qE 'SKIPPED|^skipped:' "$log" || f=1
	passed=$((passed + p))
	failed=$((failed + f))
	if [ "$f" -gt 0 ]; then
		printf 'FAIL %s (status %s)\n' "$1" "$2"
		sed 's/^/  | /' "$log"
	else
		printf 'ok   %-28s %s passed\n' "$1" "$p"
	fi
	grep -E '^skipped:' "$log" | sort | uniq -c | sed 's/^ *\([0-9]*\) /     \1 x /'
}

use_memory 1000000 # each job needs up to 20 MB
# The scripts first, because the longest test is a script.
{
	[ "$what" = unit ] || ls -S tests/scenario/test_*.sh
	# By their sources: the program of a removed test may still be there.
	[ "$what" = scripts ] || printf '%s\n' tests/unit/test_*.c | sed "s,^,$B/,; s,\.c$,,"
} >"$logs/programs"
# shellcheck disable=SC2016 # expanded by the inner shell
B=$B LOGS=$logs xargs -P "${JOBS:-$(nproc)}" -n 1 sh -c '
	log=$LOGS/$(basename "$1")
	case $1 in *.sh) front= ;; *) front=${RUNNER:-} ;; esac
	timeout -s KILL 900 $front "$1" >"$log" 2>&1
	echo $? >"$log.status"' sh <"$logs/programs"
while read -r t; do
	name=$(basename "$t")
	count "$name" "$(cat "$logs/$name.status")"
done <"$logs/programs"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
