#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# newest.sh RELEASE: print the newest version of k8s.io/kubernetes that the module proxy serves of a release (1.38), without
# its "v": the newest patch, else the newest pre-release, else nothing. The proxy lists only some of the versions that it serves
# by their names. This script requests the versions after the newest listed one by their names, one after the other.
# Exit status 1 if the proxy cannot be reached.
set -eu
release=$1
# The search ends when this many versions in a row are missing. Kubernetes has skipped patch numbers.
missing_in_a_row=4
listed=$(go list -m -versions k8s.io/kubernetes)
# served VERSION: whether the proxy serves the version. Any other error than a missing version ends the script.
served() {
	! answer=$(go list -m "k8s.io/kubernetes@v$1" 2>&1) || return 0
	case $answer in
	*'not available'* | *'unknown revision'* | *'not found'* | *'no matching versions'*) return 1 ;;
	esac
	printf 'newest.sh: %s\n' "$answer" >&2
	exit 1
}
# find_newest PREFIX: set `newest` to the version PREFIXn with the highest n, or to nothing
find_newest() {
	newest=$(printf '%s\n' "$listed" | tr ' ' '\n' | awk -v prefix="v$1" '
		index($0, prefix) == 1 && (n = substr($0, length(prefix) + 1)) ~ /^[0-9]+$/ && n + 0 >= newest + 0 {newest = n}
		END {print newest}')
	next=$((${newest:--1} + 1))
	missing=0
	while [ "$missing" -lt $missing_in_a_row ]; do
		if served "$1$next"; then
			newest=$next
			missing=0
		else
			missing=$((missing + 1))
		fi
		next=$((next + 1))
	done
	newest=${newest:+$1$newest}
}
for prefix in "$release." "$release.0-rc." "$release.0-beta." "$release.0-alpha."; do
	find_newest "$prefix"
	[ -z "$newest" ] || break
done
[ -z "$newest" ] || printf '%s\n' "$newest"
