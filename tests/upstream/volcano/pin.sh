#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the modules of Volcano's scheduler for the versions below: RELEASE.mod and RELEASE.sum. A module of its own,
# because it needs other versions of the same libraries than the Kubernetes code does.
set -eu
# pin RELEASE VERSION APIS [TOOL]: Volcano is published with its apis replaced by a folder of its own tree.
pin() {
	mod=$(go mod download -json "volcano.sh/volcano@$2" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
	{
		printf 'module nrtd.dev/tests/upstream/volcano\n\ngo 1.25.0\n\nrequire volcano.sh/volcano %s\n\n' "$2"
		[ -z "${4:-}" ] || printf 'tool %s\n\n' "$4"
		sed -n '/^replace (/,/^)/p' "$mod" | grep -v '=> \./'
		echo "replace volcano.sh/apis => volcano.sh/apis $3"
	} >"$1.mod"
	rm -f "$1.sum"
	go mod tidy -modfile="$1.mod"
}

cd "$(dirname "$0")"
pin 1.10 v1.10.0 v1.10.0
pin 1.14 v1.14.1 v1.14.0
pin 1.15 v1.15.1 v1.14.0 volcano.sh/volcano/cmd/scheduler
