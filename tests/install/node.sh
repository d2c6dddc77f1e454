# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A node for the tests of packages: a Debian tree that systemd-nspawn boots, with the kubelet's managers and the real API server
# (tests/upstream) beside it, and words about it. The script says what $kind its packages are, and fills the folder $packages,
# which the node has as /srv/nrtd/build/$kind. Sourced.
# shellcheck disable=SC2154 # the script's
work=$(mktemp -d)
packages=$work/$kind
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
programs=build/upstream
node="node-a"
# shellcheck disable=SC2034 # the scripts'
version=$(sed -n 's/^VERSION := //p' Makefile)
machine=nrtd-install-$$
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
	find /sys/fs/cgroup -depth -type d \( -path "*/$machine" -o -path "*/$machine/*" \) -exec rmdir {} + 2>/dev/null
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

# need GROUP...: of install-deps.sh, and what the nodes of all packages need; or the script ends
need() {
	local answer what status=0
	[ "$(id -u)" -eq 0 ] || skip "systemd-nspawn needs root"
	# shellcheck source=/dev/null
	. /etc/os-release
	[ "${ID:-}" = debian ] || skip "the node is a Debian tree, this is ${PRETTY_NAME:-another system}"
	for what in "$@" install; do
		answer=$(packaging/install-deps.sh "$what" 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
	done
	tests/upstream/build.sh controlplane kubectl managers || status=$?
	[ $status -ne 77 ] || exit 0
	[ $status -eq 0 ] || exit 1
}
# make_tree NAME RELEASE PACKAGE...: $tree, a Debian system with systemd and these packages, and nothing else
make_tree() {
	local answer
	tree=$(packaging/root.sh make "$2" "$1" systemd systemd-sysv dbus sudo man-db "${@:3}") || skip "the node's tree cannot be made"
	rm -f "$tree/etc/hostname"
	echo "127.0.0.1 localhost $node" >"$tree/etc/hosts"
	answer=$(systemd-nspawn --quiet --directory="$tree" --volatile=overlay --register=no --keep-unit --private-network \
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
# The kubelet is two: a process of its name, for its command line, which needs no library of the node, and the managers, for its
# files and its socket.
start_kubelet() {
	cat >"$work/kubelet/config.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cpuManagerPolicy: static
		topologyManagerPolicy: best-effort
		reservedSystemCPUs: "$(sed 's/[-,].*//' /sys/devices/system/cpu/online)"
	END
	coproc managers { exec $programs/managers -root "$work/kubelet" -config "$work/kubelet/config.yaml" 2>"$work/managers"; }
	printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' | cc -static -x c -o "$work/bin/kubelet" - || return 1
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
# own_groups COMMAND...: in control groups of the machine's own, so that two such machines do not share a service's
own_groups() {
	local groups
	for groups in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do # without, or beside, the older hierarchies
		[ -e $groups/cgroup.procs ] || continue
		mkdir "$groups/$machine" 2>/dev/null || continue # what this runs in may forbid it
		echo $BASHPID >"$groups/$machine/cgroup.procs" || echo "not in $groups/$machine"
	done
	exec "$@"
}
# Timers are off: what Debian does at midnight would be among what nrtd is asked about.
start_node() {
	mkdir -p "$work"/{kubelet,kubernetes,bin}
	own_groups setpriv --pdeathsig TERM systemd-nspawn --quiet --directory="$tree" --volatile=overlay --boot --register=no --keep-unit --private-network \
		--machine="$machine" --hostname=$node --link-journal=no --console=pipe \
		--bind-ro="$packages:/srv/nrtd/build/$kind" --bind-ro="$work/bin:/opt/bin" --bind="$work/kubelet:/var/lib/kubelet" \
		--bind="$work/kubernetes:/etc/kubernetes" systemd.mask=timers.target </dev/null >"$work/console" 2>&1 &
	nspawn=$!
	if ! eventually 120 booted; then
		cat "$work/console"
		[ -z "$leader" ] || inside systemctl --no-pager list-jobs
		return 1
	fi
	silent inside systemctl list-timers --no-legend || return 1
	broken >"$work/broken"
	start_kubelet || { cat "$work/managers" && return 1; }
	near tests/upstream/cluster.sh start "$work/cluster" -nodes $node >/dev/null || return 1
	cp "$work/cluster/kubelet-$node.kubeconfig" "$work/kubernetes/kubelet.conf"
	cp "$work/cluster/admin.kubeconfig" "$work/kubernetes/admin.conf" && cp $programs/kubectl "$work/bin/"
}

# ---- words about it

unit() { inside systemctl show -p "$1" --value nrtd; } # unit PROPERTY
journal() { inside journalctl --quiet --unit nrtd --output cat --since "@$since" "$@"; }
kubectl() { near $programs/kubectl --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
nrt() { kubectl get noderesourcetopologies $node -o "jsonpath=$1"; } # nrt JSONPATH: of the node's object
available() { # how many exclusive CPUs the object says are there
	nrt '{range .zones[*].resources[?(@.name=="cpu")]}{.available}{"\n"}{end}' | awk '{ n += $1 } END { print n }'
}
granted() { # the guide's commands for the cluster, as checks
	local -a lines
	local line
	mapfile -t lines < <(guide "kubectl apply -f")
	for line in "${lines[@]}"; do
		check "the guide: $line" literally_near "$line"
	done
}
published() { # checks of what the service has made of the node
	local source
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
	check "a user of its own" says inside stat -c %u "/proc/$(unit MainPID)" -- '6[0-9]{4}'
	check "with one capability" says inside grep CapEff "/proc/$(unit MainPID)/status" -- 'CapEff:.0000000000000002'
}
followed() { # checks that a pod counts, and its end
	local before
	before=$(available)
	[ "$before" -gt 0 ] || { echo "skipped: a pod that takes a CPU: the machine has one CPU only" && return; }
	kubelet '{"admit":{"metadata":{"name":"p","namespace":"default","uid":"p-1"},"spec":{"containers":[{"name":"c","resources":{
		"requests":{"cpu":"1","memory":"1Mi"},"limits":{"cpu":"1","memory":"1Mi"}}}]}}}' >"$work/admitted"
	check "a pod takes a CPU" eventually 5 says available -- $((before - 1))
	kubelet '{"drop":"default/p"}' >/dev/null
	check "and gives it back" eventually 5 says available -- "$before"
}
cleaned() { # checks that nothing of it is on the API server
	check "the object is gone" silent kubectl get noderesourcetopologies -o name
	check "the Node has nothing of it" silent node_words
}
plugged() { # checks of the kubectl plugin, which reads the object on the API server
	check "the plugin lists the node" says inside env PATH=/opt/bin:/usr/bin:/usr/sbin:/bin KUBECONFIG=/etc/kubernetes/admin.conf \
		kubectl numa top -- "$node .*"
	check "kubectl's completion finds its commands" says inside kubectl_complete-numa "" -- 'top.list each node.s free CPUs and devices'
	check "the plugin's manual" says inside man -w kubectl-numa -- '/usr/share/man/.*kubectl-numa.1.gz'
}
unharmed() { # the check of the node's other services
	broken >"$work/broken-after"
	check "and no service has failed that had not before" silent diff "$work/broken" "$work/broken-after"
}
running() { [ "$(unit ActiveState) $(unit SubState)" = "active running" ]; }
settled() { [ "$(unit ActiveState)" = "$1" ]; }
restarted() { # restarted PID: it runs, as another process
	local now
	now=$(unit MainPID)
	[ "$now" -gt 0 ] && [ "$now" -ne "$1" ] && running
}
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
guide() { # guide BEGIN [HEADING]: doc/install.md's indented lines from the one that begins so, below that heading
	awk -v begin="$1" -v heading="${2:-}" '$0 == "## " heading { heading = "" } heading != "" { next }
		/^    / { if (index($0, "    " begin) == 1) found = 1; if (found) print substr($0, 5); next } found { exit }' doc/install.md
}

literally() { printf '%s\n' "${2:-}" | inside sh -c "cd /srv/nrtd && $1"; } # literally LINE [ANSWER]: one of them, on the node
literally_near() { (PATH=$PWD/$programs:$PATH KUBECONFIG=$work/cluster/admin.kubeconfig near sh -c "$1"); }

# files: what is on the node and is not written by apt, man-db, systemd whatever the package is
files() {
	inside find / /run /tmp -xdev | sort -u | grep -vE '^/(run/systemd|run/private$|run/log|run/sudo|tmp/systemd-private|var/log|var/cache/(apt|debconf|man)|var/lib/(apt|systemd/catalog)|var/lib/dpkg/[^/]*$|root/.rpmdb)'
}
broken() { inside systemctl list-units --failed --plain --no-legend --type=service; }
node_words() { kubectl get node $node -o yaml | grep nrtd || true; }
second() { # second COMMAND...: nrtd on the command line, for two seconds
	inside "$@" timeout 2 nrtd run --http off --kubeconfig /etc/kubernetes/kubelet.conf || true
}
left() { # left QUERY...: what a removal has not taken away; the query prints the package if it is still known
	files | diff "$work/files" -
	inside find / /run /tmp -xdev \( -path /srv/nrtd -o -path /var/cache/man \) -prune -o \( -name '*nrtd*' -o -name 'kubectl*numa*' \) -print
	inside systemctl list-units --all --no-legend 'nrtd*'
	inside systemctl list-unit-files --no-legend 'nrtd*'
	inside getent passwd nrtd
	inside "$@" 2>/dev/null
	inside sh -c 'grep -lsx nrtd /proc/[0-9]*/comm'
	true
}
