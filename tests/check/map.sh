#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# map.sh: print the map of the modules, by folder. A module is a header, or a C file without a header. Its line is the first sentence of the
# comment at the head of the file; a sentence that is too long ends at its first colon. Fails if a module has no such sentence.
set -eu
LENGTH=100 # maximum length of a sentence

# line FILE: print the line of a module, or fail with a message about the comment.
line() {
	awk -v length_max="$LENGTH" '
		function fail(why) { print FILENAME ": " why >"/dev/stderr"; failed = 1; exit 1 }
		/SPDX-License-Identifier/ || /^#pragma once$/ || /^$/ { next }
		!inside && !/^\/\*/ { exit }
		{
			inside = 1
			done = /\*\//
			sub(/^[ \t]*\/?\*+[ \t]*/, "")
			sub(/[ \t]*\*+\/.*$/, "")
			text = text (text == "" || $0 == "" ? "" : " ") $0
			if (done || $0 == "" && text != "") exit
		}
		END {
			if (failed) exit 1
			n = split(FILENAME, part, "/")
			name = part[n]
			stem = name
			sub(/\.[ch]$/, "", stem)
			if (text == "") fail("no comment at its head: add one that says what the module does")
			first = text
			if (index(first, stem ": ") == 1) first = toupper(substr(first, length(stem) + 3, 1)) substr(first, length(stem) + 4)
			if (match(first, /[.?]( |$)/)) first = substr(first, 1, RSTART - 1)
			if (length(first) > length_max && match(first, /: /) > 20) first = substr(first, 1, RSTART - 1)
			sub(/:$/, "", first)
			if (length(first) > length_max)
				fail("the first sentence has " length(first) " characters, but at most " length_max " are allowed: " first)
			printf "  %-22s %s\n", name, first
		}' "$1"
}

status=0
while read -r folder what; do
	printed=
	for f in "$folder"*.[ch]; do
		case $f in *.c) [ ! -e "${f%.c}.h" ] || continue ;; esac
		[ -e "$f" ] || continue
		[ -n "$printed" ] || printf '%s  %s\n' "$folder" "$what"
		printed=1
		line "$f" || status=1
	done
done <"$(dirname "$0")/folders"
exit $status
