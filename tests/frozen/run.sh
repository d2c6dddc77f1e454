#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh FLAG...: builds the programs of the commit that tests/frozen/base names, and compares the answers of today's programs with theirs
# (frozen.py). The base's programs stay in build/frozen/COMMIT. Without git, the commit or python3 the script prints "skipped:". B names the
# build folder. NRTD_SHARED is a folder with archives of recorded machines (../shared/machines).
set -eu -o pipefail
cd "$(dirname "$0")/../.."
skip() { echo "skipped: $*" && exit 0; }
export LC_ALL=C HWLOC_HIDE_ERRORS=2 PYTHONDONTWRITEBYTECODE=1
B=${B:-build}
commit=$(cat tests/frozen/base)
work=$PWD/build/frozen
base=$work/$commit
command -v python3 >/dev/null || skip "there is no python3 here"

if [ ! -e "$base/built" ]; then
	git cat-file -e "$commit^{commit}" 2>/dev/null || skip "the history does not have the base, commit $commit"
	rm -rf "$base" && mkdir -p "$base"
	echo "building the programs of $commit" >&2
	git archive "$commit" | tar -x -C "$base"
	# Without the variables of the calling make.
	env -u MAKEFLAGS -u MAKELEVEL -u B make -s -C "$base" -j"$(nproc)" build/nrtd build/kubectl-numa build/nrtd-extender build/tests/scenario/pod_resources >&2
	(cd "$base" && B=build KEEP='' tests/demo/demo.sh >build/demo.log 2>&1) || { tail -n 5 "$base/build/demo.log" >&2 && exit 1; }
	touch "$base/built"
fi
if [ ! -e "$work/clock.so" ] || [ tests/frozen/clock.c -nt "$work/clock.so" ]; then
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -shared -fPIC -o "$work/clock.so" tests/frozen/clock.c
fi
shared=()
archives=${NRTD_SHARED:-../shared/machines}
if [ -d "$archives" ]; then
	shared=(--shared "$work/recorded")
	if [ ! -d "$work/recorded" ]; then
		rm -rf "$work/recorded.new" && mkdir -p "$work/recorded.new"
		for archive in "$archives"/*.tar.bz2; do
			name=$(basename "$archive" .tar.bz2)
			mkdir "$work/recorded.new/$name"
			tar -xjf "$archive" -C "$work/recorded.new/$name" --strip-components=1 --wildcards '*/sys' '*/proc' 2>/dev/null || :
		done
		mv "$work/recorded.new" "$work/recorded"
	fi
else
	echo "skipped: recorded machines: there is no folder $archives"
fi
exec python3 tests/frozen/frozen.py --base "$base" --build "$PWD/$B" --clock "$work/clock.so" --machines "$PWD/build/fixtures/machines" --work "$work" "${shared[@]}" "$@"
