# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run.sh sets them
# worker-1 has more free CPUs in all, and no NUMA node with 8; worker-2 has one. The plugin is the stand-in of tests/upstream.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 &&
		held worker-2 d 6 && scheduler && kubectl create -f <(guaranteed plain 8) && refused_on plain worker-1
}
score() { kubectl get node "$1" -o 'jsonpath={.metadata.annotations.nrtd\.dev/fit-score\.large}' | grep -x "$2"; }
after_1() {
	check "worker-1 has score 0" until_true score worker-1 0
	check "worker-2 has one" until_true score worker-2 '[1-9][0-9]*'
}
after_2() {
	stop_scheduler
	scheduler "$place/scheduler.yaml"
}
after_3() { check "on the node with the score" runs_on aligned worker-2; }
done_with() { check "nothing is left" nothing_left; }
