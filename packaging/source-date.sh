#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# source-date.sh: print the time of the last change of the source, in seconds since 1970: SOURCE_DATE_EPOCH if it is set, else the time of
# the last commit, else, without git, the time of the last entry of the Debian package's changelog. Reproducible builds use this time
# instead of the current time.
set -eu
cd "$(dirname "$0")/.."
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
	echo "$SOURCE_DATE_EPOCH"
elif [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
	git log -1 --format=%ct
else
	date -d "$(sed -nE '/^ -- /{s/.*>  //p;q}' packaging/debian/changelog)" +%s
fi
