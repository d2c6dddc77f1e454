#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-image.sh OUT [ARCH...]: build the container image of the committed tree for each ARCH (default: every architecture of
# packaging/arch.sh) into one OCI archive, OUT/nrtd-VERSION.oci.tar, and write the SBOM of each image beside it. Reproducible: the same
# commit and the same Debian packages give the same bytes. The images are cross-built with $BUILDAH (default: buildah) and its
# BUILD_OPTIONS. The layer with Debian's packages is cached for one day, FIXES_OF.
# To push the images: `skopeo copy --all oci-archive:OUT/nrtd-VERSION.oci.tar docker://REGISTRY/nrtd:VERSION`.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- amd64 arm64 ppc64le s390x
buildah=${BUILDAH:-buildah}
version=$(sed -n 's/^VERSION := //p' Makefile)
epoch=$(packaging/source-date.sh)
work=$(mktemp -d)
name=localhost/nrtd-release-$$
clean_up() {
	$buildah manifest rm "$name" >/dev/null 2>&1 || :
	# shellcheck disable=SC2086 # words
	# Keep the images that existed before: the same image may have another name.
	[ ! -e "$work/ids" ] || grep -vxFf "$work/before" "$work/ids" | xargs -r $buildah rmi --force >/dev/null || :
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

$buildah images --quiet --no-trunc | sort -u >"$work/before"
mkdir "$work/tree"
git archive HEAD | tar -x -C "$work/tree"
# shellcheck disable=SC2086 # words
for arch; do
	$buildah bud --layers --platform "linux/$arch" --manifest "$name" --timestamp "$epoch" \
		--build-arg "BUILDPLATFORM=linux/$(packaging/arch.sh | cut -d" " -f1)" --build-arg "SOURCE_DATE_EPOCH=$epoch" \
		--build-arg "FIXES_OF=${FIXES_OF:-$(date -u +%F)}" --iidfile "$work/id" --identity-label=false ${BUILD_OPTIONS:-} -f "$work/tree/packaging/container/Dockerfile" "$work/tree" >"$work/log" 2>&1 ||
		{ tail -n 30 "$work/log" >&2 && exit 1; }
	{ cat "$work/id" && echo; } >>"$work/ids"
done
$buildah manifest push --all "$name" "oci:$work/layout:$version" >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
tar -C "$work/layout" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=r,a+X -cf "$work/image.tar" .
# Each image is one layer. The SBOM in the layer names the architecture.
for blob in "$work"/layout/blobs/sha256/*; do
	tar -xOf "$blob" usr/share/sbom/nrtd.cdx.json >"$work/bill" 2>/dev/null || continue
	mv "$work/bill" "$out/nrtd-$version-image-$(sed -n 's/.*"nrtd:architecture", "value": "\([^"]*\)".*/\1/p' "$work/bill").cdx.json"
done
mv "$work/image.tar" "$out/nrtd-$version.oci.tar"
ls "$out/nrtd-$version.oci.tar" "$out/nrtd-$version"-image-*.cdx.json
