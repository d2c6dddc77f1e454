#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh ARCH PACKAGE...: unpack Debian's packages for ARCH, and those that they depend on, into build/sysroot/ARCH, once,
# from where this machine's apt has its own. Nothing of them is installed or run; dpkg-query --admindir knows them.
set -eu
cd "$(dirname "$0")/.."
arch=$1
shift
root=build/sysroot/$arch
packages=$(echo "$*" | tr ' ' ,)
[ "$(cat "$root/packages" 2>/dev/null)" != "$packages" ] || exit 0
debian=$(packaging/arch.sh "$arch" | cut -d' ' -f2)
mkdir -p build/sysroot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2016 # apt's own placeholders
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u >"$work/all"
suite=$(cut -d' ' -f3 "$work/all" | grep -v -- - | head -n 1)
[ -n "$suite" ] || { echo "sysroot.sh: apt's configuration names no Debian archive that it has read (apt-get update)" >&2 && exit 1; }
grep " $suite " "$work/all" >"$work/release"
# for dpkg-query: what each package says of itself, and its files
# shellcheck disable=SC2016 # for the shell of the hook
record='echo 1 >"$1/var/lib/dpkg/info/format"
for deb in "$1"/var/cache/apt/archives/*.deb; do
	{ dpkg-deb --field "$deb" && printf "Status: install ok unpacked\n\n"; } >>"$1/var/lib/dpkg/status"
	dpkg-deb --fsys-tarfile "$deb" | tar --list | sed "s#^\.##; s#/\$##; s#^\$#/.#" \
		>"$1/var/lib/dpkg/info/$(dpkg-deb --show --showformat "\${Package}:\${Architecture}" "$deb").list"
done'
unpack() { # unpack SOURCES
	rm -rf "$root"
	mmdebstrap --variant=extract --format=directory --architectures="$debian" --include="$packages" \
		--extract-hook="$record" "$suite" "$root" - <"$1" >"$work/log" 2>&1
}
echo "mmdebstrap --variant=extract --architectures=$debian --include=$packages $suite $root" >&2
if ! unpack "$work/all"; then
	grep -m 1 '^E: ' "$work/log" >&2 || :
	echo "sysroot.sh: $arch: without updates, which apt cannot read" >&2
	unpack "$work/release" || { cat "$work/log" >&2 && exit 1; }
fi
find "$root" -mindepth 1 -maxdepth 1 \( -name dev -o -name tmp \) -exec rm -r {} +
# Links that begin at / would leave the tree.
find "$root" -type l -lname '/*' | while read -r link; do
	ln -sfnr "$root$(readlink "$link")" "$link"
done
echo "$packages" >"$root/packages"
