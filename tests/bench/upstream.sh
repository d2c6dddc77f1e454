#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make bench-upstream: the scheduler plugin's and the kubelet's functions and nrtd's on the same questions in one run, as one
# table. An answer that differs makes it fail. Without Go it says "skipped:" and ends with 0.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
B=${B:-build}
status=0
tests/upstream/build.sh bench || status=$?
[ "$status" -ne 77 ] || exit 0
[ "$status" -eq 0 ] || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
load() { cut -d ' ' -f 1 /proc/loadavg; }
before=$(load)
build/upstream/bench -o "$work/questions.json"
status=0
"$B/tests/bench/upstream" "$work/questions.json" >"$work/times" || status=$?
[ -s "$work/times" ] || exit 1
# shellcheck disable=SC1091 # the system's own file
printf '\n%s, %s CPUs, %s, %s\n%s\n%s; load %s before, %s after\n\n' \
	"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(. /etc/os-release && echo "$PRETTY_NAME")" \
	"$(${CC:-cc} --version | head -n 1)" "$(sed -n 's/^# //p' "$work/times")" "$(date -u +%F)" "$before" "$(load)"
awk -F '\t' '
	function text(ns) {
		if (ns < 999.5) return sprintf("%.0f ns", ns)
		if (ns < 999.5e3) return sprintf("%.3g us", ns / 1e3)
		if (ns < 999.5e6) return sprintf("%.3g ms", ns / 1e6)
		return sprintf("%.3g s", ns / 1e9)
	}
	# two digits: more would promise what timing cannot hold
	function times(ratio) { return ratio < 9.95 ? sprintf("%.1f", ratio) : sprintf("%.0f", sprintf("%.2g", ratio) + 0) }
	BEGIN {
		print "| CPU time, median | Go | nrtd, cold: prepares and answers | ratio | nrtd, warm |"
		print "|---|---|---|---|---|"
	}
	!/^#/ {
		printf "| %s | %s | %s | %s | %s |\n", $1, text($2) ($3 == 1 ? " (one run)" : ""), text($4),
			times($2 / $4), text($5)
	}' "$work/times"
exit "$status"
