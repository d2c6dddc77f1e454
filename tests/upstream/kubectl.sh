# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the kubectl plugin share: the real kubectl with kubectl-numa in its PATH, a cluster, checks. Sourced from
# the top of the tree with the caller's arguments; it ends the test, successfully, where there is no Go. Sets $work.
# shellcheck disable=SC2034 # the tests use them
export LC_ALL=C HWLOC_HIDE_ERRORS=2
unset COLUMNS
built=$(cd "${B:-build}" && pwd)
NRTD=$built/nrtd
NUMA=$built/kubectl-numa
programs=build/upstream
work=$(mktemp -d)
trap '[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
tests/upstream/build.sh kubectl managers >"$work/build" 2>&1
status=$?
cat "$work/build"
[ "$status" -ne 77 ] || exit 0
[ "$status" -eq 0 ] || exit 1
if [ $# -gt 0 ]; then
	cp "$1" "$work/kubeconfig"
else
	tests/upstream/cluster.sh start "$work/cluster" -nodes node-a >/dev/null || exit 1
	cp "$work/cluster/admin.kubeconfig" "$work/kubeconfig"
fi
mkdir "$work/bin"
ln -s "$(pwd)/$programs/kubectl" "$NUMA" "$(pwd)/packaging/kubectl_complete-numa" "$work/bin/"
PATH=$work/bin:$PATH
export KUBECONFIG="$work/kubeconfig"
. tests/lib/eventually.sh
passed=0
failed=0

check() { # NAME COMMAND...
	check_name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok kubectl numa: $check_name"
		head -n 40 "$work/out" "$work/err"
	fi
}
numa() { kubectl numa "$@" >"$work/out" 2>"$work/err" </dev/null; }
