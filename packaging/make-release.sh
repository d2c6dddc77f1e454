#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-release.sh OUT [ARCH...]: build all files of a release from the committed tree, and replace OUT when all are complete: the source,
# the Debian and the RPM packages for this machine's architecture, the tarballs and the images for each ARCH (default: every architecture
# of packaging/arch.sh) with their SBOMs, the Helm chart, repositories for apt and dnf, SHA256SUMS, and with RELEASE_URL, the URL of the
# published files, the krew manifest. SIGN_KEY is the gpg key that signs the repositories. Reproducible but for the signatures: the same
# commit, the same Debian packages and the same helm give the same bytes. doc/release.md explains how to sign a release. For BUILDAH and BUILD_OPTIONS see make-image.sh.
set -eu
out=$1
shift
[ $# -gt 0 ] || set -- amd64 arm64 ppc64le s390x
if [ -e "$out" ] && [ ! -e "$out/SHA256SUMS" ]; then
	echo "make-release.sh: '$out' exists and is not a release: remove it or choose another directory" >&2
	exit 1
fi
mkdir -p "$out.new"
new=$(cd "$out.new" && pwd)
out=${new%.new}
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION := //p' Makefile)
find "$new" -mindepth 1 -delete
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "make-release.sh: warning: uncommitted changes are not in the release" >&2

packaging/make-source.sh "$new"
packaging/make-deb.sh "$new"
packaging/make-rpm.sh "$new"
packaging/make-chart.sh "$new"
packaging/make-repository.sh "$new/repository" "$new" "${SIGN_KEY:-}"
for arch; do
	packaging/make-tarball.sh "$new" "$arch"
	tar -xzOf "$new/nrtd-$version-linux-$arch.tar.gz" "nrtd-$version/share/doc/nrtd/nrtd.cdx.json" >"$new/nrtd-$version-linux-$arch.cdx.json"
done
packaging/make-image.sh "$new" "$@"
if [ -n "${RELEASE_URL:-}" ]; then
	packaging/krew.sh "$new" "$RELEASE_URL" >"$new/numa.yaml"
else
	echo "make-release.sh: no krew manifest: set RELEASE_URL to the URL of the published files" >&2
fi
(cd "$new" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >"$new.sums" && mv "$new.sums" SHA256SUMS)
rm -rf "$out"
mv "$new" "$out"
ls "$out"
