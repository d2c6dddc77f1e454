# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A folder in memory for temporary files. Creating thousands of small files is many times as fast there, and so are programs that write
# each change to the disk, such as etcd and the kubelet's managers.

memory=
# use_memory KB: set TMPDIR to a new folder in memory, $memory, which the caller removes. TMPDIR stays as it is if the caller's caller has
# set it, if less than KB is free (a container may have only 64 MB), or if no program can be executed there (noexec).
use_memory() {
	free=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
	[ -z "${TMPDIR:-}" ] && [ "${free:-0}" -gt "$1" ] && mkdir -m 1777 "/dev/shm/t.$$" 2>/dev/null || return 0
	memory=/dev/shm/t.$$
	printf '#!/bin/sh\n' >"$memory/probe" && chmod +x "$memory/probe"
	! "$memory/probe" 2>/dev/null || export TMPDIR="$memory"
}
