#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program that nrtd-object(7) gives for the fit hints, taken from the manual as it is: for each request it says what
# `nrtd fit` says of the same node. B names the build folder.
set -u
nrtd=${B:-build}/nrtd
command -v python3 >/dev/null || { echo "skipped: python3 is not here"; exit 0; }
. tests/lib/scenario.sh
sed -n '/^def numa_nodes/,/^\.Ed/p' man/nrtd-object.7 | grep -v '^\.Ed' >"$dir/reader.py"
check "the manual has the program" test "$(grep -c '^def ' "$dir/reader.py")" -eq 2
cat >>"$dir/reader.py" <<'END'

import json, sys
hints, cpus, memory = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
nodes = numa_nodes(hints, {"cpu": cpus, "memory": memory << 30})
print("none" if nodes is None else len(nodes), 0 if admits(hints, cpus) else 3)
END

# Two NUMA nodes of 16 CPUs and 128 GB: CPU 0 is reserved, two pods hold nine each.
cp -r build/fixtures/machines/seed-2s-32cpu/. "$dir/seed"
mkdir -p "$dir/seed/var/lib/kubelet"
printf '%s' '{"policyName":"static","defaultCpuSet":"0,10-15,25-31","entries":{"777870b5-c64f-42f5-9296-688b9dc212ba":{"container-1":"16-24"},"fb15e10a-b6a5-4aaa-8fcd-76c1aa64e6fd":{"container-1":"1-9"}},"checksum":318470969}' \
	>"$dir/seed/var/lib/kubelet/cpu_manager_state"
for policy in none best-effort restricted single-numa-node; do
	node() {
		"$nrtd" "$@" --sysroot "$dir/seed" --node-name seed --cpu-manager-policy static --memory-manager-policy None \
			--topology-manager-policy $policy --topology-manager-scope container --reserved-cpus 0 2>"$dir/err"
	}
	node dump --what hints -o json >"$dir/hints"
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["annotations"]["nrtd.dev/fit-hints"])' "$dir/hints" >"$dir/hints.json"
	for cpus in 1 6 7 8 13 14 33; do
		for memory in 1 100 200 300; do
			node fit --cpus $cpus --memory ${memory}Gi -o json >"$dir/fit"
			status=$?
			want=$(sed -n 's/^  "numaNodes": \([0-9]*\),*$/\1/p; s/^  "numaNodes": null,*$/none/p' "$dir/fit")
			# Memory alone may be more than the node has; the ranges speak of CPUs.
			[ $memory -lt 200 ] || status=$(node fit --cpus $cpus -o json >"$dir/out"; echo $?)
			got=$(python3 "$dir/reader.py" "$dir/hints.json" $cpus $memory)
			[ "$got" = "$want $status" ] || check "$policy, $cpus CPUs, ${memory}Gi: '$got', fit says '$want $status'" false
		done
	done
	check "$policy: the hints say what fit says" test $failed -eq 0
done
exit $failed
