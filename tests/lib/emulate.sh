#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# emulate.sh ARCH COMMAND...: COMMAND where the kernel runs ARCH's programs by qemu-user-static, and their libraries, those of
# build/sysroot/ARCH, are beside this machine's own. Only COMMAND sees the libraries; the kernel knows QEMU until it boots.
# RUNNER names QEMU for the tests. Without COMMAND the kernel knows QEMU then.
set -eu
cd "$(dirname "$0")/../.."
arch=$1
shift
qemu=qemu-$(packaging/arch.sh "$arch" | cut -d' ' -f4)
formats=/proc/sys/fs/binfmt_misc
if [ ! -e "$formats/$qemu" ]; then
	[ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats ||
		{ echo "emulate.sh: this kernel has no binfmt_misc, or this is not root: it cannot run $arch's programs" >&2 && exit 1; }
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
