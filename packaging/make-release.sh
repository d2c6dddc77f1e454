#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-release.sh OUT [ARCH...]: from the committed tree make all that a release has, in OUT, which is replaced when all of it is
# there: the source, the Debian and the RPM packages of this machine's architecture, the tarballs and the images for each ARCH
# (default: all that packaging/arch.sh knows) with their bills of materials, the Helm chart, the krew manifest if RELEASE_URL
# says where the files will be found, and SHA256SUMS. The same commit, the same Debian packages and the same helm give the
# same bytes. doc/release.md says how to sign it. BUILDAH and BUILD_OPTIONS are make-image.sh's.
set -eu
out=$1
shift
[ $# -gt 0 ] || set -- amd64 arm64 ppc64le s390x
if [ -e "$out" ] && [ ! -e "$out/SHA256SUMS" ]; then
	echo "make-release.sh: '$out' is something else than a release" >&2
	exit 1
fi
mkdir -p "$out.new"
new=$(cd "$out.new" && pwd)
out=${new%.new}
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION := //p' Makefile)
find "$new" -mindepth 1 -delete
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "make-release.sh: what is not committed is not in the release" >&2

packaging/make-source.sh "$new"
packaging/make-deb.sh "$new"
packaging/make-rpm.sh "$new"
packaging/make-chart.sh "$new"
for arch; do
	packaging/make-tarball.sh "$new" "$arch"
	tar -xzOf "$new/nrtd-$version-linux-$arch.tar.gz" "nrtd-$version/share/doc/nrtd/nrtd.cdx.json" >"$new/nrtd-$version-linux-$arch.cdx.json"
done
packaging/make-image.sh "$new" "$@"
if [ -n "${RELEASE_URL:-}" ]; then
	packaging/krew.sh "$new" "$RELEASE_URL" >"$new/numa.yaml"
else
	echo "make-release.sh: no krew manifest, because RELEASE_URL does not say where the files will be found" >&2
fi
(cd "$new" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >"$new.sums" && mv "$new.sums" SHA256SUMS)
rm -rf "$out"
mv "$new" "$out"
ls "$out"
