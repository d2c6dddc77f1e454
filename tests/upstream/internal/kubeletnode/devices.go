// SPDX-License-Identifier: Apache-2.0

package kubeletnode

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"nrtd.dev/tests/upstream/internal/managers"
)

// NearOneNode returns the devices, each near one NUMA node at most. Which of several devices with different NUMA nodes a container gets is
// by chance where both suit it (K12 in scoring/DEFECTS.md).
func NearOneNode(devices []managers.Devices) (out []managers.Devices) {
	for _, d := range devices {
		d.NUMA = slices.Clone(d.NUMA)
		for i, near := range d.NUMA {
			d.NUMA[i] = near[:min(len(near), 1)]
		}
		out = append(out, d)
	}
	return out
}

// ShareNoDevice leaves the request for each resource's devices to one container of the pod: which of several containers gets which
// device is by chance (K12).
func ShareNoDevice(spec *v1.PodSpec, devices []managers.Devices) {
	given := map[v1.ResourceName]bool{}
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for k := range list {
			for _, d := range devices {
				name := v1.ResourceName(d.Resource)
				if _, asks := list[k].Resources.Limits[name]; asks && given[name] {
					delete(list[k].Resources.Limits, name)
					delete(list[k].Resources.Requests, name)
				} else if asks {
					given[name] = true
				}
			}
		}
	}
}
