#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The words of vocabulary.txt do not occur in documents, manual pages, manifests, and in the comments and texts of the
# sources. Names of functions, variables and files are free. Exit status 1 with a line for each word that does.
set -u
cd "$(dirname "$0")/../.." || exit 1
list=tests/check/vocabulary.txt
sources=$(git ls-files --cached --others --exclude-standard -- 'common/*.[ch]' 'scoring/*.[ch]' 'agent/*.[ch]')
texts=$(git ls-files --cached --others --exclude-standard -- '*.md' 'man/*.[1-8]' packaging systemd)
# shellcheck disable=SC2086 # lists of file names without spaces
awk '
	FNR == NR {
		if ($0 ~ /^#/ || split($0, part, "\t") < 2) next
		if (sub(/^!/, "", part[1])) {right[++n_right] = part[1]; next}
		word[++n] = "(^|[^a-z0-9_-])(" part[1] ")([^a-z0-9_-]|$)"
		better[n] = part[2]
		next
	}
	FNR == 1 {inside = 0}
	# What of a line of C is comment or text; what is between is blank.
	function readable(line,   out, c, i) {
		out = ""
		for (i = 1; i <= length(line); i++) {
			c = substr(line, i, 1)
			if (inside) {
				if (c == "*" && substr(line, i + 1, 1) == "/") {inside = 0; i++; out = out " "} else out = out c
			} else if (quoted) {
				if (c == "\\") {i++; out = out " "} else if (c == "\"") quoted = 0; else out = out c
			} else if (c == "/" && substr(line, i + 1, 1) == "*") {inside = 1; i++} else if (c == "\"") {quoted = 1; out = out " "}
			else if (c == "\047") {i += substr(line, i + 1, 1) == "\\" ? 3 : 2}
		}
		quoted = 0
		return out
	}
	{
		text = FILENAME ~ /\.[ch]$/ ? readable($0) : $0
		gsub(/`[^`]*`/, " ", text)
		text = tolower(text)
		# a phrase may begin on the line before
		joined = FNR > 1 ? rest " " text : text
		sub(/^[ \t*]+/, "", text)
		for (i = 1; i <= n_right; i++) {
			expression = "(^|[^a-z])(" right[i] ")([^a-z]|$)"
			while (match(joined, expression)) joined = substr(joined, 1, RSTART - 1) " ~ " substr(joined, RSTART + RLENGTH)
		}
		for (i = 1; i <= n; i++)
			if (match(joined, word[i]) && (RSTART + RLENGTH > length(rest) + 1 || FNR == 1)) {
				print FILENAME ":" FNR ": \"" substr(joined, RSTART, RLENGTH) "\": rather " better[i]
				bad = 1
			}
		rest = match(text, /[^ \t]+[ \t]*$/) ? substr(text, RSTART) : ""
	}
	END {exit bad}' $list $sources $texts
