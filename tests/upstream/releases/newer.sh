#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# newer.sh: fail if the module proxy serves a newer version of a pinned release than the pinned one, or a release after them, and
# say what to do. For the nightly tests only: a checkout must not fail its gate because Kubernetes has released a version.
set -eu
cd "$(dirname "$0")"
if ! command -v go >/dev/null 2>&1; then
	echo "skipped: this machine has no Go"
	exit 0
fi
if ! answer=$(go list -m -versions k8s.io/kubernetes 2>&1); then
	echo "skipped: the module proxy cannot be reached: $(printf '%s\n' "$answer" | tail -n 1)"
	exit 0
fi
pinned=$(./pinned.sh)
last=$(printf '%s\n' "$pinned" | sed -n '$s/^1\.\([0-9]*\) .*/\1/p')
status=0
while read -r release version; do
	newest=$(./newest.sh "$release")
	if [ -z "$newest" ] || [ "$newest" = "$version" ]; then
		continue
	fi
	status=1
	if [ "$version" = none ]; then
		echo "FAIL the module proxy serves Kubernetes $newest, and $release is not pinned: see \"Adding a kubelet release\" in HACKING.md"
	else
		pin="releases/pin.sh $release"
		[ "$release" != 1.35 ] || pin=pin.sh
		echo "FAIL the module proxy serves Kubernetes $newest, and $version is pinned: run tests/upstream/$pin, then make conformance RELEASE=$release CASES=5000"
	fi
done <<END
$pinned
1.$((last + 1)) none
END
[ "$status" -ne 0 ] || echo "every pinned version is the newest one"
exit "$status"
