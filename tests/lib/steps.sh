# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Functions for runs of many steps: `.ci/run`, the gate, and tests/nightly.sh. Source this file from the top of the tree; summary's last
# line is "N passed, N failed".
export LC_ALL=C
passed=0
failed=0
steps=$(mktemp -d)
trap 'rm -rf "$steps"' EXIT
touch "$steps/failures" "$steps/skipped" "$steps/times"

# step NAME COMMAND...: run and show the command, and add the numbers of its last "N passed, N failed" line. A command without such a line
# counts as one, or as none if it was skipped. Failures, skipped parts and the seconds are kept for the summary.
step() {
	local name=$1 status p f start=$SECONDS
	shift
	printf '\n==> %s\n' "$name"
	"$@" 2>&1 | tee "$steps/log"
	status=${PIPESTATUS[0]}
	read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$steps/log" | tail -n 1)
	sed -n "s/^skipped:/    $name:/p" "$steps/log" >>"$steps/skipped"
	if [ -z "${p:-}" ] && [ "$status" -eq 0 ] && grep -q '^skipped:' "$steps/log"; then
		p=0 f=0
	elif [ -z "${p:-}" ]; then
		p=$((status == 0))
		f=$((status != 0))
	elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	printf '==> %s: status %s, %s s\n' "$name" "$status" "$((SECONDS - start))"
	printf '%6d s  %6d passed %4d failed  %s\n' "$((SECONDS - start))" "$p" "$f" "$name" >>"$steps/times"
	[ "$f" -gt 0 ] || return 0
	{
		printf '==> %s: status %s, %s failed\n' "$name" "$status" "$f"
		grep -m 12 -A 4 -E '^( +\| )?(FAIL|not ok|\[  FAILED  \]|\[   ERROR  \]) ' "$steps/log" || tail -n 20 "$steps/log"
	} >>"$steps/failures"
}

# summary: print the skipped parts, the failures, the time of each step, and the sum. Returns 1 if something failed.
summary() {
	[ ! -s "$steps/skipped" ] || { printf '\nSkipped:\n' && awk '!seen[$0]++' "$steps/skipped"; }
	[ ! -s "$steps/failures" ] || { printf '\nFailed:\n' && cat "$steps/failures"; }
	printf '\nSteps, %d s:\n' "$SECONDS"
	cat "$steps/times"
	printf '\n%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
