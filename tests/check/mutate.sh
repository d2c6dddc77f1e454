#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make mutate: programs that are wrong on purpose, in a copy of the tracked files below build/mutate; the tests have to
# fail. First a mutation for each row of tests/scenario/recovery.md, from recovery.mutations beside it: the row's own test
# has to fail. Then, with MUTANTS=N, random changes of one token in PART=scoring or agent (default: both) or in folders and
# files below them, drawn by SEED, until N have been tried: the unit tests that link the file, the recorded decisions and
# the commands' scripts, up to the first that fails. Those that survive are listed, but for the ones that
# mutants.equivalent explains.
# A row is killed when its test fails in a check of its own (not in a crash) and, in a script, no other fails before it.
# What failed is printed. ROW='The extender*' tries those rows alone. JOBS is the number of mutants at a time. What was
# found is kept in build/mutate while neither the sources nor the tests change, so an interrupted run goes on. The rows
# that tests/upstream/run.sh shows share one control plane; they and those of other scripts there are skipped without Go.
# The last line is "N killed, N survived".
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2 CMOCKA_MESSAGE_OUTPUT=stdout MALLOC_PERTURB_=173
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
rows=tests/scenario/recovery.mutations
equivalent=$top/tests/check/mutants.equivalent
work=$top/build/mutate
tree=$work/tree
shared=build/mutant # in the tree: what loads the library
scripts="dump fit score show check list why hints extender completion documents"
killed=0
survived=0
pids=()
trap '[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"; rm -rf "$work/cluster"; rm -rf "$work"/[0-9]*' EXIT
trap 'exit 1' INT TERM

# ---- the copy

# copy: what is tracked, only what changed, so that make builds only that
copy() {
	mkdir -p "$tree"
	git ls-files --cached --others --exclude-standard | while read -r file; do
		[ -e "$file" ] || continue
		cmp -s "$file" "$tree/$file" || { mkdir -p "$tree/$(dirname "$file")" && cp -p "$file" "$tree/$file" && touch "$tree/$file"; }
	done
	(cd "$tree" && find agent common scoring tests -type f) | while read -r file; do
		[ -e "$file" ] || rm "$tree/$file"
	done
	state=$(cd "$tree" && find agent common scoring tests Makefile -path tests/check -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
}
# source_of NAME: a file is named without its folder
source_of() {
	local found
	found=$(cd "$tree" && find agent common scoring -name "$1")
	[ "$(wc -l <<<"$found")" -eq 1 ] && [ -n "$found" ] && echo "$found"
}
# known NAME: what an earlier run found about it
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
# mutation ROW: its lines, FILE EXPRESSION
mutation() { awk -v row="$1" '/^[^#[:space:]]/ { here = $0 == row } here && /^\t/ { print substr($0, 2) }' "$rows"; }
# shown_by ROW: FILE: NAME of its test
shown_by() { awk -F ' [|] ' -v row="| $1" '$1 == row { sub(/ \|$/, "", $4); print $4 }' tests/scenario/recovery.md; }

# mutate ROW: change the copy; 1 when the mutation changes nothing any more
mutate() {
	local file expression path
	while read -r file expression; do
		path=$(source_of "$file") || { echo "$1: no file $file"; return 1; }
		perl -0pe "$expression" "$tree/$path" >"$work/changed" || return 1
		! cmp -s "$work/changed" "$tree/$path" || { echo "$1: '$expression' changes nothing in $file"; return 1; }
		cat "$work/changed" >"$tree/$path"
		changed+=("$path")
	done < <(mutation "$1")
	[ ${#changed[@]} -gt 0 ] || { echo "$1: it has no mutation"; return 1; }
}
restore() {
	for path in "${changed[@]}"; do
		cat "$path" >"$tree/$path"
	done
	changed=()
}
# run_test FILE NAME: in the copy, into $work/log; 2 when it does not compile
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
# passes FILE NAME: when nothing is wrong, the test is there, and of a unit test it alone is run
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
# fails FILE NAME: the test fails, by a check of its own before any other of its script; prints the first that failed
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

# try_row ROW: with the test of its own
try_row() {
	local row=$1 shown result why
	result=$(known "$row")
	if [ -z "$result" ]; then
		shown=$(shown_by "$row")
		if ! passes "${shown%%: *}" "${shown#*: }"; then
			result="its test does not pass when nothing is wrong"
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

# try_upstream ROW...: with one control plane. Each mutant is a program of its own beside the managers.
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
		if [ -z "$row" ]; then # what is right has to pass
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

# with_go: the control plane can be built; it is not built again in the copy, where Go would take it for another program
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

# programs_of FILE SCRATCH: the unit tests that link it, the one of its name first, then the quick ones; and how long one
# may take
programs_of() {
	local base seconds program
	base=test_$(basename "$1" .c)
	nm --defined-only "$tree/$shared/${1%.c}.o" | awk '$2 ~ /[TDBR]/ { print $3 }' | sort >"$2/symbols"
	sort -n "$work/times" | awk -v first="$base" '$2 == first { print } $2 != first { rest = rest $0 "\n" } END { printf "%s", rest }' |
		while read -r seconds program; do
			[ -z "$(comm -12 "$2/symbols" "$work/symbols/$program" | head -n 1)" ] || echo "$program $((20 + 5 * seconds))"
		done
}
# look_at_programs: what each unit test links, and how long it takes when nothing is wrong
look_at_programs() {
	local path program begin
	mkdir -p "$work/symbols"
	for path in "$tree/$shared"/tests/unit/test_*; do
		case $path in *.o | *.d) continue ;; esac
		program=$(basename "$path")
		[ -e "$tree/tests/unit/$program.c" ] || continue # of before
		[ "$path" -ot "$work/symbols/$program" ] || nm --defined-only "$path" | awk '$2 ~ /[TDBR]/ { print $3 }' | sort >"$work/symbols/$program"
		begin=$SECONDS
		[ "$state" = "$(cat "$work/timed" 2>/dev/null)" ] && continue
		if (cd "$tree" && LD_LIBRARY_PATH=$tree/$shared/shared twice "$work" 600 "$shared/shared/tests/unit/$program"); then
			echo "$program fails when nothing is wrong"
			tail -n 20 "$work/log"
			exit 1
		fi
		echo "$((SECONDS - begin)) $program" >>"$work/times.new"
	done
	[ ! -e "$work/times.new" ] || mv "$work/times.new" "$work/times"
	echo "$state" >"$work/timed"
}

# look_at_scripts: they pass when nothing is wrong; else they would kill every mutant
look_at_scripts() {
	local program
	[ "$state" != "$(cat "$work/passed" 2>/dev/null)" ] || return 0
	for program in $scripts; do
		if (cd "$tree" && B=$shared/shared LD_LIBRARY_PATH=$tree/$shared/shared twice "$work" 600 "tests/scenario/test_$program.sh"); then
			echo "test_$program.sh fails when nothing is wrong"
			grep '^not ok' "$work/log"
			exit 1
		fi
	done
	echo "$state" >"$work/passed"
}

# twice SCRATCH SECONDS COMMAND...: it fails, and not because others use the machine
twice() {
	local scratch=$1 seconds=$2
	shift 2
	! timeout -k 5 "$seconds" "$@" >"$scratch/log" 2>&1 </dev/null && ! timeout -k 5 "$seconds" "$@" >"$scratch/log" 2>&1 </dev/null
}
# try_mutant SLOT FILE OFFSET LENGTH NEW: prints "killed by ...", "survived" or "does not compile"
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

# explained FILE "OLD => NEW": it is in the list of those that change nothing that matters
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
	for part in ${PART:-scoring agent}; do
		try_part "$part"
	done
}

mkdir -p "$work"
copy
if [ -z "${PART:-}" ]; then try_rows; fi
if [ -n "${MUTANTS:-}" ]; then try_mutants; fi
echo "$killed killed, $survived survived"
[ "$survived" -eq 0 ]
