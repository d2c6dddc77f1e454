#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-rpm.sh OUT [OPTION...]: build the RPM packages and the source package of the committed tree into OUT.
# OPTIONs are passed to rpmbuild, such as "--without check". HOMEPAGE, if set, becomes the packages' URL.
set -eu
umask 022 # the source package keeps the files' modes
out=$1
shift
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/SOURCES"
out=$(cd "$out" && pwd)

git -C "$top" show HEAD:packaging/nrtd.spec | awk -v homepage="${HOMEPAGE:-}" '{print} /^License:/ && homepage != "" {print "URL:            " homepage}' \
	>"$work/nrtd.spec"
version=$(git -C "$top" show HEAD:Makefile | sed -n 's/^VERSION := //p')
packaged=$(sed -n 's/^Version: *//p' "$work/nrtd.spec")
if [ "$version" != "$packaged" ]; then
	echo "make-rpm.sh: the Makefile has version $version, but packaging/nrtd.spec has $packaged" >&2
	exit 1
fi
"$top/packaging/make-source.sh" "$work/SOURCES"
# On systems that are not built of RPM packages, rpm's database has no libraries and rpm lacks systemd's macros. install-deps.sh has
# checked the same libraries with pkg-config.
rpm -q --quiet rpm 2>/dev/null || set -- --nodeps --load "$top/packaging/rpm.macros" "$@"
{
	# The source package contains its spec with all macros expanded, so the build directory must have the same name everywhere.
	(cd "$work" && rpmbuild -bs --define "_topdir ." "$@" nrtd.spec) &&
		rpmbuild --rebuild --define "_topdir $work" "$@" "$work"/SRPMS/nrtd-*.src.rpm
} >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
rm -f "$out"/nrtd-*.rpm "$out"/kubectl-numa-*.rpm
find "$work/RPMS" "$work/SRPMS" -name '*.rpm' -exec mv -t "$out" {} +
ls "$out"
