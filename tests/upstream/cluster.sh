#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cluster.sh start DIR [OPTION...] | kill DIR | compact DIR | stop DIR | run [OPTION...] | manifests: a real control plane on this
# machine's loopback.
# start leaves it running in the background and returns when it is ready; stop ends it; kill does so without a chance to
# end well, and start DIR -resume goes on at the same address with what it had. compact has etcd forget all but what is there
# now. run stays in the foreground
# until Ctrl-C; manifests prints what each applies at its start. DIR gets admin.kubeconfig and, for each node of
# -nodes, kubelet-NODE.kubeconfig (the node's own identity) and agent-NODE.kubeconfig (a service account token bound to a
# pod on that node).
# OPTIONs are those of controlplane (build/upstream/controlplane -h).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=${CONTROLPLANE:-$here/../../build/upstream/controlplane}

manifests() {
	api=$(cd "$here" && go list -m -f '{{.Dir}}' github.com/k8stopologyawareschedwg/noderesourcetopology-api)
	echo "$api/manifests/crd.yaml,$here/testdata/agent.yaml"
}

prepare() {
	status=0
	"$here/build.sh" controlplane || status=$?
	[ "$status" -eq 0 ] || exit "$status"
}

case "${1:-}" in
start)
	dir=$2
	shift 2
	prepare
	mkdir -p "$dir"
	: >"$dir/controlplane.out"
	"$program" -dir "$dir" -manifests "$(manifests)" -scheduler "$here/testdata/scheduler.yaml" "$@" \
		>"$dir/controlplane.out" 2>&1 </dev/null &
	echo $! >"$dir/controlplane.pid"
	for _ in $(seq 1500); do # a node takes some 15 ms
		if grep -q '^ready' "$dir/controlplane.out"; then
			cat "$dir/controlplane.out"
			exit 0
		fi
		kill -0 "$(cat "$dir/controlplane.pid")" 2>/dev/null || break
		sleep 0.2
	done
	cat "$dir/controlplane.out" >&2
	kill "$(cat "$dir/controlplane.pid")" 2>/dev/null || true
	exit 1
	;;
kill)
	kill -KILL "$(cat "$2/controlplane.pid")"
	;;
compact)
	kill -USR1 "$(cat "$2/controlplane.pid")"
	for _ in $(seq 300); do
		! grep '^compacted [0-9]* <nil>' "$2/controlplane.out" || exit 0
		sleep 0.2
	done
	exit 1
	;;
stop)
	pid=$(cat "$2/controlplane.pid")
	kill "$pid" 2>/dev/null || true
	for _ in $(seq 300); do
		if ! kill -0 "$pid" 2>/dev/null; then
			rm -f "$2/controlplane.pid"
			exit 0
		fi
		sleep 0.2
	done
	echo "cluster.sh: process $pid did not stop" >&2
	exit 1
	;;
run)
	shift
	(prepare) || { [ $? -eq 77 ] && exit 0 || exit 1; }
	exec "$program" -manifests "$(manifests)" -scheduler "$here/testdata/scheduler.yaml" "$@"
	;;
manifests)
	manifests
	;;
*)
	sed -n 's/^# //p' "$0" >&2
	exit 2
	;;
esac
