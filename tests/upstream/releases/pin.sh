#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write RELEASE.mod and RELEASE.sum for the newest patch of each release below that the module proxy has, and name what
# changed. They are other go.mod files of the module in the folder above, for the programs that only need Kubernetes' own code:
# what else it needs determines the release of its own go.mod.
set -eu
cd "$(dirname "$0")/.."
served=$(go list -m -versions k8s.io/kubernetes | tr ' ' '\n')
while read -r release programs; do
	mod=releases/$release.mod
	# A pre-release counts where there is nothing newer; sort -V puts 1.38.0 before 1.38.0-alpha.0.
	version=$(printf '%s\n' "$served" | grep "^v$release\.[0-9]*$" | sort -V | tail -n 1)
	[ -n "$version" ] || version=$(printf '%s\n' "$served" | grep "^v$release\." | sort -V | tail -n 1)
	before=$(sed -n 's/^.*k8s.io\/kubernetes \(v.*\)/\1/p' "$mod")
	[ -n "$version" ] || version=$before
	[ "$version" = "$before" ] || echo "$release: $version, before $before"
	cat >"$mod" <<-EOF
		module nrtd.dev/tests/upstream

		go 1.26.0

		require (
			github.com/k8stopologyawareschedwg/noderesourcetopology-api v0.1.2
			k8s.io/kubernetes $version
		)
	EOF
	./pin_staging.sh "${version#v}" "$mod"
	rm -f "releases/$release.sum"
	# Not go mod tidy, which looks at every program of the module.
	# shellcheck disable=SC2086 # a list of programs
	GOFLAGS="-mod=mod -modfile=$PWD/$mod" go list -tags "$(releases/tags.sh "$release")" -deps $programs >/dev/null
done <<END
1.34 ./cmd/kubelet
1.36 ./cmd/kubelet ./cmd/controlplane ./cmd/scheduler
1.37 ./cmd/kubelet ./cmd/controlplane ./cmd/scheduler
1.38 ./cmd/kubelet
END
