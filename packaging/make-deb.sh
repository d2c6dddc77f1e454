#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-deb.sh OUT: build the Debian packages of the committed tree into OUT. HOMEPAGE and MAINTAINER, if set, become the packages' fields.
set -eu
out=$1
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)

git -C "$top" archive --prefix=nrtd/ HEAD | tar -x -C "$work"
cd "$work/nrtd"
version=$(sed -n 's/^VERSION := //p' Makefile)
mv packaging/debian debian
packaged=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
if [ "$version" != "${packaged%-*}" ]; then
	echo "make-deb.sh: the Makefile has version $version, but packaging/debian/changelog has $packaged" >&2
	exit 1
fi
[ -z "${MAINTAINER:-}" ] || awk -v maintainer="$MAINTAINER" '/^Maintainer: / {$0 = "Maintainer: " maintainer} {print}' debian/control >"$work/control"
[ ! -e "$work/control" ] || mv "$work/control" debian/control
[ -z "${HOMEPAGE:-}" ] || awk -v homepage="$HOMEPAGE" '/^$/ && !done {print "Homepage: " homepage; done = 1} {print}' debian/control >"$work/control"
[ ! -e "$work/control" ] || mv "$work/control" debian/control
dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
rm -f "$out"/nrtd_*.deb "$out"/nrtd-*.deb "$out"/kubectl-numa*.deb
mv ../*.deb "$out"
ls "$out"
