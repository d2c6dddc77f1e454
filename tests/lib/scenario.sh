# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What scenario tests share: a scratch folder, results of checks, and a node. Sourced; the test ends with `exit $failed`.
# shellcheck disable=SC2034 # the tests use it
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

ok() { echo "ok $1"; }
not_ok() { # NAME [FILE that shows why]
	echo "not ok $1"
	[ ! -s "${2:-}" ] || sed 's/^/# /' "$2"
	failed=1
}

# The command's success; what was printed last ($dir/out, $dir/err) is shown when it fails.
check() { # NAME COMMAND...
	check_name=$1
	shift
	if "$@"; then
		ok "$check_name"
	else
		head -n 40 "$dir/out" "$dir/err" >"$dir/check" 2>/dev/null
		not_ok "$check_name" "$dir/check"
	fi
}

# The node of the manuals: 32 CPUs on two NUMA nodes, CPU 0 reserved, two containers of nine CPUs.
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
