#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# schedulers.sh [OPTION...]: outcome.sh -quick -judge with the unmodified kube-scheduler of each release that has a module here,
# scheduler-RELEASE. OPTIONs are those of outcome. B names the build folder.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
here=tests/upstream
failed=0
for module in "$here"/scheduler-*; do
	name=$(basename "$module")
	$here/build_module.sh "$name" .
	case $? in 0) ;; 77) continue ;; *) exit 1 ;; esac
	if $here/outcome.sh -quick -judge -ways stock,extender -scheduler "build/upstream/$name" "$@"; then
		echo "ok $name"
	else
		echo "not ok $name"
		failed=1
	fi
done
exit $failed
