#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [PREFIX]: put this folder's content into PREFIX (/opt/nrtd) in place of what is there, and a systemd unit and
# its settings into /etc. Nothing is enabled or started; a service that runs goes on with what it has loaded until it is
# restarted. DESTDIR is put before every path.
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
	echo "install.sh: '$prefix' cannot be the folder: choose one of its own, of letters, digits and . _ + - only" >&2
	exit 2
	;;
esac
[ ! -e "$to" ] || [ -e "$to/lib/PACKAGES" ] || {
	echo "install.sh: '$to' is something else" >&2
	exit 1
}
# Beside the old folder and then in its place, so that no file of a running program is overwritten.
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
echo "nrtd is in $prefix; systemctl enable --now nrtd starts it, /etc/default/nrtd has its settings"
