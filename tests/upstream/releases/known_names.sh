#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# known_names.sh: add the feature gates and configuration fields of every pinned kubelet to agent/node/observe/known_names.c. A name
# stays when a later release drops it. The names that are new are printed.
set -eu
export LC_ALL=C
cd "$(dirname "$0")"
file=$(cd ../../.. && pwd)/agent/node/observe/known_names.c
bin=$(cd ../../.. && pwd)/build/upstream
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
releases="1.35 $(basename -s .mod ./*.mod | tr '\n' ' ')"
for release in $releases; do
	./build.sh "$release"
done
# listed ARRAY FILE: the array's names in the file, as "ARRAY NAME"
listed() {
	awk -v array="$1" '$0 ~ " " array "s\\[\\]" {inside = 1; next} /^}/ {inside = 0}
		inside {gsub(/[\t",]/, ""); print array, $0}' "$2"
}
for release in $releases; do
	"$bin/kubelet-$release" -names
done >"$work/names"
for array in gate field; do
	listed $array "$file"
done >"$work/before"
sort -u "$work/names" "$work/before" >"$work/after"
awk -v names="$work/after" '
	BEGIN {while ((getline line < names) > 0) {split(line, part, " "); text[part[1]] = text[part[1]] "\t\"" part[2] "\",\n"}}
	/^}/ {inside = 0}
	!inside {print}
	match($0, / (gate|field)s\[\]/) {
		inside = 1
		printf "%s", text[substr($0, RSTART + 1, RLENGTH - 4)]
	}' "$file" >"$work/file"
cat "$work/file" >"$file"
sort -u "$work/before" | comm -13 - "$work/after"
