#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh RELEASE...: build the judge of kubelets of these releases (1.34, 1.36 ...) into build/upstream/kubelet-RELEASE, as
# build_module.sh. 1.35 is the release of the go.mod in the folder above.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream
for release; do
	if [ ! -e "$release.mod" ] && [ "$release" != 1.35 ]; then
		echo "build.sh: '$release' is no release that pin.sh has" >&2
		exit 1
	fi
	modules=$PWD/$release.mod
	[ "$release" != 1.35 ] || modules=$(cd .. && pwd)/go.mod
	GOFLAGS=-modfile=$modules ../build_module.sh . -tags="$(./tags.sh "$release")" \
		-o "$bin/kubelet-$release" ./cmd/kubelet || exit
done
