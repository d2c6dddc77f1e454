#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# smoke.sh SECONDS SEED TARGET: run one fuzz target for so long, from the kept inputs and those of earlier runs; SEED 0 is a random one.
# Prints one line. Where the target found something, it prints the end of the log and exits with 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=$1
seed=$2
target=$3
log=build/fuzz/$target.log
corpus=build/fuzz/corpus/$target
kept=tests/fuzz/corpus/$target
mkdir -p "$corpus"
set -- "$corpus"
[ ! -d "$kept" ] || set -- "$@" "$kept"
if ! "build/fuzz/$target" -max_total_time="$seconds" -seed="$seed" -timeout=20 -print_final_stats=1 \
	-artifact_prefix="build/fuzz/$target-" "$@" >"$log" 2>&1; then
	tail -n 50 "$log"
	echo "FAIL $target: $(grep -m 1 -E ': not true: |ERROR: |runtime error: ' "$log")"
	exit 1
fi
printf 'ok   %-28s %s runs in %s s\n' "$target" \
	"$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$seconds"
