// SPDX-License-Identifier: Apache-2.0

//go:build !until_1.34 && !since_1.37

package managers

import memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"

func (m *Managers) memoryBlocks(uid, container string) []memorystate.Block {
	return m.memory.GetMemory(uid, container)
}

func (m *Managers) allocatableMemory() []memorystate.Block { return m.memory.GetAllocatableMemory() }
