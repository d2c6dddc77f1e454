# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Runs nrtd-extender for a scenario test, on $port of the loopback interface, which the test sets. Source this file after tests/lib/scenario.sh.
# shellcheck disable=SC2154 # $dir is of scenario.sh, $port of the test
command -v curl >/dev/null || { echo "skipped: curl is not here"; exit 0; }
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$dir"' EXIT

# start_extender FILE FLAG...: with the objects of the file, until it is ready; it logs to $dir/log
start_extender() {
	extender_file=$1
	shift
	"${B:-build}/nrtd-extender" --nrt "$extender_file" --http "127.0.0.1:$port" "$@" 2>"$dir/log" &
	pid=$!
}
wait_until_ready() { eventually 30 curl -sf "127.0.0.1:$port/readyz" >"$dir/out" 2>"$dir/err"; }

stop() {
	kill "$pid" && wait "$pid"
	status=$?
	pid=
	return "$status"
}
