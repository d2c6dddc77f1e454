#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make demo (tests/demo/demo.sh): every statement is printed, and a program that contradicts a statement ends the demo. B names the build
# folder.
set -u
B=${B:-build}
. tests/lib/scenario.sh
command -v bash >/dev/null || { echo "skipped: bash is not here"; exit 0; }

export KEEP="$dir/objects"
B=$B tests/demo/demo.sh >"$dir/out" 2>"$dir/err"
check "the demo ends well" test $? -eq 0 -a ! -s "$dir/err"
sed -n 's/^the objects are in .*: //p' "$dir/out" >"$dir/line"
check "its objects remain, and the line that reads them works" sh -c "sh '$dir/line' | grep -q '^default  *db-1 .* worker-2 '"
B=$B tests/demo/demo.sh >"$dir/again" 2>"$dir/err"
check "a folder with files is left alone" sh -c "[ $? -eq 1 ] && grep -qx \"demo: KEEP=$dir/objects: the folder is not empty\" '$dir/err'"
sed -i '/^the objects are in /d' "$dir/out"
check "it says what is simulated" grep -q '^== .*The machines, the API server, the scheduler and the kubelets are simulated$' "$dir/out"
grep -o '^\$ kubectl numa [a-z]*' "$dir/out" | cut -d' ' -f4 | tr '\n' ' ' >"$dir/commands"
check "it runs the commands of README" test "$(cat "$dir/commands")" = "top why fit plan show "
check "each has its statement" test "$(grep -c '^-> ' "$dir/out")" -eq 7
check "a scheduler that counts CPUs has its pod rejected" grep -qx 'db-0 .*selects worker-4; rejected by its kubelet: TopologyAffinityError' "$dir/out"
check "the extender's pods run" test "$(grep -c 'nrtd-extender answers worker-[1-4]; runs there on CPUs [0-9]' "$dir/out")" -eq 5
check "its text names no folder of this machine" test "$(grep -cE "/(tmp|dev/shm)/" "$dir/out")" -eq 0

# --- programs that contradict a statement
mkdir "$dir/build"
ln -s "$(realpath "$B/nrtd")" "$(realpath "$B/nrtd-extender")" "$dir/build/"
contradicted() { # NAME MESSAGE COMMANDS: kubectl-numa, where a shell first runs the commands with its arguments
	printf '#!/bin/sh\n%s\nexec %s "$@"\n' "$3" "$(realpath "$B/kubectl-numa")" >"$dir/build/kubectl-numa"
	chmod +x "$dir/build/kubectl-numa"
	KEEP='' B=$dir/build tests/demo/demo.sh >"$dir/out" 2>"$dir/err"
	[ $? -eq 1 ] && grep -qF "demo: $2" "$dir/err"
	check "$1" test $? -eq 0
}
# shellcheck disable=SC2016 # the wrapper's
{
	contradicted "other numbers" "not true: worker-4 has the most free CPUs" '[ "$1" != top ] || { echo "worker-4  32/95 4"; exit; }'
	contradicted "another exit status" "the last command ended with 0 instead of 3" '[ "$1" != fit ] || exit 0'
}
exit $failed
