#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh [RELEASE...]: write RELEASE.mod and RELEASE.sum of every release below (or of those named) for the newest version that
# newest.sh finds, and print what changed. They are other go.mod files of the module in the folder above, for the programs that
# only need Kubernetes' own code: what else it needs determines the release of its own go.mod.
set -eu
cd "$(dirname "$0")/.."
chosen=${*:-}
while read -r release programs; do
	case " ${chosen:-$release} " in
	*" $release "*) ;;
	*) continue ;;
	esac
	mod=releases/$release.mod
	version=$(releases/newest.sh "$release")
	before=$([ ! -e "$mod" ] || sed -n 's/^.*k8s.io\/kubernetes v\(.*\)/\1/p' "$mod")
	[ -n "$version" ] || version=$before
	[ "$version" = "$before" ] || echo "$release: $version, before ${before:-none}"
	source=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
	language=$(sed -n 's/^go //p' "$source")
	cat >"$mod" <<-END_MOD
		module nrtd.dev/tests/upstream

		go $(printf '1.26.0\n%s\n' "$language" | sort -V | tail -n 1)

		require (
			github.com/k8stopologyawareschedwg/noderesourcetopology-api v0.1.3
			k8s.io/kubernetes v$version
		)
	END_MOD
	./pin_staging.sh "$version" "$mod"
	rm -f "releases/$release.sum"
	# Not go mod tidy, which looks at every program of the module.
	# shellcheck disable=SC2086 # a list of programs
	GOTOOLCHAIN=$(./toolchain.sh "$mod") GOFLAGS="-mod=mod -modfile=$PWD/$mod" \
		go list -tags "$(releases/tags.sh "$release")" -deps $programs >/dev/null
done <<END
1.34 ./cmd/kubelet
1.36 ./cmd/kubelet ./cmd/controlplane ./cmd/scheduler
1.37 ./cmd/kubelet ./cmd/controlplane ./cmd/scheduler
1.38 ./cmd/kubelet ./cmd/scheduler
END
