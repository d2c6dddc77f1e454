// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/cpuset"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// told lists a pod's containers that a source tells of: the state files all, the pod-resources API not the ordinary
// init containers.
func told(pod *v1.Pod, byAPI bool) []v1.Container {
	var list []v1.Container
	for _, c := range pod.Spec.InitContainers {
		if !byAPI || podutil.IsRestartableInitContainer(&c) {
			list = append(list, c)
		}
	}
	return append(list, pod.Spec.Containers...)
}

// CPUsTold is CPUs, less only what the source tells of.
func (m *Managers) CPUsTold(nodes []cadvisorapi.Node, byAPI bool) map[int]Amounts {
	if all := m.CPUs(nodes); all == nil || !byAPI {
		return all
	}
	taken := cpuset.New()
	for _, pod := range m.activePods() {
		if TellsOfPods {
			taken = taken.Union(m.podCPUs(pod.UID))
		}
		for _, c := range told(pod, byAPI) {
			taken = taken.Union(m.listedCPUs(pod, &c))
		}
	}
	return amountsOf(nodes, m.cpus.GetAllocatableCPUs(), taken)
}

// MemoryToldByBlocks tells whether the blocks of the containers that the API lists say how much each NUMA node has left:
// no block lies on several nodes, and no ordinary init container keeps one.
func (m *Managers) MemoryToldByBlocks() bool {
	for _, pod := range m.activePods() {
		listed := told(pod, true)
		for _, c := range told(pod, false) {
			isListed := slices.ContainsFunc(listed, func(l v1.Container) bool { return l.Name == c.Name })
			for _, block := range m.memoryBlocks(string(pod.UID), c.Name) {
				if len(block.NUMAAffinity) > 1 || (!isListed && block.Size > 0) {
					return false
				}
			}
		}
	}
	return true
}

// DevicesByNode is what each NUMA node has of a resource's devices: a device counts on each node it is near. nil when
// no device is near any.
func (m *Managers) DevicesByNode(resource string, nodes []int, byAPI bool) map[int]Amounts {
	taken := map[string]bool{}
	for _, pod := range m.activePods() {
		for _, c := range told(pod, byAPI) {
			for id := range m.devices.GetDevices(string(pod.UID), c.Name)[resource] {
				taken[id] = true
			}
		}
	}
	out, any := map[int]Amounts{}, false
	for _, node := range nodes {
		out[node] = Amounts{}
	}
	for id, device := range m.allocatableDevices()[resource] {
		if device.Topology == nil {
			continue
		}
		for _, node := range device.Topology.Nodes {
			amounts := out[int(node.ID)]
			amounts.Allocatable++
			if !taken[id] {
				amounts.Available++
			}
			out[int(node.ID)], any = amounts, true
		}
	}
	if !any {
		return nil
	}
	return out
}

// ID is the name of the i-th device, a PCI address if IDs does not name it.
func (d Devices) ID(i int) string {
	if i < len(d.IDs) {
		return d.IDs[i]
	}
	bus := 0
	for _, letter := range d.Resource {
		bus = (bus*31 + int(letter)) % 256
	}
	return fmt.Sprintf("fab0:%02x:%02x.%d", bus, i/8, i%8)
}

// OneNodeAtMost tells whether no device is near several NUMA nodes, so that sysfs can tell all of them.
func (d Devices) OneNodeAtMost() bool {
	return !slices.ContainsFunc(d.NUMA, func(nodes []int) bool { return len(nodes) > 1 })
}
