#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh ARCH PACKAGE...: unpack Debian's packages for ARCH and their dependencies into build/sysroot/ARCH, from the archives of this
# machine's apt. An existing sysroot is reused. No package is installed, and none of its programs run; dpkg-query --admindir reads the
# list of packages.
# If the archive lacks an update that it lists, the package is the release's, without the update, with a message at each run.
# With SYSROOT_FRESH, packages are unpacked again when the archive has other versions.
set -eu
cd "$(dirname "$0")/.."
arch=$1
shift
root=build/sysroot/$arch
# as_it_is: use the existing sysroot, and repeat its messages
as_it_is() {
	cat "$root/without" >&2
	exit
}
there=
[ ! -e "$root/without" ] || [ "$(cat "$root/packages")" != "$*" ] || there=1
[ -z "$there" ] || [ -n "${SYSROOT_FRESH:-}" ] || as_it_is
debian=$(packaging/arch.sh "$arch" | cut -d' ' -f2)
mkdir -p build/sysroot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# apt ARG...: run apt-get for the architecture, with separate lists, a separate cache and an empty list of installed packages
mkdir -p "$work/lists/partial" "$work/archives/partial"
touch "$work/status" "$work/preferences" "$work/without" "$work/log"
cat >"$work/apt.conf" <<END
APT { Architecture "$debian"; Architectures { "$debian"; }; Install-Recommends "false"; Sandbox::User "root"; };
Dir::State { Lists "$work/lists"; Status "$work/status"; Extended_States "$work/extended_states"; };
Dir::Cache { Archives "$work/archives"; pkgcache ""; srcpkgcache ""; };
Dir::Etc { SourceList "$work/sources.list"; SourceParts "/dev/null"; Preferences "$work/preferences"; PreferencesParts "/dev/null"; };
END
apt() { APT_CONFIG=$work/apt.conf apt-get -qq "$@" >"$work/log" 2>&1; }
fail() {
	cat "$work/log" >&2
	echo "sysroot.sh: $arch: $*" >&2
	exit 1
}

# without WHAT: record a message about missing updates, and print it unless the existing sysroot may still be used
without() {
	echo "     without $*" >>"$work/without"
	[ -n "$there" ] || echo "     without $*" >&2
}
# sources: print the archives whose lists apt has, as lines of a sources.list
# shellcheck disable=SC2016 # apt's own placeholders
sources() { apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u; }
sources >"$work/sources.list"
[ -s "$work/sources.list" ] || fail "apt's configuration names no Debian archive that it has read (apt-get update)"
[ -n "$there" ] || echo "     unpacking $* for $arch and their dependencies into $root" >&2
if ! apt update || grep -q '^[EW]: .*Failed to fetch' "$work/log"; then
	if [ -n "$there" ]; then
		echo "     not the packages of today, because apt cannot read its archives" >&2
		as_it_is
	fi
	without "updates, which apt cannot read: $(grep -m 1 '^[EW]: ' "$work/log")"
	sed -i '/^deb [^ ]* [^ ]*-/d' "$work/sources.list"
	apt update || fail "apt-get update"
fi
# The security archive of an old release has fewer architectures than the release; apt ignores this.
APT_CONFIG=$work/apt.conf sources | comm -23 "$work/sources.list" - | while read -r _ _ suite _; do
	without "$suite, which has nothing for $arch"
done
apt --yes --print-uris install "$@" || fail "apt-get install"
cut -d ' ' -f 2- "$work/log" >"$work/chosen"
if [ -n "$there" ] && cmp -s "$work/chosen" "$root/chosen"; then
	as_it_is
fi
[ -z "$there" ] || cat "$work/without" >&2
there=
until apt --yes --download-only install "$@"; do
	lost=$(sed -nE 's#^E: Failed to fetch [^ ]*/pool/[^ ]*/([^/]+)/[^/ ]+ .*#\1#p' "$work/log" | sort -u)
	[ -n "$lost" ] || fail "apt-get install"
	for source in $lost; do
		! grep -q "^Package: src:$source\$" "$work/preferences" || fail "apt-get install"
		without "its update, which cannot be fetched: $source"
		printf 'Package: src:%s\nPin: release l=Debian-Security\nPin-Priority: -1\n\n' "$source" >>"$work/preferences"
	done
	find "$work/archives" -name '*.deb' -delete
done

rm -rf "$root"
info=$root/var/lib/dpkg/info
mkdir -p "$info"
echo 1 >"$info/format"
# for dpkg-query: the control data and the list of files of each package
for deb in "$work"/archives/*.deb; do
	dpkg-deb --extract "$deb" "$root"
	{ dpkg-deb --field "$deb" && printf 'Status: install ok unpacked\n\n'; } >>"$root/var/lib/dpkg/status"
	# shellcheck disable=SC2016 # dpkg's own placeholders
	dpkg-deb --fsys-tarfile "$deb" | tar --list | sed 's#^\.##; s#/$##; s#^$#/.#' \
		>"$info/$(dpkg-deb --show --showformat '${Package}:${Architecture}' "$deb").list"
done
# Absolute links would leave the tree: make them relative.
find "$root" -type l -lname '/*' | while read -r link; do
	ln -sfnr "$root$(readlink "$link")" "$link"
done
cp "$work/without" "$work/chosen" "$root/"
echo "$*" >"$root/packages"
