# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the programs of this folder run in. Sourced from the top of the tree right behind build.sh: where that says so the
# script ends, successfully if there is no Go. Sets $work, a folder that goes at the end; a cluster in $work/cluster is
# stopped before.
# shellcheck disable=SC2034,SC2154 # the scripts use and set them
status=$?
[ "$status" -ne 77 ] || exit 0
[ "$status" -eq 0 ] || exit 1
. tests/lib/memory.sh
use_memory 4000000
work=$(mktemp -d)
instances=
leave() {
	[ -z "$instances" ] || (echo "$instances" >/proc/sys/fs/inotify/max_user_instances) 2>/dev/null
	[ ! -e "$work/cluster/controlplane.pid" ] || "$here/cluster.sh" stop "$work/cluster"
	rm -rf "$work" ${memory:+"$memory"}
}
trap leave EXIT
trap 'exit 1' INT TERM

# The machines of testdata/outcome, each in a folder of its name in FOLDER.
outcome_machines() { # FOLDER
	for spec in tests/upstream/testdata/outcome/*.spec; do
		machine=$1/$(basename "$spec" .spec)
		mkdir "$machine" && awk -v out="$machine" -f tests/fixtures/machines/make.awk "$spec" || return 1
	done
}

# A user may have so many inotify instances until the script ends, where that may be changed.
want_inotify() { # NUMBER
	: "${instances:=$(cat /proc/sys/fs/inotify/max_user_instances)}"
	[ "$instances" -ge "$1" ] || (echo "$1" >/proc/sys/fs/inotify/max_user_instances) 2>/dev/null
}
