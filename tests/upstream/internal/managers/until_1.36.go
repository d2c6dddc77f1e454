// SPDX-License-Identifier: Apache-2.0

//go:build !since_1.37

package managers

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	allocationstate "k8s.io/kubernetes/pkg/kubelet/allocation/state"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

func newTopologyManager(_ context.Context, nodes []cadvisorapi.Node, policy, scope string, options map[string]string) (topologymanager.Manager, error) {
	return topologymanager.NewManager(nodes, policy, scope, options)
}

func newAllocationState(_ context.Context, root, name string) (allocationstate.State, error) {
	return allocationstate.NewStateCheckpoint(root, name)
}

func (m *Managers) removeAllocated(uid types.UID) error { return m.admitted.RemovePod(uid) }

func (m *Managers) ask(handler lifecycle.PodAdmitHandler, pod *v1.Pod, others []*v1.Pod, _ bool) lifecycle.PodAdmitResult {
	return handler.Admit(&lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: others})
}

func (m *Managers) affinity(uid, container string) topologymanager.TopologyHint {
	return m.topology.GetAffinity(uid, container)
}

func (m *Managers) deviceCapacity() (capacity, allocatable v1.ResourceList) {
	capacity, allocatable, _ = m.devices.GetCapacity()
	return capacity, allocatable
}

func (m *Managers) allocatableDevices() devicemanager.ResourceDeviceInstances {
	return m.devices.GetAllocatableDevices()
}

func (m *Managers) cpuHints(pod *v1.Pod) { m.cpus.GetTopologyHints(pod, &pod.Spec.Containers[0]) }

func (m *Managers) memoryHints(pod *v1.Pod) { m.memory.GetTopologyHints(pod, &pod.Spec.Containers[0]) }

func (keepFailures) HandleAdmissionFailure(_ context.Context, _ *v1.Pod, reasons []lifecycle.PredicateFailureReason) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

func (p mortal) Allocate(pod *v1.Pod, container *v1.Container) error {
	p.live()
	return p.HintProvider.Allocate(pod, container)
}

// TellsOfPods is whether the pod-resources API lists what pods have as a whole. 1.36 lists what containers of a pod share
// once for each of them.
const TellsOfPods = false

// PodsAPI is whether the kubelet serves the pods API, which is off by default in 1.36.
const PodsAPI = false

func (m *Managers) servePods() error { return nil }

func (m *Managers) providers() podresources.PodResourcesProviders {
	return podresources.PodResourcesProviders{Pods: m, Devices: m, Cpus: m, Memory: m, DynamicResources: m}
}

// What the pod-resources server asks for, answered as the kubelet's container manager does.

func (m *Managers) UpdateAllocatedDevices() { m.devices.UpdateAllocatedDevices() }

func (m *Managers) GetAllocatableDevices() []*podresourcesapi.ContainerDevices {
	return containerDevices(m.allocatableDevices())
}

// listedCPUs are the exclusive CPUs that the API lists for a container.
func (m *Managers) listedCPUs(pod *v1.Pod, container *v1.Container) cpuset.CPUSet {
	return m.cpus.GetExclusiveCPUs(string(pod.UID), container.Name)
}

func (m *Managers) GetCPUs(uid, container string) []int64 {
	return wide(m.cpus.GetExclusiveCPUs(uid, container).UnsortedList())
}

func (m *Managers) GetMemory(uid, container string) []*podresourcesapi.ContainerMemory {
	return containerMemory(m.memoryBlocks(uid, container))
}

func (m *Managers) GetAllocatableMemory() []*podresourcesapi.ContainerMemory {
	return containerMemory(m.allocatableMemory())
}

func (m *Managers) GetDynamicResources(*v1.Pod, *v1.Container) []*podresourcesapi.DynamicResource {
	return nil
}
