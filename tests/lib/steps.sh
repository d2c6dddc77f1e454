# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Steps of a run that takes long: `.ci/run`, the gate, and tests/nightly.sh. Sourced from the top of the tree; the last line
# that it prints is "N passed, N failed".
export LC_ALL=C
passed=0
failed=0
steps=$(mktemp -d)
trap 'rm -rf "$steps"' EXIT
touch "$steps/failures" "$steps/skipped" "$steps/times"

# step NAME COMMAND...: its output is shown; its own "N passed, N failed" line is added up, else it counts as one, or as none where
# all of it was skipped. What failed, what was skipped and the seconds are kept for the end.
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

# summary: what was skipped and what failed, the time of each step, the sum. False when something failed.
summary() {
	[ ! -s "$steps/skipped" ] || { printf '\nWhat was skipped:\n' && awk '!seen[$0]++' "$steps/skipped"; }
	[ ! -s "$steps/failures" ] || { printf '\nWhat failed:\n' && cat "$steps/failures"; }
	printf '\nThe steps, %d s:\n' "$SECONDS"
	cat "$steps/times"
	printf '\n%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
