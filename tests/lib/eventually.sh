# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# eventually SECONDS COMMAND...: repeats the command until it succeeds; fails after that time.
eventually() {
	eventually_end=$(($(date +%s) + $1 + 1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $eventually_end ] || return 1
		sleep 0.1
	done
}
