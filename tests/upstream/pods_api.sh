#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pods_api.sh: `nrtd fit` with the kubelet's pods API (Kubernetes 1.37) against the kubelet's managers, which serve it with the
# kubelet's own server. Pods of the shared pool and pods with exclusive CPUs come and go; before each pod nrtd says whether the kubelet
# admits it. Without the API, nrtd does not know what pods of the shared pool request. PODS is their number, SEED repeats a run. B names
# the build folder. Without Go it says "skipped:" and ends with 0. The last line is "N passed, N failed".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
PODS=${PODS:-150}
SEED=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh

tests/upstream/releases/build.sh 1.37 managers
case $? in 0) ;; 77) exit 0 ;; *) exit 1 ;; esac
tests/fixtures/machines/make.sh "$work" seed-2s-32cpu || exit 1
tree=$work/seed-2s-32cpu
mkdir -p "$tree/k"
cat >"$tree/k/config.yaml" <<'END'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: restricted
reservedSystemCPUs: "0"
END
mkfifo "$work/questions" "$work/answers"
build/upstream/managers-1.37 -sysroot "$tree" -config "$tree/k/config.yaml" -root "$tree/k" <"$work/questions" >"$work/answers" 2>"$work/err" &
pid=$!
exec 3>"$work/questions" 4<"$work/answers"
read -r -t 60 _ <&4 || { cat "$work/err" && exit 1; }
ask() { # ask LINE: $answer is the managers'
	printf '%s\n' "$1" >&3
	read -r -t 60 answer <&4
}
fit() { "$B/nrtd" fit --sysroot "$tree" --kubelet-root /k --kubelet-config /k/config.yaml --node-name n --kubelet-version 1.37 --pod-resources "$tree/k/pod-resources/kubelet.sock" "$@" >"$work/fit" 2>&1; }

RANDOM=$SEED
echo "seed $SEED"
socket=$tree/k/pods-api/pods-api.sock
check "the kubelet's server is there" test -S "$socket"
there=()
admitted=0 rejected=0 blind=0 different=0
for ((i = 0; i < PODS; i++)); do
	if [ ${#there[@]} -gt 0 ] && [ $((RANDOM % 3)) -eq 0 ]; then
		at=$((RANDOM % ${#there[@]}))
		ask "{\"drop\":\"default/${there[at]}\"}"
		unset "there[at]"
		there=("${there[@]}")
	fi
	if [ $((RANDOM % 2)) -eq 0 ]; then
		resources="{\"requests\":{\"cpu\":\"$((RANDOM % 6000 + 100))m\"}}"
	else
		resources="{\"limits\":{\"cpu\":\"$((RANDOM % 8 + 1))\",\"memory\":\"1Gi\"}}"
	fi
	pod="{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p$i\",\"namespace\":\"default\",\"uid\":\"uid-$i\"},\"spec\":{\"priority\":$i,\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":$resources}]}}"
	echo "$pod" >"$work/pod.json"
	fit -f "$work/pod.json"
	without=$?
	fit -f "$work/pod.json" --pods-api "$socket"
	said=$?
	ask "{\"admit\":$pod}"
	case $answer in
	*'"admitted":true'*) want=0 admitted=$((admitted + 1)) there+=("p$i") ;;
	*) want=3 rejected=$((rejected + 1)) ;;
	esac
	[ $without -eq $want ] || blind=$((blind + 1))
	[ $said -eq $want ] || { different=$((different + 1)) && echo "pod $i: nrtd $said, kubelet $want: $answer" && cat "$work/pod.json" "$work/fit"; }
done
echo "$admitted admitted, $rejected rejected, $blind predicted otherwise without the API, $different with it"
check "every verdict is the kubelet's" test $different -eq 0
check "pods of the shared pool mattered" test $blind -gt 0
exec 3>&-
wait "$pid"
pid=
tally
