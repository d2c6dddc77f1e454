# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Starts a container registry on the loopback interface, on a port that the kernel chooses. Source this file; the script sets $work.
# shellcheck disable=SC2034,SC2154

# start_registry: start the registry; sets $registry_PID to its process and $registry to its address
start_registry() {
	printf 'version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:0"}\n' "$work/registry" >"$work/registry.yaml"
	docker-registry serve "$work/registry.yaml" >"$work/registry.log" 2>&1 &
	registry_PID=$!
	eventually 30 grep -q 'listening on 127' "$work/registry.log" || { cat "$work/registry.log" && return 1; }
	registry=$(sed -nE 's/.*listening on (127\.0\.0\.1:[0-9]+).*/\1/p' "$work/registry.log" | head -n 1)
}
