// SPDX-License-Identifier: Apache-2.0

package kubeletnode

import "nrtd.dev/tests/upstream/internal/kubelet"

// IsRegular tells whether all NUMA nodes have distances, and all cores equally many CPUs.
func IsRegular(m *kubelet.Machine) bool {
	threads := 0
	for _, node := range m.Info.Topology {
		if len(node.Distances) != len(m.Info.Topology) {
			return false
		}
		for _, core := range node.Cores {
			if threads = max(threads, len(core.Threads)); len(core.Threads) != threads {
				return false
			}
		}
	}
	return true
}
