#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs all static checks, fast ones first, and prints the name and result of each. The first line of a failure says what to do. Exits with
# 1 if a check failed.
# shellcheck disable=SC2046,SC2086,SC2317 # lists of file names without spaces; functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
status=0
check() {
	name=$1
	shift
	if "$@"; then
		echo "ok   $name"
	else
		echo "FAIL $name"
		status=1
	fi
}
sources=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h')
scripts=$(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run 'packaging/kubectl*')
code=$(printf '%s\n' "$sources" | grep -E '^(agent|cli|cluster|common|scoring)/.*\.c$')

# each COMMAND...: run COMMAND for 12 files of standard input at a time, one job per CPU
each() { xargs -P "$(nproc)" -n 12 "$@"; }
format() { clang-format --dry-run --Werror $sources; }
spelling() { codespell --skip './build,./tests/fixtures,./.git' -L "aks,fo,nd,te" $sources $scripts ./*.md doc man scoring/*.md; }
shell() { shellcheck $scripts; }
manuals() { for m in man/*.[1-8]; do mandoc -Tlint -Wwarning "$m" || return 1; done; }
spec() { rpmlint --strict --config packaging/rpmlint.toml packaging/nrtd.spec; }
headers() {
	make -s build/gen/agent/observe/pod_resources.pb-c.h || return 1
	# shellcheck disable=SC2016 # expanded by the inner shell
	printf '%s\n' "$sources" | grep '\.h$' | FLAGS=$(pkg-config --cflags hwloc libcjson cmocka) each sh -c '
		status=0
		for h; do
			printf "#include \"%s\"\n" "$h" | ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -I. -Ibuild/gen $FLAGS \
				-fsyntax-only -x c - || { echo "$h does not stand alone"; status=1; }
		done
		exit $status' headers
}
workflows() {
	status_of_build=0
	tests/upstream/build_module.sh actionlint tool || status_of_build=$?
	case $status_of_build in 0) build/upstream/actionlint ;; 77) ;; *) return 1 ;; esac
}
spdx() { ! grep -L 'SPDX-License-Identifier: Apache-2.0' $sources $scripts Makefile packaging/*.mk tests/*.mk | grep .; }
lengths() {
	! wc -l $sources Makefile | awk '
		{ limit = $2 == "Makefile" ? 250 : 900 }
		$2 != "total" && $1 > limit { print $2 ": " $1 " lines, " limit " allowed"; bad = 1 }
		END { exit !bad }'
}
help() { ! make -s help | awk 'length > 110 { print "over 110 characters: " $0; bad = 1 } END { exit !(bad || NR < 50) }'; }
# Uses the same build directory as make test: after make test DEVELOPER=1, this compiles nothing again.
build() { make -s -j"$(nproc)" DEVELOPER=1 all units; }
map() { tests/check/map.sh >/dev/null; }
symbols() { tests/check/symbols.sh; }
layers() { tests/check/layers.sh; }
portable() { tests/check/portable.sh; }
# Such a line explains nothing, and what it explained may be another line now.
equivalents() { tests/check/mutants.pl stale tests/check/mutants.equivalent $code; }
tidy() {
	printf '%s\n' $code | FLAGS="-std=gnu11 -D_GNU_SOURCE -I. -Ibuild/gen -DNRTD_VERSION=\"lint\" -include common/banned.h $(
		pkg-config --cflags hwloc libcjson yaml-0.1 libxxhash)" each tests/check/tidy.sh
}
analyze() { make -s -j"$(nproc)" DEVELOPER=1 ANALYZE=1 CFLAGS='-O1 -g' build/variant-analyze/libnrtd.a; }

check formatting format
check spelling spelling
check shell shell
check manuals manuals
check "rpm spec" spec
check "GitHub workflows" workflows
check "licence lines" spdx
check "one version" packaging/version.sh
check "file lengths" lengths
check "make help" help
check "modules say what they do" map
check headers headers
check "build, warnings are errors" build
check layers layers
check "kubectl-numa is portable" portable
check "mutants.equivalent" equivalents
check "functions without a caller, circles of calls" symbols
check "the checks themselves" tests/check/test_checks.sh
check clang-tidy tidy
check "gcc -fanalyzer" analyze
exit $status
