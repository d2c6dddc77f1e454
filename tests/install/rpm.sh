#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make rpm-test: the RPM packages: built twice, in other folders and years, the same bit by bit; then on a booted node (node.sh),
# whose rpm knows the node's libraries by packages made here that provide what those libraries do: refused without
# them, installed by doc/install.md's own commands, upgraded while the API server is away, removed; the extender without the
# agent; the kubectl plugin with the agent's program, whose service stays disabled. Each check is a line, the last line is "N passed, N failed". What is not available here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
kind=rpm
# shellcheck source=tests/install/node.sh
. tests/install/node.sh

# ---- the packages

built() { # built OUT [TOP]: of TOP's committed tree; what is built here are no unit tests: make test runs them
	"${2:-.}/packaging/make-rpm.sh" "$1" --without check
}
# linted: a package of debug information is by its nature what rpmlint warns of
linted() {
	find "$packages" -name '*.rpm' ! -name '*-debuginfo-*' ! -name '*-debugsource-*' -exec rpmlint --strict --config packaging/rpmlint.toml packaging/nrtd.spec {} +
}
old_enough() {
	! required | grep GLIBC_ABI || return 1
	required | sed -n 's/^libc\.so\.6(GLIBC_\(.*\))(64bit)$/\1/p' | sort -V | tee /dev/stderr | tail -n 1 | grep -x 2.34
}
built_again() {
	git clone -q . "$work/a folder of its own" && mkdir "$work/temporary" &&
		TMPDIR=$work/temporary faketime '2031-02-03 04:05:06' "$work/a folder of its own/packaging/make-rpm.sh" "$work/again" --without check
}
same() {
	local package
	[ "$(ls "$packages")" = "$(ls "$work/again")" ] || return 1
	for package in "$packages"/*; do
		cmp "$package" "$work/again/${package##*/}" || return 1
	done
}
# built_newer: the next release, which has another line in its settings
built_newer() {
	local top="$work/a folder of its own"
	sed -i "s/^\(Release: *\)1%/\12%/; s/ - $version-1\$/ - $version-2/" "$top/packaging/nrtd.spec" &&
		echo '#NRTD_NEW=' >>"$top/packaging/nrtd.default" &&
		git -C "$top" -c user.name=nrtd -c user.email=nrtd@localhost commit -qam "the next release" && built "$work/newer" "$top" &&
		cp "$work"/newer/{nrtd,nrtd-extender}"-$version-2.$(uname -m).rpm" "$work"/newer/kubectl-numa-"$version"-2.*.rpm "$packages/"
}
package() { echo "$packages/$1-$version-1.$(uname -m).rpm"; } # package NAME
required() { rpm -qpR "$(package nrtd)" "$(package nrtd-extender)" "$(package kubectl-numa)"; }
# sonames: the libraries that the packages need, as the loader names them
sonames() { required | sed -nE 's/^([^ ]+\.so\.[0-9]+)\(\)\(64bit\)$/\1/p' | sort -u; }
# owners: the Debian packages that have them here
owners() {
	local soname library
	sonames | while read -r soname; do
		library=$(ldconfig -p | sed -n "s/^[[:space:]]*$soname (.*x86-64.*) => //p" | head -n 1)
		dpkg -S "*lib/x86_64-linux-gnu/$(basename "$(realpath "$library")")" | sed 's/:.*//'
	done | sort -u
}
# stand_in_spec: a package for each library in the node's tree, with what rpm finds that it provides, and one for the rest
stand_in_spec() {
	local name
	printf '%s\n' 'Name: stand-in' 'Version: 1' 'Release: 1' 'Summary: What Debian has' 'License: none' '%description' \
		'%install' 'mkdir -p %{buildroot}/usr/share/licenses'
	for name in filesystem $(sonames); do
		printf '%s\n' "%package $name" 'Summary: What Debian has' 'AutoReqProv: no'
		case $name in
		filesystem) printf '%s\n' 'Provides: /bin/sh' 'Provides: rtld(GNU_HASH)' ;;
		*) /usr/lib/rpm/elfdeps --provides "$(find "$tree/usr/lib" -name "$name" | head -n 1)" | sed 's/^/Provides: /' ;;
		esac
		printf '%s\n' "%description $name" "%files $name"
	done | sed 's/^%files filesystem$/&\n%dir \/usr\/share\/licenses/'
}
stand_ins() {
	stand_in_spec >"$work/stand-in.spec" && rpmbuild -bb --quiet --define "_topdir $work/stand-in" "$work/stand-in.spec" &&
		mkdir -p "$packages/stand-in" && mv "$work"/stand-in/RPMS/*/*.rpm "$packages/stand-in/"
}
prepare() {
	need rpm packages
	[ "$(uname -m)" = x86_64 ] || skip "the stand-ins for Debian's libraries are for x86_64"
	check "the packages are built" built "$packages"
	[ -e "$(package nrtd)" ] && [ -e "$(package nrtd-extender)" ] || exit 1
	check "rpmlint finds nothing" linted
	if [ "$VERSION_CODENAME" = bookworm ]; then
		check "they ask for no newer glibc than RHEL 9's" old_enough
	else
		echo "skipped: which glibc they ask for: it is this machine's"
	fi
	check "again, elsewhere and later" built_again
	check "they are the same bit by bit" same
	check "the next release is built" built_newer
	# shellcheck disable=SC2046 # words
	make_tree rpm "$VERSION_CODENAME" rpm $(owners)
	check "packages stand in for Debian's libraries" stand_ins
}

# ---- the checks, in the order of a life

# Debian's rpm says before everything that it should not be used.
rpm_inside() {
	local status=0
	inside rpm "$@" 2>"$work/rpm-stderr" || status=$?
	grep -v '^rpm: ' "$work/rpm-stderr" >&2
	return $status
}
refused() { # refused COMMAND... -- PATTERN: it fails, with a line that has PATTERN
	local -a command=()
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	if "${command[@]}" >"$work/said" 2>&1 || ! grep -qE -- "$2" "$work/said"; then
		cat "$work/said"
		return 1
	fi
}
stand_in() { rpm_inside "$1" "/srv/nrtd/build/rpm/stand-in/stand-in-$2-1-1.$(uname -m).rpm"; } # stand_in OPTION NAME

test_extender() {
	local line
	line=$(guide "sudo rpm --install build/rpm/nrtd-extender")
	check "the guide: $line" literally "$line"
	check "the extender brings no agent" says inside sh -c 'command -v nrtd || echo none' -- none
	check "the extender runs" says inside nrtd-extender --version -- 'nrtd-extender 0\.1\.0'
	check "the extender's manual" says inside man -w nrtd-extender -- '/usr/share/man/.*nrtd-extender.1.gz'
	check "its files are as packaged" silent rpm_inside --verify nrtd-extender
	check "a library cannot be removed under it" refused rpm_inside --erase stand-in-libgnutls.so.30 -- 'is needed by .*nrtd-extender-0\.1\.0-1'
	check "removed" rpm_inside --erase nrtd-extender
	check "nothing is left" silent traces
}

test_install() {
	local lines line library
	granted
	mapfile -t lines < <(guide "sudo rpm --install")
	check "without the libraries rpm refuses it" refused literally "${lines[0]}" -- 'libhwloc\.so\.15.* is needed by nrtd-0\.1\.0-1'
	stand_in --install filesystem
	for library in $(sonames); do
		[ "$library" = libcurl.so.4 ] || stand_in --install "$library"
	done
	check "without the one that it loads later, too" refused literally "${lines[0]}" -- 'libcurl\.so\.4.* is needed by nrtd-0\.1\.0-1'
	stand_in --install libcurl.so.4
	files >"$work/files"
	test_extender
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "a library cannot be removed under it" refused rpm_inside --erase stand-in-libcurl.so.4 -- 'is needed by .*nrtd-0\.1\.0-1'
	check "nobody has said who it is: not enabled" says inside systemctl is-enabled nrtd -- disabled
	check "nor started" says unit ActiveState -- inactive
	check "its files are as packaged" silent rpm_inside --verify nrtd
	check "systemd-analyze verify" silent inside systemd-analyze verify nrtd.service
	check "the manual" says inside man -w nrtd -- '/usr/share/man/.*nrtd.8.gz'
	since=$(date +%s)
	for line in "${lines[@]:1}"; do
		check "the guide: $line" literally "$line"
	done
	check "active when the command returns" running
	check "STATUS" says unit StatusText -- "$node: [0-9]+ NUMA nodes, [0-9]+ CPUs available"
	check "the object is there" says nrt '{.zones[0].name}' -- 'node-[0-9]+'
	check "no warning" silent journal -p warning
}

test_upgrade() {
	local pid uid
	pid=$(unit MainPID)
	uid=$(nrt '{.metadata.uid}')
	tests/upstream/cluster.sh kill "$work/cluster"
	check "an upgrade while the API server is away waits for nothing" \
		within 15000 rpm_inside --upgrade "/srv/nrtd/build/rpm/nrtd-$version-2.$(uname -m).rpm"
	check "the service does" eventually 5 settled activating
	near tests/upstream/cluster.sh start "$work/cluster" -nodes $node -resume >/dev/null
	check "it runs as another process" eventually 35 restarted "$pid"
	check "and publishes when the API server is back" eventually 60 says unit StatusText -- "$node: [0-9]+ NUMA nodes, .*"
	check "it is the new release" says rpm_inside -q nrtd -- "nrtd-0\\.1\\.0-2\\.$(uname -m)"
	check "the object stays" says nrt '{.metadata.uid}' -- "$uid"
	check "the settings stay" says inside tail -n 1 /etc/default/nrtd -- NRTD_KUBECONFIG=/etc/kubernetes/kubelet.conf
	check "new ones are beside them" says inside tail -n 1 /etc/default/nrtd.rpmnew -- '#NRTD_NEW='
	check "it stays enabled" says inside systemctl is-enabled nrtd -- enabled
}

# test_plugin: without the agent, as on a machine that is no node
test_plugin() {
	local line
	line=$(guide "sudo rpm --install build/rpm/kubectl-numa")
	check "the guide: $line" literally "$line"
	check "without the agent" says inside sh -c 'command -v nrtd || echo none' -- none
	plugged
	check "the extender beside it" literally "$(guide "sudo rpm --install build/rpm/nrtd-extender")"
	check "an upgrade of both" rpm_inside --upgrade \
		"/srv/nrtd/build/rpm/nrtd-extender-$version-2.$(uname -m).rpm" "/srv/nrtd/build/rpm/$(basename "$packages"/kubectl-numa-"$version"-2.*)"
	check "they are the new release" says rpm_inside -q --queryformat '%{RELEASE}' nrtd-extender kubectl-numa -- 22
	check "their files are as packaged" silent rpm_inside --verify nrtd-extender kubectl-numa
	line=$(guide "sudo rpm --erase nrtd-extender" "Uninstalling the service")
	check "the guide: $line" literally "$line"
	check "nothing is left" silent traces
}

traces() { left rpm -qa nrtd 'nrtd-*' kubectl-numa; }
test_removal() {
	local lines
	check "removed while it runs" rpm_inside --erase nrtd
	check "it is stopped" says inside sh -c 'grep -lsx nrtd /proc/[0-9]*/comm || echo none' -- none
	check "the changed settings are kept" says inside tail -n 1 /etc/default/nrtd.rpmsave -- NRTD_KUBECONFIG=/etc/kubernetes/kubelet.conf
	inside rm /etc/default/nrtd.rpmsave /etc/default/nrtd.rpmnew
	check "nothing else is left" silent traces
	check "but the object" says nrt '{.zones[0].name}' -- 'node-[0-9]+'
	test_plugin
	mapfile -t lines < <(guide "sudo rpm --install")
	check "installed again" literally "set -e$(printf '\n%s' "${lines[@]}")"
	mapfile -t lines < <(guide "sudo systemctl disable" "Uninstalling the service")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "the guide: ${lines[1]}" literally "${lines[1]}"
	cleaned
	check "the guide: sudo rpm --erase nrtd" literally "sudo rpm --erase nrtd"
	inside rm /etc/default/nrtd.rpmsave
	check "nothing is left" silent traces
	unharmed
}

prepare
start_node || { echo "FAIL the node does not start" && exit 1; }
test_install
test_upgrade
test_removal
tally
