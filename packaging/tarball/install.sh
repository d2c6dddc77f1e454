#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [PREFIX]: replace the contents of PREFIX (default: /opt/nrtd) with this directory, and install a systemd unit and its settings
# in /etc. The script enables and starts nothing; a running service keeps the old version until it is restarted. DESTDIR is prepended to
# every path.
set -eu
prefix=${1:-/opt/nrtd}
[ "$prefix" = / ] || prefix=${prefix%/}
here=$(cd "$(dirname "$0")" && pwd)
to=${DESTDIR:-}$prefix
etc=${DESTDIR:-}/etc

case $prefix in
/*) ;;
*)
	echo "install.sh: '$prefix' is not an absolute path" >&2
	exit 2
	;;
esac
case $prefix in
/ | /usr | /usr/local | /opt | *[!A-Za-z0-9/._+-]*)
	echo "install.sh: '$prefix' cannot be used: choose a separate directory, with letters, digits and . _ + - only" >&2
	exit 2
	;;
esac
[ ! -e "$to" ] || [ -e "$to/lib/PACKAGES" ] || {
	echo "install.sh: '$to' exists and is not an installation of nrtd: choose another directory" >&2
	exit 1
}
# Copy beside the old directory and then rename, so that no file of a running program is overwritten.
mkdir -p "$(dirname "$to")" "$etc/systemd/system" "$etc/default"
rm -rf "$to.new" "$to.old"
cp -a "$here" "$to.new"
[ ! -e "$to" ] || mv "$to" "$to.old"
mv "$to.new" "$to"
rm -rf "$to.old"
chown -R 0:0 "$to" 2>/dev/null || [ "$(id -u)" -ne 0 ]
! command -v restorecon >/dev/null 2>&1 || [ -n "${DESTDIR:-}" ] || restorecon -R "$to"
sed "s#@PREFIX@#$prefix#" "$here/share/nrtd/nrtd.service.in" >"$etc/systemd/system/nrtd.service"
[ -e "$etc/default/nrtd" ] || cp "$here/share/nrtd/nrtd.default" "$etc/default/nrtd"
[ -n "${DESTDIR:-}" ] || ! command -v systemctl >/dev/null 2>&1 || systemctl daemon-reload || true
echo "nrtd is installed in $prefix. Settings: /etc/default/nrtd. To start nrtd: systemctl enable --now nrtd"
