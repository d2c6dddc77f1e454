#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh: fail if no program uses a public function or table, or if files call each other in a circle. A symbol is unused if the
# linker dropped it from every program and its own file does not use it: only tests call it, or nothing does. B is the build directory, with
# programs that are not stripped.
set -eu
export LC_ALL=C
B=${B:-build}
here=$(dirname "$0")
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# SYMBOL REASON: exceptions, which are public although no program uses them.
sort >"$work/excused" <<'END'
canvas_style_sgr make_pictures draws with the terminal's colours
frontier_find tests look amounts up as a reader of the annotation does, and compare the table with fit_required()
grpc_channel_new_connected the fuzz target communicates over a pair of sockets
kubelet_places_list a test compares the table with that of doc/kubelet-settings.md
END

find agent cli cluster common scoring -name '*.c' | sort >"$work/sources"
while read -r source; do
	[ -e "$B/${source%.c}.o" ] || { echo "symbols: $source is not built" >&2 && exit 1; }
	nm -g "$B/${source%.c}.o" | awk -v module="${source%.c}" 'NF == 3 {print "has", module, $3} NF == 2 && $1 == "U" {print "wants", module, $2}'
done <"$work/sources" >"$work/symbols"

for program in nrtd nrtd-extender kubectl-numa; do
	[ ! -e "$B/$program" ] || nm --defined-only "$B/$program"
done | awk '{print $NF}' | sort -u >"$work/linked"
awk '$1 == "has" {print $3, $2}' "$work/symbols" | sort | join -v 1 - "$work/linked" >"$work/dropped"
join -v 1 "$work/dropped" "$work/excused" >"$work/unexcused"
while read -r symbol module; do
	# Count uses in the file without comments: a function that is inlined into its own file is in use.
	uses=$(${CC:-cc} -fpreprocessed -dD -E -P "$module.c" 2>/dev/null | grep -owF "$symbol" | wc -l)
	[ "$uses" -le 1 ] || continue
	echo "symbols: $module.c: no program calls $symbol" >&2
	status=1
done <"$work/unexcused"
if [ "$here" = tests/check ] && join -v 1 "$work/excused" "$work/dropped" | grep .; then
	echo "symbols: a program uses these symbols, or they do not exist: remove them from the list of exceptions" >&2
	status=1
fi

awk '
	$1 == "has" { of[$3] = $2 }
	$1 == "wants" { wants[++n] = $2; what[n] = $3 }
	END { for (i = 1; i <= n; i++) if (what[i] in of && of[what[i]] != wants[i]) print wants[i], of[what[i]] }
' "$work/symbols" | sort -u >"$work/calls"
"$here/circles.sh" "symbols: files call each other in a circle" <"$work/calls" || status=1
exit $status
