#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin_schedulers.sh: write the modules of kube-schedulers of other releases than the Kubernetes code of this folder, scheduler-RELEASE.
# They are separate modules, because scheduler-plugins determines the release of this folder's module.
set -eu
cd "$(dirname "$0")"
while read -r release version; do
	cat >"scheduler-$release/go.mod" <<-EOF
		module nrtd.dev/tests/upstream/scheduler-$release

		go 1.26.0

		require (
			k8s.io/kubernetes v$version
			nrtd.dev/tests/upstream v0.0.0
		)

		replace nrtd.dev/tests/upstream => ../
	EOF
	(
		cd "scheduler-$release"
		../pin_staging.sh "$version"
		rm -f go.sum
		go mod tidy
	)
done <<END
1.36 1.36.3
END
