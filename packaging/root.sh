#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# root.sh make RELEASE: create build/roots/RELEASE, a minimal system of a Debian or Ubuntu release (bullseye, jammy, ...), and print its
# path. An existing root is reused.
# root.sh make RELEASE build|units: create or update build/roots/RELEASE-build, a minimal system with the packages of that group of
# install-deps.sh and with today's security fixes, and print its path.
# root.sh make RELEASE NAME PACKAGE...: create build/roots/RELEASE-NAME, a minimal system with these packages. It is recreated when the
# list of packages changes.
# root.sh enter ROOT COMMAND...: run the command in a root, with this machine's /dev and /sys, with separate processes and /tmp, and with
# this machine's directory ROOT_MOUNT, if set, as /mnt.
# Needs root and debootstrap; UBUNTU_MIRROR is Ubuntu's archive.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
roots=$top/build/roots
ubuntu=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
ubuntu_keys=usr/share/keyrings/ubuntu-archive-keyring.gpg

fail() {
	echo "root.sh: $*" >&2
	exit 1
}

enter() {
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --pid --fork --kill-child sh -euc '
		root=$1
		shift
		for d in dev sys; do mount --rbind "/$d" "$root/$d"; done
		mount -t proc proc "$root/proc"
		mount -t tmpfs tmpfs "$root/tmp"
		[ -z "${ROOT_MOUNT:-}" ] || mount --bind "$ROOT_MOUNT" "$root/mnt"
		exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			DEBIAN_FRONTEND=noninteractive "$@"' sh "$@"
}

# script RELEASE: print the path of debootstrap's script for the release; for noble, if debootstrap does not know it, jammy's script
script() {
	if [ "$1" = noble ] && [ ! -e "/usr/share/debootstrap/scripts/$1" ]; then
		set -- jammy
	fi
	[ ! -e "/usr/share/debootstrap/scripts/$1" ] || echo "/usr/share/debootstrap/scripts/$1"
}
is_ubuntu() { grep -q ubuntu "$(script "$1")"; }

# ubuntu_keyring: print the path of Ubuntu's keyring: this machine's, or the keyring from Debian 13's package
ubuntu_keyring() {
	[ ! -e "/$ubuntu_keys" ] || { echo "/$ubuntu_keys" && return; }
	[ -e "$roots/keyring/$ubuntu_keys" ] || {
		make_build trixie build >&2
		enter "$roots/trixie-build" sh -ec 'cd /root && rm -f *.deb && apt-get download -qq ubuntu-keyring && mv *.deb ubuntu-keyring.deb' >&2
		dpkg -x "$roots/trixie-build/root/ubuntu-keyring.deb" "$roots/keyring"
	}
	echo "$roots/keyring/$ubuntu_keys"
}

make_least() {
	[ ! -d "$roots/$1" ] || return 0
	[ -n "$(script "$1")" ] || fail "debootstrap is missing or does not know the release '$1'"
	if is_ubuntu "$1"; then
		keyring=$(ubuntu_keyring)
		set -- "$1" "$ubuntu" --components=main,universe --keyring="$keyring"
	else
		mirror=$("$top/tests/install/mirror.sh")
		set -- "$1" "$mirror" --keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	fi
	release=$1 mirror=$2
	shift 2
	echo "     debootstrap $release from $mirror, once" >&2
	mkdir -p "$roots"
	rm -rf "$roots/$release.new"
	debootstrap --variant=minbase "$@" "$release" "$roots/$release.new" "$mirror" "$(script "$release")" >"$roots/$release.log" 2>&1 ||
		fail "debootstrap $release: $(tail -n 1 "$roots/$release.log")"
	rm -f "$roots/$release.new/var/cache/apt/archives/"*.deb
	mv "$roots/$release.new" "$roots/$release"
}

# security RELEASE: print the sources.list line of the release's security archive
security() {
	if is_ubuntu "$1"; then
		echo "deb $ubuntu $1-security main universe"
	else
		apt-get indextargets --format "deb \$(REPO_URI) $1-security main" 'Created-By: Packages' 'Label: Debian-Security' | head -n 1
	fi
}

# upgrade RELEASE ROOT: install the security fixes of all packages. The archive of an old release may lack a package that it lists; such a
# package keeps its version, with a message.
upgrade() {
	sources=$2/etc/apt/sources.list.d/security.list
	security "$1" >"$sources"
	[ -s "$sources" ] || echo "     without security fixes: this machine's apt names no archive of them" >&3
	cp /etc/resolv.conf "$2/etc/"
	# shellcheck disable=SC2016 # expanded inside
	enter "$2" sh -ec 'apt-get update >/tmp/update 2>&1 || echo E: >>/tmp/update
		cat /tmp/update
		! grep -qE "^E:|Failed to fetch" /tmp/update || echo "     $0: not the fixes of today" >&3
		apt-get -y --fix-missing dist-upgrade || :; apt-get check; apt-get clean' "$1" || return 1
	enter "$2" apt list --upgradable | sed -n 's/^\([^/]*\)\/.*/     its security fix cannot be fetched: \1/p' >&3
}
# make_new_build RELEASE: create the root with the packages that a build needs
make_new_build() {
	root=$roots/$1-build
	rm -rf "$root" "$root.new"
	cp -a "$roots/$1" "$root.new" && cp /etc/resolv.conf "$root.new/etc/" &&
		install "$top/packaging/install-deps.sh" "$root.new/usr/local/bin/" &&
		enter "$root.new" sh -ec 'apt-get update && install-deps.sh build' && upgrade "$1" "$root.new" && mv "$root.new" "$root"
}

# make_build RELEASE WORD
make_build() {
	make_least "$1"
	log=$roots/$1-build.log
	if [ -d "$roots/$1-build" ]; then
		upgrade "$1" "$roots/$1-build" 3>&2 >"$log" 2>&1
	else
		make_new_build "$1" 3>&2 >"$log" 2>&1
	fi || fail "packages in $1: $(tail -n 1 "$log")"
	install "$top/packaging/install-deps.sh" "$roots/$1-build/usr/local/bin/"
	enter "$roots/$1-build" install-deps.sh "$2" >>"$log" 2>&1 || fail "packages in $1: $(tail -n 1 "$log")"
}

# make_with RELEASE NAME PACKAGE...
make_with() {
	make_least "$1"
	release=$1 root=$roots/$1-$2
	shift 2
	[ "$(cat "$root.packages" 2>/dev/null)" != "$*" ] || return 0
	rm -rf "$root" "$root.new" "$root.packages"
	# shellcheck disable=SC2016 # expanded inside
	{
		cp -a "$roots/$release" "$root.new" && cp /etc/resolv.conf "$root.new/etc/" &&
			enter "$root.new" sh -ec 'apt-get update && apt-get install -y --no-install-recommends "$@" && apt-get clean' sh "$@"
	} >"$root.log" 2>&1 || fail "packages in $release: $(tail -n 1 "$root.log")"
	mv "$root.new" "$root"
	echo "$*" >"$root.packages"
}

case "${1:-}" in
make)
	[ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
	mkdir -p "$roots"
	exec 9>"$roots/lock"
	flock 9
	if [ $# -gt 3 ]; then
		shift
		make_with "$@"
		echo "$roots/$1-$2"
	elif [ $# -eq 3 ]; then
		make_build "$2" "$3"
		echo "$roots/$2-build"
	else
		make_least "$2"
		echo "$roots/$2"
	fi
	;;
enter)
	shift
	enter "$@"
	;;
*)
	echo "usage: $0 make RELEASE [build|units|NAME PACKAGE...] | enter ROOT COMMAND..." >&2
	exit 2
	;;
esac
