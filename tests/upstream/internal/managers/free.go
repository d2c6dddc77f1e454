// SPDX-License-Identifier: Apache-2.0

package managers

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	cadvisorapi "nrtd.dev/tests/upstream/internal/cadvisor"
)

// Free is what the managers have, by resource and NUMA node, as far as the sources of nrtd can tell it: the pod-resources
// API, the state files, or both.
func (m *Managers) Free(machine *cadvisorapi.MachineInfo, devices []Devices, api, files bool) map[string]map[int]Amounts {
	free := map[string]map[int]Amounts{}
	if cpus := m.CPUsTold(machine.Topology, !files); cpus != nil {
		free[string(v1.ResourceCPU)] = cpus
	}
	names := []string{string(v1.ResourceMemory)}
	for _, pool := range machine.HugePages {
		names = append(names, v1.ResourceHugePagesPrefix+resource.NewQuantity(int64(pool.PageSize)<<10, resource.BinarySI).String())
	}
	for _, name := range names {
		// The API tells blocks: how one lies on several NUMA nodes, and what init containers keep, is not in it.
		if memory := m.Memory(v1.ResourceName(name)); memory != nil && (files || m.MemoryToldByBlocks()) {
			free[name] = memory
		}
	}
	var nodes []int
	for _, node := range machine.Topology {
		nodes = append(nodes, node.Id)
	}
	for _, d := range devices {
		if api || d.OneNodeAtMost() {
			free[d.Resource] = m.DevicesByNode(d.Resource, nodes, !files)
		}
	}
	return free
}
