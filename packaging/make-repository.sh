#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-repository.sh OUT RELEASE [KEY]: add the Debian and the RPM packages in the folder RELEASE to the repositories OUT/apt and OUT/rpm
# for apt, dnf and zypper, and write the repositories' indexes. Packages of other versions stay in OUT. With KEY, the name of a secret key
# in gpg's keyring, sign the indexes, which contain the checksums of the packages, and write the public key to OUT/nrtd.asc. Without KEY
# the same commit and packages give the same bytes. doc/release.md explains how hosts use the repositories.
set -eu
umask 022
export LC_ALL=C
mkdir -p "$1/apt" "$1/rpm"
out=$(cd "$1" && pwd)
release=$(cd "$2" && pwd)
key=${3:-}
epoch=$("$(dirname "$0")/source-date.sh")

# add FOLDER FILE...: copy the packages with a reproducible time, which the index of the RPM packages contains
add() {
	folder=$1
	shift
	for package; do
		[ -e "$package" ] || { echo "make-repository.sh: '$release' has no packages for $folder" >&2 && exit 1; }
		case $package in *.src.rpm) continue ;; esac
		cp "$package" "$out/$folder/"
		touch -d "@$epoch" "$out/$folder/${package##*/}"
	done
}
sign() { gpg --batch --yes --quiet --local-user "$key" "$@"; }

add apt "$release"/*.deb
cd "$out/apt"
rm -f InRelease Release
dpkg-scanpackages --multiversion . >Packages 2>"$out/log" || { cat "$out/log" >&2 && exit 1; }
gzip -n -9 -k -f Packages
{
	printf '%s\n' 'Origin: nrtd' 'Label: nrtd' "Date: $(date -Ru -d "@$epoch")" \
		"Architectures: $(sed -n 's/^Architecture: //p' Packages | sort -u | tr '\n' ' ' | sed 's/ $//')" SHA256:
	for index in Packages Packages.gz; do
		echo " $(sha256sum "$index" | cut -d' ' -f1) $(stat -c %s "$index") $index"
	done
} >Release

add rpm "$release"/*.rpm
cd "$out/rpm"
rm -rf repodata
createrepo_c --quiet --no-database --revision "$epoch" --set-timestamp-to-revision . >"$out/log" 2>&1 || { cat "$out/log" >&2 && exit 1; }

rm -f "$out/log" "$out/nrtd.asc"
if [ -n "$key" ]; then
	sign --clearsign --output "$out/apt/InRelease" "$out/apt/Release"
	sign --armor --detach-sign --output "$out/rpm/repodata/repomd.xml.asc" "$out/rpm/repodata/repomd.xml"
	gpg --batch --quiet --armor --export "$key" >"$out/nrtd.asc"
else
	echo "make-repository.sh: the repositories are not signed: name a key of gpg's in SIGN_KEY" >&2
fi
