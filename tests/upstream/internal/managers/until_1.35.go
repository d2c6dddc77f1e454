// SPDX-License-Identifier: Apache-2.0

//go:build !since_1.36

package managers

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

func (m *Managers) setAllocated(pod *v1.Pod) error {
	return m.admitted.SetPodResourceInfo(pod.UID, allocationstate.PodResourceInfo{})
}

// podCPUs, podMemory and copyPodMemory are of pods with amounts of their own, which managers place from 1.36 on.
func (m *Managers) podCPUs(types.UID) cpuset.CPUSet { return cpuset.New() }

func (m *Managers) podMemory(types.UID) []memorystate.Block { return nil }

func (m *Managers) copyPodMemory(memorystate.State) {}
