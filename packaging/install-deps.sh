#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install-deps.sh build|units|roots|test|lint|promtool|registry|deb|rpm|install|vm|apparmor|node|container|manifests: install
# what a build, the unit tests, roots of other releases, the tests, the checks, the packages, their tests, the virtual
# machines or the tests of the container image and the manifests need and this machine does not have.
# On Debian and Ubuntu as root that is one apt-get line, shown before it runs; elsewhere the packages are named
# and the exit status is 1.
set -eu

# What to look for, and the Debian package that brings it: .pc module, command, or file.
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
roots) commands="$commands debootstrap=debootstrap unshare=util-linux git=git" ;;
vm) commands="$commands qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio" ;;
apparmor) commands="$commands qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio apparmor_parser=apparmor" ;;
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
	commands="$commands valgrind=valgrind mandoc=mandoc git=git bzip2=bzip2 \
lstopo-no-graphics=hwloc-nox"
	files="$files /usr/lib/debug/.build-id=libc6-dbg"
	[ "$1" = test ] || commands="$commands clang-format=clang-format clang-tidy=clang-tidy clang=clang \
codespell=codespell shellcheck=shellcheck rpmlint=rpmlint rpm=rpm gcovr=gcovr"
	# clang's runtime for the fuzz targets; the compiler says where it looks for it.
	[ "$1" = test ] || files="$files $(clang -print-file-name=libclang_rt.fuzzer-x86_64.a 2>/dev/null || :)=libclang-rt-dev"
	;;
deb)
	modules="$modules cmocka=libcmocka-dev"
	commands="$commands git=git dh=debhelper lintian=lintian dh_apparmor=dh-apparmor dpkg-buildpackage=dpkg-dev lstopo-no-graphics=hwloc-nox"
	;;
rpm)
	modules="$modules cmocka=libcmocka-dev"
	commands="$commands git=git rpmbuild=rpm rpmlint=rpmlint find-debuginfo=debugedit eu-strip=elfutils bzip2=bzip2 \
lstopo-no-graphics=hwloc-nox faketime=faketime"
	;;
# words of their own: with them come servers
promtool) commands="$commands promtool=prometheus prometheus=prometheus jq=jq curl=curl openssl=openssl" ;;
registry) commands="$commands docker-registry=docker-registry" ;;
install) commands="$commands debootstrap=debootstrap systemd-nspawn=systemd-container pgrep=procps nsenter=util-linux" ;;
manifests) commands="$commands jq=jq curl=curl openssl=openssl" ;;
*)
	echo "usage: $0 build|units|roots|test|lint|promtool|registry|deb|rpm|install|vm|apparmor|node|container|manifests" >&2
	exit 2
	;;
esac

missing=""
add() { case " $missing " in *" $1 "*) ;; *) missing="$missing $1" ;; esac; }
for c in $commands; do
	command -v "${c%%=*}" >/dev/null 2>&1 || add "${c#*=}"
done
for m in $modules; do
	pkg-config --exists "${m%%=*}" 2>/dev/null || add "${m#*=}"
done
for f in $files; do
	[ -e "${f%%=*}" ] || add "${f#*=}"
done
[ -n "$missing" ] || exit 0
missing=${missing# }

if ! command -v apt-get >/dev/null 2>&1; then
	echo "nrtd needs what these Debian packages hold; install their like with your package manager: $missing" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "nrtd needs more packages; run as root: apt-get install -y --no-install-recommends $missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
install() {
	# shellcheck disable=SC2086 # a list of package names
	apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
echo "apt-get install -y --no-install-recommends $missing" >&2
if ! install 2>/dev/null; then
	apt-get update -qq >/dev/null
	install
fi
