#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh RELEASE [PROGRAM...]: build programs of ../cmd with the Kubernetes code of a release (1.34, 1.36 ...) into
# build/upstream/PROGRAM-RELEASE, as build_module.sh; "kubelet", the judge, unless others are named. 1.35 is the release of the
# go.mod in the folder above.
set -eu
cd "$(dirname "$0")"
bin=$(cd ../../.. && pwd)/build/upstream
release=$1
shift
[ $# -gt 0 ] || set -- kubelet
if [ ! -e "$release.mod" ] && [ "$release" != 1.35 ]; then
	echo "build.sh: '$release' is no release that pin.sh has" >&2
	exit 1
fi
modules=$PWD/$release.mod
[ "$release" != 1.35 ] || modules=$(cd .. && pwd)/go.mod
for program; do
	GOFLAGS=-modfile=$modules ../build_module.sh . -tags="$(./tags.sh "$release")" -o "$bin/$program-$release" "./cmd/$program" || exit
done
