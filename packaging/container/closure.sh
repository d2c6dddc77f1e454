#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# closure.sh PROGRAM DIR: put PROGRAM into DIR/usr/sbin with every shared library it loads, those it opens while it runs
# included, and the loader, where the loader looks for them.
set -eu
program=$1
dir=$2

# what the program opens by name: strings that are the name of a library
opened() {
	strings -n 6 "$program" | grep -E '^lib[a-z0-9_-]+\.so\.[0-9]+$' || true
}
# the paths of a file's libraries and of the loader
libraries() {
	ldd "$1" | sed -nE 's/.* => (\/[^ ]+) .*/\1/p; s/^[[:space:]]*(\/[^ ]+) .*/\1/p'
}
{
	libraries "$program"
	opened | while read -r name; do
		path=$(ldconfig -p | sed -nE "s/^[[:space:]]*$name \(.*\) => (.*)/\1/p" | head -n 1)
		[ -n "$path" ] || { echo "closure.sh: $name is not on this machine" >&2; exit 1; }
		echo "$path"
		libraries "$path"
	done
} | sort -u | while read -r path; do
	mkdir -p "$dir$(dirname "$path")"
	cp -L "$path" "$dir$path"
done
mkdir -p "$dir/usr/sbin" "$dir/etc"
cp "$program" "$dir/usr/sbin/nrtd"
strip "$dir/usr/sbin/nrtd"
printf 'root:x:0:0:root:/:/\nnobody:x:65532:65532:nobody:/:/\n' >"$dir/etc/passwd"
