#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The trees from which fuzz_tree starts are nodes that nrtd reads; tests/fuzz/tree.sh writes a tree and prints it again. B names the
# build folder.
set -u
nrtd=${B:-build}/nrtd
unset NRTD_SYSROOT NRTD_NODE_NAME
. tests/lib/scenario.sh
command -v perl >/dev/null || {
	echo "skipped: perl is not here"
	exit 0
}

for input in tests/fuzz/corpus/fuzz_tree/*; do
	name=$(basename "$input")
	tests/fuzz/tree.sh unpack "$input" "$dir/$name"
	tests/fuzz/tree.sh pack "$dir/$name" >"$dir/again"
	check "$name: printed again" cmp "$input" "$dir/again"
	"$nrtd" dump --sysroot "$dir/$name" >"$dir/out" 2>"$dir/err"
	check "$name: nrtd reads the node" grep -q 'name: nrtd.dev/node-state' "$dir/out"
done
exit $failed
