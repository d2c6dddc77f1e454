#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The scripts of `nrtd completion`, `nrtd-extender completion` and `kubectl-numa completion`, in the shells themselves as far as they are
# here: what is offered where. B names the build folder.
set -u
nrtd=$(realpath "${B:-build}/nrtd") extender=$nrtd-extender numa=$(dirname "$(realpath "${B:-build}/nrtd")")/kubectl-numa
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
check() { # NAME WANT GOT: the words WANT are among GOT
	local word
	for word in $2; do
		if ! grep -qxF -- "$word" <<<"$3"; then
			echo "not ok $1: no $word in $3"
			failed=1
			return
		fi
	done
	echo "ok $1"
}
PATH=$(dirname "$nrtd"):$PATH # fish runs the program that a line names
for shell in bash zsh fish; do
	"$nrtd" completion $shell >"$dir/$shell" || failed=1
	"$nrtd" completion --shell $shell | cmp -s - "$dir/$shell" || { echo "not ok --shell $shell" && failed=1; }
done
# shellcheck source=/dev/null
source "$dir/bash"
offered() { # WORD...: what bash offers for the last
	COMP_WORDS=("$nrtd" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_nrtd
	printf '%s\n' "${COMPREPLY[@]}"
}
check "bash: commands" "dump run fit help version" "$(offered "")"
check "bash: flags" "--cpus --output -o" "$(offered fit -)"
check "bash: values" "text svg" "$(offered show -o "")"
check "bash: shells" "bash zsh fish" "$(offered completion "")"
check "bash: help" "fit show" "$(offered help "")"
for shell in bash zsh fish; do
	"$extender" completion $shell >"$dir/extender.$shell" || failed=1
done
# shellcheck source=/dev/null
source "$dir/extender.bash"
offered_by_extender() {
	COMP_WORDS=("$extender" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_nrtd_extender
	printf '%s\n' "${COMPREPLY[@]}"
}
check "bash: flags of a program without commands" "--http --lease" "$(offered_by_extender --)"
check "bash: values of a program without commands" "best all" "$(offered_by_extender --answer "")"
for shell in bash zsh fish; do
	"$numa" completion $shell >"$dir/numa.$shell" || failed=1
done
# shellcheck source=/dev/null
source "$dir/numa.bash"
offered_by_numa() {
	COMP_WORDS=("$numa" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_kubectl_numa
	printf '%s\n' "${COMPREPLY[@]}"
}
check "bash: commands of kubectl-numa" "top fit score why show help version" "$(offered_by_numa "")"
check "bash: flags of kubectl-numa" "--from --replicas -o -l" "$(offered_by_numa fit -)"
check "bash: commands behind flags" "top fit score" "$(offered_by_numa -n x "")"
check "bash: values behind flags and a command" "text wide json yaml" "$(offered_by_numa -n x top -o "")"
check "bash: values of kubectl-numa" "text wide json yaml" "$(offered_by_numa top -o "")"
check "bash: a flag before the command with a command's name as value" "text wide json yaml" "$(offered_by_numa -n fit top -o "")"
check "bash: a value after '='" "json" "$(offered_by_numa top --output = js)"
check "bash: a setting" "topologyManagerPolicy=restricted reservedCPUs=" "$(offered_by_numa simulate --set "")"
check "bash: a setting's value" "restricted" "$(offered_by_numa simulate --set topologyManagerPolicy = re)"
check "bash: only what the word begins with" "json" "$(offered_by_numa top -o js)"
if grep -qx yaml <<<"$(offered_by_numa top -o js)"; then echo "not ok bash: no other value" && failed=1; fi
touch "$dir/a-pod.yaml" "$dir/a pod.yaml"
check "bash: files" "$dir/a-pod.yaml" "$(offered_by_numa fit -f "$dir/a")"
if grep -qxF "$dir/a pod.yaml" <<<"$(offered_by_numa fit -f "$dir/a")"; then echo "ok bash: a file with a space"; else echo "not ok bash: a file with a space" && failed=1; fi

# --- __complete: what the scripts and kubectl ask for; the last line is the directive
ends() { # NAME WANT WORD...
	local name=$1 want=$2 last
	shift 2
	last=$("$numa" __complete "$@" | tail -n 1)
	if [ "$last" = "$want" ]; then echo "ok $name"; else echo "not ok $name: $last" && failed=1; fi
}
for command in top fit score pods config devices show changes diff; do ends "$command: nodes" :nodes "$command" ""; done
for command in top fit score pods config devices; do ends "$command: more nodes" :nodes "$command" a b ""; done
ends "diff: the second node" :nodes diff a ""
ends "diff: no third node" :4 diff a b ""
ends "show: one node" :4 show a ""
ends "why: pods" :pods why ""
ends "why: a node" :nodes why p ""
ends "why: one node" :4 why p n ""
ends "plan: nothing" :4 plan ""
ends "contexts" :contexts top --context ""
ends "clusters" :clusters --cluster ""
ends "users" :users top --user ""
ends "namespaces" :namespaces pods -n ""
ends "namespaces of other flags" :namespaces plan --keep ""
ends "nodes of flags" :nodes simulate --without-node ""
ends "files" :0 plan --expect ""
ends "files after '='" :0 fit --filename=
ends "a number" :4 plan --max-moves ""
ends "flags" :4 fit --
ends "unknown words" :4 draw ""
# Each flag with a list of values offers it, for each command.
values_missing='' n_lists=0
for command in $("$numa" __complete "" | sed -n '/^help\|^version/!s/\t.*//p'); do
	for flag in $("$numa" __complete "$command" - | sed -n 's/\t.*//p'); do
		list=$("$numa" "$command" --help | sed -n "s/^  \(-., \)\{0,1\}$flag [A-Z].*\[\([^]]*|[^]]*\)\].*/\2/p")
		[ -z "$list" ] || n_lists=$((n_lists + 1))
		[ -z "$list" ] || [ "$("$numa" __complete "$command" "$flag" "" | sed '$d' | paste -sd '|')" = "$list" ] || values_missing+=" $command:$flag"
	done
done
if [ -z "$values_missing" ] && [ $n_lists -gt 20 ]; then echo "ok every list of values"; else echo "not ok $n_lists lists of values, missing:$values_missing" && failed=1; fi

if command -v zsh >/dev/null; then
	zsh_offers() { # WORD...: what the script passes to zsh's functions, which are replaced
		zsh -fc 'script=$1; shift; words=("$@"); CURRENT=$#
			_describe() { print -l -- "${(@P)2}"; }; _files() { print files; }; compset() { :; }
			source "$script"' zsh "$dir/numa.zsh" "$numa" "$@"
	}
	check "zsh: commands" "version:print-the-version" "$(zsh_offers "" | tr ' ' -)"
	check "zsh: values behind flags and a command" "text wide json yaml" "$(zsh_offers -n fit top -o "")"
	check "zsh: a value after '='" "json" "$(zsh_offers top --output=js)"
	check "zsh: files" files "$(zsh_offers fit -f "")"
	if zsh -n "$dir/numa.zsh"; then echo "ok zsh reads kubectl-numa's script"; else echo "not ok zsh: kubectl-numa" && failed=1; fi
	if zsh -n "$dir/extender.zsh"; then echo "ok zsh reads the extender's script"; else echo "not ok zsh: extender" && failed=1; fi
	if zsh -n "$dir/zsh"; then echo "ok zsh reads its script"; else echo "not ok zsh" && failed=1; fi
else
	echo "skipped: zsh is not here"
fi
if command -v fish >/dev/null; then
	offered() { fish --no-config -c "source $dir/fish; complete -C '$1'" | cut -f 1; }
	check "fish: commands" "dump run fit help version" "$(offered "nrtd ")"
	check "fish: flags" "--cpus --output" "$(offered "nrtd fit --")"
	check "fish: values" "text svg" "$(offered "nrtd show --output ")"
	check "fish: shells" "bash zsh fish" "$(offered "nrtd completion ")"
	check "fish: help" "fit show" "$(offered "nrtd help ")"
	offered() { fish --no-config -c "source $dir/numa.fish; complete -C '$1'" | cut -f 1; }
	check "fish: commands of kubectl-numa" "top fit score why show help version" "$(offered "kubectl-numa ")"
	check "fish: flags of kubectl-numa" "--from --replicas" "$(offered "kubectl-numa fit --")"
	check "fish: values behind flags and a command" "text wide json yaml" "$(offered "kubectl-numa -n fit top -o ")"
	check "fish: a value after '='" "--output=json" "$(offered "kubectl-numa top --output=js")"
	offered() { fish --no-config -c "source $dir/extender.fish; complete -C '$1'" | cut -f 1; }
	check "fish: flags of a program without commands" "--http --lease" "$(offered "nrtd-extender --")"
else
	echo "skipped: fish is not here"
fi
[ $failed -eq 0 ]
