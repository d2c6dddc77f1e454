#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh ARCH PACKAGE...: unpack Debian's packages for ARCH, and those that they depend on, into build/sysroot/ARCH, once,
# from where this machine's apt has its own. Nothing of them is installed or run; dpkg-query --admindir knows them.
# An archive may have lost what it lists. Then a package is that of the release, without its update, and a line says so, each time.
# With SYSROOT_FRESH they are unpacked again if the archive has others now.
set -eu
cd "$(dirname "$0")/.."
arch=$1
shift
root=build/sysroot/$arch
# as_it_is: what is there is used
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

# apt ARG...: apt-get for that architecture, with lists, a cache and installed packages (none) of its own
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

# without WHAT: said at once, unless what is there may be used
without() {
	echo "     without $*" >>"$work/without"
	[ -n "$there" ] || echo "     without $*" >&2
}
# sources: the archives that apt has read, as lines of a sources.list
# shellcheck disable=SC2016 # apt's own placeholders
sources() { apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u; }
sources >"$work/sources.list"
[ -s "$work/sources.list" ] || fail "apt's configuration names no Debian archive that it has read (apt-get update)"
[ -n "$there" ] || echo "     $* for $arch and what they need, into $root" >&2
if ! apt update || grep -q '^[EW]: .*Failed to fetch' "$work/log"; then
	if [ -n "$there" ]; then
		echo "     not the packages of today, because apt cannot read its archives" >&2
		as_it_is
	fi
	without "updates, which apt cannot read: $(grep -m 1 '^[EW]: ' "$work/log")"
	sed -i '/^deb [^ ]* [^ ]*-/d' "$work/sources.list"
	apt update || fail "apt-get update"
fi
# The security archive of an old release has fewer architectures than the release. apt does not mind.
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
# for dpkg-query: what each package says of itself, and its files
for deb in "$work"/archives/*.deb; do
	dpkg-deb --extract "$deb" "$root"
	{ dpkg-deb --field "$deb" && printf 'Status: install ok unpacked\n\n'; } >>"$root/var/lib/dpkg/status"
	# shellcheck disable=SC2016 # dpkg's own placeholders
	dpkg-deb --fsys-tarfile "$deb" | tar --list | sed 's#^\.##; s#/$##; s#^$#/.#' \
		>"$info/$(dpkg-deb --show --showformat '${Package}:${Architecture}' "$deb").list"
done
# Links that begin at / would leave the tree.
find "$root" -type l -lname '/*' | while read -r link; do
	ln -sfnr "$root$(readlink "$link")" "$link"
done
cp "$work/without" "$work/chosen" "$root/"
echo "$*" >"$root/packages"
