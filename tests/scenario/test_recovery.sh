#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of what nrtd recovers from names tests that are there. The rows of tests/upstream/run.sh are looked up in what
# it runs; it compares the table with what it has shown itself.
set -u
table=tests/scenario/recovery.md
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
failed=0
sed -n 's/^| .* | \(tests\/.*\) |$/\1/p' "$table" >"$rows"
n=$(wc -l <"$rows")
if [ "$n" -ge 20 ] && [ "$n" -eq $(($(grep -c '^| ' "$table") - 1)) ]; then
	echo "ok a test for each of the $n rows"
else
	echo "not ok a test for each of the rows: $n have one"
	failed=1
fi
while IFS= read -r row; do
	file=${row%%: *}
	name=${row#*: }
	case $file in
	tests/upstream/run.sh) set -- tests/upstream/cmd/rundaemon/*.go && quoted="\"$name\"" ;;
	*.c) set -- "$file" && quoted="cmocka_unit_test($name)" ;;
	*) set -- "$file" && quoted="\"$name" ;;
	esac
	if grep -qF -- "$quoted" "$@"; then
		echo "ok $row"
	else
		echo "not ok $row: no such test"
		failed=1
	fi
done <"$rows"
exit $failed
