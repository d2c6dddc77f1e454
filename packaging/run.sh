#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh build FOLDER MAKE [FLAG...] TARGET...: build the targets below FOLDER, with one line of progress on standard error instead of a
# line per file. With V=1 in the environment, make prints its own lines.
# run.sh show NRTD: print this machine's NodeResourceTopology object, then on standard error three lines: what nrtd found, which sources
# are missing, and what to try next.
set -eu

build() {
	folder=$1
	shift
	if [ -n "${V:-}" ]; then exec "$@"; fi
	# make -n assumes that a rule that always runs changes its file, so the flags file is exempt from the count.
	total=$("$@" -n -o FORCE -o "$folder/flags" 2>/dev/null | grep -c "^printf '  %-7s") || :
	[ -t 2 ] || [ "$total" -eq 0 ] || echo "building nrtd: $total steps" >&2
	{ "$@" || echo "failed"; } | {
		n=0
		while read -r line; do
			if [ "$line" = failed ]; then exit 1; fi
			n=$((n + 1))
			# The carriage return is last, so that a compiler's message replaces the line.
			[ ! -t 2 ] || printf 'building nrtd: %d of %d steps\r' $n "$total" >&2
		done
		[ ! -t 2 ] || [ $n -eq 0 ] || echo >&2
	}
}

# Summarizes the text of `nrtd check`.
summary() {
	awk -v nrtd="$1" '
		function add(text) { if (!(text in seen)) { seen[text] = 1; missing = missing (missing ? ", " : "") text } }
		{ level = $1; rest = substr($0, 22); subject = substr($0, 7, 15); sub(/ +$/, "", subject) }
		subject == "machine" { machine = rest }
		subject == "accounting" { held = rest }
		subject == "kubelet" && level != "ok" { no_kubelet = 1 }
		# How the host is tuned: nothing is missing.
		subject ~ /^(isolcpus|nohz_full|interrupts|cpufreq|SMT|numa_balancing|zone_reclaim|memory nodes)$/ { next }
		(level == "warn" || level == "fail") && subject == "setting" { settings++ }
		(level == "warn" || level == "fail") && subject != "setting" && subject != "note" { add(subject) }
		END {
			if (settings) add("kubelet settings")
			printf "\nfound:    %s; amounts %s\n", machine, held
			printf "missing:  %s\n", missing ? missing " (\047" nrtd " check\047 prints each with its remedy)" : "nothing"
			if (no_kubelet) printf "try next: \047%s show\047 draws this machine, \047make demo\047 shows a small simulated cluster\n", nrtd
			else printf "try next: \047%s show\047 draws this machine, \047%s fit --cpus 4 --memory 8Gi\047 asks whether a pod fits\n", nrtd, nrtd
		}'
}

case "${1:-}" in
build)
	shift
	build "$@"
	;;
show)
	"$2" dump
	{ "$2" check 2>/dev/null || :; } | summary "$2" >&2
	;;
*)
	echo "usage: $0 build FOLDER MAKE [FLAG...] TARGET... | show NRTD" >&2
	exit 2
	;;
esac
