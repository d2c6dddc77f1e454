# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A container registry on the loopback, on a port that the kernel chooses. Sourced; $work is the script's.
# shellcheck disable=SC2034,SC2154

# start_registry: its process is $registry_PID, it is at $registry
start_registry() {
	printf 'version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:0"}\n' "$work/registry" >"$work/registry.yaml"
	docker-registry serve "$work/registry.yaml" >"$work/registry.log" 2>&1 &
	registry_PID=$!
	eventually 30 grep -q 'listening on 127' "$work/registry.log" || { cat "$work/registry.log" && return 1; }
	registry=$(sed -nE 's/.*listening on (127\.0\.0\.1:[0-9]+).*/\1/p' "$work/registry.log" | head -n 1)
}
