#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arch.sh [ARCH]: what the tools call an architecture that Kubernetes calls ARCH (default: this machine's), on one line:
# Kubernetes' name, Debian's name, the compilers' prefix, and the end of QEMU's name.
set -eu
machine=${1:-$(uname -m)}
case $machine in
amd64 | x86_64) echo "amd64 amd64 x86_64-linux-gnu x86_64" ;;
arm64 | aarch64) echo "arm64 arm64 aarch64-linux-gnu aarch64" ;;
ppc64le) echo "ppc64le ppc64el powerpc64le-linux-gnu ppc64le" ;;
s390x) echo "s390x s390x s390x-linux-gnu s390x" ;;
*) echo "arch.sh: nrtd is not tried on $machine; it knows amd64, arm64, ppc64le, s390x" >&2 && exit 1 ;;
esac
