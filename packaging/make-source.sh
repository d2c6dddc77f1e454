#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-source.sh OUT: pack the source of the committed tree as OUT/nrtd-VERSION.tar.gz. Reproducible: the same commit gives the same bytes
# with any git configuration.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
makefile=$(git -C "$top" show HEAD:Makefile)
version=$(printf '%s\n' "$makefile" | sed -n 's/^VERSION := //p')
mkdir -p "$1"
git -C "$top" -c tar.umask=0022 -c core.autocrlf=false -c core.attributesFile=/dev/null archive --format=tar \
	--prefix="nrtd-$version/" HEAD >"$1/nrtd-$version.tar"
gzip -n -9 -f "$1/nrtd-$version.tar"
