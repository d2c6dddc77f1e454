#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pods.sh DIR COMMAND...: run a command while the kubelet's own managers and pod-resources server serve 110 pods on a
# machine of two sockets and eight NUMA nodes; DIR gets the machine as DIR/tree, the kubelet's root as DIR/tree/k and the
# socket as DIR/tree/k/pod-resources/kubelet.sock. Exit status 77, after "skipped:" and why, without tests/upstream's
# program `managers` (it needs Go).
set -eu
B=${B:-build}
dir=$1
shift
managers=build/upstream/managers
[ -x "$managers" ] || tests/upstream/build.sh managers >"$dir/build" 2>&1 || { tail -n 1 "$dir/build"; exit 77; }
mkdir -p "$dir/tree/k"
cp -r build/fixtures/machines/2s-snc4/. "$dir/tree"
cat >"$dir/tree/k/config.yaml" <<'EOF'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: best-effort
reservedSystemCPUs: "0,48"
systemReserved: {memory: 412Mi}
evictionHard: {memory.available: 100Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}]
EOF
mkfifo "$dir/in"
"$managers" -sysroot "$dir/tree" -config "$dir/tree/k/config.yaml" -root "$dir/tree/k" <"$dir/in" >"$dir/out" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT
exec 3>"$dir/in"
echo '{"register":{"resource":"vendor.com/nic","numa":[[0],[0],[1],[1],[2],[2],[3],[3],[4],[4],[5],[5],[6],[6],[7],[7]]}}' >&3
i=0
while [ "$i" -lt 110 ]; do
	cpus=10m more=
	[ "$i" -ge 45 ] || cpus=2
	[ "$i" -ge 16 ] || more=',"vendor.com/nic":"1"'
	printf '{"admit":{"metadata":{"name":"pod-%d","namespace":"default"},"spec":{"containers":[{"name":"app","image":"x","resources":{"limits":{"cpu":"%s","memory":"1Gi"%s}}}]}}}\n' \
		"$i" "$cpus" "$more" >&3
	i=$((i + 1))
done
for _ in $(seq 300); do
	[ "$(wc -l <"$dir/out")" -ge 112 ] && break
	sleep 0.1
done
admitted=$(grep -c '"admitted":true' "$dir/out") || true
[ "$admitted" -eq 110 ] || { echo "pods.sh: $admitted of 110 pods were admitted"; exit 1; }
"$@"
exec 3>&-
