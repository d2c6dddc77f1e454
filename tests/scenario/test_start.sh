#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd run` as a service manager starts it while a right is missing: started after 30 s, with the reason in its status, and publishing
# once the right is granted. A stand-in answers as the API server. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=$(realpath "${B:-build}")/nrtd
. tests/lib/scenario.sh
. tests/lib/api_server.sh
export LC_ALL=C
unset NRTD_NODE_NAME NRTD_HTTP NRTD_LOCK JOURNAL_STREAM WATCHDOG_USEC
command -v curl >/dev/null || {
	echo "skipped: curl is not here"
	exit 0
}
pid="" manager=""
trap 'kill $pid $manager $api_pid 2>/dev/null; rm -rf "$dir"' EXIT

# The service manager's end: each notification is a line of $dir/told, behind the time.
python3 -c '
import socket, sys, time
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    for line in manager.recv(65536).decode().splitlines():
        print(int(time.time()), line, flush=True)' "$dir/notify" >"$dir/told" &
manager=$!
eventually 30 test -S "$dir/notify"
told() { grep -q "^[0-9]* $1" "$dir/told"; } # told TEXT: a notification begins so

example_node "$dir/machine"
echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"1","resourceVersion":"1"}}' | serve /api/v1/nodes/n1
list NodeResourceTopology | serve $nrt
refuse_path $nrt/n1.PATCH 403 'noderesourcetopologies.topology.node.k8s.io "n1" is forbidden: User "system:node:n1" cannot patch resource'
port=$((24000 + $$ % 4000)) # scripts run at the same time: each has ports of its own, below the kernel's
NOTIFY_SOCKET=$dir/notify "$nrtd" run --sysroot "$dir/machine" --node-name n1 --lock none --http "127.0.0.1:$port" \
	--kubeconfig "$dir/kubeconfig" >"$dir/out" 2>"$dir/err" &
pid=$!
started=$(date +%s)
reason="the right to write the NodeResourceTopology object of 'n1' is missing: apply packaging/kubernetes/rbac-nodes.yaml"
check "the status says which right is missing" eventually 20 told "STATUS=$reason"
check "not started yet" sh -c "! grep -q READY '$dir/told'"
check "started all the same" eventually 40 told READY=1
took=$(($(sed -n 's/ READY=1//p' "$dir/told") - started))
check "after 30 s ($took s)" test "$took" -ge 29 -a "$took" -le 33
curl -s -w '%{http_code}\n' "http://127.0.0.1:$port/readyz" >"$dir/readyz"
check "/readyz is 503 and says why" sh -c "tail -n 1 '$dir/readyz' | grep -qx 503 && grep -q \"^nothing is published yet: $reason: \" '$dir/readyz'"
refuse_path $nrt/n1.PATCH
check "once the right is there, it publishes" eventually 60 told "STATUS=n1: 2 NUMA nodes"
check "and is ready" eventually 5 sh -c "curl -s http://127.0.0.1:$port/readyz | grep -qx ok"
check "it is started once" test "$(grep -c READY "$dir/told")" -eq 1
exit $failed
