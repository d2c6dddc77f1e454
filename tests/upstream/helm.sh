#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# helm.sh: print the path of helm: $HELM, or that of PATH, or build/upstream/helm, which is built then. Exit status 77 and a line
# that begins with "skipped:" when it can be neither found nor built.
set -eu
cd "$(dirname "$0")"
helm=${HELM:-$(command -v helm || :)}
if [ -z "$helm" ]; then
	./build_module.sh helm tool
	helm=$(cd ../.. && pwd)/build/upstream/helm
fi
echo "$helm"
