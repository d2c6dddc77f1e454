#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mirror.sh: print where this machine's apt takes Debian from, for debootstrap. Status 1 and a line on standard error when
# its configuration names no Debian archive, or apt has never read one (apt-get update).
set -eu
# shellcheck disable=SC2016 # apt's own placeholders
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
[ -n "$mirror" ] || { echo "apt's configuration names no Debian archive that it has read" >&2 && exit 1; }
echo "$mirror"
