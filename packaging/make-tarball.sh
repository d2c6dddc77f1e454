#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-tarball.sh OUT [ARCH]: build the committed tree for ARCH (default: this machine's) with the libraries of Debian 12, the oldest
# release that Debian still maintains for every ARCH, and pack nrtd and the libraries into OUT/nrtd-VERSION-linux-ARCH.tar.gz.
# Reproducible: the same commit and the same libraries give the same bytes; source-date.sh sets the times. Needs root and debootstrap.
# make-tarball.sh inside ARCH: prepare ./tarball in the source tree; runs in the root of Debian 12.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
names=$("$top/packaging/arch.sh" "${2:-}")
arch=${names%% *}
programs="build/tarball/nrtd build/tarball/nrtd-extender build/tarball/kubectl-numa"

# glibc_of FILE...: print the newest version of glibc's symbols that the files require
glibc_of() { "$triplet-objdump" -T "$@" | grep -oE 'GLIBC_[0-9.]+' | tr -dc '0-9.\n' | sort -uV | tail -n 1; }

# licence_of PACKAGE: copy the package's copyright file and the licence texts that it refers to
licence_of() {
	cp "$sysroot/usr/share/doc/$1/copyright" "$licences/$1"
	grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$licences/$1" | sort -u | while read -r text; do
		[ ! -e "$text" ] || cp -L "$text" "$licences/common/"
	done
}

# libraries: copy all libraries except glibc's, and write a line per package
libraries() {
	mkdir -p "$tree/lib" "$licences/common"
	packaging/container/closure.sh "$programs" "" "$arch" >build/closure
	grep -v ' libc6 ' build/closure >build/bundled
	cut -d ' ' -f 1 build/bundled | xargs cp -L -t "$tree/lib"
	cut -d ' ' -f 2- build/bundled | sort -u >build/packages
	echo '# package version source source-version licence files' >"$tree/lib/PACKAGES"
	while read -r package package_version _ source source_version; do
		licence_of "$package"
		echo "$package $package_version $source $source_version share/doc/licences/$package" \
			"$(sed -n "s#^[^ ]*/\([^ /]*\) $package .*#\1#p" build/bundled | sort | paste -sd ' ')"
	done <build/packages >>"$tree/lib/PACKAGES"
	# shellcheck source=/dev/null
	. /etc/os-release
	DISTRO=$ID-$VERSION_ID packaging/sbom.sh "$arch" <build/packages >"$tree/share/doc/nrtd/nrtd.cdx.json"
}

inside() {
	tree=$top/tarball/nrtd-$version
	licences=$tree/share/doc/licences
	cd "$top"
	# shellcheck disable=SC2086 # words
	set -- $names
	triplet=$3
	sysroot=
	mkdir -p /var/cache/sysroot build
	ln -s /var/cache/sysroot build/sysroot
	SYSROOT_FRESH=1 packaging/install-deps.sh build "$arch"
	[ ! -e "build/sysroot/$arch" ] || sysroot=build/sysroot/$arch
	# Debian's libraries have no search path for other libraries. So nrtd gets an RPATH, which also applies to the libraries that these
	# load, and not a RUNPATH, which does not. PACK_RELOCATIONS= builds for glibc before 2.36, too.
	set -- ARCH="$arch" B=build/tarball CFLAGS=-O2 LDFLAGS=-Wl,--disable-new-dtags PACK_RELOCATIONS=
	# shellcheck disable=SC2086 # words
	LD_RUN_PATH="\$ORIGIN/../lib" make -j"$(nproc)" "$@" $programs
	make install "$@" DESTDIR="$tree" PREFIX= BINDIR=/bin SBINDIR=/bin \
		MANDIR=/share/man DOCDIR=/share/doc/nrtd SYSTEMDUNITDIR=/share/nrtd SYSCONFDIR=/share/nrtd
	for program in $programs; do "$triplet-strip" "$tree/bin/${program##*/}"; done
	mv "$tree/share/nrtd/default/nrtd" "$tree/share/nrtd/nrtd.default"
	rmdir "$tree/share/nrtd/default"
	# Replace man:nrtd-run(8) in the unit, because man(1) does not search PREFIX.
	sed 's#/bin/nrtd run#@PREFIX@/bin/nrtd run#; s#man:nrtd-run(8)#file:@PREFIX@/share/doc/nrtd/README.md#' "$tree/share/nrtd/nrtd.service" >"$tree/share/nrtd/nrtd.service.in"
	rm "$tree/share/nrtd/nrtd.service"
	libraries
	cp LICENSE "$licences/nrtd"
	cp packaging/tarball/install.sh "$tree/"
	# shellcheck disable=SC2086 # words
	sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@GLIBC@/$(glibc_of $programs "$tree"/lib/*.so*)/" \
		packaging/tarball/README >"$tree/README"
	chmod -R u=rwX,go=rX "$tree"
}

if [ "$1" = inside ]; then
	inside
	exit
fi
epoch=$("$top/packaging/source-date.sh")
root=$("$top/packaging/root.sh" make bookworm build)
source=$(mktemp -d "$root/var/tmp/nrtd.XXXXXX")
trap 'rm -rf "$source"' EXIT
git -C "$top" archive HEAD | tar -x -C "$source"
"$top/packaging/root.sh" enter "$root" env "SOURCE_DATE_EPOCH=$epoch" "${source#"$root"}/packaging/make-tarball.sh" inside "$arch" >"$source.log" 2>&1 || {
	cat "$source.log" >&2
	exit 1
}
grep -E '^     (without|not the)' "$source.log" >&2 || : # messages about security fixes that could not be fetched
rm -f "$source.log"
mkdir -p "$1"
name=nrtd-$version-linux-$arch.tar.gz
tar -c --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu -C "$source/tarball" "nrtd-$version" |
	gzip -n -9 >"$1/$name.new"
mv "$1/$name.new" "$1/$name"
ls -l "$1/$name"
