# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# buildah in a storage of the tests' own, which has the Dockerfile's base image: a Debian tree made by debootstrap, for no
# registry is asked. Sourced; $work is the script's.
# shellcheck disable=SC2154
cache=build/container

b() { buildah --root "$cache/storage" --runroot "$work/runroot" --storage-driver overlay "$@"; }

# make_base: the Dockerfile's FROM, made of that tree, or skip
make_base() {
	local base container tree
	mkdir -p $cache
	tree=$(packaging/root.sh make bookworm) || skip "the base image's tree cannot be made"
	base=docker.io/library/$(sed -nE 's/^ARG BASE=(.*)/\1/p' packaging/container/Dockerfile)
	{
		b inspect --type image "$base" >/dev/null 2>&1 ||
			{ container=$(b from scratch) && b add --quiet "$container" "$tree" / &&
				b commit --quiet "$container" "$base" && b rm "$container"; }
	} >"$work/base" 2>&1 || skip "buildah fails here: $(tail -n 1 "$work/base")"
}
