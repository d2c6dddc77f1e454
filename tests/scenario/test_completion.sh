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
for shell in bash zsh fish; do
	"$nrtd" completion $shell >"$dir/$shell" || failed=1
	"$nrtd" completion --shell $shell | cmp -s - "$dir/$shell" || { echo "not ok --shell $shell" && failed=1; }
done
# shellcheck source=/dev/null
source "$dir/bash"
offered() { # WORD...: what bash offers for the last
	COMP_WORDS=(nrtd "$@")
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
	COMP_WORDS=(nrtd-extender "$@")
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
	COMP_WORDS=(kubectl-numa "$@")
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
if command -v zsh >/dev/null; then
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
	offered() { fish --no-config -c "source $dir/extender.fish; complete -C '$1'" | cut -f 1; }
	check "fish: flags of a program without commands" "--http --lease" "$(offered "nrtd-extender --")"
else
	echo "skipped: fish is not here"
fi
[ $failed -eq 0 ]
