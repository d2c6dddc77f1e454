#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make image-test: the container image, built from packaging/container/Dockerfile on a Debian tree made by debootstrap (no
# registry is asked), then run by runc as the kubelet would run the DaemonSet's pod: from the Pod that the API server has
# made of packaging/kubernetes, by oci.jq, with that Pod's own token, beside the kubelet's managers and the real API server
# (tests/upstream). Each check is a line, the last line is "N passed, N failed". build/roots keeps the Debian tree,
# build/container the compilers' layer. What is not available here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
programs=build/upstream
work=${NRTD_IMAGE_WORK:-}
root=${root:-}
image=${image:-}
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
id=nrtd-${work##*.}

# shellcheck source=tests/install/base.sh
. tests/install/base.sh

# ---- the image

build() { b bud --layers --pull-never --isolation chroot -f packaging/container/Dockerfile "$@" .; }

prepare() {
	local answer status=0
	[ "$(id -u)" -eq 0 ] || skip "building and running containers needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the container's runtime configuration is made for x86_64, this machine is not"
	answer=$(packaging/install-deps.sh container 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
	answer=$(unshare --net --mount --pid --fork --mount-proc true 2>&1) || skip "namespaces are not available here: $answer"
	tests/upstream/build.sh controlplane kubectl managers || status=$?
	[ $status -ne 77 ] || exit 0
	[ $status -eq 0 ] || exit 1
	make_base
	build --target tools -t nrtd-tools >"$work/build" 2>&1 || skip "the compilers cannot be installed: $(tail -n 1 "$work/build")"
}

# the image's name, as doc/install.md builds it
tag=$(sed -nE 's/.*docker build -f packaging\/container\/Dockerfile -t ([^ `]+) .*/\1/p' doc/install.md | head -n 1)
tag=${tag#registry.example/} # the manifests' name, before the guide's sed
# runtime_config ACCOUNT SERVICE: from a Pod on standard input, oci.jq says what the arguments are
runtime_config() {
	jq -f tests/install/oci.jq --arg root "$root" --argjson image "$image" --arg account "$1" --arg service "$2" \
		--slurpfile profiles /usr/share/containers/seccomp.json
}
small() {
	local size
	size=$(find "$root" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
	echo "$size bytes"
	[ "$size" -gt 1000000 ] && [ "$size" -lt 25000000 ]
}
# names_of FILE: the libraries that a program or library is linked with, and its loader
names_of() { readelf -dl "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p; s/.*program interpreter: .*\/([^]]*)\]/\1/p'; }
# closure: every file of the image is a program, a library that something in the image asks for, or the list of users;
# and every library that is asked for is there. What the program opens while it runs (dlopen) it names in itself.
closure() {
	local file
	{
		printf 'nrtd\nnrtd-extender\npasswd\nnrtd.cdx.json\n'
		find "$root" -type f -not -name passwd -not -name "*.json" | while read -r file; do names_of "$file"; done
		strings -n 6 "$root/usr/sbin/nrtd" "$root/usr/sbin/nrtd-extender" | grep -oE 'lib[a-z0-9_-]+\.so\.[0-9]+$'
	} | sort -u >"$work/asked"
	find "$root" -type f -printf '%f\n' | sort >"$work/there"
	diff "$work/asked" "$work/there"
}
two_programs() { # nothing but the two programs can be executed, and no file is anything but a file
	local file
	find "$root" -not -type f -not -type d | grep . && return 1
	while read -r file; do
		case $file in
		*/usr/sbin/nrtd | */usr/sbin/nrtd-extender | *.so.* | */etc/passwd | */usr/share/sbom/nrtd.cdx.json) ;;
		*) echo "${file#"$root"}" && return 1 ;;
		esac
	done < <(find "$root" -type f)
}
no_setuid() { ! find "$root" -perm /7022 | grep .; }

# as_built ARGUMENTS [COMMAND]: the image alone, as its own user, the examples mounted; ARGUMENTS and COMMAND, in place of the entry
# point, are lists in JSON
as_built() {
	local status
	mkdir -p "$work/plain"
	jq -n --argjson args "$1" --argjson command "${2:-null}" --arg examples "$PWD/tests/fixtures/examples" '{metadata: {name: "plain"}, spec: {
		volumes: [{name: "examples", hostPath: {path: $examples}}], containers: [{args: $args, command: $command,
		volumeMounts: [{name: "examples", mountPath: "/examples", readOnly: true}],
		securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}},
		resources: {limits: {memory: "64Mi"}, requests: {cpu: "1"}}}]}}' | runtime_config "" 127.0.0.1:1 |
		jq '.linux.namespaces += [{type: "network"}]' >"$work/plain/config.json"
	runc --root "$work/runc" run --bundle "$work/plain" "$id-plain" </dev/null
	status=$?
	runc --root "$work/runc" delete --force "$id-plain" 2>/dev/null
	return $status
}
version() {
	as_built '["--version"]' | diff - <("$B/nrtd" --version) &&
		as_built '["--version"]' '["/usr/sbin/nrtd-extender"]' | diff - <("$B/nrtd-extender" --version)
}
fit() {
	as_built '["fit", "-f", "/examples/kep-pod.yaml", "--assume-empty", "--cpu-manager-policy", "static", "--memory-manager-policy", "None",
		"--topology-manager-policy", "restricted", "--topology-manager-scope", "container", "--reserved-cpus", "0"]' |
		diff - <("$B/nrtd" fit -f tests/fixtures/examples/kep-pod.yaml --assume-empty --cpu-manager-policy static --memory-manager-policy None \
			--topology-manager-policy restricted --topology-manager-scope container --reserved-cpus 0)
}
not_root() { [ "$(jq -r .User <<<"$image")" = 65532:65532 ]; }

image() {
	local container p f
	trap 'umount_image' EXIT
	check "the Dockerfile builds" build -t "$tag"
	[ "$failed" -eq 0 ] || return
	container=$(b from --pull-never "$tag") && root=$(b mount "$container") || exit 1
	image=$(b inspect --type image "$tag" | jq .OCIv1.config)
	check "less than 25 MB, uncompressed" small
	echo "     $(tail -n 1 "$work/out")"
	check "the programs, the libraries they load, and no other file" closure
	check "no shell, no other program" two_programs
	check "nothing is setuid or writable for others" no_setuid
	check "its own user is not root" not_root
	check "both programs run as that user" version
	check "and judges a pod" fit
	export NRTD_IMAGE_WORK=$work root image
	# Host folders, network and processes of its own: the Pod's paths are taken literally, and all ends with it.
	unshare --net --mount --pid --fork --mount-proc --kill-child "$0" pod </dev/null | tee "$work/pod" | grep -vE "^[0-9]+ passed, "
	if ! read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/pod"); then
		echo "FAIL the node could not be made"
		p=0 f=1
	fi
	passed=$((passed + p))
	failed=$((failed + f))
}
umount_image() {
	b rm --all >/dev/null 2>&1
	b rmi "$tag" >/dev/null 2>&1
	b rmi --prune >/dev/null 2>&1
	rm -rf "$work"
}

# ---- the pod, on a node of its own

kubectl() { "$programs/kubectl" --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
get() { kubectl get "$@" -o json; }

# managers: the kubelet's, under the kubelet's name, with its folder and its socket
managers() {
	rm -f "$work/managers.in" && mkfifo "$work/managers.in"
	ln -sf "$PWD/$programs/managers" "$work/kubelet"
	("$work/kubelet" --root=/var/lib/kubelet --config=/var/lib/kubelet/config.yaml \
		<"$work/managers.in" >"$work/managers.out" 2>&1) &
	managers_pid=$!
	exec 3>"$work/managers.in"
	eventually 30 test -S /var/lib/kubelet/pod-resources/kubelet.sock
}
managers_end() {
	exec 3>&-
	kill "$managers_pid" 2>/dev/null
	wait "$managers_pid"
	rm -f /var/lib/kubelet/pod-resources/kubelet.sock
}
node() {
	mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && ip link set lo up && mkdir -p /var/lib/kubelet || return 1
	cat >/var/lib/kubelet/config.yaml <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cpuManagerPolicy: static
		reservedSystemCPUs: "0"
		topologyManagerPolicy: restricted
	END
	managers && tests/upstream/cluster.sh start "$work/cluster" -nodes node-a,node-b -manifests "" -scheduler "" -agent other/agent
}
# guide_command: what doc/install.md says to type for a cluster
guide_command() {
	local -a command
	read -ra command < <(sed -n 's/^    kubectl \(apply -k packaging\/kubernetes\)$/\1/p' doc/install.md)
	echo "command: kubectl ${command[*]}"
	[ ${#command[@]} -eq 3 ] && kubectl "${command[@]}"
}
# make_pod: what the DaemonSet's controller makes, for node-a
make_pod() {
	get daemonset nrtd -n nrtd | jq '{apiVersion: "v1", kind: "Pod", metadata: (.spec.template.metadata + {name: "nrtd-pod",
		namespace: "nrtd"}), spec: (.spec.template.spec + {nodeName: "node-a"})}' | kubectl create -f - &&
		get pod nrtd-pod -n nrtd >"$work/pod.json"
}
# account: the files that the Pod's projected volume would hold
account() {
	mkdir -p "$work/account" "$work/bundle"
	kubectl create token nrtd -n nrtd --bound-object-kind Pod --bound-object-name nrtd-pod \
		--bound-object-uid "$(jq -r .metadata.uid "$work/pod.json")" >"$work/account/token" &&
		kubectl config view --raw -o json | jq -r '.clusters[0].cluster["certificate-authority-data"]' | base64 -d >"$work/account/ca.crt" &&
		printf nrtd >"$work/account/namespace"
}
# folders: hostPath volumes are checked, and made where the type says so
folders() {
	jq -r '.spec.volumes[].hostPath | select(.) | .type + " " + .path' "$work/pod.json" | while read -r type path; do
		case $type in
		DirectoryOrCreate) mkdir -p "$path" ;;
		Directory) [ -d "$path" ] || return 1 ;;
		*) echo "a hostPath of type '$type'" && return 1 ;;
		esac
	done
}
bundle() {
	local server
	server=$(kubectl config view -o json | jq -r '.clusters[0].cluster.server')
	runtime_config "$work/account" "${server#https://}" <"$work/pod.json" >"$work/bundle/config.json"
}
in_runc() { runc --root "$work/runc" "$@"; }
# running: $pid is the program, no longer the runtime that turns into it
running() {
	pid=$(in_runc state "$id" | jq .pid) && [ -n "$pid" ] && grep -qx nrtd "/proc/$pid/comm"
}
start() {
	in_runc run --bundle "$work/bundle" "$id" >"$work/log" 2>&1 </dev/null &
	run_pid=$!
	eventually 10 running
}
# status NAME: a line of what the kernel says of the process
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status"; }
asked() { jq -e "$1" "$work/pod.json"; }
# kernel NAME VALUE: and the Pod asks for it, by the filter in $3
kernel() {
	status "$1"
	asked "$3" && status "$1" | grep -qx "$2"
}
# mounted PATH ro|rw
mounted() { awk -v path="$1" -v how="$2" '$5 == path { print; split($6, o, ","); found = o[1] == how } END { exit !found }' "/proc/$pid/mountinfo"; }
mounts() {
	mounted / ro || return 1
	while read -r path how; do
		mounted "$path" "$how" || { echo "$path is not $how" && return 1; }
	done < <(jq -r '.spec.containers[0].volumeMounts[] | .mountPath + (if .readOnly then " ro" else " rw" end)' "$work/pod.json")
}
one_writable() { [ "$(jq -r '[.spec.containers[0].volumeMounts[] | select(.readOnly | not) | .mountPath] | join(" ")' "$work/pod.json")" = /run/nrtd ]; }
limited() { in_runc events --stats "$id" | jq -e --argjson limit $((32 * 1048576)) '.data.memory.usage.limit == $limit'; }
# free N: the object on the server says that N CPUs are free
free() {
	get noderesourcetopology node-a >"$work/nrt.json" 2>&1 &&
		jq -e --argjson n "$1" '[.zones[] | select(.type == "Node") | .resources[] | select(.name == "cpu") | .available | tonumber] | add == $n' "$work/nrt.json"
}
owned() { jq -e --arg uid "$(get node node-a | jq -r .metadata.uid)" '.metadata.ownerReferences[0].uid == $uid' "$work/nrt.json"; }
settings() { jq -e '[.attributes[] | {(.name): .value}] | add | .topologyManagerPolicy == "restricted" and .cpuManagerPolicy == "static"' "$work/nrt.json"; }
hints() { get node node-a | jq -e '.metadata.annotations["nrtd.dev/fit-hints"] | fromjson | .fits | length > 0'; }
checked() { in_runc exec "$id" /usr/sbin/nrtd check --proc /host/proc; }
same() { in_runc exec "$id" /usr/sbin/nrtd diff --proc /host/proc; }
# probe NAME: as the kubelet asks
probe() {
	local url
	url=$(jq -r --arg name "$1" '.spec.containers[0] | .ports as $ports | .[$name].httpGet
		| .path as $path | .port as $port | "http://127.0.0.1:\($ports[] | select(.name == $port) | .containerPort)\($path)"' "$work/pod.json")
	curl -sS --fail --max-time 2 "$url"
}
socket_used() { curl -sS --fail --max-time 2 http://127.0.0.1:8095/metrics | grep -E '^nrtd_source_state.*pod-resources.* 1$'; }
metrics() { curl -sS --fail --max-time 2 http://127.0.0.1:8095/metrics | grep -q '^nrtd_build_info'; }
below_limit() {
	in_runc events --stats "$id" | jq -c .data.memory.usage
	for name in VmHWM VmRSS RssAnon; do echo "$name $(status $name)"; done
	[ "$(status VmHWM | tr -dc 0-9)" -lt 32768 ] && in_runc events --stats "$id" | jq -e '.data.memory.usage | .failcnt == 0 and .max < .limit'
}
# killed: how many processes of the container the kernel has killed for memory, by either version of cgroups
killed() {
	local path
	path=$(sed -n 's/^[0-9]*:memory:/memory/p' "/proc/$pid/cgroup")
	path=/sys/fs/cgroup/${path:-$(sed -n 's/^0:://p' "/proc/$pid/cgroup")}
	cat "$path/memory.oom_control" "$path/memory.events" 2>/dev/null | sed -n 's/^oom_kill //p'
}
not_killed() { killed && [ "$(killed)" = 0 ]; }
ends() {
	local began status took
	began=$(date +%s%N)
	in_runc kill "$id" TERM && wait "$run_pid"
	status=$?
	took=$((($(date +%s%N) - began) / 1000000))
	echo "status $status after $took ms"
	[ $status -eq 0 ] && [ $took -lt 2000 ]
}
# removed: what doc/install.md says to type to uninstall it. No controller is here that would empty a namespace.
removed() {
	local -a command
	local n=0
	while read -ra command; do
		n=$((n + 1))
		case "${command[*]}" in "delete -k"*) command+=(--wait=false) ;; esac
		kubectl "${command[@]}" || return 1
	done < <(sed -n '/^## Uninstalling from a cluster/,$s/^    kubectl //p' doc/install.md)
	[ $n -eq 7 ] && get noderesourcetopologies | jq -e '.items == []' && get nodes |
		jq -e '[.items[].metadata.annotations // {} | keys[] | select(startswith("nrtd.dev/"))] == []' &&
		! kubectl get daemonset nrtd -n nrtd && ! kubectl get clusterrole nrtd
}
# All of this machine's containers share one count of inotify instances; where that is used up, nrtd polls and says so.
quiet() { ! grep -v fs.inotify.max_user_instances "$work/log" | grep -iE 'warn|error|refused|denied|cannot'; }

pod() {
	local cpus
	cpus=$(nproc --all)
	node >"$work/node" 2>&1 || { cat "$work/node" && exit 1; }
	check "kubectl apply -k packaging/kubernetes/crd" kubectl apply -k packaging/kubernetes/crd
	check "the guide's one command" guide_command
	echo "     $(sed -n 's/^command: //p' "$work/out")"
	kubectl wait --for condition=established --timeout 60s crd/noderesourcetopologies.topology.node.k8s.io >/dev/null
	check "the API server takes the DaemonSet's pod" make_pod
	check "its image is the one that the guide builds" asked ".spec.containers[0].image == \"$tag\""
	check "a token that is bound to the pod" account
	check "the folders of the host" folders
	check "the runtime's configuration of the pod" bundle
	check "it starts" start
	check "user 0, as the pod says" kernel Uid '0.0.0.0' '.spec.containers[0].securityContext.runAsUser == 0'
	check "without a capability" kernel CapEff 0000000000000000 '.spec.containers[0].securityContext.capabilities == {drop: ["ALL"]}'
	check "and none to be had" kernel CapBnd 0000000000000000 true
	check "no new privileges" kernel NoNewPrivs 1 '.spec.containers[0].securityContext.allowPrivilegeEscalation == false'
	check "the runtime's seccomp filter" kernel Seccomp 2 '.spec.securityContext.seccompProfile.type == "RuntimeDefault"'
	check "the root and the mounts are read-only where the pod says so" mounts
	check "which is everywhere but at the lock" one_writable
	check "32 MiB of memory" limited
	check "the object is on the API server" eventually 10 free $((cpus - 1))
	check "the kubelet's settings are in it" settings
	check "it belongs to the Node" owned
	check "the Node has the hints" eventually 10 hints
	check "nrtd diff in the container finds no difference" same
	check "nrtd check in the container finds nothing that is in its way" checked
	check "the liveness probe is answered" probe livenessProbe
	check "the readiness probe is answered" eventually 5 probe readinessProbe
	check "metrics are answered" metrics
	check "it had nothing to complain about" quiet
	managers_end
	check "the kubelet starts again" managers
	jq -cn '{admit: {metadata: {name: "p", namespace: "default", uid: "p-1"}, spec: {containers: [{name: "c", resources:
		{requests: {cpu: "1", memory: "1Mi"}, limits: {cpu: "1", memory: "1Mi"}}}]}}}' >&3
	check "a CPU that it hands out then is taken in the object" eventually 20 free $((cpus - 2))
	check "its new socket is found in the folder" eventually 15 socket_used
	check "resident memory stays below the limit" below_limit
	echo "     $(head -n 4 "$work/out" | paste -sd' ')"
	check "it was not killed for memory" not_killed
	check "SIGTERM ends it within 2 s, with 0" ends
	echo "     $(head -n 1 "$work/out")"
	in_runc delete --force "$id" 2>/dev/null
	check "uninstalling as the guide says leaves nothing" removed
	managers_end
	tests/upstream/cluster.sh stop "$work/cluster"
	tally
}

if [ "${1:-}" = pod ]; then
	pod
	exit
fi
work=$(mktemp -d)
id=nrtd-${work##*.}
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
prepare
image
tally
