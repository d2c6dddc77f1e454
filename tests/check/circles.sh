#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# circles.sh TITLE: fail when the graph on standard input, one "FROM TO" a line, has a circle; each is printed under TITLE.
set -u
circles=$(tsort 2>&1 >/dev/null) && exit 0
echo "$1:" >&2
printf '%s\n' "$circles" | sed -E 's/^tsort: .*input contains a loop:/ circle:/; s/^tsort: /  /' >&2
exit 1
