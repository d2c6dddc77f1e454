#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# version.sh: print each line of the tree that names another version of nrtd than VERSION in the Makefile, and exit with 1 if there is one.
# version.sh NEW: write version NEW into the Makefile and into every line that names a version of nrtd. The changelogs, CHANGELOG.md,
# packaging/debian/changelog and the %changelog of packaging/nrtd.spec, need an entry that somebody writes.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION := //p' Makefile)
number='[0-9]+\.[0-9]+\.[0-9]+'
# What precedes a version of nrtd: the name of a file, package, image, folder or tag, or the key of a manifest.
before='((nrtd|kubectl-numa)[a-z-]*[-_:=/ ]|newTag: |^version: |^appVersion: |^Version:? +|^VERSION := |`v|checkout v)'
named() { git grep -nE "$before$1" -- ':!CHANGELOG.md' ':!tests' ':!packaging/debian/changelog'; }

if [ $# -eq 1 ]; then
	printf '%s\n' "$1" | grep -qxE "$number" || { echo "version.sh: '$1' is not a version such as 1.2.3" >&2 && exit 2; }
	named "$number" | cut -d: -f1 | sort -u | xargs sed -i -E "s/$before$number/\1$1/g"
	version=$1
fi
status=0
if named "$number" | sed -E "s/$before$(printf '%s' "$version" | sed 's/\./\\./g')([^0-9]|\$)//g" | grep -E "$before$number"; then
	echo "version.sh: these lines name another version of nrtd than $version" >&2
	status=1
fi
# changelog FILE ENTRY: report that the file lacks the entry of this version
changelog() {
	grep -qE "$2" "$1" && return
	echo "version.sh: $1 has no entry for $version" >&2
	status=1
}
changelog CHANGELOG.md "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\$"
changelog packaging/debian/changelog "^nrtd \($version-[0-9]+\) "
changelog packaging/nrtd.spec "^\* .* - $version-[0-9]+\$"
exit $status
