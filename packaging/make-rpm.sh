#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-rpm.sh OUT [OPTION...]: build the RPM packages of the committed tree and their source into OUT.
# OPTIONs are rpmbuild's, such as "--without check".
set -eu
umask 022 # the source package has its files' modes
out=$1
shift
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/SOURCES"
out=$(cd "$out" && pwd)

git -C "$top" show HEAD:packaging/nrtd.spec >"$work/nrtd.spec"
version=$(git -C "$top" show HEAD:Makefile | sed -n 's/^VERSION := //p')
packaged=$(sed -n 's/^Version: *//p' "$work/nrtd.spec")
if [ "$version" != "$packaged" ]; then
	echo "make-rpm.sh: the Makefile says version $version, packaging/nrtd.spec $packaged" >&2
	exit 1
fi
"$top/packaging/make-source.sh" "$work/SOURCES"
# Where rpm itself is not an RPM package, its database knows no library and it has no macros of systemd; install-deps.sh has asked
# pkg-config for the same libraries.
rpm -q --quiet rpm 2>/dev/null || set -- --nodeps --load "$top/packaging/rpm.macros" "$@"
{
	# The source package has the text of its spec with every macro expanded, so it gets a folder that is everywhere the same.
	(cd "$work" && rpmbuild -bs --define "_topdir ." "$@" nrtd.spec) &&
		rpmbuild --rebuild --define "_topdir $work" "$@" "$work"/SRPMS/nrtd-*.src.rpm
} >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
rm -f "$out"/nrtd-*.rpm
find "$work/RPMS" "$work/SRPMS" -name '*.rpm' -exec mv -t "$out" {} +
ls "$out"
