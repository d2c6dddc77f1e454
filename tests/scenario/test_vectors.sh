#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recorded decisions of the schedulers and of the kubelet: the subset in tests/fixtures/vectors, and the whole
# sets where they are (NRTD_SHARED, or ../shared). Then a recorded value that is changed must be noticed.
set -u
top=${NRTD_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$top" || exit 1
vectors=${B:-build}/vectors
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# check NAME FILE: ok when every case of the file is equal or explained
check() {
	if "$vectors" "$2" >"$tmp/log" 2>&1; then
		sed -n 's/^ok  */# /p' "$tmp/log"
		echo "ok $1"
	else
		sed 's/^/# /' "$tmp/log" | head -n 100
		echo "not ok $1"
		failed=1
	fi
}

for file in tests/fixtures/vectors/*.json*; do
	check "vectors: fixtures: $(basename "$file")" "$file"
done

shared=${NRTD_SHARED:-../shared}/vectors
if [ -d "$shared" ]; then
	for file in "$shared"/*.json*; do
		# A format that no runner here knows yet is not a recorded value that differs.
		if "$vectors" "$file" 2>&1 | grep -q 'a format that is not known here'; then
			echo "skipped: no runner for $(basename "$file")"
			continue
		fi
		check "vectors: recorded: $(basename "$file")" "$file"
	done
else
	echo "skipped: no recorded sets in $shared"
fi

# A program that passes whatever it reads would be worth nothing.
sed 's/"filterPod":""/"filterPod":"cannot align pod"/' tests/fixtures/vectors/scheduler.json >"$tmp/changed.json"
if "$vectors" "$tmp/changed.json" >"$tmp/log" 2>&1; then
	echo "not ok vectors: a changed verdict is noticed"
	failed=1
else
	echo "ok vectors: a changed verdict is noticed"
fi
sed 's/"LeastNUMANodes":82/"LeastNUMANodes":83/; s/"LeastNUMANodes":94/"LeastNUMANodes":-1/' \
	tests/fixtures/vectors/scheduler_scenarios.jsonl >"$tmp/changed.jsonl"
if "$vectors" "$tmp/changed.jsonl" >"$tmp/log" 2>&1; then
	echo "not ok vectors: a changed score is noticed"
	failed=1
else
	echo "ok vectors: a changed score is noticed"
fi
exit $failed
