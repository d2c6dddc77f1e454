#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# emulate.sh ARCH [COMMAND...]: register qemu-user-static for ARCH's programs with the kernel, until the next boot, and run COMMAND with the
# libraries of build/sysroot/ARCH added to this machine's. Only COMMAND sees these libraries. RUNNER names QEMU for the tests.
set -eu
cd "$(dirname "$0")/../.."
arch=$1
shift
qemu=qemu-$(packaging/arch.sh "$arch" | cut -d' ' -f4)
formats=/proc/sys/fs/binfmt_misc
if [ ! -e "$formats/$qemu" ]; then
	[ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats ||
		{ echo "emulate.sh: cannot run $arch's programs: root and a kernel with binfmt_misc are required" >&2 && exit 1; }
	cat "/usr/lib/binfmt.d/$qemu.conf" >$formats/register
fi
[ $# -gt 0 ] || exit 0
export RUNNER="${RUNNER-$qemu-static}" SYSROOT="$PWD/build/sysroot/$arch"
# shellcheck disable=SC2016 # for the shell in the namespace
exec unshare --mount sh -euc '
	mount -t overlay -o "lowerdir=/usr/lib:$SYSROOT/usr/lib:$SYSROOT/lib" overlay /usr/lib
	[ ! -e "$SYSROOT/lib64" ] || mount -t overlay -o "lowerdir=/usr/lib64:$SYSROOT/lib64" overlay /usr/lib64
	unset SYSROOT
	exec "$@"' sh "$@"
