#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# includes.sh: print the includes between folders as a table (a row includes a column), and fail if an include breaks a rule. A folder may
# include itself and the folders before it in tests/check/folders. agent/cluster, agent/extender and agent/report may not include
# agent/node/. Modules may not include each other in a circle; a module is a .c, its .h, and the headers whose comment says "Inside of X.h".
# Run the script from the top of the tree.
set -eu
here=$(dirname "$0")
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One line "FROM TO" per include, with file names without suffix.
find common scoring agent -name '*.[ch]' -exec grep -HE '^#include "(common|scoring|agent)/' {} + |
	sed -E 's/\.[ch]:#include "/ /; s/\.(pb-c\.)?h".*//' >"$work/includes"

awk '
	function folder(path) { sub(/[^\/]*$/, "", path); return path }
	function short(path) { sub(/\/$/, "", path); sub(/^.*\//, "", path); return path }
	function bad(text) { print "includes: " text >"/dev/stderr"; failed = 1 }
	FNR == NR { rank[$1] = ++n; name[n] = $1; next }
	{
		from = folder($1)
		to = folder($2)
		if (!(from in rank)) bad($1 ": " from " is not in tests/check/folders")
		else if (!(to in rank)) bad($1 ": " to " is not in tests/check/folders")
		else if (rank[to] > rank[from]) bad($1 " includes " $2 ": " to " comes after " from)
		else if (from ~ /^agent\/(cluster|extender|report)\// && to ~ /^agent\/node\//)
			bad($1 " includes " $2 ": the cluster half uses nothing of the node half")
		used[from]; used[to]
		count[from, to]++
	}
	END {
		printf "%-8s", ""
		for (i = 1; i <= n; i++) if (name[i] in used) printf " %8s", short(name[i])
		print ""
		for (i = 1; i <= n; i++) {
			if (!(name[i] in used)) continue
			printf "%-8s", short(name[i])
			for (k = 1; k <= n; k++)
				if (name[k] in used) printf " %8s", (name[i], name[k]) in count ? count[name[i], name[k]] : "."
			print ""
		}
		exit failed
	}' "$here/folders" "$work/includes" || status=1

find common scoring agent -name '*.h' -exec grep -HE '^( \*|/\*) Inside of [a-z_]+\.h\b' {} + |
	sed -E 's|^(.*)/([^/]*)\.h:.*Inside of ([a-z_]+)\.h.*|\1/\2 \1/\3|' >"$work/inside"
awk '
	FILENAME ~ /inside$/ { module[$1] = $2; next }
	{ from = $1 in module ? module[$1] : $1; to = $2 in module ? module[$2] : $2 }
	from != to { print from, to }' "$work/inside" "$work/includes" | sort -u |
	"$here/circles.sh" "includes: modules include each other in a circle" || status=1
exit $status
