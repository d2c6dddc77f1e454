#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the direction of includes (includes.sh), that only one file includes each third-party library, and that objects of scoring/ call
# only memory, string, sorting and bitmap functions. B is the build directory.
# shellcheck disable=SC2046 # lists of file names without spaces
set -eu
B=${B:-build}
status=0
bad() {
	echo "layers: $*" >&2
	status=1
}

tests/check/includes.sh || status=1
for f in scoring/*.[ch]; do
	! grep -nE '^#include <(stdio|time|unistd|fcntl|sys/|pthread)' "$f" || bad "$f: scoring does I/O or reads a clock"
done

# Only one file may include each of these headers.
for header in hwloc.h numa.h cjson/cJSON.h yaml.h xxhash.h microhttpd.h gnutls/gnutls.h nghttp2/nghttp2.h curl/curl.h systemd/sd-event.h; do
	users=$(grep -rlE --include="*.[ch]" "^#include <$header>" agent cli cluster common scoring | sort)
	n=$(printf '%s\n' "$users" | grep -c .) || true
	[ "$n" -le 1 ] || bad "<$header> is included by $n files: $(echo "$users" | tr '\n' ' ')"
done

# Objects of scoring/ may call only these functions and nrtd's own: they neither read a clock nor do I/O.
allowed='^(mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|chr|rchr|str|dup|ndup)|malloc|calloc|realloc|free|qsort|bsearch|abs|'
allowed=$allowed'(l)?round|floor|ceil|sqrt|fabs|hwloc_bitmap_[a-z_]*|__stack_chk_fail|__(mem(cpy|move|set)|v?snprintf)_chk|v?snprintf|'
allowed=$allowed'_GLOBAL_OFFSET_TABLE_|strn?len|strc?spn|strtok_r|strto(f|ul)|fnmatch|__errno_location|__(u|)(div|mod|divmod)ti[34]|__popcountdi2|__assert_fail|__asan_.*|__ubsan_.*|__gcov_.*)$'
objects() { find "$@" -name '*.c' | sed "s|^|$B/|; s|c\$|o|"; } # objects of present sources only: a moved file leaves its object behind
[ -e "$B/nrtd" ] || exit $status
ours=$(nm --defined-only -g $(objects scoring common) | awk 'NF == 3 {print $3}' | sort -u)
for o in $(objects scoring); do
	for s in $(nm -u "$o" | awk '{print $NF}' | sort -u); do
		printf '%s\n' "$s" | grep -qE "$allowed" && continue
		printf '%s\n' "$ours" | grep -qxF "$s" && continue
		bad "$o calls '$s', which is not on scoring's list"
	done
	# Static data that can change; tables of pointers are relocated once and then read-only (.data.rel.ro).
	changing=$(size -A "$o" | awk '$1 ~ /^\.(data|bss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 {print $1}')
	[ -z "$changing" ] || bad "$o has static data that can change: $changing"
done
exit $status
