#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write RELEASE.mod and RELEASE.sum for the kubelets below. They are other go.mod files of the module in the folder
# above, for the programs that only need the kubelet's code: what else it needs decides the release of its own go.mod.
set -eu
cd "$(dirname "$0")/.."
while read -r release version; do
	mod=kubelets/$release.mod
	cat >"$mod" <<-EOF
		module nrtd.dev/tests/upstream

		go 1.26.0

		require (
			github.com/k8stopologyawareschedwg/noderesourcetopology-api v0.1.2
			k8s.io/kubernetes v$version
		)
	EOF
	./pin_staging.sh "$version" "$mod"
	rm -f "kubelets/$release.sum"
	# Not go mod tidy, which looks at every program of the module.
	GOFLAGS="-mod=mod -modfile=$PWD/$mod" go list -tags "$(kubelets/tags.sh "$release")" -deps ./cmd/kubelet >/dev/null
done <<END
1.34 1.34.4
1.36 1.36.3
1.37 1.37.2
1.38 1.38.0-alpha.0
END
