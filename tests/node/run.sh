#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make node-test: nrtd on a real node, a virtual machine with four NUMA nodes: Debian's kernel, systemd, containerd and runc,
# an unmodified kubelet, an API server outside of it, and nrtd installed from its package as doc/install.md says. What it
# publishes is compared with the cgroups of the containers. Names given as arguments choose among the groups of steps (pods, lives,
# restarts, policies, hardware, order). README.md has the rest.
# What is not available here is a line that begins with "skipped:", and the end is 0. The last line is "N passed, N failed".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
cache=build/node
programs=build/upstream
node="node-a"
chosen=$*
work=$(mktemp -d)
qemu=
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
clean_up() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null
	[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# ---- what is needed

# get_kernel: $kernel is the folder of Debian's cloud kernel and its modules, unpacked once, not installed
get_kernel() {
	local package
	kernel=$cache/kernel
	[ ! -e $kernel/complete ] || return 0
	[ -n "$(apt-cache show linux-image-cloud-amd64 2>/dev/null)" ] || apt-get update -qq >/dev/null 2>&1
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
	[ -n "$package" ] || return 1
	rm -rf $kernel && mkdir -p $kernel && (cd "$work" && apt-get download "$package" >/dev/null 2>&1) &&
		dpkg -x "$work"/linux-image-*.deb $kernel && touch $kernel/complete
}

# make_disk: $disk, a Debian system with systemd, containerd, what the package depends on and the kernel's modules
make_disk() {
	local made packages key tree=$cache/root release
	packages="systemd systemd-sysv dbus sudo kmod iproute2 containerd runc $(dpkg-deb -f "$work"/deb/nrtd_*.deb Depends |
		sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g')"
	release=$(ls $kernel/lib/modules)
	key="2 $VERSION_CODENAME $packages $release"
	disk=$cache/disk
	[ "$(cat $cache/made 2>/dev/null)" != "$key" ] || return 0
	# shellcheck disable=SC2086 # words
	made=$(packaging/root.sh make "$VERSION_CODENAME" vm $packages) || return 1
	rm -rf $tree $disk $cache/made && cp -a "$made" $tree || return 1
	echo $node >$tree/etc/hostname
	echo "127.0.0.1 localhost $node" >$tree/etc/hosts
	mkdir -p "$tree/lib/modules/$release"
	(cd $kernel && find lib/modules -regextype posix-extended \
		-regex '.*/((virtio|net_failover|failover|overlay|veth).*\.ko|modules\.[a-z.]*)' -print0 | cpio -0 -pdm --quiet "../root") &&
		depmod -b $tree "$release" || return 1
	# No udev waits for devices: the disks are mounted by their names.
	cat >$tree/etc/systemd/system/node-test.service <<-'END'
		[Service]
		ExecStart=/bin/sh -c "mount -o ro /dev/nvme1n1 /opt && exec /opt/guest"
		[Install]
		WantedBy=multi-user.target
	END
	ln -s ../node-test.service $tree/etc/systemd/system/multi-user.target.wants/
	mke2fs -q -t ext4 -d $tree $disk 3G >"$work/mke2fs" 2>&1 && echo "$key" >$cache/made
}

# make_image DIR: an image of busybox for containerd, without a registry
make_image() {
	local layer
	mkdir -p "$1"/{layer/bin,layer/proc,layer/sys,layer/dev,layer/etc} && cp "$(command -v busybox)" "$1/layer/bin/busybox" || return 1
	ln -s busybox "$1/layer/bin/sh" && ln -s busybox "$1/layer/bin/sleep" || return 1
	tar -C "$1/layer" --owner=0 --group=0 -cf "$1/layer.tar" . || return 1
	layer=$(sha256sum <"$1/layer.tar")
	printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/bin/sleep","1000000"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
		"${layer%% *}" >"$1/config.json"
	printf '[{"Config":"config.json","RepoTags":["nrtd.test/busybox:1"],"Layers":["layer.tar"]}]' >"$1/manifest.json"
	tar -C "$1" -cf "$2" manifest.json config.json layer.tar
}

prepare() {
	local answer what status=0
	[ "$(id -u)" -eq 0 ] || skip "debootstrap needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the virtual machine is x86_64, this machine is not"
	# shellcheck source=/dev/null
	. /etc/os-release
	[ "${ID:-}" = debian ] || skip "the package is for Debian, this is ${PRETTY_NAME:-another system}"
	for what in deb node; do
		answer=$(packaging/install-deps.sh $what 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
	done
	tests/upstream/build.sh controlplane realnode || status=$?
	[ $status -ne 0 ] || tests/upstream/build_module.sh node-kubelet . || status=$?
	[ $status -ne 77 ] || exit 0
	[ $status -eq 0 ] || exit 1
	get_kernel || skip "Debian's package linux-image-cloud-amd64 is not available here"
	DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" packaging/make-deb.sh "$work/deb" >"$work/log" 2>&1 ||
		{ cat "$work/log" && echo "FAIL the package is not built" && exit 1; }
	make_disk || skip "the disk cannot be made"
}

# ---- the machine

guide() { # guide BEGIN: doc/install.md's indented lines from the one that begins so
	awk -v begin="$1" '/^    / { if (index($0, "    " begin) == 1) found = 1; if (found) print substr($0, 5); next } found { exit }' doc/install.md
}
# outside FILE: a kubeconfig for the machine, which reaches this one's loopback at 10.0.2.2
outside() { sed 's|https://127.0.0.1:|https://10.0.2.2:|' "$work/cluster/$1.kubeconfig"; }

# make_opt: the disk that the machine has at /opt
make_opt() {
	local opt=$work/opt
	mkdir -p "$opt"/{bin,build/deb,units} && cp $programs/realnode "$opt/bin/" && cp $programs/node-kubelet "$opt/bin/kubelet" &&
		cp "$work"/deb/nrtd_*.deb "$opt/build/deb/" && cp tests/node/{guest,kubelet.yaml,containerd.toml} "$opt/" &&
		cp tests/node/units/* "$opt/units/" && make_image "$work/image" "$opt/image.tar" || return 1
	outside "kubelet-$node" >"$opt/kubelet.kubeconfig"
	outside admin >"$opt/admin.kubeconfig"
	cp "$work/cluster/pki/ca.crt" "$opt/ca.crt"
	guide "sudo apt install" >"$opt/guide"
	echo "$chosen" >"$opt/chosen"
	mke2fs -q -t ext4 -d "$opt" "$work/opt.disk" 600M >"$work/mke2fs" 2>&1
}

boot() {
	local id
	local -a numa=()
	for id in 0 1 2 3; do
		numa+=(-object "memory-backend-ram,id=m$id,size=1G" -numa "node,nodeid=$id,cpus=$((2 * id))-$((2 * id + 1)),memdev=m$id")
	done
	: >"$work/told"
	timeout "${NODE_TIMEOUT:-2400}" qemu-system-x86_64 -accel "${NODE_ACCEL:-tcg}" -M q35 -nodefaults -no-user-config -no-reboot -display none \
		-smp 8,sockets=4,cores=2 -m 4G "${numa[@]}" \
		-numa dist,src=0,dst=1,val=12 -numa dist,src=0,dst=2,val=20 -numa dist,src=0,dst=3,val=20 \
		-numa dist,src=1,dst=2,val=20 -numa dist,src=1,dst=3,val=20 -numa dist,src=2,dst=3,val=12 \
		-serial "file:$work/console" -serial "file:$work/told" -serial "file:$work/nrtd" -serial "file:$work/journal" \
		-drive "file=$disk,format=raw,if=none,id=root,snapshot=on" -device nvme,drive=root,serial=root \
		-drive "file=$work/opt.disk,format=raw,if=none,id=opt,readonly=on" -device nvme,drive=opt,serial=opt \
		-netdev user,id=net -device virtio-net-pci,netdev=net,romfile= \
		-kernel "$kernel"/boot/vmlinuz-* -append "console=ttyS0 root=/dev/nvme0n1 rw ${NODE_QUIET-quiet} panic=-1 systemd.unified_cgroup_hierarchy=1 \
systemd.mask=serial-getty@ttyS0.service systemd.mask=dev-ttyS0.device hugepagesz=2M hugepages=0:16,1:16,2:16,3:16" \
		>"$work/qemu" 2>&1 &
	qemu=$!
	tail -n +1 --pid=$qemu -s 0.5 -f "$work/told" | sed -uE 's/\r//g; /^[0-9]+ passed, |^== end/d'
	wait $qemu
	qemu=
}

prepare
tests/upstream/cluster.sh start "$work/cluster" -nodes $node -scheduler "" -manifests \
	"packaging/kubernetes/crd/noderesourcetopology.yaml,packaging/kubernetes/rbac-nodes.yaml" >/dev/null ||
	{ echo "FAIL the API server does not start" && exit 1; }
make_opt || exit 1
boot
mkdir -p $cache/last && cp "$work"/{console,told,nrtd,journal,qemu} $cache/last/
read -r passed failed < <(tr -d '\r' <"$work/told" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
if [ -z "${passed:-}" ]; then
	echo "FAIL the machine did not run to its end; what it said is in $cache/last"
	tail -n 5 "$work/qemu" "$work/console"
	passed=0 failed=1
fi
tally
