#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# options.sh [VERSION...]: compare the policy options of common/policy_options.h, and in which releases each is alpha, beta and generally
# available, with policy_options.go of these Kubernetes versions, or of those that agent/observe/release_names.c names. Exit status 77,
# after a line that begins with "skipped:", when this machine has no Go or cannot get the modules.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
root=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046 # a list of versions
[ $# -gt 0 ] || set -- $(sed -n 's/^ \* Kubernetes \(1\..*\)\.$/\1/p' "$root/agent/observe/release_names.c")
command -v go >/dev/null 2>&1 || {
	echo "skipped: the options of kubelets need Go, and this machine has no Go"
	exit 77
}

# member NAME VERSION: what `go mod download -json` prints, empty if the module is not available
member() { go mod download -json "k8s.io/kubernetes@v$2" 2>/dev/null | sed -n "s/.*\"$1\": \"\(.*\)\",/\1/p"; }

for version; do
	# GoMod is also there for a version that needs a newer Go, Dir is not.
	file=$(member GoMod "$version")
	source=${file:+$(GOTOOLCHAIN=$(./toolchain.sh "$file") member Dir "$version")}
	[ -n "$source" ] || {
		echo "skipped: Kubernetes $version cannot be fetched here"
		exit 77
	}
	minor=${version#1.}
	minor=${minor%%.*}
	for manager in cpumanager topologymanager; do
		awk -v minor="$minor" -v manager="$manager" '
			$2 == "string" && $3 == "=" {gsub(/"/, "", $4); text[$1] = $4}
			/^\t(alpha|beta|stable)Options +=/ {maturity = $1; sub(/Options/, "", maturity)}
			/^\t\t[A-Za-z]+,$/ && maturity {sub(/,/, "", $1); print minor, manager, text[$1], maturity}
			/^\)/ {maturity = ""}
		' "$source/pkg/kubelet/cm/$manager/policy_options.go"
	done >>"$work/kubelets"
	awk -v minor="$minor" '
		/^#define CPU_MANAGER_OPTIONS/ {manager = "cpumanager"}
		/^#define TOPOLOGY_MANAGER_OPTIONS/ {manager = "topologymanager"}
		/^\trow\(/ {
			split($0, part, /, */)
			gsub(/"/, "", part[3])
			maturity = part[7] && minor >= part[7] ? "stable" : part[6] && minor >= part[6] ? "beta" : part[5] && minor >= part[5] ? "alpha" : ""
			if (maturity)
				print minor, manager, part[3], maturity
		}
	' "$root/common/policy_options.h" >>"$work/rows"
done
sort "$work/kubelets" >"$work/want"
sort "$work/rows" >"$work/got"
[ -s "$work/want" ] || {
	echo "options.sh: no options found in policy_options.go" >&2
	exit 1
}
diff "$work/want" "$work/got"
