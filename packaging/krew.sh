#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# krew.sh FOLDER URL: print the krew manifest of `kubectl numa`, for the tarballs in FOLDER, which will be published below URL. Use the
# manifest with `kubectl krew install --manifest=numa.yaml` or in a krew index, which demands that HOMEPAGE is set.
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
  version: v$version${HOMEPAGE:+
  homepage: $HOMEPAGE}
  shortDescription: Show NUMA topology, and which node admits a pod
  description: |
    Reads the cluster's NodeResourceTopology objects. Lists the free resources
    of each NUMA node, draws a node, lists the nodes whose kubelets would admit
    a pod and those that would reject it with TopologyAffinityError, ranks the
    nodes for a pod, and explains why a pod is pending or was rejected.
  caveats: |
    Requires an exporter, such as nrtd, that publishes NodeResourceTopology
    objects. Runs on Linux with glibc.
  platforms:
END
for archive in "$folder/nrtd-$version"-linux-*.tar.gz; do
	[ -e "$archive" ] || { echo "krew.sh: '$folder' has no nrtd-$version-linux-*.tar.gz" >&2 && exit 1; }
	arch=$(basename "${archive##*-linux-}" .tar.gz)
	case $arch in *-* | s390x) continue ;; esac # *-*: with the libraries of another release; krew does not support s390x
	cat <<END
    - selector:
        matchLabels: {os: linux, arch: $arch}
      uri: $url/${archive##*/}
      sha256: $(sha256sum "$archive" | cut -d ' ' -f 1)
      bin: bin/kubectl-numa
      files:
        - {from: nrtd-$version/bin/kubectl*, to: bin}
        - {from: nrtd-$version/lib/*, to: lib}
        - {from: nrtd-$version/share/doc/licences/nrtd, to: LICENSE}
END
done
