# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# worker-1 has more free CPUs, worker-2 has more of them on one NUMA node: without the label the stock scheduler picks the
# first, whose kubelet refuses.
scene() {
	node worker-1 single-numa-node && node worker-2 single-numa-node && held worker-1 a 9 && held worker-1 b 9 && held worker-2 c 15 &&
		held worker-2 d 6 && scheduler
}
label() { [ "$(kubectl get node "$1" -o 'jsonpath={.metadata.labels.nrtd\.dev/max-exclusive-cpus\.1-numa}')" = "$2" ]; }
after_2() {
	check "the label of worker-1" until_true label worker-1 7
	check "the label of worker-2" until_true label worker-2 10
	check "a pod without affinity" kubectl create -f <(guaranteed plain 8)
	check "is refused where more is free in all" refused_on plain worker-1
}
after_3() { check "the pod that prefers runs" runs_on aligned worker-2; }
done_with() { check "nothing is left" nothing_left; }
