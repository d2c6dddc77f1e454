#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-tarball.sh OUT: build the committed tree with the libraries of TARBALL_RELEASE (bullseye) and pack it with them into
# OUT/nrtd-VERSION-linux-ARCH.tar.gz. The same commit and the same libraries give the same bytes: times are those of
# source-date.sh. Needs what root.sh needs.
# make-tarball.sh inside: its part in the root of that release, in the source tree; prepares ./tarball.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
arch=$("$top/packaging/arch.sh" | cut -d ' ' -f 1)

# package_of FILE: the Debian package of it, which may know it by the path before /usr was merged
package_of() {
	for path in "$1" "/usr$1" "${1#/usr}"; do
		! name=$(dpkg -S "$path" 2>/dev/null) || { echo "${name%%:*}" && return; }
	done
	echo "make-tarball.sh: no package has $1" >&2
	return 1
}
# glibc_of FILE...: the newest version of glibc's symbols that they ask for
glibc_of() { objdump -T "$@" | grep -oE 'GLIBC_[0-9.]+' | tr -dc '0-9.\n' | sort -uV | tail -n 1; }

# licence_of PACKAGE: its own, and the texts that it names
licence_of() {
	cp "/usr/share/doc/$1/copyright" "$licences/$1"
	grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$licences/$1" | sort -u | while read -r text; do
		[ ! -e "$text" ] || cp -L "$text" "$licences/common/"
	done
}

# libraries: all but glibc's, with a line for each package
libraries() {
	mkdir -p "$tree/lib" "$licences/common"
	packaging/container/closure.sh build/nrtd >build/closure
	while read -r path; do
		package=$(package_of "$path")
		[ "$package" != libc6 ] || continue
		cp -L "$path" "$tree/lib/"
		echo "$package ${path##*/}"
	done <build/closure >build/bundled
	sort -o build/bundled build/bundled
	echo '# package version source source-version licence files' >"$tree/lib/PACKAGES"
	cut -d ' ' -f 1 build/bundled | uniq | while read -r package; do
		licence_of "$package"
		dpkg-query -W -f '${Package} ${Version} ${source:Package} ${source:Version}' "$package:$(dpkg --print-architecture)"
		echo " share/doc/licences/$package $(sed -n "s/^$package //p" build/bundled | paste -sd ' ')"
	done >>"$tree/lib/PACKAGES"
	# shellcheck source=/dev/null
	. /etc/os-release
	awk -v arch="$(dpkg --print-architecture)" '!/^#/ { print $1, $2, arch, $4 }' "$tree/lib/PACKAGES" |
		DISTRO=$ID-$VERSION_ID packaging/sbom.sh "$arch" >"$tree/share/doc/nrtd/nrtd.cdx.json"
}

inside() {
	tree=$top/tarball/nrtd-$version
	licences=$tree/share/doc/licences
	cd "$top"
	# The libraries of Debian have no path of their own to others: an RPATH, which holds for those that they load too, and
	# not the newer RUNPATH. No table of relocations that glibc before 2.36 does not know.
	LD_RUN_PATH="\$ORIGIN/../lib" make -j"$(nproc)" CFLAGS=-O2 LDFLAGS=-Wl,--disable-new-dtags PACK_RELOCATIONS= all
	make install CFLAGS=-O2 LDFLAGS=-Wl,--disable-new-dtags PACK_RELOCATIONS= DESTDIR="$tree" PREFIX= BINDIR=/bin SBINDIR=/bin \
		MANDIR=/share/man DOCDIR=/share/doc/nrtd SYSTEMDUNITDIR=/share/nrtd SYSCONFDIR=/share/nrtd
	strip "$tree/bin/nrtd"
	mv "$tree/share/nrtd/default/nrtd" "$tree/share/nrtd/nrtd.default"
	rmdir "$tree/share/nrtd/default"
	sed 's#/bin/nrtd run#@PREFIX@/bin/nrtd run#' "$tree/share/nrtd/nrtd.service" >"$tree/share/nrtd/nrtd.service.in"
	rm "$tree/share/nrtd/nrtd.service"
	libraries
	cp LICENSE "$licences/nrtd"
	cp packaging/tarball/install.sh "$tree/"
	sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@GLIBC@/$(glibc_of "$tree/bin/nrtd" "$tree"/lib/*.so*)/" \
		packaging/tarball/README >"$tree/README"
	chmod -R u=rwX,go=rX "$tree"
}

if [ "$1" = inside ]; then
	inside
	exit
fi
release=${TARBALL_RELEASE:-bullseye}
epoch=$("$top/packaging/source-date.sh")
root=$("$top/packaging/root.sh" make "$release" build)
source=$(mktemp -d "$root/var/tmp/nrtd.XXXXXX")
trap 'rm -rf "$source"' EXIT
git -C "$top" archive HEAD | tar -x -C "$source"
"$top/packaging/root.sh" enter "$root" env "SOURCE_DATE_EPOCH=$epoch" "${source#"$root"}/packaging/make-tarball.sh" inside >"$source.log" 2>&1 || {
	cat "$source.log" >&2
	exit 1
}
rm -f "$source.log"
mkdir -p "$1"
name=nrtd-$version-linux-$arch$([ "$release" = bullseye ] || echo "-$release").tar.gz
tar -c --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu -C "$source/tarball" "nrtd-$version" |
	gzip -n -9 >"$1/$name.new"
mv "$1/$name.new" "$1/$name"
ls -l "$1/$name"
