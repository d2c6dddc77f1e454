#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make install-test: the Debian package under a real systemd: built, checked, installed by doc/install.md's own commands in a
# Debian tree that systemd-nspawn has booted, with the kubelet's managers and the real API server (tests/upstream) beside
# it; started, reloaded, hung, misconfigured, upgraded, cleaned up, purged. Each check is a line, the last line is
# "N passed, N failed". build/install keeps the tree. What cannot be had here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
cache=build/install
programs=build/upstream
node="node-a"
pod='{"admit":{"metadata":{"name":"p","namespace":"default","uid":"p-1"},"spec":{"containers":[{"name":"c","resources":{
"requests":{"cpu":"1","memory":"1Mi"},"limits":{"cpu":"1","memory":"1Mi"}}}]}}}'
machine=nrtd-install-$$
work=$(mktemp -d)
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
nspawn=
leader=
managers_PID=

gone() { ! kill -0 "$1" 2>/dev/null; }
clean_up() {
	local pid
	[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"
	for pid in ${managers_PID:-} $nspawn; do # systemd-nspawn takes SIGTERM for an orderly end of the machine
		kill "$pid" 2>/dev/null
		eventually 15 gone "$pid" || kill -KILL "$pid"
	done
	rmdir "/run/systemd/nspawn/propagate/$machine" 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# says COMMAND... -- PATTERN: what it prints matches the extended regular expression as a whole
says() {
	local -a command=()
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	"${command[@]}" >"$work/said" 2>&1
	grep -qxE -- "$2" "$work/said" || { echo "want '$2', it says:" && cat "$work/said" && return 1; }
}
silent() { # silent COMMAND...: it succeeds and prints nothing
	if ! "$@" >"$work/said" 2>&1 || [ -s "$work/said" ]; then
		cat "$work/said"
		return 1
	fi
}

# ---- what is needed

# make_tree: $tree, a Debian system with systemd and what the package depends on and nothing else
make_tree() {
	local mirror packages
	packages=systemd,systemd-sysv,dbus,sudo,man-db,$(dpkg-deb -f "$work"/deb/nrtd_*.deb Depends |
		sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g')
	tree=$cache/root
	[ "$(cat $cache/packages 2>/dev/null)" != "$VERSION_CODENAME $packages" ] || return 0
	mirror=$(tests/install/mirror.sh 2>"$work/debootstrap") || return 1
	echo "     debootstrap $VERSION_CODENAME from $mirror, once"
	mkdir -p $cache && rm -rf $tree $cache/packages
	debootstrap --variant=minbase --include="$packages" "$VERSION_CODENAME" $tree "$mirror" >"$work/debootstrap" 2>&1 || return 1
	rm -f $tree/etc/hostname $tree/var/cache/apt/archives/*.deb
	echo "127.0.0.1 localhost $node" >$tree/etc/hosts
	echo "$VERSION_CODENAME $packages" >$cache/packages
}

prepare() {
	local answer status=0
	[ "$(id -u)" -eq 0 ] || skip "systemd-nspawn needs root"
	# shellcheck source=/dev/null
	. /etc/os-release
	[ "${ID:-}" = debian ] || skip "the package is for Debian, this is ${PRETTY_NAME:-another system}"
	for what in deb install; do
		answer=$(packaging/install-deps.sh $what 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
	done
	tests/upstream/build.sh controlplane kubectl managers || status=$?
	[ $status -ne 77 ] || exit 0
	[ $status -eq 0 ] || exit 1
	# What is built here are no unit tests: make test runs them.
	check "the package is built, and lintian finds nothing" env "DEB_BUILD_OPTIONS=nocheck parallel=$(nproc)" \
		packaging/make-deb.sh "$work/deb"
	[ -e "$(echo "$work"/deb/nrtd_*.deb)" ] || exit 1
	make_tree || skip "debootstrap fails here: $(tail -n 1 "$work/debootstrap")"
	answer=$(systemd-nspawn --quiet --directory=$tree --volatile=overlay --register=no --keep-unit --private-network \
		--machine="$machine" --console=pipe true 2>&1 </dev/null) || skip "systemd-nspawn: $answer"
}

# ---- the node: a machine of its own, whose changes go with it

inside() { # inside COMMAND...: as root on the node
	nsenter -t "$leader" -m -u -i -n -p -C -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}
near() { nsenter -t "$leader" -n -- "$@"; } # near COMMAND...: on the node's network, which is its loopback

booted() {
	leader=$(pgrep -P "$nspawn" 2>/dev/null) && inside systemctl is-system-running 2>/dev/null | grep -qxE 'running|degraded'
}
# The kubelet is two: a process of its name, for its command line, and the managers, for its files and its socket.
start_kubelet() {
	cat >"$work/kubelet/config.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cpuManagerPolicy: static
		topologyManagerPolicy: best-effort
		reservedSystemCPUs: "$(sed 's/[-,].*//' /sys/devices/system/cpu/online)"
	END
	coproc managers { exec $programs/managers -root "$work/kubelet" -config "$work/kubelet/config.yaml" 2>"$work/managers"; }
	printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' | cc -x c -o "$work/bin/kubelet" - || return 1
	inside tee /etc/systemd/system/kubelet.service >/dev/null <<-END
		[Service]
		ExecStart=/opt/bin/kubelet --config=/var/lib/kubelet/config.yaml --topology-manager-policy=restricted
	END
	inside systemctl start kubelet && read -r -t 30 _ <&"${managers[0]}"
}
kubelet() { # kubelet JSON: a word to the managers; their answer
	local answer
	echo "${1//$'\n'/}" >&"${managers[1]}" && read -r -t 10 answer <&"${managers[0]}" && echo "$answer"
}
start_node() {
	mkdir -p "$work"/{kubelet,kubernetes,bin}
	setpriv --pdeathsig TERM systemd-nspawn --quiet --directory=$tree --volatile=overlay --boot --register=no --keep-unit --private-network \
		--machine="$machine" --hostname=$node --link-journal=no --console=pipe \
		--bind-ro="$work/deb:/srv/nrtd/build/deb" --bind-ro="$work/bin:/opt/bin" --bind="$work/kubelet:/var/lib/kubelet" \
		--bind="$work/kubernetes:/etc/kubernetes" </dev/null >"$work/console" 2>&1 &
	nspawn=$!
	if ! eventually 120 booted; then
		cat "$work/console"
		[ -z "$leader" ] || inside systemctl --no-pager list-jobs
		return 1
	fi
	broken >"$work/broken"
	start_kubelet || { cat "$work/managers" && return 1; }
	near tests/upstream/cluster.sh start "$work/cluster" -nodes $node >/dev/null || return 1
	cp "$work/cluster/kubelet-$node.kubeconfig" "$work/kubernetes/kubelet.conf"
}

# ---- words about it

unit() { inside systemctl show -p "$1" --value nrtd; } # unit PROPERTY
journal() { inside journalctl --quiet --unit nrtd --output cat --since "@$since" "$@"; }
kubectl() { near $programs/kubectl --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
nrt() { kubectl get noderesourcetopologies $node -o "jsonpath=$1"; } # nrt JSONPATH: of the node's object
available() { # how many exclusive CPUs the object says are there
	nrt '{range .zones[*].resources[?(@.name=="cpu")]}{.available}{"\n"}{end}' | awk '{ n += $1 } END { print n }'
}
running() { [ "$(unit ActiveState) $(unit SubState)" = "active running" ]; }
settled() { [ "$(unit ActiveState)" = "$1" ]; }
restarted() { running && [ "$(unit MainPID)" != "$1" ]; } # restarted PID: it runs, as another process
within() { # within MILLISECONDS COMMAND...: it succeeds and takes no longer
	local begun limit=$1
	begun=$(date +%s%N)
	shift
	"$@" || return 1
	begun=$((($(date +%s%N) - begun) / 1000000))
	[ $begun -le "$limit" ] || { echo "it took $begun ms" && return 1; }
}
settings() { # settings LINE...: what is in /etc/default/nrtd behind what the package and the guide put there
	inside sed -i '/^# tests/,/^$/d' /etc/default/nrtd && printf '%s\n' '# tests' "$@" '' | inside tee -a /etc/default/nrtd >/dev/null
}
guide() { # guide BEGIN: doc/install.md's indented lines from the one that begins so
	awk -v begin="$1" '/^    / { if (index($0, "    " begin) == 1) found = 1; if (found) print substr($0, 5); next } found { exit }' doc/install.md
}

literally() { printf '%s\n' "${2:-}" | inside sh -c "cd /srv/nrtd && $1"; } # literally LINE [ANSWER]: one of them, on the node
literally_near() { (PATH=$PWD/$programs:$PATH KUBECONFIG=$work/cluster/admin.kubeconfig near sh -c "$1"); }

# files: what is on the node and is not written by apt, man-db, systemd whatever the package is
files() {
	inside find / /run /tmp -xdev | sort -u | grep -vE '^/(run/systemd|run/private$|run/log|run/sudo|tmp/systemd-private|var/log|var/cache/(apt|debconf|man)|var/lib/(apt|systemd/catalog)|var/lib/dpkg/[^/]*$)'
}
broken() { inside systemctl list-units --failed --plain --no-legend --type=service; }
node_words() { kubectl get node $node -o yaml | grep nrtd || true; }
second() { # second COMMAND...: nrtd on the command line, for two seconds
	inside "$@" timeout 2 nrtd run --http off --kubeconfig /etc/kubernetes/kubelet.conf || true
}
left() { # left: what a purge has not taken away
	files | diff "$work/files" -
	inside find / /run /tmp -xdev \( -path /srv/nrtd -o -path /var/cache/man \) -prune -o -name '*nrtd*' -print
	inside systemctl list-units --all --no-legend 'nrtd*'
	inside systemctl list-unit-files --no-legend 'nrtd*'
	inside getent passwd nrtd
	inside dpkg-query -W nrtd 2>/dev/null
	inside sh -c 'grep -lsx nrtd /proc/[0-9]*/comm'
	true
}

# smoke: the package's autopkgtest; the node has no curl of its own
smoke() { cp "$(command -v curl)" "$work/bin/" && inside PATH=/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin sh -s <packaging/debian/tests/smoke; }

# ---- the checks, in the order of a life

test_install() {
	local lines line
	files >"$work/files"
	mapfile -t lines < <(guide "kubectl apply -f")
	for line in "${lines[@]}"; do
		check "the guide: $line" literally_near "$line"
	done
	mapfile -t lines < <(guide "sudo apt install")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "nobody has said who it is: not enabled" says inside systemctl is-enabled nrtd -- disabled
	check "nor started" says unit ActiveState -- inactive
	check "systemd-analyze verify" silent inside systemd-analyze verify nrtd.service
	check "systemd-analyze security: 1.5 at most" \
		inside systemd-analyze security --offline=true --threshold=15 /lib/systemd/system/nrtd.service
	check "its AppArmor profile, by its name" says unit AppArmorProfile -- '\-?nrtd-service'
	check "the manual" says inside man -w nrtd -- '/usr/share/man/.*nrtd.8.gz'
	check "the package's own test" smoke
	since=$(date +%s)
	check "the guide: ${lines[1]}" literally "${lines[1]}"
	check "the guide: ${lines[2]}" literally "${lines[2]}"
}

test_running() {
	local pid before
	pid=$(unit MainPID)
	check "active when the command returns" running
	check "STATUS" says unit StatusText -- "$node: [0-9]+ NUMA nodes, [0-9]+ CPUs available"
	check "the object is there" says nrt '{.zones[0].name}' -- 'node-[0-9]+'
	check "with what the kubelet's command line says" \
		says nrt '{.attributes[?(@.name=="topologyManagerPolicy")].value}' -- restricted
	check "and the Node's hints" says kubectl get node $node -o 'jsonpath={.metadata.annotations.nrtd\.dev/fit-hints}' -- \
		'\{"version":2,.*'
	for source in kubelet-settings state-files pod-resources; do
		check "it reads: $source" says near curl -s http://127.0.0.1:8095/metrics -- \
			"nrtd_source_state\\{source=\"$source\",state=\"ok\"\\} 1"
	done
	check "ready" says near curl -s http://127.0.0.1:8095/readyz -- ok
	check "a user of its own" says inside stat -c %u "/proc/$pid" -- '6[0-9]{4}'
	check "with one capability" says inside grep CapEff "/proc/$pid/status" -- 'CapEff:.0000000000000002'
	check "a second one waits for it" says second -- \
		"nrtd: warning: waiting: '/run/nrtd/$node.lock' is held by another nrtd, pid $pid"
	check "and one without capabilities, as in a pod" says second setpriv --bounding-set=-all --inh-caps=-all -- \
		"nrtd: warning: waiting: '/run/nrtd/$node.lock' belongs to user 6[0-9]{4}, whose nrtd holds it or did not end cleanly"
	before=$(available)
	if [ "$before" -gt 0 ]; then
		kubelet "$pod" >"$work/admitted"
		check "a pod takes a CPU" eventually 5 says available -- $((before - 1))
		kubelet '{"drop":"default/p"}' >/dev/null
		check "and gives it back" eventually 5 says available -- "$before"
	else
		echo "skipped: a pod that takes a CPU: the machine has one CPU only"
	fi
}

test_reload() {
	local pid
	pid=$(unit MainPID)
	check "reload" inside systemctl reload nrtd
	check "it says so" eventually 5 says journal -- 'SIGHUP: everything is read again'
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
	near tests/upstream/cluster.sh start "$work/cluster" -nodes $node -resume >/dev/null
	check "and is ready when the API server is back" eventually 60 restarted "$pid"
	check "a stop takes no 2 seconds" within 2000 inside systemctl stop nrtd
	check "and is none that failed" says unit Result -- success
	check "it takes its lock with it" silent inside find /run/nrtd -type f
	check "what is published stays" says nrt '{.metadata.uid}' -- "$uid"
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
	mapfile -t lines < <(guide "sudo systemctl disable")
	check "the guide: ${lines[0]}" literally "${lines[0]}"
	check "the guide: ${lines[1]}" literally "${lines[1]}"
	check "the object is gone" silent kubectl get noderesourcetopologies -o name
	check "the Node has nothing of it" silent node_words
	check "the guide: ${lines[2]}" literally "${lines[2]}" y
	check "nothing is left" silent left
	mapfile -t lines < <(guide "sudo apt install")
	check "installed again" literally "${lines[0]} && ${lines[1]} && ${lines[2]}"
	check "and purged while it runs" literally "sudo apt purge nrtd" y
	check "nothing is left" silent left
	check "but the object" says nrt '{.zones[0].name}' -- 'node-[0-9]+'
	broken >"$work/broken-after"
	check "and no service has failed that had not before" silent diff "$work/broken" "$work/broken-after"
}

prepare
start_node || { echo "FAIL the node does not start" && exit 1; }
test_install
test_running
test_reload
test_watchdog
test_upgrade
test_mistakes
test_removal
tally
