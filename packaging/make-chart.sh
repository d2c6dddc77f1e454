#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make-chart.sh OUT: pack the committed tree's Helm chart into OUT, with its links replaced by files. Reproducible: the same commit and the
# same helm give the same bytes. HOMEPAGE and MAINTAINER, if set, become the chart's home, source and maintainer. helm is $HELM, helm in PATH, or built from its Go module.
# To upload the chart to a registry: `helm push OUT/nrtd-VERSION.tgz oci://REGISTRY/FOLDER`.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
helm=$(tests/upstream/helm.sh) || { status=$? && echo "$helm" && exit $status; }
version=$(sed -n 's/^VERSION := //p' Makefile)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/tree" "$work/chart"
git archive HEAD packaging | tar -x -C "$work/tree"
[ -z "${HOMEPAGE:-}" ] || printf 'home: %s\nsources: [%s]\n' "$HOMEPAGE" "$HOMEPAGE" >>"$work/tree/packaging/helm/nrtd/Chart.yaml"
[ -z "${MAINTAINER:-}" ] || printf 'maintainers:\n- {name: "%s", email: "%s"}\n' "${MAINTAINER% <*}" "$(printf '%s\n' "$MAINTAINER" | sed 's/.*<\(.*\)>.*/\1/')" \
	>>"$work/tree/packaging/helm/nrtd/Chart.yaml"
# helm prints every link that it follows on stderr
"$helm" package "$work/tree/packaging/helm/nrtd" -d "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
# Pack again with reproducible times, because helm writes the current time.
tar -x -m -C "$work/chart" -f "$work/nrtd-$version.tgz"
tar -c --sort=name --mtime="@$(packaging/source-date.sh)" --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r -C "$work/chart" nrtd |
	gzip -n -9 >"$out/nrtd-$version.tgz"
ls "$out/nrtd-$version.tgz"
