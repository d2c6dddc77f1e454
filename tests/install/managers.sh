#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make managers-test: install-deps.sh with the real dnf and zypper of Debian, in a root that has them and no apt-get. Their
# repository is made here: one package with a .pc file for each library, from which RPM itself makes the name pkgconfig(X), and
# the commands. They have to find all that install-deps.sh asks them for, and it has to find then that nothing is missing.
# It cannot show what the packages of Fedora or openSUSE are, apk and pacman. Each check is a line, the last line is
# "N passed, N failed".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
clean_up() {
	local root
	for root in "$work"/*/root; do ! mountpoint -q "$root" || umount "$root"; done
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
modules="hwloc libcjson yaml-0.1 libxxhash libnghttp2 libprotobuf-c libcurl libsystemd libmicrohttpd gnutls numa cmocka"
commands="make cc ar pkg-config protoc-c git bzip2 lstopo-no-graphics"

inside() { ROOT_MOUNT=$work/mnt packaging/root.sh enter "$work/$subject/root" "$@"; }
# make_root MANAGER: over the least Debian; apt-get goes when it has brought the manager
make_root() {
	mkdir -p "$work/$1/root" "$work/$1/upper" "$work/$1/work" &&
		mount -t overlay -o "lowerdir=$base,upperdir=$work/$1/upper,workdir=$work/$1/work" overlay "$work/$1/root" &&
		cp /etc/resolv.conf "$work/$1/root/etc/" && inside sh -ec "apt-get update && apt-get install -y --no-install-recommends \
			$1 rpm createrepo-c pkg-config gpg && rm /usr/bin/apt-get"
}
# repository: one package of all this, and of glibc-devel
repository() {
	local name tree=$work/mnt/source
	mkdir -p "$tree/usr/share/pkgconfig" "$tree/usr/bin" "$tree/usr/include" || return 1
	for name in $modules; do printf 'Name: %s\nDescription: x\nVersion: 1\n' "$name" >"$tree/usr/share/pkgconfig/$name.pc"; done
	for name in $commands; do printf '#!/bin/sh\n' >"$tree/usr/bin/$name"; done
	chmod +x "$tree/usr/bin/"*
	mkdir -p "$tree/usr/lib/rpm/macros.d"
	touch "$tree/usr/include/numa.h" "$tree/usr/include/stdio.h" "$tree/usr/lib/rpm/macros.d/macros.systemd"
	printf '%s\n' 'Name: all' 'Version: 1' 'Release: 1' 'Summary: x' 'License: x' 'BuildArch: noarch' 'AutoReq: no' 'Provides: glibc-devel, gcc, make, binutils, protobuf-c, git, bzip2, hwloc, systemd-rpm-macros' '%description' \
		'%install' 'cp -r /mnt/source/* %{buildroot}/' '%files' '/usr/*' >"$work/mnt/all.spec"
	inside sh -ec 'rpmbuild -bb --define "_topdir /mnt/rpm" /mnt/all.spec && createrepo_c /mnt/rpm/RPMS' &&
		rpm -qp --provides "$work"/mnt/rpm/RPMS/noarch/*.rpm | grep '^pkgconfig(hwloc)'
}
knows_repository() {
	case $subject in
	dnf) mkdir -p "$work/$subject/root/etc/yum.repos.d" && printf '[all]\nname=all\nbaseurl=file:///mnt/rpm/RPMS\ngpgcheck=0\n' >"$work/$subject/root/etc/yum.repos.d/all.repo" ;;
	zypper) inside zypper --non-interactive addrepo --no-gpgcheck /mnt/rpm/RPMS all ;;
	esac
}
install_deps() { inside sh -ec '/mnt/packaging/install-deps.sh build && /mnt/packaging/install-deps.sh rpm'; }
asks_for_all() {
	install_deps && inside sh -c 'test -e /usr/include/numa.h && test -x /usr/bin/protoc-c && pkg-config --exists hwloc gnutls cmocka && test -e /usr/lib/rpm/macros.d/macros.systemd && command -v lstopo-no-graphics'
}
asks_no_more() {
	install_deps 2>&1 | tee "$work/again"
	[ ! -s "$work/again" ]
}
fails() {
	# zypper's database is not Debian's
	inside sh -c 'rpm -e all || rpm --dbpath /var/lib/rpm -e all' && rm "$work/mnt/rpm/RPMS/repodata/repomd.xml" && inside sh -c 'rm -rf /var/cache/dnf /var/cache/zypp/*' || return 1
	! install_deps
}

[ "$(id -u)" -eq 0 ] || skip "a root needs root"
answer=$(packaging/install-deps.sh roots 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
base=$(packaging/root.sh make bookworm 2>"$work/out") || skip "$(tail -n 1 "$work/out")"
mkdir -p "$work/mnt"
cp -r packaging "$work/mnt/"
for subject in dnf zypper; do
	check "it is in a root without apt-get" make_root $subject
	[ "$subject" = zypper ] || check "a repository is made" repository
	check "it knows the repository" knows_repository
	check "it finds all that install-deps.sh asks for" asks_for_all
	check "then nothing is missing" asks_no_more
	check "without the repository install-deps.sh fails" fails
	[ "$subject" = zypper ] || { rm -rf "$work/mnt/rpm/RPMS/repodata" && inside createrepo_c -q /mnt/rpm/RPMS; } >"$work/out" 2>&1
done
tally
