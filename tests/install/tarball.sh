#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make tarball-test: the archive of make tarball, which has its libraries with it. It is built twice in different folders and
# has to have the same bytes; its files may ask for no newer glibc than it says; and it runs in the least systems of several
# releases (packaging/root.sh; ROOTS chooses), where nothing has been installed. The archives for other architectures (ARCHS) are
# looked at in the same way, and QEMU runs their program. Each check is a line, the last line is "N passed, N failed".
# Where a root cannot be made it says "skipped:". No SELinux and no systemd is running in these roots.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
B=${B:-build}
roots=${ROOTS-bookworm trixie jammy noble}
archs=${ARCHS-arm64 ppc64le s390x}
version=$(sed -n 's/^VERSION := //p' Makefile)
ceiling=2.34 # the newest glibc that may be asked for: the first with libpthread in it
machines=build/fixtures/machines
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
tree=$work/nrtd-$version
objdump=objdump
refused="Connection refused\|Couldn't connect" # as old and new libraries say it

# ---- the archive

pack() { SOURCE_DATE_EPOCH=1700000000 packaging/make-tarball.sh "$work/$1"; }
archive() { echo "$work/$1/nrtd-$version-linux-"*.tar.gz; }
same_bytes() { cmp "$(archive first)" "$(archive second)"; }
# one_folder: and nothing in it that others may write, or that belongs to the one who has built it
one_folder() {
	tar -tvzf "$(archive first)" >"$work/list"
	! awk -v top="nrtd-$version/" 'index($NF, top) != 1 || $2 != "0/0" || $1 ~ /^[-d].{7}w/ { print }' "$work/list" | grep .
}
small() { [ "$(stat -c %s "$(archive first)")" -lt 12000000 ]; }
elf_programs() { grep -lP '\A\x7fELF' "$tree"/bin/*; }
elf_files() { elf_programs && find "$tree/lib" -type f ! -name PACKAGES; }
# glibc: of all that is asked of it
glibc() { elf_files | xargs "$objdump" -T | grep -oE 'GLIBC_[A-Z0-9._]+' | sort -uV; }
ceiling() {
	glibc | tail -n 3
	[ "$(glibc | tail -n 1)" = GLIBC_$ceiling ] && grep "^nrtd $version .* with glibc $ceiling or later" "$tree/README"
}
# no_own: neither glibc nor its loader is in the folder, and no file of it says where to look but the programs
no_own() {
	! elf_files | grep -E '/(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util))\.so\.[0-9]+$' || return 1
	elf_files | while read -r f; do
		readelf -d "$f" | sed -n "s#.*(\(R.*PATH\)).*\[\(.*\)\]#${f##*/} \1 \2#p"
	done | diff - <(elf_programs | sed "s#.*/##; s#\$# RPATH \$ORIGIN/../lib#")
}
# listed: every library with its package, version and licence, and nothing else
listed() {
	local package licence files
	: >"$work/listed"
	while read -r package _ _ _ licence files; do
		[ -s "$tree/$licence" ] || { echo "$package: no $licence" && return 1; }
		tr ' ' '\n' <<<"$files" >>"$work/listed"
	done < <(grep -v '^#' "$tree/lib/PACKAGES")
	find "$tree/lib" -type f ! -name PACKAGES -printf '%f\n' | sort | diff - <(sort "$work/listed")
}
materials() { sed -n 's/.*"type": "library".* "name": "\([^"]*\)", "version": "\([^"]*\)".*/\1 \2/p' "$tree/share/doc/nrtd/nrtd.cdx.json" |
	diff - <(grep -v '^#' "$tree/lib/PACKAGES" | cut -d ' ' -f 1-2); }
# licences: the texts that they name are there too
licences() {
	! grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$tree/share/doc/licences" | sed 's#.*/##' | sort -u |
		while read -r text; do
			[ -s "$tree/share/doc/licences/common/$text" ] || echo "$text"
		done | grep .
}

# ---- what it speaks to: a TLS server that asks for a certificate, from openssl(1)

leaf() { # leaf NAME
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.csr" &&
		openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
			-extfile <(echo subjectAltName=IP:127.0.0.1) -out "$work/$1.crt"
}
ca() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.crt"
}
kubeconfig() { # kubeconfig CA PORT
	printf '{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
	"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:%s"%s}}],
	"users": [{"name": "u", "user": {"client-certificate": "/mnt/client.crt", "client-key": "/mnt/client.key"}}]}\n' \
		"$2" "${1:+, \"certificate-authority\": \"/mnt/$1.crt\"}"
}
serve() {
	{ ca ca && ca other && leaf server && leaf client; } >"$work/openssl" 2>&1 || return 1
	openssl s_server -accept 127.0.0.1:0 -cert "$work/server.crt" -key "$work/server.key" -CAfile "$work/ca.crt" -Verify 1 \
		-verify_return_error -www >"$work/server.log" 2>&1 &
	server=$!
	eventually 5 grep -q ACCEPT "$work/server.log" || return 1
	port=$(sed -n 's/^ACCEPT .*://p' "$work/server.log")
	kubeconfig ca "$port" >"$work/right.json"
	kubeconfig other "$port" >"$work/wrong.json"
	kubeconfig "" "$port" >"$work/without.json"
	kubeconfig ca 1 >"$work/closed.json"
}

# ---- in a root

inside() { ROOT_MOUNT=$work packaging/root.sh enter "$root" "$@"; }
nrtd() { inside "/mnt/nrtd-$version/bin/nrtd" "$@"; }
says_version() {
	[ "$(nrtd --version)" = "nrtd $version" ] &&
		[ "$(inside "/mnt/nrtd-$version/bin/nrtd-extender" --version)" = "nrtd-extender $version" ]
}
# dumps: the recorded machines' objects, as the tests of this source have them
dumps() {
	local name n=0
	# shellcheck disable=SC2016 # expanded inside
	inside sh -c 'for m in /mnt/machines/*/; do name=${m%/} && name=${name##*/}
		"$0" dump --sysroot "$m" --node-name "$name" >"/mnt/dump/$name" 2>/dev/null; done' "/mnt/nrtd-$version/bin/nrtd"
	for golden in tests/fixtures/machines/*.nrt.yaml; do
		name=$(basename "$golden" .nrt.yaml)
		n=$((n + 1))
		diff -u "$golden" "$work/dump/$name" || return 1
	done
	rm -f "$work/dump"/*
	echo "$n machines"
	[ $n -gt 20 ]
}
# as_here PROGRAM ARGUMENTS...: the same output and status as of the program that has been built here
as_here() {
	local program=$1 status=0 status_here=0
	shift
	"$B/$program" "${@//\/mnt/$work}" >"$work/here" 2>&1 || status_here=$?
	inside "/mnt/nrtd-$version/bin/$program" "$@" >"$work/there" 2>&1 || status=$?
	diff <(sed "s#$work#/mnt#g" "$work/here") "$work/there" && [ $status -eq $status_here ]
}
score() { as_here kubectl-numa score --from /mnt/examples/kep-nodes.yaml -f /mnt/examples/kep-pod.yaml; }
fit() { as_here nrtd fit --sysroot /mnt/machines/seed-2s-32cpu --cpu-manager-policy static --topology-manager-policy single-numa-node \
	cpu=4,memory=1Gi; }
# asks KUBECONFIG TEXT: what nrtd diff says of that server
asks() {
	nrtd diff --kubeconfig "/mnt/$1.json" --node-name n --sysroot /mnt/machines/cxl >"$work/answer" 2>&1
	cat "$work/answer"
	grep -q "$2" "$work/answer"
}
newer_openssl() {
	cat >"$work/openssl.cnf" <<-END
		openssl_conf = openssl_init
		[openssl_init]
		providers = provider_sect
		ssl_conf = ssl_sect
		[provider_sect]
		default = default_sect
		[default_sect]
		activate = 1
		[ssl_sect]
		system_default = system_default_sect
		[system_default_sect]
		CipherString = DEFAULT:@SECLEVEL=2
	END
	inside env OPENSSL_CONF=/mnt/openssl.cnf "/mnt/nrtd-$version/bin/nrtd" diff --kubeconfig /mnt/right.json --node-name n \
		--sysroot /mnt/machines/cxl >"$work/answer" 2>&1
	cat "$work/answer"
	grep -q "not valid JSON" "$work/answer"
}
# own_libraries: what is mapped from elsewhere is glibc's
own_libraries() {
	grep -c "/nrtd-$version/lib/" "$work/maps"
	grep -q "/nrtd-$version/lib/libcurl.so.4" "$work/maps" && grep -q "/nrtd-$version/lib/libmicrohttpd.so.12" "$work/maps" &&
		! awk '$6 ~ /\.so/ { print $6 }' "$work/maps" | sort -u | grep -v "/nrtd-$version/lib/" |
			grep -vE '/(ld|lib(c|m|dl|pthread|rt|resolv|util|nss_[a-z]+))[-.0-9a-z_]*\.so[.0-9]*$'
}
libnuma() {
	inside env LD_DEBUG=libs "/mnt/nrtd-$version/bin/nrtd" check >"$work/check" 2>&1
	grep libnuma "$work/check"
	grep -q "calling init: /mnt/nrtd-$version/.*/libnuma.so.1" "$work/check" && grep -q '^ok *libnuma *agrees' "$work/check"
}
metrics() { curl -sf "http://127.0.0.1:$http/metrics" | grep -q '^nrtd_build_info'; }
failed_to_publish() { grep -q "$refused" "$work/run"; }
itself() {
	cat "/proc/$pid/comm" && readlink "/proc/$pid/exe"
	[ "$(cat "/proc/$pid/comm")" = nrtd ] && [[ $(readlink "/proc/$pid/exe") == */mnt/nrtd-$version/bin/nrtd ]]
}
# the_agent: nrtd run, with an API server that is not there, which loads both of the libraries that are loaded when needed
the_agent() {
	http=$((20000 + RANDOM % 12000)) # below those that the kernel chooses
	inside "/mnt/nrtd-$version/bin/nrtd" run --kubeconfig /mnt/closed.json --node-name n --lock none --http 127.0.0.1:$http \
		--sysroot /mnt/machines/cxl >"$work/run" 2>&1 &
	agent=$!
	check "nrtd run answers about its metrics" eventually 10 metrics
	check "and says that the API server does not answer" eventually 10 failed_to_publish
	pid=$(pgrep -f "^/mnt/nrtd-$version/bin/nrtd run .*:$http" | head -n 1)
	check "the process is nrtd" itself
	cat "/proc/$pid/maps" >"$work/maps"
	check "every library but glibc's is the archive's" own_libraries
	kill "$pid"
	wait "$agent"
	check "it ends with 0" test $? -eq 0
}
# installed: by its script, in a folder; again over it; and nowhere else
installs() {
	inside env DESTDIR=/mnt/installed "/mnt/nrtd-$version/install.sh" && echo NRTD_HTTP=off >>"$work/installed/etc/default/nrtd" &&
		inside env DESTDIR=/mnt/installed "/mnt/nrtd-$version/install.sh" /opt/nrtd/ && tail -n 1 "$work/installed/etc/default/nrtd" | grep -x NRTD_HTTP=off
}
unit() {
	local program
	program=$(sed -n 's/^ExecStart=\([^ ]*\) run$/\1/p' "$work/installed/etc/systemd/system/nrtd.service")
	[ "$program" = /opt/nrtd/bin/nrtd ] && [ "$(inside "/mnt/installed$program" --version)" = "nrtd $version" ]
}
refuses() {
	local prefix
	for prefix in /usr / opt/nrtd '/opt/n r' /etc; do
		! inside env DESTDIR=/mnt/installed "/mnt/nrtd-$version/install.sh" "$prefix" || return 1
	done
	[ ! -e "$work/installed/usr" ]
}
try() {
	root=$(packaging/root.sh make "$1" 2>"$work/root") || {
		echo "skipped: $(tail -n 1 "$work/root")"
		return
	}
	cat "$work/root"
	mkdir -p "$work/dump" "$work/installed"
	check "nrtd --version, nrtd-extender --version" says_version
	check "the recorded machines' objects" dumps
	check "kubectl-numa score ranks as here" score
	check "nrtd fit answers as here" fit
	check "a server of the named CA, and a certificate of our own" asks right "not valid JSON"
	check "a server of another CA is refused" asks wrong "SSL certificate problem"
	check "no system's CAs are there, and this is said" asks without "certificate"
	check "nobody listens" asks closed "$refused"
	check "a configuration of OpenSSL 3 is not in its way" newer_openssl
	check "nrtd check loads the archive's libnuma" libnuma
	the_agent
	check "install.sh, twice: the settings stay" installs
	check "the unit starts what is there" unit
	check "install.sh takes no folder that is not its own" refuses
	rm -rf "$work/installed" "$work/dump"
}

# ---- of another architecture: QEMU runs the program, beside the glibc of build/sysroot

emulated() { "qemu-$qemu-static" -L "build/sysroot/$arch" "$@"; }
emulated_version() {
	[ "$(emulated "$tree/bin/nrtd" --version)" = "nrtd $version" ] &&
		[ "$(emulated "$tree/bin/nrtd-extender" --version)" = "nrtd-extender $version" ]
}
emulated_dumps() {
	local golden name
	for golden in tests/fixtures/machines/*.nrt.yaml; do
		name=$(basename "$golden" .nrt.yaml)
		emulated "$tree/bin/nrtd" dump --sysroot "$machines/$name" --node-name "$name" 2>/dev/null | diff -u "$golden" - || return 1
	done
}
# emulated_libraries: its own, but glibc's
emulated_libraries() {
	emulated -E LD_TRACE_LOADED_OBJECTS=1 "$tree/bin/nrtd" | tee "$work/loaded" | grep "=> $tree/bin/../lib/libhwloc" &&
		! sed -nE 's/.* => (.*) \(.*/\1/p' "$work/loaded" | grep -v "^$tree/bin/../lib/" | grep -vE '/lib(c|m|dl|pthread|rt|resolv|util)\.so\.[0-9]+$'
}
# emulated_server: the library of the API server's connection is loaded when it is needed
emulated_server() {
	printf '{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
	"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "u", "user": {"token": "t"}}]}\n' >"$work/token.json"
	emulated "$tree/bin/nrtd" diff --kubeconfig "$work/token.json" --node-name n --sysroot "$machines/cxl" 2>&1 | tee "$work/answer"
	grep -q "https://127.0.0.1:1: .*\($refused\)" "$work/answer"
}
try_emulated() {
	arch=$1
	packaging/install-deps.sh test "$arch" >"$work/out" 2>&1 || {
		echo "skipped: $arch: $(tail -n 1 "$work/out")"
		return
	}
	read -r _ _ objdump qemu < <(packaging/arch.sh "$arch")
	objdump=$objdump-objdump tree=$work/$arch/nrtd-$version
	check "the archive is made" packaging/make-tarball.sh "$work/$arch" "$arch"
	[ -e "$work/$arch/nrtd-$version-linux-$arch.tar.gz" ] || return
	tar -xzf "$work/$arch/nrtd-$version-linux-$arch.tar.gz" -C "$work/$arch"
	echo "     $(stat -c %s "$work/$arch/nrtd-$version-linux-$arch.tar.gz") bytes; unpacked $(du -sb "$tree" | cut -f 1)"
	check "nothing asks for a newer glibc than $ceiling" ceiling
	check "glibc is not in it, and paths are relative" no_own
	check "lib/PACKAGES has every library" listed
	check "the bill of materials has them too" materials
	check "every licence that is named is there" licences
	check "nrtd --version, nrtd-extender --version" emulated_version
	check "the recorded machines' objects" emulated_dumps
	check "every library but glibc's is the archive's" emulated_libraries
	check "a server that nobody listens for" emulated_server
}

answer=$(packaging/install-deps.sh roots 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
for program in openssl curl pgrep; do
	command -v $program >/dev/null || skip "$program is not here"
done
answer=$(packaging/root.sh make bookworm build 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
check "the archive is made" pack first
check "and again" pack second
[ -e "$(archive second)" ] || tally || exit
check "with the same bytes" same_bytes
tar -xzf "$(archive first)" -C "$work"
check "one folder, of user 0" one_folder
check "it has less than 12 MB" small
echo "     $(stat -c %s "$(archive first)") bytes; unpacked $(du -sb "$tree" | cut -f 1), $(elf_files | wc -l) files with code"
check "nothing asks for a newer glibc than $ceiling" ceiling
check "glibc is not in it, and paths are relative" no_own
check "lib/PACKAGES has every library" listed
check "the bill of materials has them too" materials
check "every licence that is named is there" licences
cp -r $machines "$work/machines"
cp -r tests/fixtures/examples "$work/examples"
serve || { echo "FAIL the TLS server: $(tail -n 1 "$work/openssl" "$work/server.log")" && exit 1; }
for release in $roots; do
	# shellcheck disable=SC2034 # of checks.sh
	subject=$release
	try "$release"
done
for subject in $archs; do try_emulated "$subject"; done
tally
