#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd check` as a user runs it: each source by itself, what is missing with its remedy, exit status. B names the build
# folder.
set -u
unset KUBECONFIG KUBERNETES_SERVICE_HOST
nrtd=${B:-build}/nrtd
machines=build/fixtures/machines
. tests/lib/scenario.sh
have_remedies() { # the next line has it
	# shellcheck disable=SC2317 # called by name
	awk '/^(warn|FAIL) / {bad = bad open; open = $0 "\n"; next}
		/^ +remedy: ./ {open = ""}
		END {printf "%s", bad open; exit bad open != ""}' "$dir/out"
}
run() { # STATUS ARGS...
	want=$1
	shift
	"$nrtd" check --node-name n "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	check "status $want of check $*" test "$got" -eq "$want"
	case " $* " in
	*" -o "*) ;;
	*) check "each warn and FAIL of check $* has a remedy" have_remedies ;;
	esac
}
said() { check "says: $1" grep -qE -- "$1" "$dir/out"; }

tree=$dir/tree
cp -r "$machines/seed-2s-32cpu/." "$tree"
mkdir -p "$tree/var/lib/kubelet/device-plugins"

# --- nothing but hardware: all of it is missing, and nothing stops nrtd
run 0 --sysroot "$tree"
said "^ok +machine +2 sockets, 2 NUMA nodes"
said "^warn +CPU state +$tree/var/lib/kubelet/cpu_manager_state: absent"
said "^ +remedy: the kubelet writes the file when it starts; in a container mount the kubelet's root directory"
said "^ok +pod-resources +not asked"
said "^ok +pods API +not asked"
said "^warn +kubelet +none of its settings is known"
check "and no line per setting" sh -c "! grep -q '^[a-z]* *setting ' '$dir/out'"
said "^ok +accounting +from the hardware alone"
said "^note +credentials +none are given, so the API server is not checked"
said "^note +kubelet +none is running, and none has written state files: this may be a new node"
said "^ +remedy: on a new node start the kubelet, and run nrtd check again"
run 1 --sysroot "$tree" --cpu-manager-policy static --reserved-cpus 0
said "^FAIL +accounting +policy static, and no source reports which CPUs containers hold"
said "^ +remedy: start the kubelet, which writes its state files; if it runs,"

# --- settings with which a pod could hang the kubelet, before such a pod comes
hang() { # RELEASE
	run 1 --sysroot "$tree" --kubelet-config /hang.yaml --kubelet-version "$1"
}
printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: static' 'reservedSystemCPUs: 0,16' \
	'cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "true"}' >"$tree/hang.yaml"
hang v1.37.2
said "^warn +kubelet +the kubelet hangs when it distributes some numbers of exclusive CPUs over NUMA nodes"
said "^ +remedy: reserve whole cores"
hang v1.38.0
check "not from 1.38 on" sh -c "! grep -q 'hangs when' '$dir/out'"
rm "$tree/hang.yaml"

# --- settings with which the kubelet would not start: the reason, and what to change
starts_not() { # WHAT REASON REMEDY LINE...
	what=$1 reason=$2 remedy=$3
	shift 3
	printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' "$@" >"$tree/start.yaml"
	run 1 --sysroot "$tree" --kubelet-config /start.yaml --kubelet-version v1.37.2
	check "$what: the reason" grep -q "^FAIL  kubelet start  the kubelet would not start: $reason" "$dir/out"
	check "$what: the remedy" grep -q "^ *remedy: $remedy.*(/start.yaml)\|^ *remedy: $remedy.*(kubelet default)" "$dir/out"
}
static='cpuManagerPolicy: static'
none='cpuManagerPolicy: none'
starts_not "no reserved CPU" "policy static needs reserved CPUs" "set reservedSystemCPUs, or cpu in" "$static"
starts_not "reserved CPUs that are not there" "reservedSystemCPUs names CPUs 40-41, which are not online" "name CPUs" "$none" "reservedSystemCPUs: 0,40-41"
starts_not "reserved memory is missing" "reservedMemory reserves 0 of memory, and kubeReserved, systemReserved and evictionHard 100Mi" "reserve ordinary memory only" \
	"memoryManagerPolicy: Static"
starts_not "reserved memory of no node" "reservedMemory names NUMA node 7" "name NUMA nodes" "memoryManagerPolicy: Static" \
	"reservedMemory: [{numaNode: 7, limits: {memory: 100Mi}}]"
starts_not "reserved memory twice" "reservedMemory reserves memory on NUMA node 0 twice" "correct this entry" \
	"reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}, {numaNode: 0, limits: {memory: 100Mi}}]"
starts_not "an option without its gate" "cpuManagerPolicyOptions: the option align-by-socket needs the feature gate CPUManagerPolicyAlphaOptions" "enable this feature gate" \
	"$static" "reservedSystemCPUs: '0'" "cpuManagerPolicyOptions: {align-by-socket: 'true'}"
starts_not "options under policy none" "cpuManagerPolicy none takes no cpuManagerPolicyOptions" "remove cpuManagerPolicyOptions" \
	"$none" "cpuManagerPolicyOptions: {full-pcpus-only: 'true'}"
starts_not "options that exclude each other" "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used" "remove one" \
	"$static" "reservedSystemCPUs: '0'" "cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: 'true', distribute-cpus-across-numa: 'true'}"
starts_not "a limit of NUMA nodes that is too low" "max-allowable-numa-nodes 7 is below 8" "set max-allowable-numa-nodes to 8 or more" \
	"topologyManagerPolicy: restricted" "topologyManagerPolicyOptions: {max-allowable-numa-nodes: '7'}"
starts_not "a gate that is locked" "featureGates: cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true" "correct or remove" \
	"featureGates: {CPUManagerPolicyOptions: false}"
starts_not "a gate without another" "featureGates: .* depends on features that are disabled: \[PodLevelResources\]" "correct or remove" \
	"featureGates: {PodLevelResources: false}"
starts_not "hugepages in kubeReserved" 'kubeReserved: cannot reserve "hugepages-2Mi" resource' "correct or remove" "kubeReserved: {hugepages-2Mi: 2Mi}"
"$nrtd" fit --sysroot "$tree" --node-name n --kubelet-config /start.yaml --kubelet-version v1.37.2 --cpus 1 --assume-empty >"$dir/out" 2>&1
check "and no verdict" grep -q 'no verdict: the kubelet would not start: kubeReserved: cannot reserve "hugepages-2Mi"' "$dir/out"
printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: other' >"$tree/start.yaml"
run 1 --sysroot "$tree" --kubelet-config /start.yaml
said "^FAIL +observation +/start.yaml: cpuManagerPolicy: 'other' is not one of"
rm "$tree/start.yaml"
cp -r "$machines/16-nodes/." "$dir/many"
printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'topologyManagerPolicy: restricted' >"$dir/many/start.yaml"
run 1 --sysroot "$dir/many" --kubelet-config /start.yaml
said "^FAIL +kubelet start +the kubelet would not start: 16 NUMA nodes, max-allowable-numa-nodes is 8"

# --- libnuma is loaded for its own check and not when nrtd starts
mkdir "$dir/lib"
echo "no library" >"$dir/lib/libnuma.so.1"
LD_LIBRARY_PATH=$dir/lib "$nrtd" --version >/dev/null 2>&1
check "starts without libnuma" test $? -eq 0
LD_LIBRARY_PATH=$dir/lib "$nrtd" check --node-name n >"$dir/out" 2>"$dir/err"
said "^warn +libnuma +not compared: .*libnuma.so.1: "

# --- a kubelet that was started before its configuration was edited
mkdir -p "$tree/proc/7" "$tree/etc"
printf 'kubelet\0--config=/etc/k.yaml\0' >"$tree/proc/7/cmdline"
printf 'Uid:\t0\t0\t0\t0\nNSpid:\t7\n' >"$tree/proc/7/status"
echo 0::/system.slice/kubelet.service >"$tree/proc/7/cgroup"
echo "7 (kubelet) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 $((50 * $(getconf CLK_TCK))) 1 2" >"$tree/proc/7/stat"
echo "btime $(($(date +%s) + 1000))" | sed '1i cpu 1 2' >"$tree/proc/stat"
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n' >"$tree/etc/k.yaml"
run 0 --sysroot "$tree"
said "^ok +kubelet +runs \(pid 7\)"
! grep -q "changed after" "$dir/out"
check "a configuration that the kubelet has read is no warning" test $? -eq 0
echo "btime $(($(date +%s) - 1000))" | sed '1i cpu 1 2' >"$tree/proc/stat"
run 0 --sysroot "$tree"
said "^warn +note +'/etc/k.yaml' changed after the kubelet \(pid 7\) started"

# --- the running kubelet's files have changed: what the next start would find
printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: static' >"$tree/etc/k.yaml"
printf '{"policyName":"static","defaultCpuSet":"0,16-31","entries":{"u":{"c":"1-15"}},"checksum":0}' >"$tree/var/lib/kubelet/cpu_manager_state"
run 0 --sysroot "$tree"
said "^warn +kubelet start +the kubelet would not start again: policy static needs reserved CPUs"
echo 'reservedSystemCPUs: 0-1' >>"$tree/etc/k.yaml"
run 0 --sysroot "$tree"
said '^warn +kubelet start +the kubelet would not start again with its cpu_manager_state: not all reserved cpus: "0-1" are present in defaultCpuSet: "0,16-31"'
said "^ +remedy: when the kubelet is restarted with these settings: drain the node, stop the kubelet, remove /var/lib/kubelet/cpu_manager_state, and start"
sed -i 's/static/none/; /reserved/d' "$tree/etc/k.yaml"
run 0 --sysroot "$tree"
said '^warn +kubelet start +.* with its cpu_manager_state: configured policy "none" differs from state checkpoint policy "static"'
echo 'memoryManagerPolicy: None' >>"$tree/etc/k.yaml"
printf '{"policyName":"Static","machineState":{},"entries":{},"checksum":0}' >"$tree/var/lib/kubelet/memory_manager_state"
run 0 --sysroot "$tree"
said '^warn +kubelet start +.* with its memory_manager_state: configured policy "None" differs from state checkpoint policy "Static"'
rm "$tree/var/lib/kubelet/memory_manager_state"
rm -r "$tree/proc/7" "$tree/proc/stat"
run 1 --sysroot "$tree" --kubelet-config /etc/k.yaml
said '^FAIL +kubelet start +the kubelet would not start with its cpu_manager_state: configured policy "none" differs'
rm "$tree/var/lib/kubelet/cpu_manager_state"

# --- two kubelets
for pid in 7 8; do
	mkdir -p "$tree/proc/$pid"
	printf 'kubelet\0--config=/etc/k%s.yaml\0' "$pid" >"$tree/proc/$pid/cmdline"
	printf 'Uid:\t0\t0\t0\t0\nNSpid:\t%s\n' "$pid" >"$tree/proc/$pid/status"
	echo "0::/system.slice/kubelet$pid.service" >"$tree/proc/$pid/cgroup"
	echo "$pid (kubelet) S 1 $pid 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 500$pid 1 2" >"$tree/proc/$pid/stat"
done
run 0 --sysroot "$tree"
said "^warn +kubelet +2 are running, and nrtd cannot tell which is this node's"
said "^ +remedy: stop the kubelet that is not this node's, or name the configuration"
check "none is to be started" sh -c "! grep -q 'start it' '$dir/out'"
rm -r "$tree/proc"

# --- files in their formats
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$tree/var/lib/kubelet/cpu_manager_state"
cp tests/fixtures/states/device_v2.json "$tree/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
run 0 --sysroot "$tree"
said "cpu_manager_state: read, v2, written [0-9]+ s ago, policy 'static', 2 containers"
said "kubelet_internal_checkpoint: read, v2, .*2 resources of device plugins"
said "^ok +accounting +from the state files"
for format in 3_pod_level 4; do
	cp "tests/fixtures/states/cpu_v$format.json" "$tree/var/lib/kubelet/cpu_manager_state"
	run 0 --sysroot "$tree" -o json
	said "\"format\": \"v${format%%_*}\""
	run 0 --sysroot "$tree" -o yaml
	said "^  format: v${format%%_*}\$"
done
printf '{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"v.com/d","DeviceIDs":["a"],"AllocResp":""}],"RegisteredDevices":{"v.com/d":["a"]}},"Checksum":0}' \
	>"$tree/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
run 0 --sysroot "$tree" -o json
said '"format": "v1"'
said '"state": "absent"'
said '"level": "warn"'

# --- the host's tuning: tests/unit/test_check_tuning.c has every finding
example_node "$dir/tuned"
mkdir -p "$dir/tuned/proc/irq/24/eth0" "$dir/tuned/proc/sys/vm"
echo 1-9 >"$dir/tuned/sys/devices/system/cpu/isolated"
echo 5 >"$dir/tuned/proc/irq/24/effective_affinity_list"
echo 1 >"$dir/tuned/proc/sys/vm/zone_reclaim_mode"
run 0 --sysroot "$dir/tuned"
said "^warn +isolcpus +$dir/tuned/sys/devices/system/cpu/isolated: read, containers run on the isolated CPUs '1-9'"
said "^ +remedy: remove isolcpus= from the kernel command line"
said "^warn +interrupts +exclusive CPUs '5' handle 1 interrupt of devices: 24 \\(eth0\\) on 5"
said "^warn +zone_reclaim +"
said "^ok +nohz_full +.*: absent, not known"
said "^warn +SMT +.* cores are shared: core 0 has threads of pod fb15e10a and the shared pool"

# --- what stops nrtd
run 1 --sysroot "$tree" --state-files none --cpu-manager-policy static
said "^FAIL +accounting +policy static, and no source reports which CPUs containers hold"
said "remedy: make the state files or the pod-resources socket readable"
run 1 --sysroot "$dir/nothing"
said "^FAIL +machine"
said "remedy: in a container mount the host's /sys"
printf '{"policyName"' >"$tree/var/lib/kubelet/cpu_manager_state"
run 1 --sysroot "$tree"
said "cpu_manager_state: broken"
said "^FAIL +observation"
check "each item has the remedy of a damaged file" test "$(grep -c 'remedy: the kubelet would not start with it either' "$dir/out")" -eq 2

# --- a socket that is named, and is none
run 1 --sysroot "$tree" --state-files none --pod-resources "$dir/none.sock"
said "^warn +pod-resources +$dir/none.sock: absent"
said "remedy: in a container mount the kubelet's pod-resources directory"
: >"$dir/file"
run 1 --sysroot "$tree" --state-files none --pod-resources "unix://$dir/file"
said "^warn +pod-resources +$dir/file: fails"

# --- credentials and the API server; tests/upstream/check.sh asks a real one
rm "$tree/var/lib/kubelet/cpu_manager_state"
kubeconfig() { # kubeconfig SERVER USER: into $dir/kubeconfig
	printf 'current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n' >"$dir/kubeconfig"
	printf 'clusters: [{name: k, cluster: {server: "%s"}}]\nusers: [{name: u, user: {%s}}]\n' "$1" "$2" >>"$dir/kubeconfig"
}
run 1 --sysroot "$tree" --kubeconfig "$dir/no-such-file"
said "^FAIL +credentials +cannot open '$dir/no-such-file': No such file"
said "remedy: name the right file by --kubeconfig"
kubeconfig https://127.0.0.1:1 "tokenFile: $dir/token"
run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig"
said "^FAIL +credentials +.*'$dir/token'"
# {"exp":1000003600,"iat":1000000000}
echo e30.eyJleHAiOjEwMDAwMDM2MDAsImlhdCI6MTAwMDAwMDAwMH0.c2ln >"$dir/token"
run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig"
said "^ok +credentials +$dir/kubeconfig: read, context 'c', a token"
said "^FAIL +token +expired at 2001-09-09T02:46:40Z, [0-9]+ years ago"
said "remedy: it was not renewed: the kubelet renews"
said "^FAIL +API server +https://127.0.0.1:1: .*[Cc]onnect"
said "remedy: nobody listens there"
kubeconfig https://127.0.0.1:1 "client-certificate-data: aGVsbG8=, client-key-data: aGVsbG8="
run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig"
said "^FAIL +certificate +the client certificate is not PEM"
kubeconfig https://127.0.0.1:1 "token: opaque"
run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig" -o json
said '"source": "API server"'
said '"state": "unreachable"'
said '"level": "fail"'
kubeconfig https://127.0.0.1:1 "as: someone"
run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig"
said "^FAIL +credentials +'$dir/kubeconfig': user 'u': as is not supported"
said "remedy: repair the file"
# The service account of a pod, where there is none.
export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=1
if [ ! -e /var/run/secrets/kubernetes.io/serviceaccount ]; then
	run 1 --sysroot "$tree"
	said "^FAIL +credentials +cannot open '/var/run/secrets/kubernetes.io/serviceaccount/"
	said "automountServiceAccountToken must not be false"
fi
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
# A server with TLS, which says its release and nothing else.
if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key" -out "$dir/cert" -days 2 \
	-subj /CN=server -addext subjectAltName=IP:127.0.0.1 2>"$dir/out"; then
	echo '{"gitVersion":"v1.35.4"}' >"$dir/version"
	(cd "$dir" && exec timeout 120 openssl s_server -accept 127.0.0.1:0 -WWW -key key -cert cert </dev/null >served 2>&1) &
	server=$!
	eventually 30 grep -qs '^ACCEPT' "$dir/served"
	kubeconfig "https://127.0.0.1:$(sed -n 's/^ACCEPT .*://p' "$dir/served")" "token: opaque"
	run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig"
	said "^FAIL +API server +https://127.0.0.1:[0-9]+: .*certificate"
	sed -i "s|server: |certificate-authority: '$dir/cert', server: |" "$dir/kubeconfig"
	run 1 --sysroot "$tree" --kubeconfig "$dir/kubeconfig"
	said "^ok +API server +https://127.0.0.1:[0-9]+: reached, v1.35.4, its certificate is trusted"
	kill "$server"
else
	echo "skipped: openssl is not here"
fi
# An address that takes connections and never answers ends it within its time.
if command -v python3 >/dev/null; then
	python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(30)' >"$dir/port" &
	silent=$!
	eventually 30 test -s "$dir/port"
	began=$(date +%s)
	run 1 --sysroot "$tree" --api-server "http://127.0.0.1:$(cat "$dir/port")"
	took=$(($(date +%s) - began))
	check "a silent API server costs at most 5 s ($took s)" test "$took" -le 5
	said "^FAIL +API server +http://127.0.0.1:[0-9]+: .*timed out"
	kill "$silent"
else
	echo "skipped: python3 is not here"
fi
exit $failed
