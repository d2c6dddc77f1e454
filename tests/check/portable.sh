#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# portable.sh: fail if kubectl-numa, which people build on macOS, calls a function or includes a header that macOS lacks, or uses a library of
# the daemons. B is the build directory.
set -u
export LC_ALL=C
B=${B:-build}
status=0
bad() {
	echo "portable: $*" >&2
	status=1
}

# Functions of POSIX.1-2008, and those that both glibc and macOS add to it. memfd_create is called only where <sys/mman.h> has MFD_CLOEXEC.
allowed='abort|access|alphasort|assert_fail|bsearch|calloc|clock_gettime|close|ctype_b_loc|dlclose|dlerror|dlopen|dlsym|environ|errno_location|'
allowed=$allowed'exit|gmtime_r|strftime|fclose|fcntl|fdopen|ferror|fflush|fgets|fileno|fnmatch|fopen|fprintf|fputs|fread|free|fstat|fwrite|getenv|getline|'
allowed=$allowed'ioctl|isatty|kill|mem(ccpy|chr|cmp|cpy|mem|move|set)|memfd_create|malloc|nanosleep|nl_langinfo|open|pipe|poll|'
allowed=$allowed'posix_spawn[a-z_0-9]*|lstat|printf|pselect|pthread_[a-z_]*|putchar|puts|qsort|raise|read|realloc|rewind|scandir|setenv|setlocale|'
allowed=$allowed'sig(action|addset|delset|emptyset|fillset|ismember|procmask)|(v?sn|va?s|f)printf|sscanf|stat|std(err|in|out)|str(case|ncase)cmp|strcasestr|stpcpy|'
allowed=$allowed'str(chr|cmp|coll|cpy|cspn|dup|error|len|n?cat|ncmp|ncpy|ndup|nlen|pbrk|ptime|rchr|spn|str|tod|tof|tok_r|tol|toll|toul|toull)|time|timegm|'
allowed=$allowed'tdelete|tfind|tmpfile|tolower|toupper|tsearch|waitpid|write|(l)?round|ceil|fabs|floor|nearbyint|sqrt|hwloc_bitmap_[a-z_]*|cJSON_[A-Za-z]*|yaml_[a-z_]*|XXH64'
# Functions of the compiler and of the program's start.
allowed=$allowed'|libc_start_main|cxa_finalize|gmon_start__|ITM_(de)?registerTMCloneTable|stack_chk_(fail|guard)|asan_.*|ubsan_.*|gcov_.*|aarch64_.*'
headers='assert|ctype|dirent|dlfcn|errno|fcntl|float|fnmatch|inttypes|langinfo|limits|locale|math|poll|pthread|signal|spawn|stdarg|stdatomic|'
headers=$headers'stdbool|stddef|stdint|stdio|stdlib|string|strings|search|time|unistd|sys/(ioctl|mman|select|stat|types|wait)|'
headers=$headers'hwloc(/bitmap)?|cjson/cJSON|yaml|xxhash|curl/curl'

folders=$(sed -n 's/ .*//; /^agent\/\|http\|extender\|nrtd/!s/$/*.[ch]/p' "$(dirname "$0")/folders")
for f in $folders; do
	case $f in
	*'*'* | common/kube/backoff.c) ;; # no file, or not a file of kubectl-numa
	*) ! grep -nE '^#include <' "$f" | grep -vE "<($headers)\.h>" >&2 || bad "$f: not on the list of headers" ;;
	esac
done
for s in $(nm -D --undefined-only "$B/kubectl-numa" | awk '{print $NF}' | sed 's/@.*//; s/^_*//; s/^isoc[0-9]*_//; s/_chk$//; s/^open_2$/open/'); do
	printf '%s\n' "$s" | grep -qxE "$allowed" || bad "kubectl-numa calls '$s', which is not on the list of functions"
done
for library in systemd numa nghttp2 microhttpd gnutls protobuf-c; do
	{ readelf -d "$B/kubectl-numa" && strings -n 6 "$B/kubectl-numa"; } 2>/dev/null | grep -qE "lib$library\.so" || continue
	bad "kubectl-numa uses lib$library"
done
exit $status
