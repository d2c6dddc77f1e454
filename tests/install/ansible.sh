#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make ansible-test: the playbook and the role of packaging/ansible, run by Debian 12's ansible-core on a Debian tree that systemd-nspawn has
# booted, with nrtd's package in a repository of its own. No API server answers the service, so a web server on the node stands in for
# /readyz; make install-test has an API server. Each check is a line, the last line is "N passed, N failed". What is not available here
# is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
kind=deb
# shellcheck source=tests/install/node.sh
. tests/install/node.sh

build() {
	DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" packaging/make-deb.sh "$packages" && (cd "$packages" && dpkg-scanpackages . >Packages)
}
boot() {
	own_groups setpriv --pdeathsig TERM systemd-nspawn --quiet --directory="$tree" --volatile=overlay --boot --register=no --keep-unit \
		--machine="$machine" --hostname=$node --link-journal=no --console=pipe --bind-ro="$packages:/srv/apt" \
		--bind-ro="$PWD/packaging/ansible:/srv/ansible" systemd.mask=timers.target </dev/null >"$work/console" 2>&1 &
	nspawn=$!
	eventually 180 booted || { cat "$work/console" && return 1; }
	inside sh -ec 'echo "deb [trusted=yes] file:/srv/apt ./" >/etc/apt/sources.list.d/nrtd.list; mkdir -p /srv/www /etc/kubernetes; touch /srv/www/readyz
		cat >/etc/kubernetes/kubelet.conf' <<-END
		{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "u", "user": {"token": "t"}}]}
	END
}
# The ports are of this machine, whose network the node has: the package's dependencies are Debian's.
stand_in() {
	port=$((20000 + $$ % 12000))
	inside systemd-run --unit stand-in python3 -m http.server --bind 127.0.0.1 --directory /srv/www $port &&
		eventually 10 curl -fsS "http://127.0.0.1:$port/readyz"
}
# play SETTINGS OPTION...: on two hosts that are both this node; SETTINGS is JSON
play() {
	inside env LC_ALL=C.UTF-8 ansible-playbook -i first,second -c local -e ansible_python_interpreter=/usr/bin/python3 \
		-e "nrtd_readyz=http://127.0.0.1:$port/readyz" -e "{\"nrtd_settings\": $1}" "${@:2}" /srv/ansible/nrtd.yaml >"$work/play" 2>&1
	local status=$?
	cat "$work/play"
	return $status
}
recap() { grep -qE "^$1 +: .*$2" "$work/play"; } # recap HOST PATTERN: the host's line at the end
settings='{"NRTD_KUBECONFIG": "/etc/kubernetes/kubelet.conf", "NRTD_HTTP": "off"}'
other='{"NRTD_KUBECONFIG": "/etc/kubernetes/kubelet.conf", "NRTD_HTTP": "off", "NRTD_REFRESH": "5m"}'
setting() { [ "$(inside grep -c "^$1=" /etc/default/nrtd)" -eq 1 ] && inside grep -x "$1=$2" /etc/default/nrtd; }
runs() { inside systemctl is-enabled nrtd && inside systemctl is-active nrtd; }
pid() { inside systemctl show -P MainPID nrtd; }
installs() { play "$settings" && recap first 'changed=[1-9]' && recap second 'changed=0'; }
changes_nothing() { play "$settings" && recap first 'changed=0' && recap second 'changed=0' && [ "$(pid)" = "$first" ]; }
would_change() { play "$other" --check && recap first 'changed=[1-9]' && ! inside grep -q '^NRTD_REFRESH=' /etc/default/nrtd && [ "$(pid)" = "$first" ]; }
changes() { play "$other" && recap first 'changed=[1-9]' && setting NRTD_REFRESH 5m && [ "$(pid)" != "$first" ]; }
stops() { ! play "$other" -e nrtd_readyz=http://127.0.0.1:1/readyz && recap first 'failed=1' && ! grep -q '^second ' "$work/play"; }

[ "$(id -u)" -eq 0 ] || skip "systemd-nspawn needs root"
for group in roots deb repository install; do
	answer=$(packaging/install-deps.sh $group 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
done
make_tree ansible bookworm ansible-core python3-apt ca-certificates
mkdir -p "$packages"
check "the packages are built" build
check "a node boots" boot
check "a web server on it" stand_in
[ "$failed" -eq 0 ] || { tally || exit; }
check "the syntax" play "$settings" --syntax-check
check "it installs on the first host" installs
check "the settings are set" setting NRTD_KUBECONFIG /etc/kubernetes/kubelet.conf
check "the service is enabled and runs" runs
first=$(pid)
check "again, it changes nothing" changes_nothing
check "with --check, it says what another setting would change" would_change
check "another setting restarts the service" changes
check "it stops at the first host that does not publish" stops
tally
