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

# --- every `kubectl numa` command of doc/questions.md, as in the text, on these objects
cat >"$dir/sts.yaml" <<'END'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 2, template: {metadata: {}, spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}}
END
cp "$KEEP/pod-wide-0.json" "$dir/pod.yaml"
# shellcheck disable=SC2016 # Markdown's
grep -oE '`kubectl numa [^`]*`' doc/questions.md | tr -d '`' | grep -v '^kubectl numa COMMAND ' >"$dir/questions"
check "the questions have commands" test "$(wc -l <"$dir/questions")" -ge 18
while read -r command; do
	answer="$(printf '%s\n' "$command" | sed "s|^kubectl numa|$B/kubectl-numa|; s|NAMESPACE/POD|default/wide-0|; s|NODE NODE|worker-1 worker-2|; s|NODE|worker-1|
		s|pod.yaml|$dir/pod.yaml|; s|sts.yaml|$dir/sts.yaml|") --from $KEEP"
	sh -c "$answer" >"$dir/all" 2>"$dir/err"
	status=$?
	sed -i '/^No resources found$/d' "$dir/err" # the demo's nodes have no devices
	check "$command" test \( $status -eq 0 -o $status -eq 3 \) -a -s "$dir/all" -a ! -s "$dir/err"
done <"$dir/questions"
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
