# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Starts api_server.py, and writes a kubeconfig file for it. Source this file after scenario.sh; it skips the test without python3.
# shellcheck disable=SC2034,SC2154 # scenario.sh sets $dir; the tests use $nrt
command -v python3 >/dev/null || {
	echo "skipped: there is no python3 here"
	exit 0
}
api=$dir/api
nrt=/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies
mkdir -p "$api$nrt" "$api/api/v1/nodes" "$api/api/v1/namespaces/default/pods"
python3 tests/lib/api_server.py "$api" 2>"$dir/api.log" &
api_pid=$!
trap 'kill $api_pid 2>/dev/null; rm -rf "$dir"' EXIT
eventually 30 test -s "$api/port" || {
	not_ok "the stand-in for the API server starts" "$dir/api.log"
	exit 1
}
server=http://127.0.0.1:$(cat "$api/port")
# "here" is the current context; the server of "east" has a path, and nothing listens at that of "west". nrtd sends credentials over https
# only, so the users have none.
ln -s . "$api/east"
kubeconfig() { # FILE
	cat >"$1" <<-END
		apiVersion: v1
		kind: Config
		current-context: here
		contexts:
		- {name: here, context: {cluster: here, user: someone}}
		- {name: east, context: {cluster: east, user: someone}}
		- {name: west, context: {cluster: west, user: someone}}
		clusters:
		- {name: here, cluster: {server: "$server"}}
		- {name: east, cluster: {server: "$server/east"}}
		- {name: west, cluster: {server: "http://127.0.0.1:1"}}
		users:
		- {name: someone, user: {}}
	END
}
kubeconfig "$dir/kubeconfig"
export KUBECONFIG="$dir/kubeconfig"

# serve PATH: answer this path with standard input
serve() { cat >"$api$1.json"; }
# refuse_path PATH [STATUS MESSAGE]: answer this path with an error, or as usual again
refuse_path() {
	refused=$api$1.error
	shift
	if [ $# -eq 0 ]; then rm -f "$refused"; else echo "$*" >"$refused"; fi
}
# requests: what has been requested since the last call of forget, sorted, without dry runs
requests() { grep -v '^dry run ' "$api/requests" 2>/dev/null | sort; }
forget() { rm -f "$api/requests"; }
# nrt_object NAME FREE FREE: two NUMA nodes of 8 CPUs with so many free, as the nodes of KEP 454
nrt_object() {
	printf '{"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology","metadata":{"name":"%s"},' "$1"
	printf '"attributes":[{"name":"topologyManagerPolicy","value":"best-effort"},{"name":"topologyManagerScope","value":"container"}],"zones":['
	for zone in 0 1; do
		[ $zone -eq 0 ] || printf ,
		printf '{"name":"node-%s","type":"Node","costs":[{"name":"node-%s","value":10},{"name":"node-%s","value":20}],"resources":[' \
			$zone $zone $((1 - zone))
		printf '{"name":"cpu","capacity":"8","allocatable":"8","available":"%s"},' "$([ $zone -eq 0 ] && echo "$2" || echo "$3")"
		printf '{"name":"memory","capacity":"64Gi","allocatable":"64Gi","available":"64Gi"}]}'
	done
	printf ']}\n'
}
# list KIND OBJECT...: a list of objects as the API server prints it: the items have no kind
list() {
	printf '{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[' "$1"
	shift
	comma=
	for object; do
		printf '%s%s' "$comma" "$object" | sed 's/"apiVersion":"[^"]*","kind":"[A-Za-z]*",//'
		comma=,
	done
	printf ']}\n'
}
