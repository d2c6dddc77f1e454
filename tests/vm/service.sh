#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make service-test: nrtd as its systemd unit when memory runs out, in a virtual machine with systemd and a unified cgroup hierarchy:
# Debian's cloud kernel in QEMU, in software, with an initramfs of a minimal Debian, nrtd, its unit, a node of 1024 CPUs, and the
# stand-in for the API server. service-guest has the steps. Each check is a line, the last line is "N passed, N failed"; "skipped:" and 0
# where something is not available. Needs root, Debian, QEMU.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
cache=build/vm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/vm/kernel.sh
. tests/vm/kernel.sh

# make_root: $work/root, the guest's files
make_root() {
	local root=$work/root tree
	tree=$(packaging/root.sh make "$VERSION_CODENAME" service systemd systemd-sysv dbus python3) || return 1
	mkdir -p "$root" && (cd "$tree" && find . -xdev \( -path ./usr/share/doc -o -path ./usr/share/man -o -path ./usr/share/locale \
		-o -path ./usr/share/zoneinfo -o -path ./usr/share/perl -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) \
		-prune -o -print0 | cpio -0 -pdm --quiet "$root") || return 1
	mkdir -p "$root"/srv/api/{api/v1/nodes,apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies} "$root/etc/kubernetes" &&
		cp "$B/nrtd" "$root/usr/sbin/" && with_libraries "$root" "$B/nrtd" && cp systemd/nrtd.service "$root/etc/systemd/system/" &&
		cp tests/lib/api_server.py tests/vm/service-guest "$root/srv/" &&
		cp -r build/fixtures/machines/64-nodes-1024-cpus "$root/srv/node" && mkdir -p "$root/srv/node/var/lib/kubelet" || return 1
	echo vm >"$root/etc/hostname"
	printf '%s\n' NRTD_KUBECONFIG=/etc/kubernetes/kubelet.conf NRTD_SYSROOT=/srv/node NRTD_NODE_NAME=vm NRTD_HTTP=off >"$root/etc/default/nrtd"
	printf '{"kind":"Node","apiVersion":"v1","metadata":{"name":"vm","uid":"6d1d8e5c-0000-4000-8000-000000000001","resourceVersion":"1"}}' \
		>"$root/srv/api/api/v1/nodes/vm.json"
	printf '%s\n' '[Service]' 'ExecStart=/srv/service-guest' '[Install]' 'WantedBy=multi-user.target' >"$root/etc/systemd/system/service-test.service"
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -s ../service-test.service "$root/etc/systemd/system/multi-user.target.wants/"
}
boot() {
	(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd" || return 1
	timeout 600 qemu-system-x86_64 -accel tcg -M q35 -nodefaults -no-user-config -no-reboot -display none -smp 2 -m 2G \
		-serial "file:$work/console" -serial "file:$work/told" -kernel "$kernel" -initrd "$work/initrd" \
		-append "console=ttyS0 quiet panic=-1 cryptomgr.notests rdinit=/lib/systemd/systemd systemd.unit=multi-user.target systemd.unified_cgroup_hierarchy=1 \
systemd.mask=serial-getty@ttyS0.service systemd.mask=dev-ttyS0.device" >"$work/qemu" 2>&1
	tr -d '\r' <"$work/told" >"$work/lines"
}

[ "$(id -u)" -eq 0 ] || skip "debootstrap needs root"
[ "$(uname -m)" = x86_64 ] || skip "the virtual machine is x86_64, this machine is not"
# shellcheck source=/dev/null
. /etc/os-release
[ "${ID:-}" = debian ] || skip "the virtual machine has this machine's libraries, which must be Debian's"
for what in vm roots; do
	answer=$(packaging/install-deps.sh $what 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
done
get_kernel || skip "Debian's package linux-image-cloud-amd64 is not available here"
make_root || exit 1
boot
while read -r verdict name; do
	[ "$verdict" = ok ]
	result "$name" $?
done < <(sed '/^== end/,$d' "$work/lines" | grep -E '^(ok|FAIL) ')
grep -q '^== end' "$work/lines"
result "the machine ran to its end" $?
[ "$failed" -eq 0 ] || tail -n 80 "$work/lines" "$work/console" "$work/qemu" | sed 's/^/	/'
tally
