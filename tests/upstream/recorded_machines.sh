#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recorded_machines.sh DIR: unpack the recorded machines into DIR, a folder each. Where there are none it says so and ends
# with 0. NRTD_SHARED names the folder above them.
set -eu
for archive in "${NRTD_SHARED:-../shared}"/machines/*.tar.bz2; do
	[ -e "$archive" ] || { echo "skipped: the recorded machines (../shared/machines) are not here"; break; }
	machine=$1/$(basename "$archive" .tar.bz2)
	mkdir "$machine"
	tar -xjf "$archive" -C "$machine" --strip-components=1
done
