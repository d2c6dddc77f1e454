#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME...]: the recipes of doc/recipes and doc/operate.md (all, or those named), each as a reader follows it: the
# fenced blocks of its text are run in their order against the real API server, kube-scheduler, kubelet managers, kubectl and helm. NAME.sh sets
# the scene and checks what came of each block; world.sh has the nodes.
#
#	```sh                   run by `sh -eu`; the folder has a copy of packaging/, as in a clone
#	```sh exit N            the same, and its last command ends with N
#	```sh not run: WHY      counted and printed
#	```yaml FILE            written to FILE
#	```text                 what the block before prints; "..." is any text of a line, or as a line any lines
#	```text not compared: WHY
#
# The scene's functions: scene, before the first block; after_N, behind the Nth block that is run; done_with, at the end.
# Each check is a line, the last line is "N passed, N failed". "skipped:" and 0 where something is not available.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset COLUMNS NODE_NAME KUBECONFIG
cd "$(dirname "$0")/../.." || exit 1
here=$(pwd)
export B=${B:-build}
work=$(mktemp -d)
trap 'leave_world; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/recipes/world.sh
. tests/recipes/world.sh

# extract FILE FOLDER: each block into FOLDER/NN.KIND, its info string into FOLDER/NN.info; a block without one is an error
extract() {
	mkdir -p "$2"
	awk -v dir="$2" '
		/^```/ && !inside {
			inside = 1; n++; info = substr($0, 4); kind = info; sub(/ .*/, "", kind); sub(/^[^ ]* ?/, "", info)
			if (kind !~ /^(sh|yaml|text)$/ || (kind == "yaml" && info == "")) {print FILENAME ":" FNR ": a block of no known kind"; bad = 1}
			base = sprintf("%s/%02d", dir, n); file = base "." kind
			print info >(base ".info"); printf "" >file; next
		}
		/^```/ {inside = 0; close(file); next}
		inside {print >file}
		END {if (inside) {print FILENAME ": a block does not end"; bad = 1} exit bad}' "$1"
}

# like WANT GOT: line by line; "..." in a line is any text, a line of it alone any lines
like() {
	local -a got
	local line text at=0 any=0
	mapfile -t got < <(sed 's/[[:space:]]\+/ /g; s/ $//' "$2")
	while IFS= read -r line; do
		if [ "$line" = ... ]; then any=1 && continue; fi
		text=$(sed 's/[[:space:]]\+/ /g; s/ $//; s/[][*?\\]/\\&/g; s/\.\.\./*/g' <<<"$line")
		while :; do
			if [ $at -ge ${#got[@]} ]; then
				printf 'not printed: %s\nprinted:\n' "$line" && cat "$2" && return 1
			fi
			# shellcheck disable=SC2053 # a pattern
			if [[ ${got[at]} == $text ]]; then break; fi
			if [ $any -eq 0 ]; then
				printf 'wanted: %s\nprinted: %s\n' "$line" "${got[at]}" && cat "$2" && return 1
			fi
			at=$((at + 1))
		done
		at=$((at + 1))
		any=0
	done <"$1"
	[ $any -eq 1 ] || [ $at -ge ${#got[@]} ] || { printf 'printed more: %s\n' "${got[@]:at}" && return 1; }
}

wanted_status() { # INFO
	case $1 in "exit "*) echo "${1#exit }" ;; *) echo 0 ;; esac
}
run_block() { # FILE WANTED-STATUS
	local status=0
	(cd "$place" && timeout 120 sh -eu "$1") >"$work/printed" 2>"$work/errors" </dev/null || status=$?
	cat "$work/printed" "$work/errors"
	[ $status -eq "$2" ] || { echo "ended with $status, not with $2:" && cat "$1" && return 1; }
}

play() { # the recipe
	local block base info commands=0
	place=$work/$recipe/place
	mkdir -p "$place"
	cp -rL packaging "$place/packaging" 2>/dev/null
	check "its blocks" extract "$text" "$work/$recipe/blocks"
	check "the scene" scene
	for block in "$work/$recipe"/blocks/*.*; do
		base=${block%.*}
		[ "$failed" -eq "$before" ] || return # what follows needs what failed
		case $block in *.info) continue ;; esac
		info=$(cat "$base.info")
		case $block:$info in
		*:"not run: "* | *:"not compared: "*) echo "     $recipe: block $(basename "$base") $info" && unused=$((unused + 1)) ;;
		*.sh:*)
			commands=$((commands + 1))
			case $info in "" | "exit "*) ;; *) check "'$info' is known" false ;; esac
			check "block $(basename "$base"): $(grep -v '^ *#' "$block" | head -n 1)" run_block "$block" "$(wanted_status "$info")"
			controllers >"$work/controllers" 2>&1 || check "what the controllers of DaemonSets and Deployments do" sh -c "cat '$work/controllers'; exit 1"
			if declare -F "after_$commands" >/dev/null; then "after_$commands"; fi
			;;
		*.yaml:*) mkdir -p "$(dirname "$place/$info")" && cp "$block" "$place/$info" ;;
		*.text:) check "block $(basename "$base"): what is printed" like "$block" "$work/printed" ;;
		*) check "block $(basename "$base"): '$info' is known" false ;;
		esac
	done
	done_with
}

prepare_world
unused=0
# shellcheck disable=SC2046 # names
[ $# -gt 0 ] || set -- $(basename -s .md doc/recipes/*.md | grep -vx README) operate
for recipe; do
	subject=$recipe
	text=doc/recipes/$recipe.md
	[ -e "$text" ] || text=doc/$recipe.md
	nodes= # what a scene may set: names, separated by commas
	# shellcheck source=/dev/null
	. "tests/recipes/$recipe.sh" || exit 1
	begin_world
	begun=$SECONDS
	before=$failed
	play
	if [ "$failed" -gt "$before" ]; then
		tail -n 5 "$WORLD"/pods/*/log "$WORLD"/*/kubelet.log "$WORLD"/pods/*/root/tmp/scheduler.log 2>/dev/null | cut -c1-400
	fi
	echo "     $recipe: $((SECONDS - begun)) s"
	end_world
	# shellcheck disable=SC2046 # names
	unset -f scene done_with $(declare -F | sed -n 's/^declare -f \(after_[0-9]*\)$/\1/p')
done
[ $unused -eq 0 ] || echo "     $unused blocks were not run or not compared, for the reasons above"
tally
