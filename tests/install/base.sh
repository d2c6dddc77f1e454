# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# buildah in a storage of the tests' own, which has the Dockerfile's base image: a Debian tree made by debootstrap, for no
# registry is asked. Sourced; $work is the script's.
# shellcheck disable=SC2154
cache=build/container

b() { buildah --root "$cache/storage" --runroot "$work/runroot" --storage-driver overlay "$@"; }

# make_tree: $cache/root, the least Debian 12
make_tree() {
	local mirror
	[ ! -e $cache/root.done ] || return 0
	mirror=$(tests/install/mirror.sh 2>"$work/debootstrap") || return 1
	echo "     debootstrap bookworm from $mirror, once"
	mkdir -p $cache && rm -rf $cache/root
	debootstrap --variant=minbase bookworm $cache/root "$mirror" >"$work/debootstrap" 2>&1 || return 1
	rm -f $cache/root/var/cache/apt/archives/*.deb
	touch $cache/root.done
}
# make_base: the Dockerfile's FROM, made of that tree, or skip
make_base() {
	local base container
	make_tree || skip "debootstrap fails here: $(tail -n 1 "$work/debootstrap")"
	base=docker.io/library/$(sed -nE 's/^FROM .*(debian:[^ ]*) .*/\1/p' packaging/container/Dockerfile)
	{
		b inspect --type image "$base" >/dev/null 2>&1 ||
			{ container=$(b from scratch) && b add --quiet "$container" $cache/root / &&
				b commit --quiet "$container" "$base" && b rm "$container"; }
	} >"$work/base" 2>&1 || skip "buildah fails here: $(tail -n 1 "$work/base")"
}
