#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A part of make tarball-test: the archive as a service under an older systemd: that of RELEASE (default: jammy, whose systemd
# is 249), booted as the packages' tests boot theirs (node.sh), with nothing of nrtd's libraries on it. Installed by
# doc/install.md's own commands, started, installed again, restarted, uninstalled. Each check is a line, the last line is
# "N passed, N failed". What is not available here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
release=${RELEASE:-jammy}
kind=tarball
# shellcheck source=tests/install/node.sh
. tests/install/node.sh

prepare() {
	need roots
	[ "$(uname -m)" = x86_64 ] || skip "the guide's archive is for amd64"
	check "the archive is made" packaging/make-tarball.sh "$packages" amd64
	[ -e "$(echo "$packages"/*.tar.gz)" ] || exit 1
	make_tree tarball "$release"
}
pid() { unit MainPID; }
# own_libraries: of the process
own_libraries() {
	inside grep -c ' /opt/nrtd/lib/' "/proc/$(pid)/maps" &&
		! inside grep -o '/.*\.so.*' "/proc/$(pid)/maps" | sort -u | grep -v '^/opt/nrtd/lib/' |
			grep -vE '/(ld|lib(c|m|dl|pthread|rt|resolv|util|nss_[a-z]+))[-.0-9a-z_]*\.so[.0-9]*$'
}
# verified: systemd 249 prints warnings about other units too
verified() { inside systemd-analyze verify nrtd.service >"$work/verified" 2>&1 && ! grep nrtd "$work/verified"; }
# remains: as left, except for the folder that systemd 249 keeps per unit until the next boot
remains() { left false | sed '\#^/run/systemd/propagate/nrtd.service$#d'; }

test_install() {
	local lines
	inside find /srv/nrtd/build/tarball -name '*.tar.gz' -exec cp -t /srv/nrtd {} +
	files >"$work/files"
	granted
	mapfile -t lines < <(guide "tar -xzf nrtd-")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "the guide: ${lines[1]}" says literally "${lines[1]}" -- 'ok +libnuma +agrees.*'
	check "the guide: ${lines[2]}" literally "${lines[2]}"
	check "not enabled" says inside systemctl is-enabled nrtd -- disabled
	check "nor started" says unit ActiveState -- inactive
	check "systemd-analyze verify" verified
	since=$(date +%s)
	check "the guide: ${lines[3]}" literally "${lines[3]}"
	check "the guide: ${lines[4]}" literally "${lines[4]}"
}

test_running() {
	local first
	published
	check "the process is the archive's" says inside readlink "/proc/$(pid)/exe" -- /opt/nrtd/bin/nrtd
	check "with the archive's libraries" own_libraries
	followed
	first=$(pid)
	check "installed again under it" literally "sudo nrtd-$version/install.sh"
	check "it goes on" says pid -- "$first"
	check "the settings stay" says inside tail -n 1 /etc/default/nrtd -- NRTD_KUBECONFIG=/etc/kubernetes/kubelet.conf
	check "restarted" literally "sudo systemctl restart nrtd"
	check "it is another process" restarted "$first"
	check "of the new folder" says inside readlink "/proc/$(pid)/exe" -- /opt/nrtd/bin/nrtd
	check "no warning" silent journal -p warning --identifier nrtd
}

test_removal() {
	local lines line
	mapfile -t lines < <(guide "sudo systemctl disable" 'As a systemd service, from the tarball')
	for line in "${lines[@]}"; do
		check "the guide: $line" literally "$line"
	done
	cleaned
	inside rm -r "/srv/nrtd/nrtd-$version"
	check "nothing is left" silent remains
	unharmed
}

prepare
start_node || { echo "FAIL the node does not start" && exit 1; }
test_install
test_running
test_removal
tally
