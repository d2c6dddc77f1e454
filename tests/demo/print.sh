# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Functions of both demos: they print commands, outputs and statements, and end the demo with status 1 if a statement is not true.
# shellcheck disable=SC2154 # the demos set $work and $B
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m' color=always; else bold='' plain='' color=never; fi

section() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }
# run [STATUS] PROGRAM WORD...: print the command as a user types it, and its output, which must end with STATUS (default 0)
run() {
	local want=0 got=0
	case $1 in [0-9]) want=$1 && shift ;; esac
	printf '\n%s$ %s%s\n' "$bold" "$(sed "s|^$B/kubectl-numa|kubectl numa|; s| --from $work/cluster||; s|$work/||g" <<<"$*")" "$plain"
	case $* in *numa\ top* | *numa\ show*) set -- "$@" --color $color ;; esac
	"$@" >"$work/printed" 2>&1 || got=$?
	cat "$work/printed"
	sed 's/\x1b\[[0-9;]*m//g' "$work/printed" >"$work/out"
	[ $got -eq "$want" ] || { echo "demo: the last command ended with $got instead of $want" >&2 && exit 1; }
}
# progress TEXT COMMAND...: run the command. If standard error is a terminal, it shows the text and the seconds until the command ends
progress() {
	local text=$1 ticker='' status=0 start=$SECONDS
	shift
	if [ -t 2 ]; then
		# ends by itself if the command ends the script
		while kill -0 $$ 2>/dev/null; do
			printf '\r\033[K%.60s, %d s' "$text" $((SECONDS - start))
			sleep 1
		done >&2 &
		ticker=$!
	fi
	"$@" || status=$?
	if [ -n "$ticker" ]; then
		kill "$ticker" 2>/dev/null || :
		wait "$ticker" 2>/dev/null || :
		printf '\r\033[K' >&2
	fi
	return $status
}
# that STATEMENT PATTERN: print the statement, which is true if a line of the last output matches the extended regular expression
that() {
	grep -qE -- "$2" "$work/out" || { echo "demo: not true: $1" >&2 && exit 1; }
	printf '%s-> %s%s\n' "$bold" "$1" "$plain"
}
# prepare_keep: the folder $keep, for the demo's objects, is empty. A folder of the user's that has files is left alone
prepare_keep() {
	keep=${KEEP:-$B/demo}
	[ -n "${KEEP:-}" ] || rm -rf "$keep"
	mkdir -p "$keep"
	[ -z "$(ls -A "$keep")" ] || { echo "demo: KEEP=$keep: the folder is not empty" >&2 && exit 1; }
}
# try_next WORDS: the last lines: what to try on the objects that remain in $keep, and next
try_next() {
	printf '\nthe objects are in %s, for the commands of doc/questions.md: %s\n' "$keep" "$B/kubectl-numa pods --from $keep"
	printf 'try next: %s\n' "$1"
}
