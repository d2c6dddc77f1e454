#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make releases-test: this work tree built and its unit tests run with the compiler and the libraries of Debian's and Ubuntu's
# releases, each in a root made by packaging/root.sh. RELEASES chooses: the oldest two that nrtd builds on, and the newest. Where the
# release's glibc is new enough, the program that is built here runs with its libraries. Each check is a line, the last line is
# "N passed, N failed". Where a root cannot be made it says "skipped:".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
releases=${RELEASES:-bullseye jammy trixie}
modules="libcurl hwloc libsystemd libnghttp2 libmicrohttpd libcjson yaml-0.1 libprotobuf-c libxxhash gnutls"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

inside() { packaging/root.sh enter "$root" "$@"; }
# in_source COMMAND: where the source is
in_source() { inside sh -ec "cd /src && $1"; }
# put_source: the work tree's files; what has been built before remains
put_source() {
	mkdir -p "$root/src" && find "$root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} + &&
		git ls-files -z --cached --others --exclude-standard | xargs -0 tar -c --ignore-failed-read | tar -x -C "$root/src"
}
# versions: of the system, the compiler and the libraries, as a line
versions() {
	# shellcheck disable=SC2016 # expanded inside
	inside sh -c '. /etc/os-release && echo "$PRETTY_NAME: gcc $(gcc -dumpfullversion), glibc $(getconf GNU_LIBC_VERSION | cut -d" " -f2)"
		for m in $1; do echo ", ${m#lib} $(pkg-config --modversion "$m")"; done' sh "$modules" | paste -sd ' ' | sed 's/ ,/,/g'
}
# knobs: what is a warning there and not in the others; the compiler of Debian 11 counts a compound literal as a missing member
knobs() {
	echo DEVELOPER=1
	[ "$(inside gcc -dumpversion)" -gt 10 ] || echo '-Wno-missing-field-initializers -Wno-sign-conversion' | sed "s/.*/'CFLAGS=-O2 -g &'/"
}
build() { in_source "make -j$(nproc) $(knobs | paste -sd ' ') all units"; }
units() {
	in_source 'B=build tests/check/run-tests.sh unit' >"$work/units"
	sed -n '/^FAIL/,/^ok /p' "$work/units"
	grep -qE '^[1-9][0-9]* passed, 0 failed' "$work/units"
}
# from_here: built with this machine's headers, for a glibc from before 2.36
from_here() {
	make -j"$(nproc)" B=build/variant-older PACK_RELOCATIONS= build/variant-older/nrtd && cp build/variant-older/nrtd "$root/src/nrtd-from-here"
}
runs_there() { [ "$(in_source './nrtd-from-here --version')" = "$(build/variant-older/nrtd --version)" ]; }
dumps_there() {
	local golden name n=0
	rm -rf "$root/src/machines" && tests/fixtures/machines/make.sh "$root/src/machines" || return 1
	for golden in tests/fixtures/machines/*.nrt.yaml; do
		name=$(basename "$golden" .nrt.yaml)
		in_source "./nrtd-from-here dump --sysroot machines/$name --node-name $name 2>/dev/null" | diff "$golden" - || return 1
		n=$((n + 1))
	done
	[ $n -gt 20 ]
}
asks_there() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -keyout "$work/key" -out "$root/src/ca.crt" || return 1
	printf '{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
	"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority": "/src/ca.crt"}}],
	"users": [{"name": "u", "user": {"token": "t"}}]}\n' >"$root/src/kubeconfig"
	in_source './nrtd-from-here diff --kubeconfig kubeconfig --node-name n --sysroot machines/cxl 2>&1 || true' | tee "$work/answer"
	grep "https://127.0.0.1:1: .*[Cc]onnect" "$work/answer"
}
answer=$(packaging/install-deps.sh roots 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
for release in $releases; do
	# shellcheck disable=SC2034 # of checks.sh
	subject=$release
	root=$(packaging/root.sh make "$release" units 2>"$work/root") || {
		echo "skipped: $(tail -n 1 "$work/root")"
		continue
	}
	cat "$work/root"
	echo "     $(versions)"
	check "the source is there" put_source
	check "nrtd and the tests build, and no warning" build
	check "the unit tests pass" units
	echo "     $(tail -n 1 "$work/units")"
	[ "$release" != bullseye ] || continue # glibc 2.31: what is built on Debian 12 asks for 2.34
	grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release || { echo "skipped: what is built here: its glibc is this machine's" && continue; }
	check "what is built here is there" from_here
	check "it runs with the release's libraries" runs_there
	check "it dumps the recorded machines" dumps_there
	check "it asks an API server" asks_there
done
tally
