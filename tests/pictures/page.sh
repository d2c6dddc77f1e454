#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# page.sh OUT: draw OUT/top-light.png and OUT/top-dark.png: the page of `kubectl numa top -o html` as Chromium shows it, for a simulated
# cluster of 14 nodes in two pools. B names the build folder.
set -eu -o pipefail
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.."
out=$1
B=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/demo/nodes.sh
. tests/demo/nodes.sh
browser=$(command -v chromium) || { echo "page.sh: Chromium is missing (packaging/install-deps.sh browser)" >&2 && exit 1; }

make_machines seed-2s-32cpu ccx 2s-snc4
for i in {1..14}; do
	case $((i % 4)) in
	0) node "worker-$i" ccx hpc 32 single-numa-node && sizes="10 9 3" ;;
	1) node "worker-$i" seed-2s-32cpu batch 32 best-effort && sizes="9 8 $((i + 2))" ;;
	2) node "worker-$i" 2s-snc4 hpc 96 single-numa-node && sizes="8 8 8 4 10 6 8" ;;
	3) node "worker-$i" seed-2s-32cpu batch 32 restricted && sizes="9 $((i + 1)) 4" ;;
	esac
	n=0
	for size in $sizes; do bind "job-$i-$((++n))" "$size" "worker-$i"; done
done
(cd "$work" && "$OLDPWD/$B/kubectl-numa" top --from cluster --cpus 8 --memory 1Gi -o html >top.html)
for scheme in light dark; do
	preferred=$([ $scheme = dark ] && echo 0 || echo 1)
	"$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$work/profile" --window-size=1100,1220 --force-device-scale-factor=0.8 \
		--blink-settings=preferredColorScheme="$preferred" --screenshot="$out/top-$scheme.png" "file://$work/top.html" \
		>"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
done
