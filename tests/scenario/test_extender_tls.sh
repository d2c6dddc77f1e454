#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nrtd-extender by HTTPS: clients show a certificate, the kubelet's probes need none, and new files are used.
# shellcheck disable=SC2317 # functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
# shellcheck source=tests/lib/extender.sh
. tests/lib/extender.sh
command -v openssl >/dev/null || { echo "skipped: openssl is not here"; exit 0; }

ca() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$dir/$1.key" -out "$dir/$1.crt" 2>"$dir/openssl"
}
leaf() { # leaf NAME CA USAGE [DAYS]
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$dir/$1.key" -out "$dir/$1.csr" 2>"$dir/openssl" &&
		printf 'extendedKeyUsage=%s\nsubjectAltName=IP:127.0.0.1\n' "$3" >"$dir/$1.ext" &&
		openssl x509 -req -in "$dir/$1.csr" -CA "$dir/$2.crt" -CAkey "$dir/$2.key" -CAcreateserial -days "${4:-2}" -extfile "$dir/$1.ext" \
			-out "$dir/$1.crt" 2>"$dir/openssl"
}
certificates() {
	ca server-ca && ca client-ca && ca other-ca && leaf first server-ca serverAuth && leaf second server-ca serverAuth 3 &&
		leaf client client-ca clientAuth && leaf other other-ca clientAuth
}
use() { cp "$dir/$1.crt" "$dir/tls.crt" && cp "$dir/$1.key" "$dir/tls.key"; }
ready() { curl -s --cacert "$dir/server-ca.crt" "https://127.0.0.1:$port/readyz" >"$dir/ready"; }
# ask STATUS [CLIENT]: what a scheduler is answered
ask() {
	status=$1
	shift
	[ $# -eq 0 ] || set -- --cert "$dir/$1.crt" --key "$dir/$1.key"
	got=$(curl -s -o "$dir/answer" -w '%{http_code}' --cacert "$dir/server-ca.crt" "$@" "https://127.0.0.1:$port/filter" -d \
		'{"Pod":{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}},"NodeNames":["node-1"]}')
	[ "$got" = "$status" ] || { echo "$got, not $status"; return 1; }
}
server_is() { # the subject of its certificate
	openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | grep -q "subject=.*CN *= *$1"
}
ends_with() { # the metrics have the end of this certificate
	end=$(date -d "$(openssl x509 -noout -enddate -in "$dir/$1.crt" | cut -d= -f2)" +%s)
	curl -s --cacert "$dir/server-ca.crt" "https://127.0.0.1:$port/metrics" |
		grep -qx "nrtd_certificate_expiry_timestamp_seconds{use=\"server\"} $end"
}
refuses() { # refuses TEXT FLAG...
	text=$1
	shift
	! "$B/nrtd-extender" --nrt "$dir/nodes.yaml" --http "127.0.0.1:$port" "$@" 2>"$dir/err" && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -qF -- "$text" "$dir/err"
}

check "certificates are made" certificates
use first
cp tests/fixtures/examples/kep-nodes.yaml "$dir/nodes.yaml"
port=$((24000 + $$ % 4000)) # scripts run at the same time: each has ports of its own, below the kernel's
check "a certificate without its key is one line" refuses "given together" --tls-cert "$dir/tls.crt"
check "a key of another certificate too" refuses "tls.crt' and key" --tls-cert "$dir/tls.crt" --tls-key "$dir/second.key"
check "and a file that is not there" refuses "nowhere.crt" --tls-cert "$dir/nowhere.crt" --tls-key "$dir/tls.key"
start_extender "$dir/nodes.yaml" --tls-cert "$dir/tls.crt" --tls-key "$dir/tls.key" --tls-client-ca "$dir/client-ca.crt"
check "it is ready, which a client without a certificate sees" eventually 30 ready
check "the metrics have when its certificate ends" eventually 30 ends_with first
check "a scheduler with a certificate is answered" ask 200 client
check "with its node" grep -qF '"NodeNames":["node-1"]' "$dir/answer"
check "one without is not" ask 403
check "one of another CA is not" ask 403 other
forbidden() { curl -sf --cacert "$dir/server-ca.crt" "https://127.0.0.1:$port/metrics" | grep -qx 'nrtd_extender_requests_total{verb="filter",result="forbidden"} 2'; }
check "both are counted" forbidden
check "and the log says whose, once a minute" sh -c "grep -F 'refused 1 request, the last one from 127.0.0.1, which has no certificate' '$dir/log' && test \"\$(grep -c refused '$dir/log')\" -eq 1"
check "plain HTTP is not" sh -c "! curl -sf http://127.0.0.1:$port/readyz"
use second
check "a new certificate is used" eventually 30 server_is second
check "and its end is in the metrics" eventually 30 ends_with second
check "and said once" sh -c "test \"\$(grep -cF 'using the new certificate' '$dir/log')\" -eq 1"
check "the scheduler is answered again" ask 200 client
check "it ends with 0" stop
exit $failed
