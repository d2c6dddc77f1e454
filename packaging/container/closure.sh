#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# closure.sh PROGRAMS DIR [ARCH]: copy PROGRAMS (one argument, with spaces) to DIR/usr/sbin, and the loader and every shared library that
# the programs load, also at run time, to the directories below DIR where the loader searches. Writes the list of their packages to DIR/usr/share/sbom (packaging/sbom.sh).
# For another ARCH than this machine's, the libraries are in build/sysroot/ARCH.
# closure.sh PROGRAMS "" [ARCH]: print a line for each library: its path, and "PACKAGE VERSION ARCHITECTURE SOURCE SOURCE-VERSION" of its
# Debian package.
# shellcheck disable=SC2086 # PROGRAMS is a list
set -eu
programs=$1
dir=${2:-}
# shellcheck disable=SC2046 # words
set -- $(packaging/arch.sh "${3:-}")
arch=$1 triplet=$3
root=
[ "$arch" = "$(packaging/arch.sh | cut -d' ' -f1)" ] || root=build/sysroot/$arch

# needed FILE: print the names of the libraries that FILE is linked with
needed() { readelf -d "$@" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'; }
# print the libraries that the programs open at run time: strings that end with the name of a library (linkers merge strings with a
# common end)
opened() { strings -n 6 $programs | grep -oE 'lib[a-z0-9_-]+\.so\.[0-9]+$' || true; }
# place NAME: print the path where the loader finds the library
place() {
	for folder in "/lib/$triplet" "/usr/lib/$triplet" /lib64 /lib; do
		[ ! -e "$root$folder/$1" ] || { echo "$folder/$1" && return; }
	done
	echo "closure.sh: there is no $1 for $arch" >&2
	return 1
}
query() { dpkg-query --admindir="${root:+$PWD/$root}/var/lib/dpkg" "$@"; }
# shellcheck disable=SC2016 # dpkg's own placeholders
# package PATH: print the Debian package that contains the file, with or without /usr in its path
package() {
	name=$(query --search "$1" 2>/dev/null || query --search "/usr$1" 2>/dev/null || query --search "${1#/usr}")
	query --show --showformat '${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' "${name%: *}"
}

paths=$(readelf -l $programs | sed -nE 's/.*program interpreter: ([^]]*)\].*/\1/p' | sort -u)
queue=$(needed $programs && opened)
while [ -n "$queue" ]; do
	next=
	for name in $queue; do
		path=$(place "$name")
		case " $paths " in *" $path "* | *"/$name "*) continue ;; esac
		paths="$paths $path"
		next="$next$(needed "$root$path" | sed 's/^/ /')"
	done
	queue=$next
done
if [ -z "$dir" ]; then
	for path in $paths; do
		of=$(package "$path")
		echo "$root$path $of"
	done
	exit
fi
mkdir -p "$dir/usr/sbin" "$dir/etc" "$dir/usr/share/sbom"
for path in $paths; do
	mkdir -p "$dir$(dirname "$path")"
	cp -L "$root$path" "$dir$path"
done
cp $programs "$dir/usr/sbin/"
"${root:+$triplet-}strip" "$dir/usr/sbin/"*
printf 'root:x:0:0:root:/:/\nnobody:x:65532:65532:nobody:/:/\n' >"$dir/etc/passwd"
packages=$(for path in $paths; do package "$path"; done)
echo "$packages" | sort -u | packaging/sbom.sh "$arch" >"$dir/usr/share/sbom/nrtd.cdx.json"
