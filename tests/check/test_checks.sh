#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_checks.sh: test that each check of this folder fails on a small tree that breaks its rule, and names the file.
set -u
checks=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# fresh: create a tree that passes every check.
fresh() {
	rm -rf "$work/tree" && mkdir -p "$work/tree"/{common/io,scoring,agent,cluster,cli/numa,build} && cd "$work/tree" || exit 1
	printf '/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n/* Numbers. */\nint number(void);\n' >common/number.h
	printf '#include "common/number.h"\nint number(void)\n{\n\treturn 1;\n}\n' >common/number.c
	printf '/* Files. */\nint file(void);\n' >common/io/file.h
	printf '#include "common/io/file.h"\n#include "common/number.h"\nint file(void)\n{\n\treturn number();\n}\n' >common/io/file.c
	printf '/* The start. */\n#include "common/io/file.h"\nint main(void)\n{\n\treturn file();\n}\n' >cli/numa/main.c
}
compile() {
	local c
	while read -r c; do
		mkdir -p "build/$(dirname "$c")" && cc -I. -ffunction-sections -c -o "build/${c%.c}.o" "$c" || exit 1
	done < <(find agent cli cluster common scoring -name '*.c')
	find build -name '*.o' -exec cc -Wl,--gc-sections -o build/nrtd {} +
}
# content CHECK: the check must pass. refused TEXT CHECK: the check must fail and print TEXT.
content() {
	"$@" >"$work/log" 2>&1 && return
	echo "$*: fails on a correct tree" && cat "$work/log"
	status=1
}
refused() {
	local text=$1
	shift
	if "$@" >"$work/log" 2>&1 || ! grep -qF "$text" "$work/log"; then
		echo "$*: does not fail with '$text'" && cat "$work/log"
		status=1
	fi
}

fresh && compile
content "$checks/includes.sh"
content "$checks/map.sh"
content "$checks/symbols.sh"

fresh && echo '#include "cli/numa/main.h"' >>common/io/file.c
refused "common/io/file includes cli/numa/main: cli/numa/ comes after common/io/" "$checks/includes.sh"
fresh && mkdir -p cluster/model agent/run && echo '#include "agent/run/loop.h"' >cluster/model/cache.c
refused "cluster/model/cache includes agent/run/loop: agent/ and cluster/ use nothing of each other" "$checks/includes.sh"
fresh && echo '#include "common/number.h"' >agent/old.c
refused "agent/old: agent/ is not in tests/check/folders" "$checks/includes.sh"
fresh && mkdir agent/attic && echo '#include "common/number.h"' >agent/attic/old.c
refused "agent/attic/ is not in tests/check/folders" "$checks/includes.sh"
fresh && echo '#include "common/io/text.h"' >>common/io/file.c && echo '#include "common/io/file.h"' >common/io/text.h
refused "common/io/text" "$checks/includes.sh"

fresh && echo 'int text(void);' >common/io/text.h
refused "common/io/text.h: no comment at its head" "$checks/map.sh"

fresh && printf 'int forgotten(void)\n{\n\treturn 2;\n}\n' >>common/io/file.c && compile
refused "common/io/file.c: no program calls forgotten" "$checks/symbols.sh"
fresh && printf '#include "common/io/file.h"\nint number(void)\n{\n\treturn file() + 2;\n}\n' >common/number.c && compile
refused "common/number" "$checks/symbols.sh"

fresh && { printf 'int file(void)\n{\n\tint n = 0;\n\n' && yes '	n += 1;' | head -n 80 && printf '\treturn n;\n}\n'; } >common/io/file.c
refused "readability-function-size" clang-tidy --quiet --config-file "$checks/../../.clang-tidy" common/io/file.c -- -I.

numa() { cc -D_GNU_SOURCE "$@" -I. -o build/kubectl-numa cli/numa/main.c common/io/file.c common/number.c; }
fresh && numa && content "$checks/portable.sh"
fresh && printf '#include <unistd.h>\nint number(void)\n{\n\tint fds[2];\n\treturn pipe2(fds, 0);\n}\n' >common/number.c && numa
refused "kubectl-numa calls 'pipe2'" "$checks/portable.sh"
fresh && sed -i '1i#include <linux/openat2.h>' common/number.c && numa
refused "common/number.c: not on the list of headers" "$checks/portable.sh"
fresh && numa -Wl,--no-as-needed -lnuma && refused "kubectl-numa uses libnuma" "$checks/portable.sh"

fresh && echo 'number.c: return 1; => { return 0;' >list
content "$checks/mutants.pl" stale list common/number.c
echo 'number.c: return 2; => { return 3;' >>list
refused "list: no such change: number.c: return 2;" "$checks/mutants.pl" stale list common/number.c

# tidy.sh checks a file that passed again when an included header has changed, and a file that failed every time.
# shellcheck disable=SC2317 # called by name
tidy() { FLAGS=-I. TIDY_CACHE=$work/passes "$checks/tidy.sh" common/io/file.c; }
fresh && cp "$checks/../../.clang-tidy" . && content tidy
[ "$(find "$work/passes" -type f | wc -l)" -eq 1 ] || { echo "tidy.sh does not cache a pass" && status=1; }
content tidy
{ printf 'static inline int many(void)\n{\n\tint n = 0;\n\n' && yes '	n += 1;' | head -n 80 && printf '\treturn n;\n}\n'; } >>common/number.h
refused "readability-function-size" tidy
refused "readability-function-size" tidy

# On a system without any tools, install-deps.sh must name the packages that the checks need.
for tool in clang-format clang-tidy libclang-rt-dev shellcheck; do
	refused "$tool" env PATH="$work/nothing" /bin/sh "$checks/../../packaging/install-deps.sh" lint
done
refused libhwloc-dev env PATH="$work/nothing" /bin/sh "$checks/../../packaging/install-deps.sh" build
exit $status
