#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make release-test: what `make release` makes, twice: from clones in different folders, a while apart, under another umask,
# language and time zone. Each file has to be the same. Then what doc/release.md says is done with it: the checksums are signed
# and verified by minisign, the image goes to a registry on the loopback, every kind of package is installed
# (release_installs.sh), krew reads the manifest and installs the plugin from an archive, which then runs. ARCHS: only these. krew takes a file in place of the address, and kubectl is a stand-in
# that prints recorded objects; a real kubectl with the plugin is in tests/upstream/kubectl_numa.sh.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
archs=${ARCHS:-amd64 arm64 ppc64le s390x}
version=$(sed -n 's/^VERSION := //p' Makefile)
here=$(packaging/arch.sh | cut -d' ' -f1)
url=https://example.org/nrtd/$version
work=$(mktemp -d)
registry_PID=
trap '[ -z "$registry_PID" ] || kill "$registry_PID"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/lib/registry.sh
. tests/lib/registry.sh
# shellcheck source=tests/install/base.sh
. tests/install/base.sh

# build FROM FOLDER OPTION...: the release, from a clone of FROM in FOLDER; the roots that have been made are used again. The
# programs' tests are others'.
build() {
	local from=$1 folder=$2
	shift 2
	git clone -q "$from" "$folder" && mkdir -p "$folder/build" build/roots && ln -s "$PWD/build/roots" "$folder/build/roots" || return 1
	# shellcheck disable=SC2086 # words
	BUILDAH="buildah --root $PWD/$cache/storage --runroot $work/runroot --storage-driver overlay" \
		BUILD_OPTIONS="--pull-never --isolation chroot $*" RELEASE_URL=$url HELM=$helm DEB_BUILD_OPTIONS=nocheck \
		"$folder/packaging/make-release.sh" "$folder/build/release" $archs
}
build_elsewhere() { (umask 077 && mkdir "$work/b" && LC_ALL=C.UTF-8 TZ=Pacific/Chatham build "$work/a" "$work/b/elsewhere" --no-cache); }
# complete: each kind of file is there, and doc/release.md names it
complete() {
	local file arch
	for arch in $archs; do
		printf '%s\n' "nrtd-$version-linux-$arch.tar.gz" "nrtd-$version-linux-$arch.cdx.json" "nrtd-$version-image-$arch.cdx.json"
	done >"$work/expected"
	for file in "nrtd-$version.tar.gz" {nrtd,nrtd-extender,kubectl-numa}"_$version-1_$here.deb" \
		{nrtd,nrtd-extender,kubectl-numa}"-$version-1.$(uname -m).rpm" "nrtd-$version-1.src.rpm" \
		"nrtd-$version.oci.tar" "nrtd-$version.tgz" numa.yaml; do
		echo "$file"
	done >>"$work/expected"
	while read -r file; do
		[ -s "$release/$file" ] || { echo "no $file" && return 1; }
		grep -q " $file\$" "$release/SHA256SUMS" || { echo "$file is not in SHA256SUMS" && return 1; }
		grep -qF -e "$file" -e "$(sed -E 's/-(amd64|arm64|ppc64le|s390x)/-ARCH/' <<<"$file")" doc/release.md ||
			{ echo "doc/release.md has no $file" && return 1; }
	done <"$work/expected"
	grep -qx "Filename: ./nrtd_$version-1_$here.deb" "$release/repository/apt/Packages" &&
		zgrep -q "href=\"nrtd-$version-1.$(uname -m).rpm\"" "$release"/repository/rpm/repodata/*primary.xml.gz && ! ls "$release"/repository/rpm/*.src.rpm
}
sums() { (cd "$release" && sha256sum --quiet --check SHA256SUMS && [ "$(find . -type f | wc -l)" -eq $(($(wc -l <SHA256SUMS) + 1)) ]); }
same() {
	diff "$release/SHA256SUMS" "$second/SHA256SUMS" && return
	command -v diffoscope >/dev/null || return 1
	diff <(sort "$release/SHA256SUMS") <(sort "$second/SHA256SUMS") | sed -n 's/^< [0-9a-f]*  //p' | while read -r file; do
		diffoscope --max-report-size 4000 "$release/$file" "$second/$file"
	done
	return 1
}
bills() {
	local bill
	for bill in "$release"/*.cdx.json; do
		jq -e --arg version "$version" '.bomFormat == "CycloneDX" and .metadata.component.version == $version and
			any(.components[]; .name == "libhwloc15") and all(.components[] | select(.type == "library"); .purl | startswith("pkg:deb/debian/"))' "$bill" || return 1
	done
}

signed() (
	cp -r "$release" "$work/download" && cd "$work/download" || return 1
	minisign -G -W -f -p "$work/nrtd.pub" -s "$work/nrtd.key" && minisign -S -s "$work/nrtd.key" -m SHA256SUMS -t "nrtd $version" </dev/null &&
		minisign -V -p "$work/nrtd.pub" -m SHA256SUMS && sha256sum --quiet --check --ignore-missing SHA256SUMS || return 1
	echo >>SHA256SUMS
	! minisign -V -p "$work/nrtd.pub" -m SHA256SUMS
)
pushed() {
	start_registry &&
		skopeo copy --all --dest-tls-verify=false "oci-archive:$release/nrtd-$version.oci.tar" "docker://$registry/nrtd:$version" &&
		skopeo inspect --raw --tls-verify=false "docker://$registry/nrtd:$version" |
		jq -r '.manifests[].platform.architecture' | sort | diff - <(tr ' ' '\n' <<<"$archs" | sort)
}

validated() { "$bin/validate-krew-manifest" -manifest "$release/numa.yaml" -skip-install; }
krew() { env KREW_OS=linux KREW_ARCH="$1" KREW_ROOT="$work/krew-$1" HOME="$work" "$bin/krew" "${@:2}"; }
# krew_installs ARCH: as on a machine of it
krew_installs() {
	local store=$work/krew-$1/store/numa/v$version
	krew "$1" install --manifest="$release/numa.yaml" --archive="$release/nrtd-$version-linux-$1.tar.gz" &&
		[ -x "$work/krew-$1/bin/kubectl-numa" ] && [ -s "$store/LICENSE" ] && cmp "$store/bin/kubectl-numa" <(tar -xzOf \
		"$release/nrtd-$version-linux-$1.tar.gz" "nrtd-$version/bin/kubectl-numa")
}
krew_refuses() {
	cp "$release/nrtd-$version-linux-$here.tar.gz" "$work/other.tar.gz" && echo >>"$work/other.tar.gz"
	! krew "$here" install --manifest="$release/numa.yaml" --archive="$work/other.tar.gz"
}
krew_runs() {
	env -i PATH=/usr/bin:/bin "$work/krew-$here/bin/kubectl-numa" score --from tests/fixtures/examples/kep-nodes.yaml \
		-f tests/fixtures/examples/kep-pod.yaml -o json >"$work/score" &&
		grep '"LeastNUMANodes": 94,' "$work/score"
}

[ "$(id -u)" -eq 0 ] || skip "a release needs root"
for group in deb rpm repository roots container registry release; do
	answer=$(packaging/install-deps.sh $group 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
done
helm=$(tests/upstream/helm.sh) || { echo "$helm" && exit; }
tests/upstream/build_module.sh krew tool || exit 0
bin=$PWD/build/upstream
chmod a+rx "$work" && make_base
release="$work/a/build/release"
second=$work/b/elsewhere/build/release

check "a release is made for $archs" build . "$work/a"
[ "$failed" -eq 0 ] || { tally || exit; }
check "it has all that doc/release.md lists" complete
check "its checksums are right" sums
check "its bills of materials name the libraries" bills
check "its checksums are signed and verified" signed
check "its image goes to a registry" pushed
check "what was built is installed" tests/install/release_installs.sh "$release"
check "krew takes the manifest" validated
check "but not another archive" krew_refuses
for arch in $archs; do
	case $arch in "$here" | s390x) ;; *) check "krew installs the archive of $arch" krew_installs "$arch" ;; esac
done
check "krew installs this machine's archive" krew_installs "$here"
check "and the plugin runs with its own program" krew_runs
check "a release is made elsewhere, in another way" build_elsewhere
check "each file is the same" same
find "$release" -type f -printf '     %s %f\n' | sort -k 2
tally
