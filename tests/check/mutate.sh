#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make mutate: break the code on purpose, in a copy of the tracked files below build/mutate, and check that tests fail.
# First, for each row of tests/scenario/recovery.md, apply the row's mutation from recovery.mutations: the row's own test must fail.
# Then, with MUTANTS=N, try N random changes of one token, chosen by SEED, in PART (folders and files; default:
# "scoring agent cluster cli"). For each change run the unit tests that link the file, the recorded decisions and the commands' scripts, until
# one fails. The script lists the mutants that survive, except those that mutants.equivalent explains.
# A row counts as killed if its test fails in a check (not in a crash) and, in a script, no other check fails before. The script prints the
# failed check. ROW='The extender*' tries only the rows that match. JOBS is the number of parallel mutants. build/mutate caches results
# until the sources or the tests change, so an interrupted run can continue. The rows of tests/upstream/run.sh share one control plane;
# without Go the script skips these rows and the rows of other scripts in tests/upstream. The last line is "N killed, N survived".
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2 CMOCKA_MESSAGE_OUTPUT=stdout MALLOC_PERTURB_=173
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
rows=tests/scenario/recovery.mutations
equivalent=$top/tests/check/mutants.equivalent
work=$top/build/mutate
tree=$work/tree
shared=build/mutant # in the tree: the programs that load nrtd's code as a shared library
scripts="dump fit score show check list why hints extender completion documents"
killed=0
survived=0
pids=()
trap '[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"; rm -rf "$work/cluster"; rm -rf "$work"/[0-9]*' EXIT
trap 'exit 1' INT TERM

# ---- the copy

# copy: copy the tracked files that changed, so that make builds only these again
copy() {
	mkdir -p "$tree"
	git ls-files --cached --others --exclude-standard | while read -r file; do
		[ -e "$file" ] || continue
		cmp -s "$file" "$tree/$file" || { mkdir -p "$tree/$(dirname "$file")" && cp -p "$file" "$tree/$file" && touch "$tree/$file"; }
	done
	(cd "$tree" && find agent cli cluster common scoring tests -type f) | while read -r file; do
		[ -e "$file" ] || rm "$tree/$file"
	done
	state=$(cd "$tree" && find agent cli cluster common scoring tests Makefile -path tests/check -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
}
# source_of NAME: print the path of a source file
source_of() {
	local found
	found=$(cd "$tree" && find agent cli cluster common scoring -name "$1")
	[ "$(wc -l <<<"$found")" -eq 1 ] && [ -n "$found" ] && echo "$found"
}
# known NAME: print the result of an earlier run
known() { [ -e "$work/known" ] && sed -n "s/^$state	//p" "$work/known" | awk -F '\t' -v name="$1" '$1 == name { print $2; exit }'; }
note() { printf '%s\t%s\t%s\n' "$state" "$1" "$2" >>"$work/known"; } # note NAME RESULT
count() { # count NAME RESULT
	case $2 in
	killed*) killed=$((killed + 1)) ;;
	*) survived=$((survived + 1)) ;;
	esac
	echo "$1: $2"
}

# ---- the rows

list_rows() { sed -n '/^[^#[:space:]]/p' "$rows"; }
# mutation ROW: print the row's mutations, one "FILE EXPRESSION" per line
mutation() { awk -v row="$1" '/^[^#[:space:]]/ { here = $0 == row } here && /^\t/ { print substr($0, 2) }' "$rows"; }
# shown_by ROW: print the row's test as "FILE: NAME"
shown_by() { awk -F ' [|] ' -v row="| $1" '$1 == row { sub(/ \|$/, "", $4); print $4 }' tests/scenario/recovery.md; }

# mutate ROW: apply the row's mutation to the copy; returns 1 if the mutation no longer changes anything
mutate() {
	local file expression path
	while read -r file expression; do
		path=$(source_of "$file") || { echo "$1: no file $file"; return 1; }
		perl -0pe "$expression" "$tree/$path" >"$work/changed" || return 1
		! cmp -s "$work/changed" "$tree/$path" || { echo "$1: '$expression' changes nothing in $file"; return 1; }
		cat "$work/changed" >"$tree/$path"
		changed+=("$path")
	done < <(mutation "$1")
	[ ${#changed[@]} -gt 0 ] || { echo "$1: recovery.mutations has no mutation for this row"; return 1; }
}
restore() {
	for path in "${changed[@]}"; do
		cat "$path" >"$tree/$path"
	done
	changed=()
}
# run_test FILE NAME: run the test in the copy, with its output in $work/log; returns 2 if the copy does not compile
run_test() {
	local program
	case $1 in
	*.c)
		program=$(basename "$1" .c)
		make -s -C "$tree" "build/tests/unit/$program" >"$work/log" 2>&1 || return 2
		(cd "$tree" && CMOCKA_TEST_FILTER=$2 timeout -k 5 120 "build/tests/unit/$program") >"$work/log" 2>&1 </dev/null
		;;
	*)
		make -s -C "$tree" build/nrtd build/tests/upstream/steps build/fixtures/machines/made >"$work/log" 2>&1 || return 2
		(cd "$tree" && timeout -k 5 900 "$1") >"$work/log" 2>&1 </dev/null
		;;
	esac
	[ $? -ne 124 ] || echo "not ok (it does not end)" >>"$work/log"
}
# passes FILE NAME: without a mutation the test exists and passes, and the filter of a unit test matches this test only
passes() {
	case $1 in
	*.c)
		run_test "$1" "$2" && [ "$(sed -n 's/^\[ *OK \] //p' "$work/log")" = "$2" ]
		;;
	*)
		# one run for all rows of a script
		[ "$(head -n 1 "$work/right-${1//\//-}" 2>/dev/null)" = "$state" ] ||
			{ run_test "$1" && { echo "$state" && cat "$work/log"; } >"$work/right-${1//\//-}"; } || return 1
		grep -q "^ok ${2//[\[.*]/.}" "$work/right-${1//\//-}"
		;;
	esac
}
# fails FILE NAME: the test fails in a check, and no other check of its script fails before; prints the first failed check
fails() {
	run_test "$1" "$2" || { tail -n 5 "$work/log" && return 2; }
	case $1 in
	*.c) awk -v name="$2" '/ERROR/ && !error { error = $0; sub(/.*ERROR[ :\]-]*/, "", error) }
			/\[ *LINE *\] --- / && !line { line = $0; sub(/.*\[ *LINE *\] --- /, "", line); sub(/: error.*/, "", line) }
			/^not ok / { error = $0 }
			/^\[ *FAILED *\] / && $NF == name { failed = 1 }
			END { if (line error != "") print line ": " substr(error, 1, 100); exit !(failed && line) }' "$work/log" ;;
	*)
		grep -m 1 '^not ok ' "$work/log"
		[[ $(grep -m 1 '^not ok ' "$work/log") == "not ok $2"* ]]
		;;
	esac
}

# try_row ROW: apply the row's mutation and run the row's test
try_row() {
	local row=$1 shown result why
	result=$(known "$row")
	if [ -z "$result" ]; then
		shown=$(shown_by "$row")
		if ! passes "${shown%%: *}" "${shown#*: }"; then
			result="its test fails without the mutation"
		elif mutate "$row"; then
			why=$(fails "${shown%%: *}" "${shown#*: }")
			case $? in
			0) result="killed by $why" ;;
			1) result="survived${why:+, but for $why}" ;;
			*) result="does not compile" && echo "$why" ;;
			esac
		else
			result="does not apply"
		fi
		restore
		note "$row" "$result"
	fi
	count "$row" "$result"
}

# try_upstream ROW...: try the rows with one control plane. Each mutant is a separate nrtd, which runs beside the kubelet's managers.
try_upstream() {
	local row result status=0 n=0 left=()
	for row; do
		result=$(known "$row")
		if [ -n "$result" ]; then count "$row" "$result"; else left+=("$row"); fi
	done
	[ ${#left[@]} -gt 0 ] || return 0
	UPSTREAM_BUILT='' tests/upstream/build.sh controlplane managers rundaemon || status=$?
	[ $status -ne 77 ] || return 0
	[ $status -eq 0 ] || return 1
	rm -rf "$work/upstream" && mkdir -p "$work/upstream" && ln -s "$top/build/upstream" "$work/upstream/upstream"
	make -s -C "$tree" build/nrtd build/fixtures/machines/made && cp "$tree/build/nrtd" "$work/upstream/nrtd" || return 1
	tests/upstream/cluster.sh start "$work/cluster" -nodes node-a -timeout 12h >/dev/null || return 1
	for row in "" "${left[@]}"; do
		if [ -n "$row" ]; then
			mutate "$row" && make -s -C "$tree" build/nrtd >"$work/log" 2>&1 && cp "$tree/build/nrtd" "$work/upstream/nrtd"
			status=$?
			restore
			[ $status -eq 0 ] || { count "$row" "does not apply or compile"; continue; }
		fi
		n=$((n + 1))
		shown=$(shown_by "$row")
		build/upstream/rundaemon -cluster "$work/cluster" -machines "$tree/build/fixtures/machines" -nrtd "$work/upstream/nrtd" \
			-only recovery -slack 3 -rows "${row:+${shown#*: }}" >"$work/log" 2>&1
		if [ -z "$row" ]; then # without a mutation every test must pass
			! grep '^not ok' "$work/log" || return 1
			continue
		fi
		why=$(grep -m 1 '^not ok' "$work/log")
		result="survived${why:+, but for $why}"
		[[ $why != *"${shown#*: }"* ]] || result="killed by $why"
		note "$row" "$result"
		count "$row" "$result"
	done
	tests/upstream/cluster.sh stop "$work/cluster"
}

# with_go: build the control plane, and link it into the copy; there Go would build it again, because the path differs
with_go() {
	tests/upstream/build.sh controlplane && mkdir -p "$tree/build" && ln -sfn "$top/build/upstream" "$tree/build/upstream" &&
		export UPSTREAM_BUILT=1
}

try_rows() {
	local row upstream=()
	changed=()
	while read -r row; do
		# shellcheck disable=SC2254 # a pattern
		case $row in ${ROW:-*}) ;; *) continue ;; esac
		case $(shown_by "$row") in
		"") count "$row" "not in the table" ;;
		tests/upstream/run.sh*) upstream+=("$row") ;;
		tests/upstream/*) with_go && try_row "$row" ;;
		*) try_row "$row" ;;
		esac
	done < <(list_rows)
	[ ${#upstream[@]} -eq 0 ] || try_upstream "${upstream[@]}"
}

# ---- random mutants

# programs_of FILE SCRATCH: print the unit tests that link the file, each with its time limit in seconds: the test with the file's name
# first, then the others, fast ones first
programs_of() {
	local base seconds program
	base=test_$(basename "$1" .c)
	nm --defined-only "$tree/$shared/${1%.c}.o" | awk '$2 ~ /[TDBR]/ { print $3 }' | sort >"$2/symbols"
	sort -n "$work/times" | awk -v first="$base" '$2 == first { print } $2 != first { rest = rest $0 "\n" } END { printf "%s", rest }' |
		while read -r seconds program; do
			[ -z "$(comm -12 "$2/symbols" "$work/symbols/$program" | head -n 1)" ] || echo "$program $((20 + 5 * seconds))"
		done
}
# look_at_programs: record the symbols that each unit test links, and its time without a mutation
look_at_programs() {
	local path program begin
	mkdir -p "$work/symbols"
	for path in "$tree/$shared"/tests/unit/test_*; do
		case $path in *.o | *.d) continue ;; esac
		program=$(basename "$path")
		[ -e "$tree/tests/unit/$program.c" ] || continue # the source was removed
		[ "$path" -ot "$work/symbols/$program" ] || nm --defined-only "$path" | awk '$2 ~ /[TDBR]/ { print $3 }' | sort >"$work/symbols/$program"
		begin=$SECONDS
		[ "$state" = "$(cat "$work/timed" 2>/dev/null)" ] && continue
		if (cd "$tree" && LD_LIBRARY_PATH=$tree/$shared/shared twice "$work" 600 "$shared/shared/tests/unit/$program"); then
			echo "$program fails without a mutation"
			tail -n 20 "$work/log"
			exit 1
		fi
		echo "$((SECONDS - begin)) $program" >>"$work/times.new"
	done
	[ ! -e "$work/times.new" ] || mv "$work/times.new" "$work/times"
	echo "$state" >"$work/timed"
}

# look_at_scripts: check that the scripts pass without a mutation; otherwise they would kill every mutant
look_at_scripts() {
	local program
	[ "$state" != "$(cat "$work/passed" 2>/dev/null)" ] || return 0
	for program in $scripts; do
		if (cd "$tree" && B=$shared/shared LD_LIBRARY_PATH=$tree/$shared/shared twice "$work" 600 "tests/scenario/test_$program.sh"); then
			echo "test_$program.sh fails without a mutation"
			grep '^not ok' "$work/log"
			exit 1
		fi
	done
	echo "$state" >"$work/passed"
}

# twice SCRATCH SECONDS COMMAND...: the command fails twice, so the failure is not caused by other load on the machine
twice() {
	local scratch=$1 seconds=$2
	shift 2
	! timeout -k 5 "$seconds" "$@" >"$scratch/log" 2>&1 </dev/null && ! timeout -k 5 "$seconds" "$@" >"$scratch/log" 2>&1 </dev/null
}
# try_mutant SLOT FILE OFFSET LENGTH NEW: print "killed by ...", "survived" or "does not compile"
try_mutant() {
	local slot=$work/$1 file=$2 program seconds
	mkdir -p "$slot"
	tests/check/mutants.pl apply "$tree/$file" "$3" "$4" "$5" >"$slot/$(basename "$file")"
	cd "$tree" || return
	$compile -o "$slot/mutant.o" "$slot/$(basename "$file")" 2>/dev/null || { echo "does not compile" && return; }
	$link -o "$slot/libmutant.so" "$slot/mutant.o" || { echo "does not compile" && return; }
	export LD_LIBRARY_PATH=$slot:$tree/$shared/shared TMPDIR=$slot
	while read -r program seconds; do
		twice "$slot" "$seconds" "$shared/shared/tests/unit/$program" && echo "killed by $program" && return
	done < <(programs_of "$file" "$slot")
	for program in tests/fixtures/vectors/*.json*; do
		twice "$slot" 120 "$shared/shared/vectors" "$program" && echo "killed by $program" && return
	done
	for program in $scripts; do
		B=$shared/shared twice "$slot" 300 "tests/scenario/test_$program.sh" && echo "killed by test_$program.sh" && return
	done
	echo survived
}

# explained FILE "OLD => NEW": mutants.equivalent lists the change
explained() { [ -e "$equivalent" ] && grep -qxF "$1: $2" "$equivalent"; }

worker() { # worker SLOT JOBS PART: every JOBS-th mutant
	local file offset length new line name result i=0
	while IFS=$'\t' read -r file offset length new <&3; do
		i=$((i + 1))
		[ $((i % $2)) -eq "$1" ] || continue
		[ "$(cat "$work/tried-$3"-* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')" -lt "$MUTANTS" ] || break
		line=$(tests/check/mutants.pl show "$tree/$file" "$offset" "$length" "$new")
		name="$(basename "$file"):${line#*: }"
		result=$(known "$name")
		if [ -z "$result" ]; then
			result=$(try_mutant "$1" "$file" "$offset" "$length" "$new")
			note "$name" "$result"
		fi
		case $result in
		killed*) echo "killed	$(basename "$file"):${line%%: *}	${line#*: }	$result" ;;
		survived)
			if explained "$(basename "$file")" "${line#*: }"; then
				echo "explained	$(basename "$file"):${line%%: *}	${line#*: }"
			else
				echo "survived	$(basename "$file"):${line%%: *}	${line#*: }"
			fi
			;;
		*) continue ;;
		esac >>"$work/results-$3-$1"
		echo $(($(cat "$work/tried-$3-$1") + 1)) >"$work/tried-$3-$1"
	done 3<"$work/list-$3" </dev/null
}

try_part() { # try_part PART
	local jobs=${JOBS:-$(nproc)} slot part=${1//\//_}
	echo "== $MUTANTS mutants of $1, seed ${SEED:=1}"
	(cd "$tree" && find "$1" -name '*.c') | awk -F / "{ print \$NF, \$0 }" | sort | cut -d " " -f 2 | (cd "$tree" && xargs "$top/tests/check/mutants.pl" list "$SEED") >"$work/list-$part"
	rm -f "$work/results-$part"-* "$work/tried-$part"-*
	for ((slot = 0; slot < jobs; slot++)); do
		echo 0 >"$work/tried-$part-$slot"
		worker "$slot" "$jobs" "$part" &
		pids+=($!)
	done
	wait "${pids[@]}"
	pids=()
	sort "$work/results-$part"-* >"$work/results-$part"
	sed -n 's/^survived\t/survived: /p' "$work/results-$part"
	echo "== $1: $(grep -c ^killed "$work/results-$part") killed, $(grep -c ^explained "$work/results-$part") explained, $(grep -c ^survived "$work/results-$part") survived"
	killed=$((killed + $(grep -c ^killed "$work/results-$part")))
	survived=$((survived + $(grep -c ^survived "$work/results-$part")))
}

try_mutants() {
	local part
	make -s -C "$tree" CFLAGS='-O0 -fPIC' B=$shared units shared >"$work/log" 2>&1 || { tail -n 5 "$work/log" && exit 1; }
	{ read -r compile && read -r link; } < <(make -s -C "$tree" CFLAGS='-O0 -fPIC' B=$shared mutant-commands)
	look_at_programs
	look_at_scripts
	for part in ${PART:-scoring agent cluster cli}; do
		try_part "$part"
	done
}

mkdir -p "$work"
copy
if [ -z "${PART:-}" ]; then try_rows; fi
if [ -n "${MUTANTS:-}" ]; then try_mutants; fi
echo "$killed killed, $survived survived"
[ "$survived" -eq 0 ]
