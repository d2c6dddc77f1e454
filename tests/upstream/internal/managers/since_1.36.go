// SPDX-License-Identifier: Apache-2.0

//go:build since_1.36

package managers

import (
	"k8s.io/apimachinery/pkg/types"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

// podCPUs and podMemory are what the managers gave to a pod as a whole; its containers' are among them.
func (m *Managers) podCPUs(uid types.UID) cpuset.CPUSet {
	cpus, _ := m.cpus.State().GetPodCPUSet(string(uid))
	return cpus
}

func (m *Managers) podMemory(uid types.UID) []memorystate.Block {
	return m.memory.State().GetPodMemoryBlocks(string(uid))
}

func (m *Managers) copyPodMemory(to memorystate.State) {
	to.SetPodMemoryAssignments(m.memory.State().GetPodMemoryAssignments())
}
