#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-source.sh OUT: the source of the committed tree as OUT/nrtd-VERSION.tar.gz, the same bytes for the same commit whatever the
# user's git is set to.
set -eu
version=$(git -C "$(dirname "$0")/.." show HEAD:Makefile | sed -n 's/^VERSION := //p')
mkdir -p "$1"
git -C "$(dirname "$0")/.." -c tar.umask=0022 archive --format=tar --prefix="nrtd-$version/" HEAD | gzip -n -9 >"$1/nrtd-$version.tar.gz.new"
mv "$1/nrtd-$version.tar.gz.new" "$1/nrtd-$version.tar.gz"
