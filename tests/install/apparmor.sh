#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make apparmor-test: the service's AppArmor profile: apparmor_parser takes it, and in a virtual machine whose kernel has
# AppArmor nrtd publishes, answers, is reloaded and asks the API server in it, as it is shipped and enforced, and the kernel has
# nothing to say. Each check is a line, the last line is "N passed, N failed"; "skipped:" and 0 where something is not available.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
profile=packaging/debian/nrtd-service.apparmor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/install/confined.sh
. tests/install/confined.sh
# compiled PROFILE: for the kernels of Debian 12, whatever this one has
compiled() { apparmor_parser --skip-cache --stdout --features-file /etc/apparmor.d/abi/3.0 "$@"; }

answer=$(packaging/install-deps.sh apparmor 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
compiled $profile --warn=all --Werror >/dev/null
result "apparmor_parser takes the profile" $?
! compiled <(sed 's/network netlink raw/network netlink any/' $profile) >/dev/null 2>&1
result "but not one with a misspelt rule" $?
[ "$(uname -m)" = x86_64 ] || skip "the virtual machine is x86_64, this machine is not"
get_kernel || skip "Debian's package linux-image-cloud-amd64 is not available here"
make_root tests/install/apparmor-init || exit 1
compiled $profile >"$work/root/profile.complain" && compiled <(sed 's/,complain)/)/' $profile) >"$work/root/profile.enforce" || exit 1
boot apparmor=1 security=apparmor
! grep -qx 'no AppArmor' "$work/lines" || skip "the kernel $kernel has no AppArmor"
guest_results
tally
