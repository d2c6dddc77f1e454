#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arch.sh [ARCH]: print the names of an architecture (default: this machine's) on one line: Kubernetes' name, Debian's name, the prefix of
# the compilers, and the suffix of QEMU's program. ARCH is Kubernetes' name or that of uname -m.
set -eu
machine=${1:-$(uname -m)}
case $machine in
amd64 | x86_64) echo "amd64 amd64 x86_64-linux-gnu x86_64" ;;
arm64 | aarch64) echo "arm64 arm64 aarch64-linux-gnu aarch64" ;;
ppc64le) echo "ppc64le ppc64el powerpc64le-linux-gnu ppc64le" ;;
s390x) echo "s390x s390x s390x-linux-gnu s390x" ;;
*) echo "arch.sh: unknown architecture '$machine': nrtd is tested on amd64, arm64, ppc64le, s390x" >&2 && exit 1 ;;
esac
