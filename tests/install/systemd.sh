#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make install-test: the Debian packages under a real systemd: built, checked, installed by doc/install.md's own commands in a
# Debian tree that systemd-nspawn has booted, with the kubelet's managers and the real API server (tests/upstream) beside
# it; the extender without the agent; the service started, reloaded, hung, misconfigured, upgraded, cleaned up; the kubectl
# plugin beside the service; each package purged. Each check is a line, the last line is
# "N passed, N failed". build/roots keeps the tree. What is not available here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
kind=deb
# shellcheck source=tests/install/node.sh
. tests/install/node.sh

prepare() {
	need deb packages
	# What is built here are no unit tests: make test runs them.
	check "the packages are built" env "DEB_BUILD_OPTIONS=nocheck parallel=$(nproc)" \
		packaging/make-deb.sh "$packages"
	[ -e "$(echo "$packages"/nrtd_*.deb)" ] && [ -e "$(echo "$packages"/nrtd-extender_*.deb)" ] &&
		[ -e "$(echo "$packages"/kubectl-numa_*.deb)" ] || exit 1
	# It is not uploaded to Debian, so there is no bug that asks for it.
	check "lintian finds nothing" lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$packages"/*.deb
	# shellcheck disable=SC2046 # words
	make_tree deb "$VERSION_CODENAME" $(depends nrtd_ nrtd-extender_ kubectl-numa_)
}
# depends PREFIX...: the packages of others that these depend on
depends() {
	local prefix
	for prefix; do dpkg-deb -f "$packages/$prefix"*.deb Depends; done |
		sed 's/([^)]*)//g; s/|[^,]*//g; s/[, ][, ]*/\n/g' | sort -u | grep -vxE '|nrtd'
}

# autopkgtest NAME: of the packages; the node has no curl of its own
autopkgtest() {
	cp "$(command -v curl)" "$work/bin/" && inside PATH=/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin sh -s <"packaging/debian/tests/$1"
}
known() { left dpkg-query -W nrtd nrtd-extender kubectl-numa; }

# ---- the checks, in the order of a life

test_extender() {
	local lines
	files >"$work/files"
	mapfile -t lines < <(guide "sudo apt install ./build/deb/nrtd-extender")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "the extender brings no agent" says inside sh -c 'command -v nrtd || echo none' -- none
	check "the extender's own test" autopkgtest extender
	check "purged" literally "sudo apt purge nrtd-extender" y
	check "nothing is left" silent known
}

test_install() {
	local lines
	mapfile -t lines < <(guide "sudo apt install")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "nobody has said who it is: not enabled" says inside systemctl is-enabled nrtd -- disabled
	check "nor started" says unit ActiveState -- inactive
	check "systemd-analyze verify" silent inside systemd-analyze verify nrtd.service
	check "systemd-analyze security: 1.5 at most" \
		inside systemd-analyze security --offline=true --threshold=15 /lib/systemd/system/nrtd.service
	check "its AppArmor profile, by its name" says unit AppArmorProfile -- '\-?nrtd-service'
	check "the manual" says inside man -w nrtd -- '/usr/share/man/.*nrtd.8.gz'
	check "the package's own test" autopkgtest smoke
	check "neither the extender nor the plugin is there" says inside sh -c 'command -v nrtd-extender kubectl-numa || echo none' -- none
	test_rollout
	since=$(date +%s)
	check "the guide: ${lines[1]}" literally "${lines[1]}"
	check "the guide: ${lines[2]}" literally "${lines[2]}"
}

# rollout: the loop of doc/operate.md, for a host that is there before this node; there is no repository to install from
rollout() {
	printf '%s\n' host-1 $node >"$work/bin/pilot-hosts"
	sed -n '/^setting=/,/^done/p' doc/operate.md | sed 's/sudo apt-get update && sudo apt-get install -y nrtd curl/true/' >"$work/bin/rollout"
	# shellcheck disable=SC2016 # the script expands it
	printf '%s\n' '#!/bin/bash' '[ "$2" = host-1 ] || exec /bin/bash -c "$3"' >"$work/bin/ssh"
	cp "$(command -v curl)" "$work/bin/" && chmod +x "$work/bin/ssh" &&
		inside PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c 'cd /opt/bin && bash rollout' >"$work/rollout" 2>&1
}
finished() { rollout && ! grep "stopped at" "$work/rollout"; }
# It begins before the right is granted: it ends at this node with the reason, and can be run again.
test_rollout() {
	check "a rollout without the right ends" within 60000 rollout
	check "it names the host" says tail -n 1 "$work/rollout" -- "stopped at $node"
	check "and the right" grep -q "the right to write .* of '$node' is missing: apply packaging/kubernetes/rbac-nodes.yaml" "$work/rollout"
	check "the service runs and retries" running
	granted
	check "with the right it goes through" eventually 60 finished
	inside systemctl disable --now nrtd
	inside sed -i '/^NRTD_KUBECONFIG/d' /etc/default/nrtd
}

test_running() {
	local pid
	pid=$(unit MainPID)
	published
	check "ready" says near curl -s http://127.0.0.1:8095/readyz -- ok
	check "a second one waits for it" says second -- \
		"nrtd: warning: waiting: '/run/nrtd/$node.lock' is held by another nrtd, pid $pid"
	check "and one without capabilities, as in a pod" says second setpriv --bounding-set=-all --inh-caps=-all -- \
		"nrtd: warning: waiting: '/run/nrtd/$node.lock' belongs to user 6[0-9]{4}, whose nrtd holds it or did not end cleanly"
	followed
}

test_reload() {
	local pid
	pid=$(unit MainPID)
	check "reload" inside systemctl reload nrtd
	check "it says so" eventually 5 says journal -- 'SIGHUP: reading everything again'
	check "and goes on" eventually 5 running
	check "as the same process" says unit MainPID -- "$pid"
	check "the journal has it as information" eventually 5 says journal -p info..info -- 'published after_ms=[0-9]+'
	check "and no warning" silent journal -p warning
}

test_watchdog() {
	local pid
	inside mkdir -p /etc/systemd/system/nrtd.service.d
	printf '[Service]\nWatchdogSec=3s\nRestartSec=1s\n' | inside tee /etc/systemd/system/nrtd.service.d/test.conf >/dev/null
	inside systemctl daemon-reload
	inside systemctl restart nrtd
	pid=$(unit MainPID)
	inside sh -c "kill -STOP $pid"
	check "the watchdog ends what stands still, and it is started anew" eventually 20 restarted "$pid"
	check "once" says unit NRestarts -- 1
	check "for that reason" eventually 5 says journal -- '.*Watchdog timeout \(limit 3s\).*'
	inside rm -r /etc/systemd/system/nrtd.service.d
	inside systemctl daemon-reload
	inside systemctl restart nrtd
}

test_upgrade() {
	local pid uid again="sudo apt-get install --reinstall ./build/deb/nrtd_*.deb"
	pid=$(unit MainPID)
	uid=$(nrt '{.metadata.uid}')
	check "an upgrade" literally "$again"
	check "restarts it" eventually 10 restarted "$pid"
	check "the object stays" says nrt '{.metadata.uid}' -- "$uid"
	check "the settings stay" says inside tail -n 1 /etc/default/nrtd -- NRTD_KUBECONFIG=/etc/kubernetes/kubelet.conf
	check "it stays enabled" says inside systemctl is-enabled nrtd -- enabled
	pid=$(unit MainPID)
	tests/upstream/cluster.sh kill "$work/cluster"
	check "an upgrade while the API server is away waits for nothing" within 15000 literally "$again"
	check "the service does" eventually 5 settled activating
	check "for 30 s at most" eventually 35 restarted "$pid"
	check "and says why" says unit StatusText -- ".*127.0.0.1.*"
	near tests/upstream/cluster.sh start "$work/cluster" -nodes $node -resume >/dev/null
	check "it publishes when the API server is back" eventually 60 says unit StatusText -- "$node: [0-9]+ NUMA nodes, .*"
	check "a stop takes no 2 seconds" within 2000 inside systemctl stop nrtd
	check "and is none that failed" says unit Result -- success
	check "it takes its lock with it" silent inside find /run/nrtd -type f
	check "what is published stays" says nrt '{.metadata.uid}' -- "$uid"
}

# test_plugin: beside the running service, with the extender
test_plugin() {
	local lines pid
	inside systemctl start nrtd
	pid=$(unit MainPID)
	mapfile -t lines < <(guide "sudo apt install ./build/deb/kubectl-numa")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	plugged
	check "the plugin's own test" autopkgtest plugin
	check "the extender beside it" literally "$(guide "sudo apt install ./build/deb/nrtd-extender")"
	check "an upgrade of both" literally "sudo apt-get install --reinstall ./build/deb/nrtd-extender_*.deb ./build/deb/kubectl-numa_*.deb"
	mapfile -t lines < <(guide "sudo apt purge nrtd-extender" "Uninstalling the service")
	check "the guide: ${lines[0]}" literally "${lines[0]}" y
	check "their files are gone" says inside sh -c 'find /usr -path /usr/share/doc/nrtd -prune -o \( -name "nrtd-extender*" -o -name "*nrtd-extender" -o -name "kubectl*numa*" \) -print | grep . || echo none' -- none
	check "the service was not restarted" says unit MainPID -- "$pid"
	inside systemctl stop nrtd
}

test_mistakes() {
	local token
	since=$(date +%s)
	settings NRTD_COALESCE=50
	check "a bad setting: it does not start" says inside sh -c 'systemctl start nrtd || echo no' -- no
	check "the journal has the error" eventually 5 says journal -p err..err -- "NRTD_COALESCE: '50' is not a duration .*"
	check "and it is left at that" settled failed
	settings NRTD_KUBECONFIG=/etc/kubernetes/later.conf
	check "no kubeconfig yet: it does not start" says inside sh -c 'systemctl start nrtd || echo no' -- no
	check "the journal says which" eventually 5 says journal -p err..err -- "cannot open '/etc/kubernetes/later.conf': .*"
	check "it is tried again" says unit SubState -- auto-restart
	check "a service account for it" kubectl apply -f packaging/kubernetes/rbac.yaml
	token=$(kubectl create token nrtd -n nrtd --bound-object-kind Node --bound-object-name $node)
	sed "s/token: .*/token: $token/" "$work/cluster/agent-$node.kubeconfig" >"$work/kubernetes/later.conf"
	check "until it is there, with a token for this node" eventually 20 running
	settings
	inside systemctl restart nrtd
}

test_removal() {
	local lines
	mapfile -t lines < <(guide "sudo systemctl disable" "Uninstalling the service")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "the guide: ${lines[1]}" literally "${lines[1]}"
	cleaned
	check "the guide: ${lines[2]}" literally "${lines[2]}" y
	check "nothing is left" silent known
	mapfile -t lines < <(guide "sudo apt install")
	check "installed again, with the other packages" \
		literally "${lines[0]} ./build/deb/nrtd-extender_*.deb ./build/deb/kubectl-numa_*.deb && ${lines[1]} && ${lines[2]}"
	check "and purged while it runs" literally "sudo apt purge nrtd nrtd-extender kubectl-numa" y
	check "nothing is left" silent known
	check "but the object" says nrt '{.zones[0].name}' -- 'node-[0-9]+'
	unharmed
}

prepare
start_node || { echo "FAIL the node does not start" && exit 1; }
test_extender
test_install
test_running
test_reload
test_watchdog
test_upgrade
test_plugin
test_mistakes
test_removal
tally
