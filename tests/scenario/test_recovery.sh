#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of what nrtd recovers from names tests that are there. The rows of tests/upstream/run.sh are looked up in what
# it runs; it compares the table with what it has shown itself. recovery.mutations has an entry for each row.
set -u
table=tests/scenario/recovery.md
mutations=tests/scenario/recovery.mutations
rows=$(mktemp)
trap 'rm -f "$rows" "$rows.changed"' EXIT
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
	tests/upstream/run.sh) set -- -F "\"$name\"" tests/upstream/cmd/rundaemon/*.go ;;
	*.c) set -- -E "(\\(|^[[:space:]]+)${name}[,)]" "$file" ;; # cmocka_unit_test(NAME), the call's lines may be two
	*) set -- -F "\"$name" "$file" ;;
	esac
	if grep -q "$@"; then
		echo "ok $row"
	else
		echo "not ok $row: no such test"
		failed=1
	fi
done <"$rows"
# Each row has a mutation, which still finds what it changes.
if sed -n 's/^| \([^-|][^|]*\) | .* | tests\/.* |$/\1/p' "$table" >"$rows" && sed -n '/^[^#[:space:]]/p' "$mutations" | diff "$rows" -; then
	echo "ok a mutation for each of the rows"
else
	echo "not ok a mutation for each of the rows"
	failed=1
fi
sed -n 's/^	//p' "$mutations" >"$rows"
while read -r file expression; do
	source=$(find agent cli cluster common scoring -name "$file")
	if [ -f "$source" ] && perl -0pe "$expression" "$source" >"$rows.changed" && ! cmp -s "$source" "$rows.changed"; then
		printf 'ok %s: %s\n' "$file" "$expression"
	else
		printf 'not ok %s: %s: changes nothing\n' "$file" "$expression"
		failed=1
	fi
done <"$rows"
exit $failed
