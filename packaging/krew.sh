#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# krew.sh FOLDER URL: print the manifest by which krew installs `kubectl numa` from the tarballs for each architecture that are
# in FOLDER and will be found below URL: `kubectl krew install --manifest=numa.yaml`, or a krew index.
set -eu
folder=$1 url=${2%/}
version=$(sed -n 's/^VERSION := //p' "$(dirname "$0")/../Makefile")

cat <<END
# SPDX-License-Identifier: Apache-2.0
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: numa
spec:
  version: v$version
  homepage: https://nrtd.dev
  shortDescription: Show NUMA topology, and which node admits a pod
  description: |
    Reads the cluster's NodeResourceTopology objects. It lists what the nodes
    have free in each NUMA node, draws one of them, says which kubelets would
    admit a pod and which would refuse it with TopologyAffinityError, ranks
    the nodes for a pod, and says what became of one.
  caveats: |
    An exporter has to publish NodeResourceTopology objects: nrtd, or another.
    It runs on Linux with glibc.
  platforms:
END
for archive in "$folder/nrtd-$version"-linux-*.tar.gz; do
	[ -e "$archive" ] || { echo "krew.sh: '$folder' has no nrtd-$version-linux-*.tar.gz" >&2 && exit 1; }
	arch=$(basename "${archive##*-linux-}" .tar.gz)
	case $arch in *-* | s390x) continue ;; esac # one with the libraries of another release; no platform of krew's
	cat <<END
    - selector:
        matchLabels: {os: linux, arch: $arch}
      uri: $url/${archive##*/}
      sha256: $(sha256sum "$archive" | cut -d ' ' -f 1)
      bin: bin/kubectl-numa
      files:
        - {from: nrtd-$version/bin/*, to: bin}
        - {from: nrtd-$version/lib/*, to: lib}
        - {from: nrtd-$version/share/doc/licences/nrtd, to: LICENSE}
END
done
