# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A kernel for the virtual machines of tests. The caller has $cache, where it is kept, and $work. Sourced.
# shellcheck disable=SC2154 # the caller's

# get_kernel: $kernel is Debian's cloud kernel, downloaded and unpacked once, not installed
get_kernel() {
	local package
	kernel=${VM_KERNEL:-$(find "$cache" -name 'vmlinuz-*' 2>/dev/null | sort | tail -n 1)}
	[ -z "$kernel" ] || return 0
	[ -n "$(apt-cache show linux-image-cloud-amd64 2>/dev/null)" ] || apt-get update -qq >/dev/null 2>&1
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
	[ -n "$package" ] || return 1
	mkdir -p "$cache" "$work/package" && (cd "$work/package" && apt-get download "$package" >/dev/null 2>&1) &&
		dpkg -x "$work"/package/*.deb "$work/package" && cp "$work"/package/boot/vmlinuz-* "$cache/" || return 1
	kernel=$(find "$cache" -name 'vmlinuz-*' | sort | tail -n 1)
}
# libraries PROGRAM...: the paths of what they load
libraries() { ldd "$@" 2>/dev/null | sed -nE 's/.*[[:space:]](\/[^ ]+) \(0x.*/\1/p'; }
# with_libraries FOLDER PROGRAM...: what they load, at once or when they need it, unless it is there
with_libraries() {
	local folder=$1 library lazy
	shift
	lazy=$(ldconfig -p | sed -nE 's/^[[:space:]]*(libmicrohttpd|libcurl|libnuma)\.so\.[0-9]+ \(.*\) => (.*)/\2/p')
	# shellcheck disable=SC2086 # words
	{ libraries "$@" $lazy && printf '%s\n' $lazy; } | sort -u | while read -r library; do
		[ -e "$folder$library" ] || { mkdir -p "$folder${library%/*}" && cp -L "$library" "$folder$library"; } || return 1
	done
}
