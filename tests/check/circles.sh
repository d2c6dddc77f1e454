#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# circles.sh TITLE: print the circles of a graph under TITLE, and fail if there are any. Standard input has one edge "FROM TO" per line.
set -u
circles=$(tsort 2>&1 >/dev/null) && exit 0
echo "$1:" >&2
printf '%s\n' "$circles" | sed -E 's/^tsort: .*input contains a loop:/ circle:/; s/^tsort: /  /' >&2
exit 1
