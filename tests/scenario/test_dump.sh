#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nrtd dump` as a user runs it: every fixture machine against its golden object, the stages, bad input, exit status.
# B names the build folder; NRTD_UPDATE_GOLDEN=1 rewrites the goldens.
set -u
nrtd=${B:-build}/nrtd
machines=build/fixtures/machines
goldens=tests/fixtures/machines
. tests/lib/scenario.sh
same() { # NAME GOT WANT
	if diff -u "$3" "$2" >"$dir/diff" 2>&1; then ok "$1"; else not_ok "$1" "$dir/diff"; fi
}

# --- goldens
for tree in "$machines"/*/; do
	name=$(basename "$tree")
	golden=$goldens/$name.nrt.yaml
	"$nrtd" dump --sysroot "$tree" --node-name "$name" >"$dir/out" 2>"$dir/err" || not_ok "dump of $name" "$dir/err"
	[ -z "${NRTD_UPDATE_GOLDEN:-}" ] || cp "$dir/out" "$golden"
	same "object of $name" "$dir/out" "$golden"
	"$nrtd" dump --sysroot "$tree" --node-name "$name" >"$dir/again" 2>/dev/null
	same "second object of $name" "$dir/again" "$dir/out"
done

# --- the document's example: policy static, nothing reserved, two containers of nine CPUs
cp -r "$machines/seed-2s-32cpu/." "$dir/seed"
mkdir -p "$dir/seed/var/lib/kubelet"
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$dir/seed/var/lib/kubelet/cpu_manager_state"
"$nrtd" dump --sysroot "$dir/seed" --node-name n >"$dir/out" 2>"$dir/err"
n=$(grep -c '{name: cpu, capacity: "16", allocatable: "16", available: "7"}' "$dir/out")
check "seven CPUs are left on each node" test "$n" -eq 2

# --- without the pod-resources API nobody knows the pods: no fingerprint, and a warning unless none is wanted
! grep -q Fingerprint "$dir/out"
check "no fingerprint without the pods' names" test $? -eq 0
check "which is said" grep -q "fingerprint is omitted" "$dir/err"
"$nrtd" dump --sysroot "$dir/seed" --node-name n --fingerprint none >"$dir/again" 2>"$dir/err"
same "the object without a fingerprint" "$dir/again" "$dir/out"
! grep -q fingerprint "$dir/err"
check "nothing is said where none is wanted" test $? -eq 0
"$nrtd" dump --sysroot "$dir/seed" --node-name n --topology-manager-policy restricted >"$dir/again" 2>/dev/null
check "the list topologyPolicies is there" grep -q "^topologyPolicies:" "$dir/again"
check "and the node state" grep -q "nrtd.dev/node-state" "$dir/again"
"$nrtd" dump --sysroot "$dir/seed" --node-name n --node-state off >"$dir/again" 2>/dev/null
! grep -q node-state "$dir/again"
check "unless it is off" test $? -eq 0
! grep -q koordinator "$dir/again"
check "what only Koordinator reads is not there" test $? -eq 0
"$nrtd" dump --sysroot "$dir/seed" --node-name n --koordinator on --cpu-manager-policy static --reserved-cpus 0 >"$dir/again" 2>/dev/null
check "unless it is wanted" grep -q 'kubelet.koordinator.sh/cpu-manager-policy: .*"reservedCPUs":"0"' "$dir/again"
check "then the reserved CPU is allocatable" grep -q 'capacity: "16", allocatable: "16", available: "6"' "$dir/again"
"$nrtd" dump --sysroot "$dir/seed" --node-name n --deprecated-policies off --topology-manager-policy restricted >"$dir/again" 2>/dev/null
! grep -q topologyPolicies "$dir/again"
check "unless the operator leaves it out" test $? -eq 0
check "the attribute stays" grep -q 'topologyManagerPolicy, value: restricted' "$dir/again"
"$nrtd" dump --sysroot "$dir/seed" --node-name n --fingerprint some >"$dir/again" 2>"$dir/err"
check "an unknown method is refused" test $? -eq 2

# --- a host whose /var/lib/kubelet is a link, as seen from a container: never out of the sysroot
cp -r "$dir/seed" "$dir/linked"
mkdir "$dir/linked/data"
mv "$dir/linked/var/lib/kubelet" "$dir/linked/data/kubelet"
ln -s /data/kubelet "$dir/linked/var/lib/kubelet"
"$nrtd" dump --sysroot "$dir/linked" --node-name n >"$dir/again" 2>"$dir/err"
same "the object of a host with a link to its kubelet's folder" "$dir/again" "$dir/out"
mv "$dir/linked/sys" "$dir/linked/data/sys"
ln -s /data/sys "$dir/linked/sys"
"$nrtd" dump --sysroot "$dir/linked" --node-name n >"$dir/again" 2>"$dir/err"
check "hwloc never sees another machine than the rest" test $? -eq 1
check "which is said" grep -q "linked/sys/devices/system/cpu'.*hwloc" "$dir/err"

# --- settings from a configuration file, flags above it
cat >"$dir/seed/var/lib/kubelet/config.yaml" <<'EOF'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
topologyManagerPolicy: restricted
topologyManagerScope: pod
kubeReserved: {cpu: 500m}
systemReserved: {cpu: 500m}
EOF
"$nrtd" dump --sysroot "$dir/seed" --node-name n -o json >"$dir/out" 2>"$dir/err"
for want in '"value": "restricted"' '"value": "pod"' '"value": "full-pcpus-only=true"' '"RestrictedPodLevel"'; do
	check "configuration gives $want" grep -qF "$want" "$dir/out"
done
"$nrtd" dump --sysroot "$dir/seed" --node-name n --what inventory >"$dir/out" 2>"$dir/err"
check "one CPU is reserved as the kubelet does" grep -q '^  cpus: "0"$' "$dir/out"
"$nrtd" dump --sysroot "$dir/seed" --node-name n --topology-manager-policy best-effort >"$dir/out" 2>"$dir/err"
check "a flag beats the file" grep -q 'value: best-effort' "$dir/out"

# --- what fails: status, one line, nothing printed
refuse() { # NAME STATUS MESSAGE ARGS...
	name=$1 status=$2 message=$3
	shift 3
	"$nrtd" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	if [ "$got" -eq "$status" ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] &&
		grep -qF "$message" "$dir/err"; then
		ok "$name"
	else
		echo "status $got, wanted $status and '$message'" >>"$dir/err"
		not_ok "$name" "$dir/err"
	fi
}
refuse "unknown flag" 2 "nrtd: unknown flag '--bogus'" dump --bogus
refuse "bad value" 2 "nrtd: --output: 'xml' is not one of yaml|json" dump -o xml
refuse "no command" 2 "no command"
refuse "sysroot without a machine" 1 "$dir/nothing" dump --sysroot "$dir/nothing"
long=$(printf '%0253d' 0 | tr 0 a)
refuse "a name of 254 bytes" 2 "must have 1 to 253 bytes" dump --sysroot "$dir/seed" --node-name "a$long"
"$nrtd" dump --sysroot "$dir/seed" --node-name "$long" >"$dir/out" 2>"$dir/err"
check "a name of 253 bytes" grep -q "name: $long" "$dir/out"
refuse "XML that is not there" 1 "$dir/none.xml" dump --machine "$dir/none.xml"
refuse "kubelet configuration that is not there" 1 "/none.yaml" dump --kubelet-config /none.yaml
printf '{"policyName":"static"' >"$dir/seed/var/lib/kubelet/cpu_manager_state"
refuse "truncated state file" 1 "cpu_manager_state" dump --sysroot "$dir/seed"
printf '%s' '{"policyName":"static","defaultCpuSet":"0-31","entries":{"u":{"c":"1-2"}},"checksum":1}' \
	>"$dir/seed/var/lib/kubelet/cpu_manager_state"
"$nrtd" dump --sysroot "$dir/seed" >"$dir/out" 2>"$dir/err"
check "an entry in doubt does not make a state file unusable" test $? -eq 0
check "what it may hold is named" grep -q "cpu_manager_state: CPUs 1-2 of pod 'u', container 'c' are in the default set too; these CPUs count as held" "$dir/err"
printf '%s' '{"policyName":"static","defaultCpuSet":"0-31,99","entries":{}}' >"$dir/seed/var/lib/kubelet/cpu_manager_state"
"$nrtd" dump --sysroot "$dir/seed" >"$dir/out" 2>"$dir/err"
check "a CPU may vanish after the kubelet's start" test $? -eq 0
check "the CPU that has vanished is named" grep -q 'CPUs 99 do not exist on this machine any more' "$dir/err"
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: statik\n' >"$dir/seed/var/lib/kubelet/config.yaml"
rm "$dir/seed/var/lib/kubelet/cpu_manager_state"
refuse "bad policy in the configuration" 1 "statik" dump --sysroot "$dir/seed"
"$nrtd" dump --sysroot "$machines/one-node" >/dev/full 2>"$dir/err"
check "a full disk is a failure" test $? -eq 1
check "a full disk is named" grep -q 'cannot print' "$dir/err"

# --- as an ordinary user
printf '%s' '{"policyName":"none","defaultCpuSet":"","checksum":0}' >"$dir/seed/var/lib/kubelet/cpu_manager_state"
rm "$dir/seed/var/lib/kubelet/config.yaml"
chmod 000 "$dir/seed/var/lib/kubelet/cpu_manager_state"
if [ "$(id -u)" -ne 0 ]; then
	refuse "a file for root only" 1 "Permission denied; run nrtd as root" dump --sysroot "$dir/seed"
elif command -v setpriv >/dev/null; then
	chmod 755 "$dir" && cp "$nrtd" "$dir/nrtd"
	setpriv --reuid 65534 --clear-groups "$dir/nrtd" dump --sysroot "$dir/seed" >"$dir/out" 2>"$dir/err"
	check "a file for root only" test $? -eq 1
	check "what to do about it" grep -q 'Permission denied; run nrtd as root' "$dir/err"
else
	echo "skipped: no setpriv, to be an ordinary user"
fi

# --- a kubelet that is newer than all that were compared
"$nrtd" dump --sysroot "$machines/one-node" --kubelet-version 1.99 >"$dir/out" 2>"$dir/err"
check "a newer kubelet is named" grep -q "kubelet 1.99 is newer than" "$dir/err"
"$nrtd" dump --sysroot "$machines/one-node" --kubelet-version 1.38.0-beta.0 >"$dir/out" 2>"$dir/err"
check "one that was compared is not" test "$(grep -c 'is newer than' "$dir/err")" -eq 0

# --- the name of a saved node
unset NODE_NAME
mkdir -p "$dir/saved/etc" && cp -r "$machines/one-node/." "$dir/saved"
echo 'Worker-7.Example' >"$dir/saved/etc/hostname"
"$nrtd" dump --sysroot "$dir/saved" >"$dir/out" 2>"$dir/err"
check "a saved node has the name in its etc/hostname" grep -qx '  name: worker-7.example' "$dir/out"
NODE_NAME=other "$nrtd" dump --sysroot "$dir/saved" >"$dir/out" 2>"$dir/err"
check "unless NODE_NAME says otherwise" grep -qx '  name: other' "$dir/out"
echo 'bad_name' >"$dir/saved/etc/hostname"
"$nrtd" dump --sysroot "$dir/saved" >"$dir/out" 2>"$dir/err"
check "a name that no Node can have is an error" grep -q "/etc/hostname (--node-name sets another name): 'bad_name' cannot name a Node" "$dir/err"

# --- help and version
"$nrtd" --version >"$dir/out"
check "version" grep -q '^nrtd [0-9]' "$dir/out"
"$nrtd" dump --help >"$dir/out"
check "help" grep -q -- '--sysroot DIR' "$dir/out"
if command -v script >/dev/null; then
	tr -d ' \n' <"$dir/out" >"$dir/want"
	script -qc "stty cols 80 && '$nrtd' dump --help" /dev/null </dev/null 2>&1 | tr -d '\r' >"$dir/help"
	check "on a terminal its lines fit" test "$(sed -n '/^flags/,$s/ *$//p' "$dir/help" | awk 'length > 80' | wc -l)" -eq 0
	check "and are broken between words" grep -q '^ *\[LeastNUMANodes|MostAllocated|LeastAllocated|$' "$dir/help"
	tr -d ' \n' <"$dir/help" >"$dir/out"
	check "and have the same text" cmp -s "$dir/want" "$dir/out"
fi
exit $failed
