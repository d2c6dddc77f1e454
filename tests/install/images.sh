#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make images-test: what `make image-all` makes, on the tests' own base image (base.sh): an OCI archive with an image for each
# architecture, built twice in different folders at different times, the same bytes. Each image is unpacked, and QEMU runs its
# program: its version, the recorded machines' objects, which equal those of the build of this machine ($B/nrtd), an ended
# connection. Its bill of materials names the package of each library in it. ARCHS: only these.
# What cannot be shown: the base image of the registry, and a kernel of that architecture.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
archs=${ARCHS:-amd64 arm64 ppc64le s390x}
version=$(sed -n 's/^VERSION := //p' Makefile)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/install/base.sh
. tests/install/base.sh

# build FROM FOLDER OPTION...: the archive, from a clone of FROM's committed tree in FOLDER
build() {
	local from=$1 folder=$2
	shift 2
	git clone -q "$from" "$folder" || return 1
	# shellcheck disable=SC2086 # words
	BUILDAH="buildah --root $PWD/$cache/storage --runroot $work/runroot --storage-driver overlay" \
		BUILD_OPTIONS="--pull-never --isolation chroot $*" "$folder/packaging/make-image.sh" "$folder/out" $archs
}
archive() { echo "$1/out/nrtd-$version.oci.tar"; }
# blob DIGEST: the file of the layout
blob() { echo "$work/layout/blobs/${1/://}"; }

lists_them() {
	local index
	mkdir -p "$work/layout" && tar -C "$work/layout" -xf "$(archive "$work/first")" || return 1
	index=$(blob "$(jq -r '.manifests[0].digest' "$work/layout/index.json")")
	jq -r '.manifests[] | "\(.platform.os)/\(.platform.architecture) \(.digest)"' "$index" | sort >"$work/images"
	# shellcheck disable=SC2086 # words
	cut -d' ' -f1 "$work/images" | diff - <(printf 'linux/%s\n' $archs | sort)
}
# unpack ARCH: $root is the image's tree, $config its configuration
unpack() {
	local manifest layer
	manifest=$(blob "$(sed -n "s#^linux/$1 ##p" "$work/images")")
	config=$(cat "$(blob "$(jq -r .config.digest "$manifest")")")
	root=$work/root-$1
	mkdir -p "$root"
	for layer in $(jq -r '.layers[].digest' "$manifest"); do tar -C "$root" -xf "$(blob "$layer")" || return 1; done
	[ "$(jq -r '.architecture, .config.User, .config.Entrypoint[0]' <<<"$config" | paste -sd' ')" = "$1 65532:65532 /usr/sbin/nrtd" ]
}
nrtd() { chroot --userspec=65532:65532 "$root" /usr/sbin/nrtd "$@"; }
says_its_version() {
	nrtd --version | diff - <("$B/nrtd" --version) &&
		chroot --userspec=65532:65532 "$root" /usr/sbin/nrtd-extender --version | diff - <("$B/nrtd-extender" --version)
}
dumps_machines() {
	local name
	cp -r "$work/machines" tests/fixtures/examples "$root/" || return 1
	for name in $machines; do
		nrtd dump --sysroot "/machines/$name" --node-name n >"$work/here" 2>&1 || { cat "$work/here" && return 1; }
		diff "$work/here" <("$B/nrtd" dump --sysroot "$work/machines/$name" --node-name n 2>&1 | sed "s#$work/machines#/machines#g") || return 1
	done
}
fits() {
	local machine=${machines%% *}
	set -- --assume-empty --cpu-manager-policy static --memory-manager-policy None --topology-manager-policy restricted \
		--topology-manager-scope container --reserved-cpus 0
	diff <(nrtd fit --sysroot "/machines/$machine" -f /examples/kep-pod.yaml "$@") \
		<("$B/nrtd" fit --sysroot "$work/machines/$machine" -f tests/fixtures/examples/kep-pod.yaml "$@")
}
# The library of the API server's connection is opened while the program runs.
connects() {
	cat >"$root/kubeconfig" <<-'END'
		apiVersion: v1
		kind: Config
		current-context: c
		contexts: [{name: c, context: {cluster: c, user: u}}]
		clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
		users: [{name: u, user: {token: t}}]
	END
	nrtd diff --kubeconfig /kubeconfig --sysroot /machines/holes --node-name n 2>&1 | tee "$work/here"
	grep -q 'https://127.0.0.1:1: .*onnect' "$work/here"
}
# materials ARCH: the bill names Debian packages of the architecture, among them the one of each library that is loaded by name
materials() {
	local bill=$root/usr/share/sbom/nrtd.cdx.json name
	jq -e --arg arch "$1" --slurpfile bill "$bill" '.bomFormat == "CycloneDX" and ([.components[] | select(.type == "operating-system") | .name + .version] == ["debian12"]) and
		([.components[] | select(.type == "library") | .purl] | length > 20 and . == $bill[0].dependencies[0].dependsOn and
			all(.[]; test("^pkg:deb/debian/[^@]+@[^?]+[?]arch=" + $arch + "&distro=debian-12&upstream=[^@]+$")))' "$bill" || return 1
	for name in libc6 libcurl4 libhwloc15 libmicrohttpd12 libnuma1 libssl3 libsystemd0; do
		jq -e --arg name $name 'any(.components[]; .name == $name)' "$bill" >/dev/null || { echo "it has no $name" && return 1; }
	done
}

[ "$(id -u)" -eq 0 ] || skip "building images needs root"
answer=$(packaging/install-deps.sh container 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
packaging/install-deps.sh test arm64 >"$work/out" 2>&1 || skip "$(tail -n 1 "$work/out")" # QEMU
machines="seed-2s-32cpu 2s-snc4 holes"
# shellcheck disable=SC2086 # names
tests/fixtures/machines/make.sh "$work/machines" $machines || exit 1
chmod a+rx "$work" && make_base

check "the images are built for $archs" build . "$work/first"
[ "$failed" -eq 0 ] || { tally || exit; }
check "the archive lists one for each" lists_them
for arch in $archs; do
	subject=$arch
	check "its configuration and its program are there" unpack "$arch"
	[ "$arch" = "$(packaging/arch.sh | cut -d' ' -f1)" ] || tests/lib/emulate.sh "$arch" >"$work/out" 2>&1 ||
		{ echo "skipped: $(tail -n 1 "$work/out")" && continue; }
	check "both programs say their version" says_its_version
	check "dumps recorded machines as this build does" dumps_machines
	check "judges a pod as this build does" fits
	check "reports a server that cannot be reached" connects
	check "names what it is made of" materials "$(packaging/arch.sh "$arch" | cut -d' ' -f2)"
done
subject=
check "they are built again in another folder, a while later" build "$work/first" "$work/second" --no-cache --build-arg FIXES_OF=later
check "it is the same archive" cmp "$(archive "$work/first")" "$(archive "$work/second")"
echo "     $(stat -c %s "$(archive "$work/first")") bytes"
tally
