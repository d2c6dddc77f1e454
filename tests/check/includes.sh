#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# includes.sh: print the includes between the top folders as a table (a row includes a column), and fail if an include breaks a rule. A folder may
# include itself and the folders before it in tests/check/folders. The agent and the cluster half include nothing of each other, and common/
# nothing of scoring/. Modules may not include each other in a circle; a module is a .c, its .h, and the headers whose comment says "Inside
# of X.h". Run the script from the top of the tree.
set -eu
here=$(dirname "$0")
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One line "FROM TO" per include, with file names without suffix.
find agent cli cluster common scoring -name '*.[ch]' -exec grep -HE '^#include "(agent|cli|cluster|common|scoring)/' {} + |
	sed -E 's/\.[ch]:#include "/ /; s/\.(pb-c\.)?h".*//' >"$work/includes"

awk '
	function folder(path) { sub(/[^\/]*$/, "", path); return path }
	function top(path) { sub(/\/.*/, "", path); return path }
	function bad(text) { print "includes: " text >"/dev/stderr"; failed = 1 }
	function apart(a, b) { return top(from) == a && top(to) == b || top(from) == b && top(to) == a }
	FNR == NR {
		rank[$1] = ++n
		if (!seen[top($1)]++) tops[++n_tops] = top($1)
		next
	}
	{
		from = folder($1)
		to = folder($2)
		if (!(from in rank)) bad($1 ": " from " is not in tests/check/folders")
		else if (!(to in rank)) bad($1 ": " to " is not in tests/check/folders")
		else if (apart("agent", "cluster")) bad($1 " includes " $2 ": agent/ and cluster/ use nothing of each other")
		else if (top(from) == "common" && top(to) == "scoring") bad($1 " includes " $2 ": common/ uses nothing of scoring/")
		else if (rank[to] > rank[from]) bad($1 " includes " $2 ": " to " comes after " from)
		count[top(from), top(to)]++
	}
	END {
		printf "%-8s", ""
		for (i = 1; i <= n_tops; i++) printf " %8s", tops[i]
		print ""
		for (i = 1; i <= n_tops; i++) {
			printf "%-8s", tops[i]
			for (k = 1; k <= n_tops; k++)
				printf " %8s", (tops[i], tops[k]) in count ? count[tops[i], tops[k]] : "."
			print ""
		}
		exit failed
	}' "$here/folders" "$work/includes" || status=1

find agent cli cluster common scoring -name '*.h' -exec grep -HE '^( \*|/\*) Inside of [a-z_]+\.h\b' {} + |
	sed -E 's|^(.*)/([^/]*)\.h:.*Inside of ([a-z_]+)\.h.*|\1/\2 \1/\3|' >"$work/inside"
awk '
	FILENAME ~ /inside$/ { module[$1] = $2; next }
	{ from = $1 in module ? module[$1] : $1; to = $2 in module ? module[$2] : $2 }
	from != to { print from, to }' "$work/inside" "$work/includes" | sort -u |
	"$here/circles.sh" "includes: modules include each other in a circle" || status=1
exit $status
