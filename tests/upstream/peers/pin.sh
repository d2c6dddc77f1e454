#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pin.sh: write the modules of the exporters that nrtd is measured beside, for the versions below. Each is a module of
# its own, because they need other versions of the same libraries than the Kubernetes code does, and than each other.
set -eu
NFD=v0.19.0
RTE=v0.24.0
# What RTE names for reading /sys is a commit behind this release that the checksum database does not have. With 0.24 it
# builds too, but panics when it starts.
GHW=v0.21.2

cd "$(dirname "$0")"
# pin FOLDER MODULE VERSION PROGRAM: a module that has the program as a tool
pin() {
	(
		cd "$1"
		rm -f go.sum
		printf 'module nrtd.dev/tests/upstream/peers/%s\n\ngo 1.26.0\n\ntool %s/%s\n' "$1" "$2" "$4" >go.mod
		go mod edit -require="$2@$3" -replace="github.com/jaypipes/ghw=github.com/jaypipes/ghw@$GHW"
		go mod tidy
	)
}
pin nfd sigs.k8s.io/node-feature-discovery "$NFD" cmd/nfd-topology-updater
pin rte github.com/k8stopologyawareschedwg/resource-topology-exporter "$RTE" cmd/resource-topology-exporter
