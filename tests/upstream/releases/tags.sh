#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tags.sh RELEASE: the build tags that choose the adapters for the code of a release (1.34): "until_1.34" for it and older ones,
# "since_1.36" for it and newer ones, "unmodified" for all but 1.35: schedulers without scheduler-plugins.
set -eu
minor=${1#1.}
tags=
[ "$minor" -eq 35 ] || tags=unmodified
[ "$minor" -gt 34 ] || tags=$tags,until_1.34
for known in 36 37 38; do
	[ "$minor" -lt "$known" ] || tags=$tags,since_1.$known
done
printf '%s\n' "$tags"
