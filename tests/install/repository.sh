#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make repository-test: packaging/make-repository.sh with small stand-ins for nrtd's packages, a key made here, and a web server on the
# loopback. Debian's apt, dnf and zypper, each in a root of its own, follow doc/release.md's own commands: install, upgrade to the next
# release in the same folder, go back. They refuse a changed index, a changed package and another key. Each check is a line, the last
# line is "N passed, N failed".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
version=$(sed -n 's/^VERSION := //p' Makefile) # which doc/operate.md goes back to
next=${version%.*}.$((${version##*.} + 1))
work=$(mktemp -d)
server=
clean_up() {
	local root
	[ -z "$server" ] || kill "$server"
	for root in "$work"/*/root; do ! mountpoint -q "$root" || umount "$root"; done
	GNUPGHOME=$work/keys gpgconf --kill all
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
export GNUPGHOME=$work/keys

inside() { packaging/root.sh enter "$work/$subject/root" "$@"; }
# make_root MANAGER: over the least Debian; dnf and zypper without the database of installed packages that Debian's rpm lacks
make_root() {
	mkdir -p "$work/$1/root" "$work/$1/upper" "$work/$1/work" &&
		mount -t overlay -o "lowerdir=$base,upperdir=$work/$1/upper,workdir=$work/$1/work" overlay "$work/$1/root" &&
		cp /etc/resolv.conf "$work/$1/root/etc/" && inside sh -ec "apt-get update && apt-get install -y --no-install-recommends curl gpg $2 &&
			mkdir -p /etc/apt/keyrings /etc/pki/rpm-gpg /etc/yum.repos.d /etc/zypp/repos.d"
}
make_key() { # NAME
	gpg --batch --quiet --passphrase '' --quick-generate-key "$1" default sign never
}
# stand_in FOLDER VERSION: packages whose only file has the version
stand_in() {
	local tree=$work/stand-in/$2
	mkdir -p "$tree/DEBIAN" "$tree/opt" "$1" && echo "$2" >"$tree/opt/nrtd-version" &&
		printf '%s\n' 'Package: nrtd' "Version: $2-1" 'Architecture: all' 'Maintainer: x <x@example.com>' 'Description: stand-in' >"$tree/DEBIAN/control" &&
		dpkg-deb --root-owner-group --build "$tree" "$1/nrtd_$2-1_all.deb" &&
		printf '%s\n' 'Name: nrtd' "Version: $2" 'Release: 1' 'Summary: x' 'License: x' 'BuildArch: noarch' '%description' '%install' \
			'mkdir -p %{buildroot}/opt' "echo $2 >%{buildroot}/opt/nrtd-version" '%files' '/opt/nrtd-version' >"$work/stand-in.spec" &&
		rpmbuild -ba --quiet --define "_topdir $work/rpm-$2" "$work/stand-in.spec" && find "$work/rpm-$2" -name '*.rpm' -exec mv -t "$1" {} +
}
repository() { packaging/make-repository.sh "$work/www" "$1" "${2-nrtd packages}"; } # RELEASE [KEY]
# reproducible: unsigned, from the same packages with other times
reproducible() {
	cp -r "$work/first" "$work/later" && touch -d '2031-02-03' "$work/later"/* &&
		packaging/make-repository.sh "$work/one" "$work/first" && packaging/make-repository.sh "$work/two" "$work/later" &&
		diff -r "$work/one" "$work/two" && [ ! -e "$work/one/apt/InRelease" ] && [ ! -e "$work/one/nrtd.asc" ]
}
served() { curl -fsS "http://127.0.0.1:$port/nrtd.asc"; }
serve() {
	port=$((20000 + $$ % 12000))
	python3 -m http.server --bind 127.0.0.1 --directory "$work/www" $port >"$work/server" 2>&1 &
	server=$!
	eventually 10 served
}

# guide TEXT: the commands of doc/release.md from the line with TEXT to the end of its block, for this server; who is root needs no sudo
guide() {
	awk -v text="$1" 'index($0, "    ") == 1 {block = block substr($0, 5) "\n"; if (index($0, text)) hit = 1; next} {if (hit) printf "%s", block; hit = 0; block = ""}' \
		doc/release.md | sed "s#https://packages.example.com/nrtd#http://127.0.0.1:$port#g; s/sudo //g"
}
# follow: the guide's commands for this manager
# shellcheck disable=SC2016 # the documents' backquotes
follow() {
	local commands
	case $subject in
	apt) commands=$(guide /etc/apt/keyrings) ;;
	dnf) commands=$(guide /etc/yum.repos.d) ;;
	zypper)
		commands=$(guide /etc/yum.repos.d | sed 's#/etc/yum.repos.d#/etc/zypp/repos.d#; /^dnf/d'
			sed -n 's/^`sudo \(zypper .*\)`:$/\1/p' doc/release.md)
		;;
	esac
	[ "$(wc -l <<<"$commands")" -ge 2 ] && inside sh -ec "$commands" # in one go
}
version_is() { [ "$(inside cat /opt/nrtd-version)" = "$1" ]; }
installs() { follow && version_is "$version"; }
upgrades() {
	case $subject in
	apt) inside sh -ec 'apt-get update && apt-get install -y nrtd' ;;
	dnf) inside dnf upgrade -y --refresh nrtd ;;
	zypper) inside sh -ec 'zypper --non-interactive refresh && zypper --non-interactive update nrtd' ;;
	esac
	version_is "$next"
}
# goes_back: by doc/operate.md's commands
# shellcheck disable=SC2016 # the documents' backquotes
goes_back() {
	case $subject in
	apt) inside sh -ec "$(grep -o '`apt-get install --allow-downgrades [^`]*' doc/operate.md | tr -d '\`') -y" ;;
	dnf) inside sh -ec "$(grep -o '`dnf downgrade [^`]*' doc/operate.md | tr -d '\`') -y" ;;
	zypper) inside zypper --non-interactive install --oldpackage "nrtd=$version" ;;
	esac
	version_is "$version"
}
# forget: what the manager keeps of the repository
forget() { inside sh -c 'rm -rf /var/lib/apt/lists/127* /var/cache/dnf /var/cache/libdnf5 /var/cache/zypp/*; apt-get clean'; }
refuses() { # the next release, as it is now on the server
	forget
	case $subject in
	apt) ! inside sh -ec "apt-get update -o APT::Update::Error-Mode=any && apt-get install -y nrtd=$next-1" ;;
	dnf) ! inside dnf install -y --refresh "nrtd-$next" ;;
	zypper) ! inside sh -ec 'zypper --non-interactive refresh && zypper --non-interactive update nrtd' ;;
	esac && version_is "$version"
}
spoil() { # WHAT
	cp -r "$work/www" "$work/right" || return 1
	case $1 in
	index)
		sed -i 's/^Size: /Size: 1/' "$work/www/apt/Packages" && gzip -n -k -f "$work/www/apt/Packages" &&
			for primary in "$work"/www/rpm/repodata/*-primary.xml.gz; do { gzip -dc "$primary" | sed 's/size package="/&1/' | gzip -n >"$primary.new"; } && mv "$primary.new" "$primary"; done
		;;
	signed) echo >>"$work/www/apt/InRelease" && sed -i 's/^Label: nrtd/Label: other/' "$work/www/apt/InRelease" && echo '<!-- -->' >>"$work/www/rpm/repodata/repomd.xml" ;;
	package) for package in "$work"/www/apt/nrtd_"$next"* "$work"/www/rpm/nrtd-"$next"*; do printf x | dd of="$package" bs=1 seek=700 conv=notrunc; done ;;
	esac
}
restore() { rm -rf "${work:?}/www/"* && cp -r "$work"/right/* "$work/www/" && rm -rf "$work/right"; }

[ "$(id -u)" -eq 0 ] || skip "a root needs root"
for group in roots deb rpm repository; do
	answer=$(packaging/install-deps.sh $group 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
done
base=$(packaging/root.sh make bookworm 2>"$work/out") || skip "$(tail -n 1 "$work/out")"
mkdir -m 700 "$work/keys"
chmod a+rx "$work"
check "a key is made" make_key "nrtd packages"
check "another one" make_key other
check "a release" stand_in "$work/first" "$version"
check "the next one" stand_in "$work/second" "$next"
check "the repositories are the same bytes from the same packages" reproducible
for subject in apt dnf zypper; do
	rm -rf "$work/www"
	check "a repository of the first release" repository "$work/first"
	[ -n "$server" ] || check "a web server" serve
	[ "$subject" = apt ] && packages= || packages=$subject
	check "it is in a root" make_root $subject "$packages"
	check "it installs by doc/release.md" installs
	check "the next release comes into the same folder" repository "$work/second"
	check "it upgrades" upgrades
	check "it goes back" goes_back
	for what in index signed package; do
		check "the $what is changed" spoil $what
		check "it refuses that" refuses
		check "that is undone" restore
	done
	check "another key signs" repository "$work/second" other
	check "it refuses that" refuses
	check "nobody signs" repository "$work/second" ""
	check "it refuses that" refuses
	check "the right key signs again" repository "$work/second"
	check "it upgrades" upgrades
done
tally
