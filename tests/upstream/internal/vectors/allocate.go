// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"unsafe"

	"github.com/go-logr/logr"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/utils/cpuset"
)

// realAllocateCPUs is the static policy's own assignment of CPUs. Its exported caller, Allocate, refuses some requests
// before it comes to that; the vectors record both, and so need it by itself.
//
//go:linkname realAllocateCPUs k8s.io/kubernetes/pkg/kubelet/cm/cpumanager.(*staticPolicy).allocateCPUs
func realAllocateCPUs(policy unsafe.Pointer, logger logr.Logger, s state.State, count int, affinity bitmask.BitMask,
	reusable cpuset.CPUSet) (topology.Allocation, error)

// allocateCPUs assigns count CPUs with an affinity, or none.
func allocateCPUs(policy cpumanager.Policy, logger logr.Logger, s state.State, count int, affinity bitmask.BitMask) (cpuset.CPUSet, error) {
	// An interface value is a type and a pointer; the static policy is a pointer type.
	pointer := (*[2]unsafe.Pointer)(unsafe.Pointer(&policy))[1]
	got, err := realAllocateCPUs(pointer, logger, s, count, affinity, cpuset.New())
	return got.CPUs, err
}
