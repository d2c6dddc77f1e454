# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Shared functions of scenario tests: a scratch directory $dir, results of checks, and an example node. Source this file; the test ends
# with `exit $failed`.
# shellcheck disable=SC2034 # the tests use $failed
. tests/lib/eventually.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

ok() { echo "ok $1"; }
not_ok() { # NAME [FILE with the reason]
	echo "not ok $1"
	[ ! -s "${2:-}" ] || sed 's/^/# /' "$2"
	failed=1
}

# The command must succeed; after a failure the check prints the command's output, $dir/out and $dir/err.
check() { # NAME COMMAND...
	check_name=$1
	shift
	if "$@" >"$dir/check" 2>&1; then
		ok "$check_name"
	else
		head -n 40 "$dir/out" "$dir/err" >>"$dir/check" 2>/dev/null
		not_ok "$check_name" "$dir/check"
	fi
}

# ---- documents of -o json, in $dir/out

# need_jq: skip the test without jq
need_jq() {
	command -v jq >/dev/null || {
		echo "skipped: jq is not here"
		exit 0
	}
}
has() { jq -e "$1" "$dir/out" >/dev/null; }                                                      # has FILTER: it is true
value() { jq -c "$1" "$dir/out"; } # value FILTER
of_node() { jq -c --arg node "$1" ".nodes[] | select(.name == \$node) | $2" "$dir/out"; }        # of_node NODE FILTER
is() { [ "$(of_node "$1" "$2")" = "$3" ]; }                                                      # is NODE FILTER VALUE
names() { jq -r '.nodes[].name' "$dir/out" | tr '\n' ' '; }                                      # of the nodes, in their order

# The example node of the manuals: 32 CPUs on two NUMA nodes, CPU 0 reserved, two containers with nine CPUs each.
example_node() { # FOLDER
	cp -r build/fixtures/machines/seed-2s-32cpu "$1"
	mkdir -p "$1/var/lib/kubelet"
	printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
		>"$1/var/lib/kubelet/cpu_manager_state"
	cat >"$1/var/lib/kubelet/config.yaml" <<-'END'
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cpuManagerPolicy: static
		reservedSystemCPUs: "0"
		topologyManagerPolicy: restricted
	END
}

# ---- the kubelet's APIs of pods

# serve_pods SOCKET LIST ALLOCATABLE [GATE]: tests/scenario/pod_resources.c answers at the socket until end_pods. Fails if the program was
# not built.
serve_pods() {
	pods_program=${B:-build}/tests/scenario/pod_resources
	[ -x "$pods_program" ] || {
		echo "skipped: $pods_program is not built"
		return 1
	}
	rm -f "$dir/serve" "$1"
	mkfifo "$dir/serve"
	"$pods_program" "$@" <"$dir/serve" >"$dir/ready" 2>&1 &
	pods_pid=$!
	exec 9>"$dir/serve"
	eventually 30 grep -q ready "$dir/ready" || not_ok "pod_resources serves" "$dir/ready"
}
end_pods() {
	exec 9>&-
	wait "$pods_pid"
}
