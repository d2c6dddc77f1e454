#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install-deps.sh GROUP [ARCH]: install the missing packages that a group of make targets needs (build, tests, checks, packages and their
# tests, roots of other releases, virtual machines, the container image, the manifests). ARCH, with build and test only: also install the
# packages for cross-building for another architecture (packaging/arch.sh) and for running its tests under QEMU.
# As root the script prints the command of the package manager and runs it. As another user it prints the command and exits with 1.
# The groups build and test support apt-get, dnf, zypper, apk and pacman; rpm supports apt-get, dnf and zypper; the others apt-get.
set -eu
cd "${0%/*}/.."

# Requirements as NAME=PACKAGE: a pkg-config module, a command or a file, and the Debian package that has it.
modules="hwloc=libhwloc-dev libcjson=libcjson-dev yaml-0.1=libyaml-dev libxxhash=libxxhash-dev
libnghttp2=libnghttp2-dev libprotobuf-c=libprotobuf-c-dev libcurl=libcurl4-openssl-dev libsystemd=libsystemd-dev
libmicrohttpd=libmicrohttpd-dev gnutls=libgnutls28-dev"
commands="make=make cc=gcc ar=binutils pkg-config=pkg-config protoc-c=protobuf-c-compiler"
files="/usr/include/stdio.h=libc6-dev /usr/include/numa.h=libnuma-dev"
case "${1:-}" in
build) ;;
units)
	modules="$modules cmocka=libcmocka-dev"
	commands="$commands lstopo-no-graphics=hwloc-nox"
	;;
roots) commands="$commands debootstrap=debootstrap unshare=util-linux git=git openssl=openssl" ;;
vm) commands="$commands qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio" ;;
apparmor) commands="$commands qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio apparmor_parser=apparmor" ;;
selinux)
	commands="$commands qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio debootstrap=debootstrap \
unshare=util-linux setfiles=policycoreutils sesearch=setools seinfo=setools openssl=openssl"
	;;
node)
	commands="$commands qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio debootstrap=debootstrap \
mke2fs=e2fsprogs depmod=kmod"
	;;
container)
	commands="$commands debootstrap=debootstrap buildah=buildah runc=runc jq=jq curl=curl ip=iproute2 unshare=util-linux"
	files="$files /usr/share/containers/seccomp.json=golang-github-containers-common"
	;;
test | lint)
	modules="$modules cmocka=libcmocka-dev"
	commands="$commands valgrind=valgrind mandoc=mandoc git=git bzip2=bzip2 jq=jq \
python3=python3 lstopo-no-graphics=hwloc-nox"
	files="$files /usr/lib/debug/.build-id=libc6-dbg"
	[ "$1" = test ] || commands="$commands clang-format=clang-format clang-tidy=clang-tidy clang=clang \
codespell=codespell shellcheck=shellcheck rpmlint=rpmlint rpm=rpm gcovr=gcovr"
	# clang's runtime for the fuzz targets; clang prints its path.
	[ "$1" = test ] || files="$files $(clang -print-file-name="libclang_rt.fuzzer-$(uname -m 2>/dev/null).a" 2>/dev/null || :)=libclang-rt-dev"
	;;
deb)
	modules="$modules cmocka=libcmocka-dev"
	commands="$commands git=git dh=debhelper dh_apparmor=dh-apparmor dpkg-buildpackage=dpkg-dev lstopo-no-graphics=hwloc-nox"
	files="$files /usr/share/build-essential/list=build-essential" # dpkg-checkbuilddeps requires the package
	;;
rpm)
	modules="$modules cmocka=libcmocka-dev"
	commands="$commands git=git rpmbuild=rpm find-debuginfo=debugedit eu-strip=elfutils bzip2=bzip2 lstopo-no-graphics=hwloc-nox"
	;;
repository) commands="$commands dpkg-scanpackages=dpkg-dev createrepo_c=createrepo-c gpg=gpg" ;;
packages) commands="$commands lintian=lintian rpmlint=rpmlint faketime=faketime" ;;
# separate groups, because their packages install servers
promtool) commands="$commands promtool=prometheus prometheus=prometheus jq=jq curl=curl openssl=openssl" ;;
browser) commands="$commands chromium=chromium" ;;
registry) commands="$commands docker-registry=docker-registry" ;;
ccache) commands="$commands ccache=ccache" ;;
release) commands="$commands minisign=minisign skopeo=skopeo jq=jq curl=curl diffoscope=diffoscope-minimal" ;;
install) commands="$commands debootstrap=debootstrap systemd-nspawn=systemd-container pgrep=procps nsenter=util-linux" ;;
manifests) commands="$commands jq=jq curl=curl openssl=openssl" ;;
*)
	echo "usage: $0 build|test [ARCH], or $0 units|roots|lint|promtool|browser|registry|ccache|release|deb|rpm|repository|packages|install|vm|apparmor|selinux|node|container|manifests" >&2
	exit 2
	;;
esac

manager=none
for m in apt-get dnf zypper apk pacman; do
	if command -v $m >/dev/null 2>&1; then manager=$m && break; fi
done
case $manager:$1 in apt-get:* | *:build | *:test | dnf:rpm | zypper:rpm) ;; *) manager=none ;; esac
case $manager:$1 in dnf:rpm | zypper:rpm) files="$files /usr/lib/rpm/macros.d/macros.systemd=" ;; esac
cross=
if [ -n "${2:-}" ] && [ "$2" != "$(packaging/arch.sh | cut -d' ' -f1)" ]; then
	case $1 in build | test) ;; *) echo "install-deps.sh: '$1' takes no ARCH: only build and test do" >&2 && exit 2 ;; esac
	[ "$manager" = apt-get ] || { echo "install-deps.sh: cross-building requires Debian or Ubuntu" >&2 && exit 1; }
	cross=$2
	names=$(packaging/arch.sh "$cross")
	# shellcheck disable=SC2086 # words
	set -- "$1" $names
	commands="$commands $4-gcc=gcc-$(echo "$4" | tr _ -)"
	[ "$1" = build ] || commands="$commands qemu-$5-static=qemu-user-static"
	sysroot="libc6-dev libnuma-dev libcmocka-dev $(for m in $modules; do echo "${m#*=}"; done)"
	modules='' files='' # not needed on this machine
fi

# add KIND NAME PACKAGE: append a package to $missing. PACKAGE is Debian's name. dnf and apk find packages by the module's or the command's
# name, zypper by the module's name.
missing=""
add() {
	case $manager:$2 in dnf:find-debuginfo | dnf:eu-strip | zypper:find-debuginfo | zypper:eu-strip) return 0 ;; esac # dependencies of rpmbuild
	case $manager:$1 in
	apt-get:* | none:*) set -- "$3" ;;
	dnf:module | zypper:module) set -- "pkgconfig($2)" ;;
	dnf:command) set -- "/usr/bin/$2" ;;
	apk:module) set -- "pc:$2" ;;
	apk:command) set -- "cmd:$2" ;;
	pacman:module | pacman:command | zypper:command) set -- "$(package_name "$2")" ;;
	dnf:file | zypper:file)
		case $2 in
		*/numa.h) set -- "pkgconfig(numa)" ;;
		*/stdio.h) set -- glibc-devel ;;
		*/macros.systemd) set -- systemd-rpm-macros ;;
		*) return 0 ;; # only Debian needs the other files
		esac
		;;
	apk:file)
		case $2 in
		*/numa.h) set -- numactl-dev ;;
		*/stdio.h) set -- musl-dev ;;
		*) return 0 ;;
		esac
		;;
	pacman:file) [ "$2" = /usr/include/numa.h ] && set -- numactl || return 0 ;;
	*) return 0 ;;
	esac
	case " $missing " in *" $1 "*) ;; *) missing="$missing $1" ;; esac
}
# package_name MODULE-OR-COMMAND: print the package of Arch Linux, or for a command the package of openSUSE. RPM provides pkgconfig(X) for
# X.pc. The names were checked against openSUSE Tumbleweed's packages of 2023; those for dnf, apk and pacman are untested.
package_name() {
	case $1 in
	libcjson) echo cjson ;;
	yaml-0.1) echo libyaml ;;
	libxxhash) echo xxhash ;;
	libprotobuf-c | protoc-c) echo protobuf-c ;;
	libcurl) echo curl ;;
	libsystemd) echo systemd-libs ;;
	lstopo-no-graphics) echo hwloc ;;
	rpmbuild) echo rpm-build ;;
	cc) echo gcc ;;
	ar) echo binutils ;;
	pkg-config) [ "$manager" = zypper ] && echo pkgconfig || echo pkgconf ;;
	*) echo "$1" ;;
	esac
}
for c in $commands; do
	command -v "${c%%=*}" >/dev/null 2>&1 || add command "${c%%=*}" "${c#*=}"
done
for m in $modules; do
	pkg-config --exists "${m%%=*}" 2>/dev/null || add module "${m%%=*}" "${m#*=}"
done
for f in $files; do
	[ -e "${f%%=*}" ] || add file "${f%%=*}" "${f#*=}"
done
missing=${missing# }

quietly() { DEBIAN_FRONTEND=noninteractive "$@" >/dev/null; }
# install_missing: install the missing packages without asking
# shellcheck disable=SC2086 # words
install_missing() {
	case $manager in
	apt-get) line="apt-get install -y --no-install-recommends $missing" ;;
	dnf) line="dnf install -y --setopt=install_weak_deps=False $missing" ;;
	zypper) line="zypper --non-interactive install --no-recommends $missing" ;;
	apk) line="apk add $missing" ;;
	pacman) line="pacman -S --noconfirm --needed $missing" ;;
	*)
		echo "install-deps.sh: no supported package manager found; install the equivalent of these Debian packages: $missing" >&2
		exit 1
		;;
	esac
	if [ "$(id -u)" -ne 0 ]; then
		echo "install-deps.sh: packages are missing; run as root: $line" >&2
		exit 1
	fi
	echo "$line" >&2
	# Ignore errors of apt-get update: an unreachable source matters only if a package cannot be installed.
	if [ "$manager" != apt-get ]; then
		$line
	elif ! quietly $line 2>/dev/null; then
		apt-get update -qq >/dev/null || :
		quietly $line
	fi
}
[ -z "$missing" ] || install_missing
# shellcheck disable=SC2086 # words
[ -z "$cross" ] || packaging/sysroot.sh "$cross" $sysroot
